"""Where a model breaks: slices of a data set whose accuracy drops more than that of the rest."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crt.scoring.metrics import ratio
from crt.scoring.slices import groups_of
from crt.scoring.stacked import ALL, Stacked
from crt.scoring.statistics import Resampling, bounds, normal_p, summed

SMALLEST = 30
"""Texts of a slice, and outside of it; with fewer there is no test."""

COLUMNS = ["perturbation", "prob", "slice", "group", "n", "drop", "rest", "difference", "low", "high", "p", "small"]


def weak_spots(stacked: Stacked, draws: Resampling) -> pd.DataFrame:
    """Test, for each perturbation at its largest prob and for all together, which slices drop more or less than the rest.

    The rest are the examples of the other groups of the slice. Of a slice that divides the data in two only the group that
    drops more is given: the other says the same.

    Columns: perturbation, prob, slice, group, n (examples), drop, rest (drop outside the slice), difference (of the two)
    with low and high, p, small (fewer than SMALLEST texts in the slice or outside: no test).
    """
    largest = stacked.cells["prob"] == stacked.cells.groupby("perturbation")["prob"].transform("max")
    cells = stacked.cells[largest]
    parts = [(str(name), rows.index.to_numpy()) for name, rows in cells.groupby("perturbation", sort=False)]
    if len(parts) > 1:
        parts.insert(0, (ALL, cells.index.to_numpy()))
    found = [
        _of_cells(stacked, numbers, name, draws).assign(prob=cells.loc[numbers, "prob"].max())
        for name, numbers in parts
    ]
    return pd.concat(found, ignore_index=True)[COLUMNS]


def _of_cells(stacked: Stacked, numbers: NDArray[np.int64], name: str, draws: Resampling) -> pd.DataFrame:
    """Return the slices of some cells, taken together."""
    lost = stacked.right_clean[numbers].astype(float) - stacked.right_perturbed[numbers]
    rows, columns = [], []
    for cut, group, inside, outside in _slices(stacked, numbers, everywhere=name == ALL):
        parts = [lost * inside, inside, lost * outside, outside]
        columns.append(summed(np.stack([part.sum(axis=0) for part in parts], axis=1), stacked.clusters))
        texts = [len(np.unique(stacked.clusters[part.any(axis=0)])) for part in (inside, outside)]
        count = int(inside.any(axis=0).sum())
        rows.append({"perturbation": name, "slice": cut, "group": group, "n": count, "small": min(texts) < SMALLEST})
    table = pd.DataFrame(rows, columns=COLUMNS)
    if table.empty:
        return table
    every = np.concatenate(columns, axis=1)
    exact, drawn = (
        (ratio(sums[:, 0::4], sums[:, 1::4]), ratio(sums[:, 2::4], sums[:, 3::4]))
        for sums in (every.sum(axis=0, keepdims=True), draws.sums(every))
    )
    table["drop"], table["rest"] = exact[0][0], exact[1][0]
    table["difference"] = table["drop"] - table["rest"]
    spread = np.where(table["small"].to_numpy(dtype=bool), np.nan, drawn[0] - drawn[1])
    table[["low", "high"]] = bounds(spread)
    table["p"] = [normal_p(d, v) for d, v in zip(table["difference"], spread.T, strict=True)]
    halves = (table.groupby("slice")["group"].transform("size") == 2) & ~table.groupby("slice")["small"].transform(
        "any"
    )
    return table[~(halves & (table["difference"] < table.groupby("slice")["difference"].transform("max")))]


def _slices(
    stacked: Stacked, numbers: NDArray[np.int64], *, everywhere: bool
) -> Iterator[tuple[str, str, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield slice, group, and which examples belong to it and to the other groups in each of some cells, bool[c, n].

    Where cells of several perturbations are pooled, a slice by what was done to a text would compare perturbations.
    """
    rows = pd.concat([stacked.rows[number] for number in numbers], ignore_index=True)
    if everywhere:
        rows = rows.drop(columns=["sites", "changed_fields"], errors="ignore")
    for cut, groups in groups_of(rows).items():
        names = groups.to_numpy(dtype=object).reshape(len(numbers), -1)
        known = groups.notna().to_numpy().reshape(len(numbers), -1)
        found = pd.unique(groups.dropna())
        if len(found) > 1:
            yield from ((cut, str(group), names == group, known & (names != group)) for group in found)
