"""The main experiment: how much worse does a model get on perturbed input?"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from crt import SCORING_VERSION
from crt.models import PredictOptions, Predictor, load_predictor
from crt.models.processes import share
from crt.perturbations import Loaded, load
from crt.perturbations.engine import find_sites, perturb_all
from crt.records import CLEAN, Cell, CellRecord, Example, Input, Outcome, Perturbed, Prediction, ResolvedModel
from crt.scoring.metrics import CLEAN_METRICS, score
from crt.studies.grid import Grid, fingerprint
from crt.tasks import Source, Split, Task, find_task, labels_of, load_split, seen_in_training

if TYPE_CHECKING:
    from accelerate import Accelerator

log = logging.getLogger(__name__)

EXAMPLES_PER_CELL = 20
"""Pairs that are kept for reading."""


class Tracker(Protocol):
    """Where cells are stored."""

    def resolve(self, spec: str, task: Task) -> ResolvedModel:
        """Turn a model spec into one that can be loaded; an empty spec is the best model of the task."""
        ...

    def finished(self) -> frozenset[str]:
        """Return the keys of the cells that are stored whole."""
        ...

    def log_cell(self, record: CellRecord) -> None:
        """Store a cell; it counts as finished only when all of it is stored."""
        ...


class Silent:
    """The tracker of the processes that do not log and are not asked."""

    def resolve(self, spec: str, task: Task) -> ResolvedModel:  # noqa: ARG002
        """Return the spec."""
        return ResolvedModel(spec)

    def finished(self) -> frozenset[str]:
        """Return nothing."""
        return frozenset()

    def log_cell(self, record: CellRecord) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Group:
    """One model on one data set."""

    task: Task
    split: Split
    digest: str
    """Of the split."""
    seen: int | None
    """Inputs of the split that also stand in the training split; None where that is unknown."""
    predictor: Predictor
    model: ResolvedModel


def run(
    grid: Grid,
    source: Source,
    options: PredictOptions,
    accelerator: "Accelerator",
    tracker: Tracker,
    *,
    force: bool = False,
) -> tuple[str, ...]:
    """Measure every cell of the grid that is not stored yet; return the keys of all of them.

    Args:
        grid: what to measure.
        source: where the published data sets are read from.
        options: how transformers predict.
        accelerator: device and processes; every process must call this.
        tracker: where cells are stored; only that of the main process is used.
        force: measure the stored cells again.
    """
    loaded = [load(name, grid.tables.get(name)) for name in grid.perturbations]
    finished = frozenset() if force else share(accelerator, tracker.finished)
    keys: list[str] = []
    for group in _groups(grid, source, options, accelerator, tracker):
        plan = {
            cell: fingerprint(
                cell,
                examples=group.digest,
                predictor=group.predictor.fingerprint,
                fields=grid.fields,
                loaded=perturbation,
            )
            for perturbation in (None, *loaded)
            for cell in grid.cells(
                group.predictor.name, group.task.name, perturbation.perturbation.name if perturbation else CLEAN
            )
        }
        keys += plan.values()
        pending = {cell: key for cell, key in plan.items() if key not in finished}
        log.info(
            "%s on %s: %d cells, %d of them stored already", group.predictor.name, group.task.name, len(plan),
            len(plan) - len(pending),
        )  # fmt: skip
        for number, record in enumerate(_measure(group, grid, loaded, pending), start=1):
            if accelerator.is_main_process:
                tracker.log_cell(record)
                _report(record, number, len(pending))
    return tuple(keys)


def _groups(
    grid: Grid,
    source: Source,
    options: PredictOptions,
    accelerator: "Accelerator",
    tracker: Tracker,
) -> Iterator[Group]:
    columns = grid.columns
    for dataset in grid.datasets:
        task = find_task(dataset, text=columns.text, text_pair=columns.text_pair, label=columns.label)
        if "train" in task.files:
            task = replace(task, labels=labels_of(task, source))
        seen = seen_in_training(task, source)
        for spec in grid.models:
            model = share(accelerator, lambda spec=spec, task=task: tracker.resolve(spec, task))  # type: ignore[misc]
            predictor = load_predictor(model.spec, task, accelerator, options)
            here = replace(task, labels=predictor.labels)
            split = load_split(here, grid.split or here.eval_split, source)
            if split.unlabelled:
                log.info("%s: %d rows without a label are left out", task.name, split.unlabelled)
            known = sum(example.input in seen for example in split.examples) if seen is not None else None
            if known:
                log.info(
                    "%s: %d of %d evaluation inputs (%.1f %%) also stand in the training split%s", task.name, known,
                    len(split.examples), 100 * known / len(split.examples),
                    "; they are left out" if grid.exclude_seen else " (exclude_seen=true leaves them out)",
                )  # fmt: skip
            if grid.exclude_seen and seen is not None:
                split = split.where(lambda example, seen=seen: example.input not in seen)  # type: ignore[misc]
            split = split.limited(grid.limit)
            known = sum(example.input in seen for example in split.examples) if seen is not None else None
            yield Group(here, split, split.digest(), known, predictor, model)


def _measure(group: Group, grid: Grid, loaded: Sequence[Loaded], pending: dict[Cell, str]) -> Iterator[CellRecord]:
    """Yield the pending cells of a group, one perturbation after the other; clean inputs are predicted once."""
    if not pending:
        return
    examples = group.split.examples
    answers = Answers(group.predictor, [example.input for example in examples])
    clean = answers.of([example.input for example in examples])
    for cell in (cell for cell in pending if cell.perturbation == CLEAN):
        untouched = [Perturbed(example.input, (), 0) for example in examples]
        outcome = outcome_of(group, untouched, clean, clean, from_table=False)
        metrics = {name: value for name, value in score(outcome).items() if name in CLEAN_METRICS}
        if group.seen is not None:
            metrics["seen_in_training_rate"] = group.seen / len(examples)
        yield CellRecord(pending[cell], cell, _params(group, grid, None), metrics, outcomes=outcome_columns(outcome))
    for perturbation in loaded:
        name = perturbation.perturbation.name
        cells = [cell for cell in pending if cell.perturbation == name]
        if not cells:
            continue
        sites = find_sites(examples, perturbation.find, fields=grid.fields)
        perturbed = {cell: perturb_all(sites, name=name, prob=cell.prob, seed=cell.seed) for cell in cells}
        batch = answers.extended([p.input for rows in perturbed.values() for p in rows])
        for cell, rows in perturbed.items():
            after = batch.of([row.input for row in rows])
            outcome = outcome_of(group, rows, clean, after, from_table=perturbation.table is not None)
            yield CellRecord(
                pending[cell],
                cell,
                _params(group, grid, perturbation),
                score(outcome),
                example_pairs(outcome, examples, rows),
                outcome_columns(outcome),
                modified=perturbation.table is not None and perturbation.table.modified,
            )


class Answers:
    """Predictions by input: each distinct input is predicted once."""

    def __init__(self, predictor: Predictor, inputs: Sequence[Input], known: "Answers | None" = None) -> None:
        """Predict the inputs that are not known yet."""
        self.predictor = predictor
        self.rows: dict[Input, int] = dict(known.rows) if known else {}
        fresh = list(dict.fromkeys(value for value in inputs if value not in self.rows))
        self.rows |= {value: row for row, value in enumerate(fresh, start=len(self.rows))}
        predicted = predictor.predict(fresh)
        self.predictions: Prediction = known.predictions.join(predicted) if known else predicted

    def extended(self, inputs: Sequence[Input]) -> "Answers":
        """Return answers to these inputs too; this object stays as it is."""
        return Answers(self.predictor, inputs, self)

    def of(self, inputs: Sequence[Input]) -> Prediction:
        """Return the predictions of the inputs, in their order."""
        return self.predictions.take(np.fromiter((self.rows[value] for value in inputs), np.int64, len(inputs)))


def outcome_of(
    group: Group, perturbed: Sequence[Perturbed], clean: Prediction, after: Prediction, *, from_table: bool
) -> Outcome:
    """Put together what the metrics of a cell are computed from."""
    examples = group.split.examples

    def column(values: Sequence[int]) -> NDArray[np.int64]:
        return np.array(values, dtype=np.int64)

    pairs = list(zip(examples, perturbed, strict=True))
    return Outcome(
        ids=tuple(example.id for example in examples),
        labels=group.task.labels,
        gold=column([example.label for example in examples]),
        clean=clean.probabilities,
        perturbed=after.probabilities,
        changed=np.array([example.input != p.input for example, p in pairs], dtype=np.bool_),
        sites=column([p.sites for p in perturbed]),
        edits=column([len(p.edits) for p in perturbed]),
        distance=column([_distance(example.input, p.input) for example, p in pairs]),
        length=column([sum(map(len, example.input)) for example in examples]),
        tokens=np.stack([clean.tokens, after.tokens], axis=1),
        unknown=np.stack([clean.unknown, after.unknown], axis=1),
        truncated=np.stack([clean.truncated, after.truncated], axis=1),
        from_table=from_table,
    )


def _distance(original: Input, changed: Input) -> int:
    return sum(Levenshtein.distance(a, b) for a, b in zip(original, changed, strict=True) if a != b)


def example_pairs(
    outcome: Outcome, examples: Sequence[Example], perturbed: Sequence[Perturbed]
) -> list[dict[str, object]]:
    """Return up to `EXAMPLES_PER_CELL` changed inputs: those that turned wrong first, in the order of the data."""
    before, after = outcome.clean.argmax(axis=1), outcome.perturbed.argmax(axis=1)
    flipped = (before == outcome.gold) & (after != outcome.gold)
    rows = [*np.flatnonzero(outcome.changed & flipped), *np.flatnonzero(outcome.changed & ~flipped)]
    return [
        {
            "id": outcome.ids[row],
            "original": list(examples[row].input),
            "perturbed": list(perturbed[row].input),
            "edits": [[e.field, e.start, e.end, e.old, e.new] for e in perturbed[row].edits],
            "gold": outcome.labels[outcome.gold[row]],
            "clean_label": outcome.labels[before[row]],
            "clean_prob": round(float(outcome.clean[row, before[row]]), 6),
            "perturbed_label": outcome.labels[after[row]],
            "perturbed_prob": round(float(outcome.perturbed[row, after[row]]), 6),
            "flipped": bool(flipped[row]),
        }
        for row in rows[:EXAMPLES_PER_CELL]
    ]


def outcome_columns(outcome: Outcome) -> dict[str, list[object]]:
    """Return the per-example facts that later metrics, slices and tests are computed from."""
    row = np.arange(len(outcome.gold))
    names = np.array(outcome.labels, dtype=object)
    columns = {
        "id": outcome.ids,
        "gold": names[outcome.gold],
        "clean": names[outcome.clean.argmax(axis=1)],
        "perturbed": names[outcome.perturbed.argmax(axis=1)],
        "gold_prob_clean": np.round(outcome.clean[row, outcome.gold].astype(float), 6),
        "gold_prob_perturbed": np.round(outcome.perturbed[row, outcome.gold].astype(float), 6),
        "max_prob_clean": np.round(outcome.clean.max(axis=1).astype(float), 6),
        "changed": outcome.changed.astype(int),
        "sites": outcome.sites,
        "edits": outcome.edits,
        "distance": outcome.distance,
        "length": outcome.length,
        "tokens_clean": outcome.tokens[:, 0],
        "tokens_perturbed": outcome.tokens[:, 1],
        "unknown_clean": outcome.unknown[:, 0],
        "unknown_perturbed": outcome.unknown[:, 1],
    }
    return {name: list(np.asarray(values).tolist()) for name, values in columns.items()}


def _params(group: Group, grid: Grid, loaded: Loaded | None) -> dict[str, str]:
    params = {
        "split": group.split.name,
        "data_digest": group.digest,
        "unlabelled_rows": str(group.split.unlabelled),
        "predictor": group.predictor.fingerprint,
        "scoring_version": str(SCORING_VERSION),
        "train_seed": "" if group.predictor.train_seed is None else str(group.predictor.train_seed),
        "model_source": group.model.source,
        "exclude_seen": str(grid.exclude_seen).lower(),
        **group.predictor.settings,
    }
    if loaded is not None:
        params["fields"] = grid.fields if len(group.task.fields) > 1 else "text"
        params["table_sha256"] = loaded.table.sha256[:16] if loaded.table else ""
    return {name: value for name, value in params.items() if value}


def _report(record: CellRecord, number: int, total: int) -> None:
    cell, metrics = record.cell, record.metrics
    if cell.perturbation == CLEAN:
        log.info(
            "[%d/%d] clean: accuracy %.4f on %d examples", number, total, metrics["clean_acc"], metrics["num_examples"]
        )
    else:
        log.info(
            "[%d/%d] %s %.2f seed %d: accuracy %.4f -> %.4f", number, total, cell.perturbation, cell.prob, cell.seed,
            metrics["clean_acc"], metrics["perturbed_acc"],
        )  # fmt: skip
