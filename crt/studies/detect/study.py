"""Attack detection: was a text attacked, and by what? Every text of a source stays in one part (after TCAB)."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crt.catalogue import Task
from crt.errors import DataError
from crt.grid import format_prob
from crt.models import PredictOptions, Predictor, load_predictor
from crt.perturbations import Loaded, relatives
from crt.records import CLEAN, Example, Input, Prediction
from crt.reporting.spreadsheet import write_csv, write_sheet
from crt.resources import rows_digest
from crt.scoring.metrics import recalls
from crt.studies.answers import Answers, model_params, resolved
from crt.studies.detect.attacks import Attacked, downsampled, from_perturbations, labels_of, split
from crt.studies.detect.detectors import fit, select_detector, training_space
from crt.studies.detect.results import DetectResult, Verdict, summary
from crt.studies.outputs import Files, formats
from crt.studies.results import staged
from crt.tasks import Source, Split, load_split, seen_in_training
from crt.tasks import labels_of as labels_of_task

if TYPE_CHECKING:
    from accelerate import Accelerator

    from crt.models.recipe import TrainOptions
    from crt.tracking.runs import MlflowTracker

log = logging.getLogger(__name__)

FILES = Files(
    "detect",
    {
        "detection.md": "the scores of the detectors, the recall of each label, and of unseen attacks",
        "detection.csv": "the scores of the detectors",
        "unseen_attacks.csv": "how well an attack is detected that no detector was trained on, nor its family",
        "detection_texts.csv": "each text with its part, its source and its attack, and what the detectors say of the test part",
        "confusion_detection_*.csv": "test texts by true and by predicted label",
        "confusion_labelling_*.csv": "test texts by true and by predicted label",
        **formats("detection", "the recall of each attack", ".svg", ".png"),
    },
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """The labelled texts of an experiment."""

    name: str
    """Of the data set or file."""
    parts: Mapping[str, Sequence[Attacked]]
    """By part, from `split`."""
    victim: Predictor | None
    """The model that was attacked."""
    params: Mapping[str, str] = field(default_factory=dict)
    """How the texts were made."""

    def digest(self) -> str:
        """Return 16 hexadecimal digits over all texts and their parts: scores are comparable where it is equal."""
        return rows_digest([part, text.attack, text.input] for part, texts in self.parts.items() for text in texts)


def from_dataset(
    task: Task,
    source: Source,
    loaded: Sequence[Loaded],
    spec: str,
    options: PredictOptions,
    accelerator: "Accelerator",
    tracker: "MlflowTracker | None",
    *,
    prob: float,
    seed: int,
    limit: int | None,
    successful: bool,
) -> Corpus:
    """Attack the reported split of a data set with perturbations.

    Args:
        task: the data set.
        source: where it is read from.
        loaded: the attacks.
        spec: of the victim; empty: the best that is registered for the task.
        options: how it predicts.
        accelerator: device and processes; every process must call this.
        tracker: None on all processes but the main one.
        prob: share of the sites that an attack edits.
        seed: of the attacks and of the parts.
        limit: at most so many source texts.
        successful: keep only the attacks that turn a right answer of the victim into a wrong one, as TCAB does.

    Raises:
        DataError: the split cannot be read, or no attack is left.
        ModelError: the victim cannot be loaded.
    """
    if "train" in task.files:
        task = replace(task, labels=labels_of_task(task, source))
    model = resolved(spec, task, accelerator, tracker)
    victim = load_predictor(model.spec, task, accelerator, options, source)
    task = replace(task, labels=victim.labels)
    examples = load_split(task, task.eval_split, source)
    seen = seen_in_training(task, source)
    if seen is None:
        log.info("%s: no training split at hand, so the victim may have seen the source texts", task.name)
    else:
        examples = examples.where(lambda example: example.input not in seen)
        if not examples.examples:
            raise DataError(f"{task.name}: every input of '{examples.name}' also stands in the training split")
    examples = examples.limited(limit)
    rows, texts = zip(*from_perturbations(examples.examples, loaded, prob=prob, seed=seed), strict=True)
    if successful:
        texts = tuple(_successful(examples.examples, rows, texts, victim))
    if all(text.attack == CLEAN for text in texts):
        what = f"turns a right answer of {victim.name} into a wrong one" if successful else "changes a text"
        raise DataError(
            f"{task.name}: no attack {what} at prob {format_prob(prob)}; raise it, or name other perturbations"
        )
    params = {
        "dataset": task.name, "model": victim.name, "attacks_made": ",".join(p.perturbation.name for p in loaded),
        **model_params(victim, model.source),
    }  # fmt: skip
    return Corpus(task.name, split(texts, seed=seed), victim, params)


def _successful(
    examples: Sequence[Example], rows: Sequence[int], texts: Sequence[Attacked], victim: Predictor
) -> Iterable[Attacked]:
    inputs = [text.input for text in texts]
    answers = Answers(victim, inputs)
    said = answers.of(inputs).probabilities.argmax(axis=1)
    clean = {text.source: label for text, label in zip(texts, said.tolist(), strict=True) if text.attack == CLEAN}
    for row, text, label in zip(rows, texts, said.tolist(), strict=True):
        gold = examples[row].label
        if text.attack == CLEAN or (clean[text.source] == gold and label != gold):
            yield text


def run(corpus: Corpus, *, seed: int, encoder: "TrainOptions | None", accelerator: "Accelerator") -> DetectResult:
    """Train detectors on the training part and score them on the test part.

    Args:
        corpus: the texts.
        seed: of the detectors.
        encoder: also fine-tune this encoder; its best epoch is chosen on the validation part.
        accelerator: for it; every process must call this.
    """
    train, test = corpus.parts["train"], corpus.parts["test"]
    groups = [text.group for text in train]
    clean = np.array([text.attack == CLEAN for text in train])
    inputs = [text.input for text in train]
    space, matrix = training_space(inputs, clean, groups, _asked(corpus, inputs))
    unknown = space.matrix([text.input for text in test], _asked(corpus, [text.input for text in test]))
    verdicts, choices = [], {}
    for name, labelling in (("detection", False), ("labelling", True)):
        kept = np.array(downsampled(train, labelling=labelling, seed=seed))
        gold, names = labels_of([*train, *test], labelling=labelling)
        labels = gold[: len(train)][kept]
        best, scores = select_detector(matrix[kept], labels, [groups[row] for row in kept], seed=seed)
        log.info("%s: %s", name, ", ".join(f"{candidate} {score:.3f}" for candidate, score in scores.items()))
        fitted = fit(best, matrix[kept], labels, seed=seed)
        predicted = np.asarray(fitted.predict(unknown), dtype=np.int64)
        score = None if labelling else np.asarray(fitted.predict_proba(unknown)[:, 1])
        sources = tuple(text.group for text in test)
        verdicts.append(Verdict(name, f"features: {best}", names, gold[len(train) :], predicted, sources, score))
        choices[name] = scores
        if not labelling:
            unseen = _leave_one_out(best, [train[row] for row in kept], matrix[kept], test, unknown, seed=seed)
        if encoder is not None:
            verdicts.append(_encoder(corpus, name, encoder, accelerator, labelling=labelling, seed=seed))
    counts = {f"texts_{part}": str(len(texts)) for part, texts in corpus.parts.items()}
    params = {**corpus.params, **counts, "data_digest": corpus.digest()}
    if encoder is not None:
        params["model"] += f" / {verdicts[-1].detector}"
    return DetectResult(tuple(verdicts), choices, unseen, _texts(corpus, verdicts), params)


def _texts(corpus: Corpus, verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return a row for each text, those of the test part with the label that each detector gives, and how sure it is."""
    rows = [
        {"part": part, "attack": text.attack}
        | {f"text_{k}": value for k, value in enumerate(text.input, 1)}
        | {f"source_{k}": value for k, value in enumerate(text.source, 1)}
        for part, texts in corpus.parts.items()
        for text in texts
    ]
    table = pd.DataFrame(rows)
    tested = table["part"] == "test"
    for verdict in verdicts:
        name = f"{verdict.task}_{verdict.kind}"
        table.loc[tested, name] = np.array(verdict.names, dtype=object)[verdict.predicted]
        if verdict.attack_score is not None:
            table.loc[tested, f"{name}_score"] = verdict.attack_score.round(6)
    return table


def _asked(corpus: Corpus, inputs: Sequence[Input]) -> Prediction | None:
    if corpus.victim is None:
        return None
    return Answers(corpus.victim, inputs).of(inputs)


def _leave_one_out(
    detector: str,
    train: Sequence[Attacked],
    matrix: NDArray[np.float64],
    test: Sequence[Attacked],
    unknown: NDArray[np.float64],
    *,
    seed: int,
) -> pd.DataFrame:
    """Return how well each attack is detected by a detector that was trained without it and without its relatives."""
    rows = []
    names, others = np.array([text.attack for text in train]), np.array([text.attack for text in test])
    attacks = [name for name in dict.fromkeys(names.tolist()) if name != CLEAN]
    for attack in attacks:
        family = [name for name in attacks if name in relatives(attack)]
        kept, asked = ~np.isin(names, family), (others == attack) | (others == CLEAN)
        if len(family) == len(attacks):
            continue
        fitted = fit(detector, matrix[kept], (names[kept] != CLEAN).astype(np.int64), seed=seed)
        predicted = np.asarray(fitted.predict(unknown[asked]), dtype=np.int64)
        found = recalls(gold=(others[asked] != CLEAN).astype(np.int64), predicted=predicted)
        mean = (found[0] + found[1]) / 2
        without = ", ".join(name for name in family if name != attack)
        rows.append([attack, without, found[1], found[0], mean, int((others == attack).sum())])
    return pd.DataFrame(rows, columns=["left_out", "with_it", "recall", "clean_recall", "balanced_accuracy", "n"])


def _encoder(
    corpus: Corpus, name: str, options: "TrainOptions", accelerator: "Accelerator", *, labelling: bool, seed: int
) -> Verdict:
    """Fine-tune an encoder on the training part with the loop of `train`."""
    from crt.models.training import Checkpoint, train

    _, names = labels_of([text for texts in corpus.parts.values() for text in texts], labelling=labelling)
    index = {label: number for number, label in enumerate(names)}

    def part(which: str, texts: Sequence[Attacked]) -> Split:
        labels = [index[text.attack] if labelling else int(text.attack != CLEAN) for text in texts]
        examples = (
            Example(f"{name}/{which}/{k}", text.input, label)
            for k, (text, label) in enumerate(zip(texts, labels, strict=True))
        )
        return Split(f"{corpus.name}-{name}", which, tuple(examples), 0)

    fields = tuple((str(k),) for k in range(len(corpus.parts["train"][0].input)))
    task = Task(f"{corpus.name}-{name}", "attacked texts", names, fields, {}, "test")
    splits = {
        which: part(
            which,
            [corpus.parts[which][row] for row in downsampled(corpus.parts[which], labelling=labelling, seed=seed)],
        )
        for which in ("train", "validation")
    }
    test = corpus.parts["test"]
    *_, best = train(task, splits["train"], splits["validation"], accelerator, options, None)
    assert isinstance(best, Checkpoint)
    inputs = [text.input for text in test]
    p = Answers(best.predictor, inputs).of(inputs).probabilities
    gold = np.array([example.label for example in part("test", test).examples], dtype=np.int64)
    score = None if labelling else p[:, 1].astype(np.float64)
    sources = tuple(text.group for text in test)
    detector = f"encoder: {best.base_model}"
    return Verdict(name, detector, names, gold, p.argmax(axis=1).astype(np.int64), sources, score)


def publish(tracker: "MlflowTracker", findings: DetectResult, folder: Path, *, figures: bool) -> str:
    """Write tables and a figure into a folder and to the run; return the summary in Markdown."""
    found = [verdict.metrics for verdict in findings.verdicts]
    if findings.few:
        log.warning("%s", findings.few)
    text = summary(findings, found)
    with staged(tracker, folder, FILES) as staging:
        (staging / "detection.md").write_text(text, encoding="utf-8")
        scores = [
            {"task": v.task, "detector": v.detector, **scored}
            for v, scored in zip(findings.verdicts, found, strict=True)
        ]
        write_csv(pd.DataFrame(scores), staging / "detection.csv")
        write_csv(findings.unseen, staging / "unseen_attacks.csv")
        for verdict in findings.verdicts:
            write_csv(verdict.confusion().reset_index(), staging / f"confusion_{verdict.task}_{verdict.kind}.csv")
        write_sheet(findings.texts, staging / "detection_texts.csv")
        if figures:
            from crt.reporting.drawing import save_as
            from crt.reporting.study_figures import pass_bars

            named = next(verdict for verdict in findings.verdicts if verdict.task == "labelling")
            title = f"attacks on {findings.params['dataset']} that are named"
            save_as(pass_bars(named.recalls(), title, "recall (%)"), staging / "detection", ".svg", ".png")
    metrics = {"num_examples": float(len(findings.verdicts[0].gold))}
    for verdict, scored in zip(findings.verdicts, found, strict=True):
        kind = "" if verdict.kind == "features" else "encoder_"
        metrics |= {f"{kind}{verdict.task}_{name}": value for name, value in scored.items()}
    chosen = {f"choice_{name}": max(scores, key=scores.__getitem__) for name, scores in findings.choices.items()}
    tracker.log_study({**findings.params, **chosen}, metrics, text)
    return text
