"""HANS: does a model of natural language inference follow surface cues in place of the meaning?

Works on any set of pairs: a probing set brings its own groups (heuristic, subcase, template), the pairs of an ordinary
data set are sorted by the surface cues that they offer. Scoring: `crt/studies/heuristics/scoring.py`.
"""

import csv
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from crt.catalogue import Task
from crt.errors import DataError, ModelError, one_of, unknown
from crt.models import PredictOptions, Predictor, kind_of, load_predictor
from crt.reading import read_rows
from crt.reporting.markdown import table as markdown
from crt.reporting.spreadsheet import write_sheet
from crt.studies.answers import Answers, model_params, resolved
from crt.studies.heuristics.scoring import COLLAPSED, ENTAILMENT, NLI, NOT_ENTAILMENT, accuracy_by_group, surface_groups
from crt.studies.outputs import Files, formats
from crt.studies.results import staged
from crt.tasks import Source, Split, load_split, with_labels

if TYPE_CHECKING:
    from accelerate import Accelerator

    from crt.tracking.runs import MlflowTracker

log = logging.getLogger(__name__)

PREDICTIONS = "hans_predictions.txt"
"""The predictions in the format of the official script: `pairID,gold_label`, the labels of the model as they are."""

FILES = Files(
    "heuristics",
    {
        PREDICTIONS: "the label of each pair, in the format of the official script",
        "heuristics.csv": "the accuracy of each group by gold label",
        "heuristics.md": "the same, the templates left out",
        **formats("heuristics", "the accuracy of the coarsest groups", ".svg", ".png"),
    },
)


@dataclass(frozen=True, slots=True)
class HeuristicsResult:
    """What a model does on a set of pairs."""

    table: pd.DataFrame
    """From `accuracy_by_group`."""
    predictions: tuple[tuple[str, str], ...]
    """Id and predicted label of each pair."""
    params: dict[str, str]
    """What was measured, and how."""
    nli_accuracy: float | None
    """Accuracy on ordinary pairs; None where it was not asked for."""

    @property
    def metrics(self) -> dict[str, float]:
        """The accuracy in each of the coarsest groups, by gold label, on ordinary pairs, and the number of pairs."""
        names = {ENTAILMENT: "entailed", NOT_ENTAILMENT: "non_entailed"}
        found = {"num_examples": float(len(self.predictions))}
        for row in self.table[self.table["level"] == self.table["level"].iloc[0]].itertuples():
            gold = names[row.gold] if row.rule == "collapsed" else row.gold
            found[re.sub(r"[^\w.-]+", "_", f"{row.group}_{gold}")] = float(row.accuracy)
        return found if self.nli_accuracy is None else {**found, "nli_accuracy": self.nli_accuracy}


def load_pairs(task: Task, split: str | None, source: Source, limit: int | None) -> tuple[Task, Split]:
    """Read the pairs of a task; also return the task with its labels.

    Raises:
        DataError: the task has no pairs, or labels that are none of inference.
    """
    if len(task.fields) != 2:
        raise DataError(
            f"{task.name} holds single texts; heuristics needs pairs: hans, chinese_hans, ocnli, or your own file with "
            "text_column= and text_pair_column="
        )
    task = with_labels(task, source)
    stray = [label for label in task.labels if label not in COLLAPSED]
    if stray:
        raise DataError(f"{task.name} has the label '{stray[0]}'; heuristics knows {', '.join(COLLAPSED)}")
    return task, load_split(task, split or task.eval_split, source).limited(limit)


def measure(
    task: Task,
    split: Split,
    spec: str,
    options: PredictOptions,
    accelerator: "Accelerator",
    tracker: "MlflowTracker | None",
    *,
    default: Task,
    source: Source,
    ordinary: Sequence[tuple[Task, Split]] = (),
) -> HeuristicsResult:
    """Predict every pair and score the labels.

    Args:
        task: the set.
        split: its pairs, from `load_pairs`.
        spec: of the model; empty: the best that is registered for `default`.
        options: how to predict; `label_map` names the labels of a model that has numbers only.
        accelerator: device and processes; every process must call this.
        tracker: None on all processes but the main one.
        default: the task whose registered model is meant by an empty spec, and whose labels a model without own ones has.
        source: where the training examples of `embedding:` are read from.
        ordinary: none, or pairs without a trap, to show the usual accuracy beside.
    """
    model = resolved(spec, default, accelerator, tracker)
    own = kind_of(model.spec)[0].own_labels
    predictor = load_predictor(model.spec, replace(task, labels=()) if own else default, accelerator, options, source)
    names = inference_labels(predictor)

    def said(pairs: Split) -> list[str]:
        inputs = [example.input for example in pairs.examples]
        best = Answers(predictor, inputs).of(inputs)
        return [names[column] for column in best.probabilities.argmax(axis=1).tolist()]

    predicted = said(split)
    right = None
    for usual, examples in ordinary:
        if not set(names) >= set(usual.labels):
            log.info("%s has other labels than %s: no accuracy on ordinary pairs", predictor.name, usual.name)
        else:
            gold = [usual.labels[example.label] for example in examples.examples]
            right = sum(a == b for a, b in zip(gold, said(examples), strict=True)) / len(gold)
    params = {"model": predictor.name} | model_params(predictor, model.source)
    return _findings(task, split, predicted, params, right)


def score_file(task: Task, split: Split, path: Path) -> HeuristicsResult:
    """Score predictions that were written down, without a model."""
    predicted = read_predictions(path, _pair_ids(split))
    return _findings(task, split, predicted, {"model": "/".join(path.resolve().parts[-2:])}, None)


def _findings(
    task: Task, split: Split, predicted: Sequence[str], params: dict[str, str], right: float | None
) -> HeuristicsResult:
    columns = zip(*(example.groups for example in split.examples), strict=True)
    groups = (
        {name: list(values) for name, values in zip(task.group_columns, columns, strict=True)}
        if task.group_columns
        else surface_groups([example.input for example in split.examples])
    )
    gold = [task.labels[example.label] for example in split.examples]
    table = accuracy_by_group(groups, gold, predicted)
    params |= {"dataset": task.name, "split": split.name, "data_digest": split.digest()}
    return HeuristicsResult(table, tuple(zip(_pair_ids(split), predicted, strict=True)), params, right)


def inference_labels(predictor: Predictor) -> list[str]:
    """Return the labels of a model as those of inference, by their names.

    Raises:
        ModelError: a name is none of them: what LABEL_1 means is never guessed from its place.
    """
    names = [name.casefold() for name in predictor.labels]
    stray = [name for name, folded in zip(predictor.labels, names, strict=True) if folded not in COLLAPSED]
    if stray or ENTAILMENT not in names:
        given = ",".join(f"{name}={label}" for name, label in zip(predictor.labels, NLI, strict=False))
        raise ModelError(
            f"model {predictor.name} has the labels {', '.join(predictor.labels)}; heuristics needs {ENTAILMENT} and "
            f"{NOT_ENTAILMENT}, or neutral and contradiction; name them in the order of its training data, for example "
            f"label_map={given}"
        )
    return names


def read_predictions(path: Path, ids: Sequence[str]) -> list[str]:
    """Return the predicted label of each pair from a file `pairID,gold_label` with a header, in any order.

    Raises:
        DataError: an id is unknown, repeated or missing, or a label is none of inference.
    """
    wanted, found = set(ids), dict[str, str]()
    for row in read_rows(path, ".csv"):
        values = row.values  # noqa: PD011  a row of a file
        for name in ("pairID", "gold_label"):
            if name not in values:
                raise DataError(one_of(f"{row.where}: no column '{name}'", name, values, "The file has"))
        pair, label = str(values["pairID"]), str(values["gold_label"])
        if label not in COLLAPSED:
            raise DataError(f"{row.where}: {unknown('label', label, COLLAPSED)}")
        if pair not in wanted:
            raise DataError(f"{row.where}: pairID '{pair}' is no pair of this set ({ids[0]} … {ids[-1]})")
        if pair in found:
            raise DataError(f"{row.where}: pairID '{pair}' stands there twice")
        found[pair] = label
    missing = [pair for pair in ids if pair not in found]
    if missing:
        raise DataError(f"{path}: {len(missing):,} of {len(ids):,} pairs have no prediction, the first is {missing[0]}")
    return [found[pair] for pair in ids]


def publish(tracker: "MlflowTracker", findings: HeuristicsResult, folder: Path, *, figures: bool) -> str:
    """Write predictions, tables and figure into a folder and to the run; return the main table in Markdown."""
    table = main_table(findings)
    with staged(tracker, folder, FILES) as staging:
        with (staging / PREDICTIONS).open("w", encoding="utf-8", errors="replace", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("pairID", "gold_label"), *findings.predictions])
        write_sheet(findings.table, staging / "heuristics.csv")
        (staging / "heuristics.md").write_text(table, encoding="utf-8")
        if figures:
            from crt.reporting.drawing import save_as
            from crt.reporting.study_figures import group_bars

            figure = group_bars(findings.table, f"{findings.params['model']} on {findings.params['dataset']}")
            save_as(figure, staging / "heuristics", ".svg", ".png")
    tracker.log_study(findings.params, findings.metrics, table)
    return table


def main_table(findings: HeuristicsResult) -> str:
    """Return the accuracy of each group by gold label, the templates left out."""
    shown = findings.table[findings.table["level"] != "template"]  # there are dozens
    rows = [
        [
            *(str(name) for name in (row.level, row.group, row.rule, row.gold)),
            f"{row.n:,}",
            f"{row.accuracy:.4f}",
        ]
        for row in shown.itertuples()
    ]
    text: str = markdown(("level", "group", "rule", "gold", "n", "accuracy"), rows, texts=4)
    if findings.nli_accuracy is not None:
        text += f"\nAccuracy on ordinary pairs: {findings.nli_accuracy:.4f}\n"
    return text


def _pair_ids(split: Split) -> list[str]:
    """Return the id that each pair has in its file."""
    return [example.id.removeprefix(f"{split.task}/{split.name}/") for example in split.examples]
