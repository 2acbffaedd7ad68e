"""The evidence behind a comparison, from the stored outcomes of its cells; no model is needed."""

import pandas as pd

from crt.errors import TrackingError
from crt.records import CLEAN
from crt.scoring.evidence import Evidence, weigh
from crt.scoring.slices import CLUSTER
from crt.scoring.stacked import Stacked, stack
from crt.scoring.statistics import MARGIN
from crt.scoring.summary import in_order
from crt.tracking.history import stored_outcomes


def read_evidence(cells: pd.DataFrame, *, margin: float = MARGIN) -> Evidence:
    """Read the outcomes of the cells of a comparison and compute intervals, tests and weak spots.

    Args:
        cells: from `compare.select`.
        margin: accuracies that differ by less are called alike.

    Raises:
        TrackingError: outcomes are missing; the message says what to do.
    """
    measured = cells.groupby(["model", "dataset"])["prob"].transform("max") > 0
    return weigh(
        {
            str(dataset): {str(model): _stacked(rows) for model, rows in group.groupby("model", sort=False)}
            for dataset, group in in_order(cells[measured]).groupby("dataset", sort=False)
        },
        margin=margin,
    )


def _stacked(cells: pd.DataFrame) -> Stacked:
    """Read the outcomes of one model on one data set."""
    clean, perturbed = cells[cells["perturbation"] == CLEAN], cells[cells["perturbation"] != CLEAN]
    name = f"{cells['model'].iloc[0]} on {cells['dataset'].iloc[0]}"
    if clean.empty:
        raise TrackingError(f"{name}: the clean cell is not stored; evaluate it again (stored cells are skipped)")
    facts = stored_outcomes(clean[:1])[0]
    if CLUSTER not in facts:
        raise TrackingError(
            f"{name}: its cells were measured before facts about the texts were stored; evaluate it again, or compare with "
            "significance=false"
        )
    frames = stored_outcomes(perturbed)
    for frame, run_id in zip(frames, perturbed["run_id"], strict=True):
        if list(frame["id"]) != list(facts["id"]):
            raise TrackingError(f"{name}: run {run_id} holds other examples than the clean cell; measure it again")
    return stack(perturbed, frames, facts)
