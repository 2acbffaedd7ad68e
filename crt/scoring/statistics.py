"""How sure a number is: bootstrap intervals over examples, from stored outcomes, no model needed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
"""Resamples of a bootstrap."""

LEVEL = 0.95
"""Coverage of an interval."""


def resampled_sums(
    columns: NDArray[np.float64], clusters: Sequence[str], *, resamples: int = RESAMPLES, seed: int = 0
) -> NDArray[np.float64]:
    """Return the column sums of resamples in which whole clusters are drawn with replacement.

    Every ratio of sums (accuracy, recall, F1 …) can be computed for all resamples at once from these.

    Args:
        columns: float64[n, k], a row for each example.
        clusters: for each row what it belongs to; the rows of one cluster are drawn together.
        resamples: how many, r.
        seed: of the draws.

    Returns:
        float64[r, k].
    """
    names = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    codes = [names[name] for name in clusters]
    sums = np.zeros((len(names), columns.shape[1]))
    np.add.at(sums, codes, columns)
    draws = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
    return np.asarray(draws @ sums)


def interval(values: NDArray[np.float64], *, level: float = LEVEL) -> tuple[float, float] | None:
    """Return the percentile interval of resampled values; undefined ones (NaN) are left out; None if all are."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def balanced_accuracy_interval(
    *,
    gold: NDArray[np.int64],
    predicted: NDArray[np.int64],
    clusters: Sequence[str],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, float] | None:
    """Return the interval of `metrics.balanced_accuracy`; a resample averages over the labels that it holds."""
    if not len(gold):
        return None
    size = int(gold.max()) + 1
    belongs = np.eye(size)[gold]
    sums = resampled_sums(
        np.hstack([belongs * (gold == predicted)[:, None], belongs]), clusters, resamples=resamples, seed=seed
    )
    right, total = sums[:, :size], sums[:, size:]
    held = total > 0
    recall = np.where(held, right / np.where(held, total, 1), 0)
    return interval(recall.sum(axis=1) / held.sum(axis=1))
