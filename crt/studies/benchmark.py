"""The main experiment: how much worse does a model get on perturbed input?"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

from crt import SCORING_VERSION
from crt.catalogue import Task
from crt.errors import DataError, ModelError
from crt.models import PredictOptions, Predictor, load_predictor
from crt.models.processes import share
from crt.perturbations import Loaded, load
from crt.perturbations.engine import find_sites, perturb_all
from crt.records import CLEAN, Cell, CellRecord, Input, ResolvedModel
from crt.scoring.metrics import CLEAN_METRICS, score
from crt.studies.answers import Answers, at_hand
from crt.studies.grid import Grid, Shard, fingerprint
from crt.studies.outcomes import example_pairs, outcome_columns, outcome_of
from crt.tasks import Source, Split, check_split, labels_of, load_split, seen_in_training

if TYPE_CHECKING:
    from accelerate import Accelerator

log = logging.getLogger(__name__)


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
        return ResolvedModel(spec, spec)

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
    dataset: str
    """The data set as it was asked for: a name or a path."""


def run(
    grid: Grid,
    source: Source,
    options: PredictOptions,
    accelerator: "Accelerator",
    tracker: Tracker,
    *,
    force: bool = False,
    shard: Shard | None = None,
) -> tuple[str, ...]:
    """Measure every cell of the grid, or of a shard of it, that is not stored yet; return the keys of all of them.

    Args:
        grid: what to measure.
        source: where the published data sets are read from.
        options: how transformers predict.
        accelerator: device and processes; every process must call this.
        tracker: where cells are stored; only that of the main process is used.
        force: measure the stored cells again.
        shard: leave the other cells to other workers.
    """
    loaded = [load(name, grid.tables.get(name)) for name in grid.perturbations]
    finished = set() if force else set(share(accelerator, tracker.finished))
    keys: list[str] = []
    known: dict[tuple[str, int | None, str], str] = {}
    for group in _groups(grid, source, options, accelerator, tracker):
        predictor, dataset = group.predictor, group.task.name
        other = known.setdefault((predictor.name, predictor.train_seed, dataset), predictor.fingerprint)
        if other != predictor.fingerprint:
            raise ModelError(
                f"two models on {dataset} are both called {predictor.name} and have the same training seed: "
                "a table could not tell them apart; evaluate them into two experiments (--experiment-name)"
            )
        plan = {
            cell: fingerprint(
                cell,
                examples=group.digest,
                predictor=predictor.fingerprint,
                fields=grid.fields,
                loaded=perturbation,
            )
            for perturbation in (None, *loaded)
            for cell in grid.cells(predictor.name, dataset, perturbation.perturbation.name if perturbation else CLEAN)
        }
        if shard is not None:
            whole, plan = len(plan), {cell: key for cell, key in plan.items() if shard.holds(key)}
            log.info("shard %s holds %d of %d cells", shard, len(plan), whole)
        pending = {cell: key for cell, key in plan.items() if key not in finished}
        keys += plan.values()
        finished |= set(pending.values())
        log.info(
            "%s on %s: %d cells, %d of them stored already",
            predictor.name,
            dataset,
            len(plan),
            len(plan) - len(pending),
        )
        for number, record in enumerate(_measure(group, grid, loaded, pending), start=1):
            if accelerator.is_main_process:
                tracker.log_cell(record)
                _report(record, number, len(pending))
    return tuple(dict.fromkeys(keys))


def _groups(
    grid: Grid,
    source: Source,
    options: PredictOptions,
    accelerator: "Accelerator",
    tracker: Tracker,
) -> Iterator[Group]:
    """Yield every model on every data set; data and specs of all of them are looked at before the first is yielded."""
    tasks, seen_in, models = {}, {}, {}
    for dataset in grid.datasets:
        task = grid.task(dataset)
        if "train" in task.files:
            task = replace(task, labels=labels_of(task, source))
        check_split(task, grid.split or task.eval_split, source)
        tasks[dataset], seen_in[dataset] = task, seen_in_training(task, source)
        for spec in grid.models:
            resolve = partial(tracker.resolve, spec, task)
            models[dataset, spec] = at_hand(share(accelerator, resolve))
    for (dataset, _), model in models.items():
        task = tasks[dataset]
        predictor = load_predictor(model.spec, task, accelerator, options, source)
        task = replace(task, labels=predictor.labels)
        split, seen = load_split(task, grid.split or task.eval_split, source), seen_in[dataset]
        if split.unlabelled:
            log.info("%s: %d rows without a label are left out", task.name, split.unlabelled)
        split = (_unseen(split, seen) if grid.exclude_seen else split).limited(grid.limit)
        leaked = None if seen is None else sum(example.input in seen for example in split.examples)
        if leaked:
            log.info(
                "%s: %d of %d evaluation inputs (%.1f %%) also stand in the training split (exclude_seen=true leaves "
                "them out)", task.name, leaked, len(split.examples), 100 * leaked / len(split.examples),
            )  # fmt: skip
        elif seen is None:
            log.info("%s: no training split at hand, so leakage from it is not known", task.name)
        yield Group(task, split, split.digest(), leaked, predictor, model, dataset)


def _unseen(split: Split, seen: frozenset[Input] | None) -> Split:
    if seen is None:
        raise DataError(f"exclude_seen needs a training split to compare with, and {split.task} has none")
    kept = split.where(lambda example: example.input not in seen)
    log.info(
        "%s: %d of %d evaluation inputs also stand in the training split and are left out", split.task,
        len(split.examples) - len(kept.examples), len(split.examples),
    )  # fmt: skip
    if not kept.examples:
        raise DataError(f"{split.task}: every input of '{split.name}' also stands in the training split")
    return kept


def _measure(group: Group, grid: Grid, loaded: Sequence[Loaded], pending: dict[Cell, str]) -> Iterator[CellRecord]:
    """Yield the pending cells of a group, one perturbation after the other; clean inputs are predicted once."""
    if not pending:
        return
    examples = group.split.examples
    answers = Answers(group.predictor, [example.input for example in examples])
    clean = answers.of([example.input for example in examples])
    for cell in (cell for cell in pending if cell.perturbation == CLEAN):
        untouched = perturb_all(find_sites(examples, lambda _: ()), name=CLEAN, prob=0.0, seed=0)
        outcome = outcome_of(examples, group.task.labels, untouched, clean, clean, from_table=False)
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
        batch = answers.extended([value for rows in perturbed.values() for value in rows.inputs])
        for cell, rows in perturbed.items():
            after = batch.of(rows.inputs)
            table = perturbation.table
            outcome = outcome_of(examples, group.task.labels, rows, clean, after, from_table=table is not None)
            yield CellRecord(
                pending[cell],
                cell,
                _params(group, grid, perturbation),
                score(outcome),
                example_pairs(outcome, examples, rows),
                outcome_columns(outcome),
                modified=table is not None and table.modified,
            )


def _params(group: Group, grid: Grid, loaded: Loaded | None) -> dict[str, str]:
    params = {
        "split": group.split.name,
        "data_digest": group.digest,
        "unlabelled_rows": str(group.split.unlabelled),
        "predictor": group.predictor.fingerprint,
        "scoring_version": str(SCORING_VERSION),
        "train_seed": "" if group.predictor.train_seed is None else str(group.predictor.train_seed),
        "model_source": group.model.source,
        "data_source": group.dataset,
        "max_samples": str(grid.limit or ""),
        "exclude_seen": str(grid.exclude_seen).lower(),
        **group.predictor.settings,
    }
    if loaded is not None:
        params["fields"] = grid.fields if len(group.task.fields) > 1 else "text"
        params["table_sha256"] = loaded.table.sha256[:16] if loaded.table else ""
        params["libraries"] = ", ".join(f"{name} {version(name)}" for name in loaded.perturbation.libraries)
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
