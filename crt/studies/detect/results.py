"""What an experiment of detection gives: how each detector does on the test part, and the summary of all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from crt.reporting.markdown import Markdown, line
from crt.reporting.markdown import table as markdown
from crt.scoring.metrics import accuracy, balanced_accuracy, macro_f1, recalls
from crt.scoring.statistics import balanced_accuracy_interval
from crt.scoring.summary import DASH

Labels = NDArray[np.int64]

FEW = 30
"""With fewer test texts of a label its recall says little."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a detector does on the test part."""

    task: str
    """`detection` or `labelling`."""
    detector: str
    """What was trained."""
    names: tuple[str, ...]
    """The labels."""
    gold: Labels
    predicted: Labels
    groups: tuple[str, ...]
    """Source of each text."""
    attack_score: NDArray[np.float64] | None = None
    """Probability of an attack, for detection."""

    @property
    def kind(self) -> str:
        """`features` or `encoder`."""
        return self.detector.partition(":")[0]

    @property
    def metrics(self) -> dict[str, float]:
        """Balanced accuracy with its interval, accuracy, macro-F1, recall of each label and, for detection, the ROC AUC."""
        pair = {"gold": self.gold, "predicted": self.predicted}
        found = {
            "balanced_accuracy": balanced_accuracy(**pair),
            "accuracy": accuracy(**pair),
            "macro_f1": macro_f1(**pair),
        }
        bounds = balanced_accuracy_interval(gold=self.gold, predicted=self.predicted, clusters=self.groups)
        if bounds:
            found |= {"balanced_accuracy_low": bounds[0], "balanced_accuracy_high": bounds[1]}
        found |= {f"recall_{self.names[label]}": value for label, value in recalls(**pair).items()}
        if self.attack_score is not None and len(set(self.gold.tolist())) == 2:
            found["roc_auc"] = float(roc_auc_score(self.gold, self.attack_score))
        return {name: value for name, value in found.items() if value is not None}

    def recalls(self) -> pd.DataFrame:
        """Return for each label how many of its test texts there are and are found."""
        counts = self.confusion().to_numpy()
        right, total = counts.diagonal(), counts.sum(axis=1)
        rates = right / np.where(total > 0, total, 1)
        return pd.DataFrame({"label": self.names, "passed": right, "total": total, "pass_rate": rates})

    def confusion(self) -> pd.DataFrame:
        """Return the number of test texts by true label (rows) and predicted label (columns)."""
        counts = np.zeros((len(self.names),) * 2, dtype=np.int64)
        np.add.at(counts, (self.gold, self.predicted), 1)
        return pd.DataFrame(counts, index=pd.Index(self.names, name="gold"), columns=list(self.names))


@dataclass(frozen=True, slots=True)
class DetectResult:
    """All that an experiment gives."""

    verdicts: tuple[Verdict, ...]
    choices: Mapping[str, Mapping[str, float]]
    """By task, the balanced accuracy over the folds of each candidate."""
    unseen: pd.DataFrame
    """For each attack left out of training, with its family: recall on it, recall on clean texts, their mean."""
    texts: pd.DataFrame
    """part, attack, the fields of the text and of its source, and for the test part what each detector says of it."""
    params: Mapping[str, str]

    @property
    def few(self) -> str:
        """What to keep in mind of labels with few test texts, in a sentence; empty: there are none."""
        counts = {
            name: int(total)
            for verdict in self.verdicts
            for name, _, total, _ in verdict.recalls().itertuples(index=False)
        }
        rare = [f"{name} {count}" for name, count in counts.items() if count < FEW]
        if not rare:
            return ""
        return (
            f"fewer than {FEW} test texts: {', '.join(rare)}; their recalls may be off by {100 / FEW**0.5:.0f} points and more: "
            "raise max_samples or prob"
        )


def summary(findings: DetectResult, found: Sequence[Mapping[str, float]]) -> str:
    """Return the scores, the recall of each label, and how unseen attacks are detected, in Markdown.

    Args:
        findings: of the experiment.
        found: the metrics of each verdict.
    """
    rows = []
    for verdict, metrics in zip(findings.verdicts, found, strict=True):
        low, high = _shown(metrics, "balanced_accuracy_low"), _shown(metrics, "balanced_accuracy_high")
        others = [_shown(metrics, name) for name in ("macro_f1", "accuracy", "roc_auc")]
        rows.append([verdict.task, verdict.detector, _shown(metrics, "balanced_accuracy"), f"{low}-{high}", *others])
    header = ("task", "detector", "balanced accuracy", "95 % interval", "macro-F1", "accuracy", "ROC AUC")
    parts = [markdown(header, rows, texts=2)]
    labels = list(dict.fromkeys(name for verdict in findings.verdicts for name in verdict.names))
    columns = [f"{v.task}, {v.kind}" for v in findings.verdicts]
    recall = [[label, *(_shown(metrics, f"recall_{label}", 2) for metrics in found)] for label in labels]
    parts.append(markdown(("recall of", *columns), recall))
    if len(findings.unseen):
        shown = [
            [
                str(r.left_out),
                str(r.with_it) or DASH,
                f"{r.recall:.2f}",
                f"{r.clean_recall:.2f}",
                f"{r.balanced_accuracy:.2f}",
                str(r.n),
            ]
            for r in findings.unseen.itertuples()
        ]
        unseen = ("never trained on", "nor on", "recall", "recall of clean", "balanced accuracy", "n")
        parts.append(markdown(unseen, shown, texts=2))
    if findings.few:
        parts.append(Markdown(f"{line(findings.few)}\n"))
    return "\n".join(parts)


def _shown(metrics: Mapping[str, float], name: str, digits: int = 3) -> str:
    value = metrics.get(name)
    return DASH if value is None else f"{value:.{digits}f}"
