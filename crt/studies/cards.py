"""What the registry says of a version: its card, its headline numbers, and whether it is the most robust one."""

import logging
from typing import TYPE_CHECKING

import pandas as pd

from crt.catalogue import Task
from crt.grid import DEFAULT_PROBS, DEFAULT_SEEDS
from crt.perturbations import REFERENCE_PERTURBATIONS
from crt.provenance import like_the_newest
from crt.records import CLEAN
from crt.reporting.card import card
from crt.scoring.summary import Comparison, headline, latest
from crt.studies.evidence import read_evidence
from crt.tracking import registry

if TYPE_CHECKING:
    from crt.tracking.runs import MlflowTracker

log = logging.getLogger(__name__)


def update(tracker: "MlflowTracker", task: Task, source: str, asked: pd.DataFrame | None = None) -> None:
    """Write the card of a registered version from all its cells in this experiment, and move the alias `most_robust`.

    Most robust means: the highest mean accuracy over the default grid, measured alike, on the split that models are
    chosen on, never on the one that is reported.

    Args:
        tracker: of any run of the experiment.
        task: that the version was trained on.
        source: `models:/name/version`; any other spec, and a model of another task, is left alone.
        asked: the cells that were just asked for; some may be stored under another spec of the same weights.
    """
    reference = source.removeprefix("models:/")
    if reference == source or reference.split("/")[0] != task.registered_name:
        return
    stored = tracker.cells_of(source, task.name)
    cells = pd.concat([stored, asked]).drop_duplicates("run_id", keep="last")
    cells = cells[cells["dataset"] == task.name] if not cells.empty else cells
    measured: dict[str, Comparison] = {}
    for split, rows in cells.groupby("split", sort=False) if not cells.empty else ():
        newest = latest(like_the_newest(rows))
        if {CLEAN} < set(newest["perturbation"]) and newest["prob"].max() > 0:
            measured[str(split)] = Comparison.of(newest)
    found = {split: (one, read_evidence(one.cells)) for split, one in measured.items()}
    tags = {
        f"{split}/{name}": f"{value:.4f}"
        for split, one in measured.items()
        for name, value in headline(one).items()
        if name in ("clean_acc", "mean_perturbed_acc", "worst_acc_drop")
    }
    registry.describe(reference, card(reference, task, registry.training_of(reference), found), tags)
    chosen = measured.get(task.selection_split)
    if chosen is not None and not (default := _default_grid(chosen.cells)).empty:
        whole = Comparison.of(default)
        message = registry.crown(reference, headline(whole)["mean_perturbed_acc"], whole.signature)
        if message:
            log.info("%s", message)


def _default_grid(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of the default grid and the clean one, or nothing if not all of them are there."""
    wanted = pd.MultiIndex.from_product([REFERENCE_PERTURBATIONS, DEFAULT_PROBS, DEFAULT_SEEDS])
    keys = pd.MultiIndex.from_frame(cells[["perturbation", "prob", "seed"]])
    there = cells[keys.isin(wanted) | (cells["perturbation"] == CLEAN)]
    return there if len(there) == len(wanted) + 1 else there[:0]
