"""The main experiment: how much worse does a model get on perturbed input?"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from crt.grid import Grid
from crt.models import PredictOptions, load_predictor
from crt.perturbations import Loaded
from crt.perturbations.engine import find_sites, perturb_all
from crt.records import CLEAN, Cell, MeasurementRecord, Prediction
from crt.scoring.doubts import doubts
from crt.scoring.metrics import CLEAN_METRICS, score
from crt.scoring.slices import facts_of
from crt.scoring.summary import UNTOUCHED, no_effect
from crt.studies import cells, memory
from crt.studies.answers import Answers
from crt.studies.cells import Group, Load, Tracker, each, params_of
from crt.studies.outcomes import changed_fields, example_pairs, outcome_columns, outcome_of
from crt.tasks import Source

if TYPE_CHECKING:
    from accelerate import Accelerator

log = logging.getLogger(__name__)


def run(
    grid: Grid,
    source: Source,
    options: PredictOptions,
    accelerator: "Accelerator",
    tracker: Tracker,
    *,
    load: Load = load_predictor,
    force: bool = False,
) -> dict[str, tuple[str, ...]]:
    """Measure every cell of the grid that is not stored yet; return the keys of all of them, each with its model as asked for.

    Args:
        grid: what to measure.
        source: where the published data sets are read from.
        options: how transformers predict.
        accelerator: device and processes; every process must call this.
        tracker: where cells are stored; only that of the main process is used.
        load: gives the predictor of a spec.
        force: measure the stored cells again.
    """
    measure = partial(_measure, grid)
    return cells.run(grid, measure, _told, source, options, accelerator, tracker, load=load, force=force)


def _measure(
    grid: Grid, group: Group, loaded: Sequence[Loaded], pending: dict[Cell, str]
) -> Iterator[MeasurementRecord]:
    """Yield the pending cells of a group, one perturbation after the other; clean inputs are predicted once."""
    examples = group.split.examples
    memory.warn(group.task.name, examples, pending)
    answers = Answers(group.predictor, [example.input for example in examples])
    clean = answers.of([example.input for example in examples])
    for doubt in doubts(np.array([example.label for example in examples]), clean, group.task.labels):
        log.warning("%s on %s: %s", group.predictor.name, group.task.name, doubt)
    for cell in (cell for cell in pending if cell.perturbation == CLEAN):
        untouched = perturb_all(find_sites(examples, lambda _: ()), name=CLEAN, prob=0.0, seed=0)
        outcome = outcome_of(examples, group.task.labels, untouched, clean, clean, from_table=False)
        metrics = {name: value for name, value in score(outcome).items() if name in CLEAN_METRICS}
        metrics |= group.leakage
        columns = outcome_columns(outcome) | facts_of(examples, group.seen)
        yield MeasurementRecord(pending[cell], cell, params_of(group, grid, None), metrics, outcomes=columns)
    for perturbation, here in each(loaded, pending):
        yield from _of_perturbation(grid, group, perturbation, here, answers, clean)


def _of_perturbation(
    grid: Grid, group: Group, perturbation: Loaded, pending: dict[Cell, str], answers: Answers, clean: Prediction
) -> Iterator[MeasurementRecord]:
    """Yield the pending cells of one perturbation; what they need is freed before the next one begins."""
    examples, table = group.split.examples, perturbation.table
    sites = find_sites(examples, perturbation.find, fields=grid.fields)
    name = perturbation.perturbation.name
    perturbed = {cell: perturb_all(sites, name=name, prob=cell.prob, seed=cell.seed) for cell in pending}
    batch = answers.extended([value for rows in perturbed.values() for value in rows.inputs])
    for cell, rows in perturbed.items():
        after = batch.of(rows.inputs)
        outcome = outcome_of(examples, group.task.labels, rows, clean, after, from_table=table is not None)
        columns = outcome_columns(outcome)
        if len(group.task.fields) == 2:
            columns["changed_fields"] = list(changed_fields(examples, rows))
        yield MeasurementRecord(
            pending[cell],
            cell,
            params_of(group, grid, perturbation),
            score(outcome),
            example_pairs(outcome, examples, rows),
            columns,
            modified=table is not None and table.modified,
        )


def _told(metrics: Mapping[str, float]) -> str:
    clean, perturbed = metrics["clean_acc"], metrics.get("perturbed_acc")
    if perturbed is None:
        return f"accuracy {clean:.4f} on {metrics['num_examples']:.0f} examples"
    return f"accuracy {clean:.4f}" + (
        f", {UNTOUCHED}" if no_effect(metrics.get("changed_rate")) else f" -> {perturbed:.4f}"
    )
