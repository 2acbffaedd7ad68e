"""The evidence behind a comparison, from the stored outcomes of its cells; no model is needed."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from crt.errors import TrackingError
from crt.records import CLEAN
from crt.scoring.classes import classes
from crt.scoring.evidence import Evidence, weigh
from crt.scoring.ranks import rank_stability
from crt.scoring.slices import CLUSTER
from crt.scoring.stacked import Stacked, stack
from crt.scoring.summary import in_order, no_effect
from crt.tracking.history import stored_outcomes

Outcomes = Callable[[pd.DataFrame], Sequence[pd.DataFrame]]
"""Gives the outcomes of cells, a frame for each, as `stored_outcomes` does."""


def read_evidence(cells: pd.DataFrame) -> Evidence:
    """Read the outcomes of the cells of a comparison and compute intervals, tests and weak spots; see `read_stacked`."""
    return weigh(read_stacked(cells))


def read_stacked(cells: pd.DataFrame, outcomes: Outcomes = stored_outcomes) -> Mapping[str, Mapping[str, Stacked]]:
    """Read the outcomes of the cells of a comparison: for each data set, by model, those side by side that were perturbed.

    Args:
        cells: from `compare.select`.
        outcomes: reads those of cells; the default is the store.

    Raises:
        TrackingError: outcomes are missing; the message says what to do.
    """
    # where no text was changed there is nothing to test, nor a part in a mean; for all models alike
    share = cells.groupby(["dataset", "perturbation", "prob"])["changed_rate"].transform("max")
    cells = cells[(cells["perturbation"] == CLEAN) | ~no_effect(share)]
    measured = cells.groupby(["model", "dataset"])["prob"].transform("max") > 0
    return {
        str(dataset): {str(model): _stacked(rows, outcomes) for model, rows in group.groupby("model", sort=False)}
        for dataset, group in in_order(cells[measured]).groupby("dataset", sort=False)
    }


def beside_evidence(datasets: Mapping[str, Mapping[str, Stacked]]) -> dict[str, pd.DataFrame]:
    """Return what the outcomes say of the labels of each model, and of the order of the models, by the name of the table."""
    labels, ranks = [], []
    for dataset, models in datasets.items():
        for model, stacked in models.items():
            labels.append(classes(stacked).assign(dataset=dataset, model=model))
        ranks.append(rank_stability(models).assign(dataset=dataset))
    return {"classes": _joined(labels), "rank_stability": _joined(ranks)}


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put tables below each other, names first."""
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    names = [name for name in ("dataset", "model") if name in table]
    return table[[*names, *(name for name in table if name not in names)]]


def _stacked(cells: pd.DataFrame, outcomes: Outcomes) -> Stacked:
    """Read the outcomes of one model on one data set."""
    clean, perturbed = cells[cells["perturbation"] == CLEAN], cells[cells["perturbation"] != CLEAN]
    name = f"{cells['model'].iloc[0]} on {cells['dataset'].iloc[0]}"
    if clean.empty:
        raise TrackingError(f"{name}: the clean cell is not stored; evaluate it again (stored cells are skipped)")
    facts = outcomes(clean[:1])[0]
    if CLUSTER not in facts:
        raise TrackingError(
            f"{name}: its cells were measured before facts about the texts were stored; evaluate it again, or compare with "
            "significance=false"
        )
    frames = outcomes(perturbed)
    for frame, run_id in zip(frames, perturbed["run_id"], strict=True):
        if list(frame["id"]) != list(facts["id"]):
            raise TrackingError(f"{name}: run {run_id} holds other examples than the clean cell; measure it again")
    return stack(perturbed, frames, facts)
