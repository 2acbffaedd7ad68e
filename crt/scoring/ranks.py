"""Whether other texts would give the same order of the models."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crt.records import CLEAN
from crt.scoring.metrics import Floats
from crt.scoring.stacked import ALL, GROUP, Stacked, means
from crt.scoring.statistics import Resampling, summed


def rank_stability(models: Mapping[str, Stacked]) -> pd.DataFrame:
    """Return how often resamples of the texts give the order of the models that all texts give.

    Args:
        models: of one data set, all over the same examples.

    Returns:
        A row for the clean accuracy (`clean`) and one for the mean accuracy over the perturbations and probs that all models
        have in common (`all`), if there are any: perturbation, order (best first), accuracy (of each, in that order),
        same_order (share of the resamples in which no model is better than one before it), same_best (in which none is better
        than the first). Empty with fewer than two models.
    """
    if len(models) < 2:
        return pd.DataFrame()
    first, *others = (set(stacked.cells[GROUP].itertuples(index=False, name=None)) for stacked in models.values())
    common = first.intersection(*others)
    draws = Resampling(int(next(iter(models.values())).clusters.max()) + 1)
    rows = []
    for perturbation in (CLEAN, ALL) if common else (CLEAN,):
        found = [_accuracies(stacked, perturbation, common, draws) for stacked in models.values()]
        value, drawn = np.array([point for point, _ in found]), np.stack([draw for _, draw in found], axis=1)
        order = np.argsort(-value, kind="stable")
        ranked = drawn[:, order]
        rows.append(
            {
                "perturbation": perturbation,
                "order": " > ".join(list(models)[place] for place in order),
                "accuracy": ", ".join(f"{accuracy:.4f}" for accuracy in value[order]),
                "same_order": float((np.diff(ranked, axis=1) <= 0).all(axis=1).mean()),
                "same_best": float((ranked[:, 0] >= ranked.max(axis=1)).mean()),
            }
        )
    return pd.DataFrame(rows)


def _accuracies(
    stacked: Stacked, perturbation: str, common: set[tuple[object, ...]], draws: Resampling
) -> tuple[float, Floats]:
    """Return the accuracy of a model, and that of each resample: float64[r]."""
    cells, right = stacked.cells, stacked.right_perturbed
    if perturbation == CLEAN:
        cells, right = cells.assign(perturbation=CLEAN, prob=0.0), stacked.right_clean
    else:
        kept = np.array([key in common for key in cells[GROUP].itertuples(index=False, name=None)])
        cells, right = cells[kept], right[kept]
    point, drawn = (_mean(cells, values) for values in (right.mean(axis=1)[None, :], _drawn(right, stacked, draws)))
    return float(point[0]), drawn


def _drawn(right: NDArray[np.bool_], stacked: Stacked, draws: Resampling) -> Floats:
    """Return the accuracy of each cell in each resample: float64[r, k]."""
    sizes = summed(np.ones((len(stacked.gold), 1)), stacked.clusters)
    return draws.sums(summed(right.T, stacked.clusters)) / draws.sums(sizes)


def _mean(cells: pd.DataFrame, values: Floats) -> Floats:
    return np.asarray(means(cells, values)[1].mean(axis=1))
