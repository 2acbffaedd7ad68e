"""The stored outcomes of one model on one data set, side by side: what intervals and tests are computed from.

A seed of the training and a seed of the perturbation are told apart, see `by_seed`: values are averaged over the
perturbation seeds within a training seed, then over training seeds. An example is resampled with all its seeds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crt.records import CLEAN
from crt.scoring.metrics import METRICS, Floats, Sums, ratio
from crt.scoring.slices import CLUSTER
from crt.scoring.statistics import Resampling, bounds, codes_of, summed
from crt.scoring.summary import by_seed

GROUP = ["perturbation", "prob"]
"""What a row of a result is about; the seeds are averaged over."""

ALL = "all"
"""Stands for all perturbations together."""


@dataclass(frozen=True, slots=True)
class Stacked:
    """All perturbed cells of one model on one data set; row j of each array is cell j, column i example i."""

    cells: pd.DataFrame
    """perturbation, prob, seed and train_seed of the k cells, in this order, numbered from 0."""
    rows: Sequence[pd.DataFrame]
    """For each cell the stored outcomes joined with the facts, a row an example."""
    clusters: NDArray[np.int64]
    """int64[n]: the cluster of each example, 0 to m - 1."""
    gold: NDArray[np.int64]
    """int64[n]: true labels, numbered."""
    clean: NDArray[np.int64]
    """int64[k, n]: labels that the model of the cell gives to the original inputs."""
    perturbed: NDArray[np.int64]
    """int64[k, n]: labels that it gives to the perturbed inputs."""
    changed: NDArray[np.bool_]
    """bool[k, n]: the perturbed input differs from the original."""

    @property
    def right_clean(self) -> NDArray[np.bool_]:
        """bool[k, n]."""
        return np.asarray(self.clean == self.gold)

    @property
    def right_perturbed(self) -> NDArray[np.bool_]:
        """bool[k, n]."""
        return np.asarray(self.perturbed == self.gold)


def stack(cells: pd.DataFrame, outcomes: Sequence[pd.DataFrame], facts: pd.DataFrame) -> Stacked:
    """Put the outcomes of cells side by side.

    Args:
        cells: columns perturbation, prob, seed and perhaps train_seed.
        outcomes: for each of them the stored columns, over the same examples in the same order.
        facts: of these examples, by column; a row each, in their order.
    """
    labels = codes_of([str(label) for frame in outcomes for c in ("gold", "clean", "perturbed") for label in frame[c]])
    coded = labels.reshape(len(outcomes), 3, -1)
    seeds = cells["train_seed"].fillna("") if "train_seed" in cells else ""
    return Stacked(
        cells[[*GROUP, "seed"]].assign(train_seed=seeds).reset_index(drop=True),
        [pd.concat([frame, facts.drop(columns=frame.columns, errors="ignore")], axis=1) for frame in outcomes],
        codes_of(list(facts[CLUSTER])),
        coded[0, 0],
        coded[:, 1],
        coded[:, 2],
        np.array([frame["changed"].to_numpy(dtype=bool) for frame in outcomes]),
    )


def _columns(stacked: Stacked, cell: int) -> Floats:
    """Return what the metrics of a cell are ratios of, summed within clusters: float64[m, 5 + 5 C]."""
    size = int(max(stacked.gold.max(), stacked.clean.max(), stacked.perturbed.max())) + 1
    one_hot = np.eye(size)
    gold, clean, after = (one_hot[labels] for labels in (stacked.gold, stacked.clean[cell], stacked.perturbed[cell]))
    right, still = stacked.right_clean[cell], stacked.right_perturbed[cell]
    attacked = right & stacked.changed[cell]
    head = np.stack([np.ones(len(right)), right, still, attacked, attacked & ~still], axis=1)
    return summed(np.hstack([head, gold, gold * clean, clean, gold * after, after]), stacked.clusters)


def _sums(columns: Floats) -> Sums:
    """Return the sums of resamples from those of `_columns`, float64[r, 5 + 5 C]."""
    gold, hit, said, hit_after, said_after = np.split(columns[:, 5:], 5, axis=1)
    there = gold > 0
    clean_f1, after_f1 = (
        (np.where(there, 2 * h / np.where(there, gold + s, 1), 0)).sum(axis=1) / there.sum(axis=1)
        for h, s in ((hit, said), (hit_after, said_after))
    )
    total, right, still, attacked, lost = columns[:, :5].T
    return Sums(total, right, still, attacked, lost, clean_f1, after_f1)


def metrics(stacked: Stacked, sums: Callable[[Floats], Floats]) -> dict[str, Floats]:
    """Return each metric of each cell in each resample, float64[r, k], undefined ones NaN.

    Args:
        stacked: k cells over m clusters.
        sums: adds up the clusters of each resample, float64[m, c] to [r, c], like `Resampling.sums`.
    """
    values: dict[str, list[Floats]] = {}
    for cell in range(len(stacked.cells)):
        found = _sums(sums(_columns(stacked, cell)))
        for name, metric in METRICS.items():
            if metric.resampled:
                values.setdefault(name, []).append(metric.resampled(found))
    return {name: np.stack(value, axis=1) for name, value in values.items()}


def _whole(columns: Floats) -> Floats:
    """Add up all clusters, each once: in place of resamples it gives the metrics themselves."""
    return np.asarray(columns.sum(axis=0, keepdims=True))


def means(cells: pd.DataFrame, values: Floats) -> tuple[pd.DataFrame, Floats]:
    """Average values over perturbation seeds within a training seed, then over training seeds; NaN is left out.

    Args:
        cells: of a `Stacked`.
        values: float64[r, k].

    Returns:
        The g groups, perturbation and prob; and float64[r, g].
    """
    rows = pd.concat([cells[[*GROUP, "seed", "train_seed"]].reset_index(drop=True), pd.DataFrame(values.T)], axis=1)
    names = list(range(len(values)))
    grouped = by_seed(rows, GROUP, names).groupby(GROUP)[names].mean()
    groups = cells[GROUP].drop_duplicates(ignore_index=True)
    return groups, grouped.reindex(pd.MultiIndex.from_frame(groups)).to_numpy().T


def _mean(values: Floats) -> Floats:
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0).sum(axis=1), defined.sum(axis=1).astype(np.float64))


def intervals(stacked: Stacked, draws: Resampling) -> pd.DataFrame:
    """Return value, low and high of each metric: of each perturbation at each prob, of all together, and when clean.

    Columns: perturbation (`clean` and `all` have prob 0), prob, metric, value, low, high.
    """
    point, spread = metrics(stacked, _whole), metrics(stacked, draws.sums)
    found = []
    for name, values in spread.items():
        groups, by_group = means(stacked.cells, values)
        _, value = means(stacked.cells, point[name])
        over_all = pd.DataFrame({"perturbation": [CLEAN if name.startswith("clean") else ALL], "prob": [0.0]})
        places = [(over_all, _mean(value)[:, None], _mean(by_group)[:, None])]
        if not name.startswith("clean"):
            places.append((groups, value, by_group))
        for keys, exact, drawn in places:
            low, high = bounds(drawn).T
            found.append(keys.assign(metric=name, value=exact[0], low=low, high=high))
    return pd.concat(found, ignore_index=True)
