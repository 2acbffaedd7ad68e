"""What the outcomes of a comparison say beyond its means: how sure each number is, who beats whom, and where models break."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import pandas as pd

from crt.scoring.stacked import Stacked, against, against_clean, intervals
from crt.scoring.statistics import ALPHA, Resampling, holm
from crt.scoring.weak_spots import weak_spots


def _none() -> pd.DataFrame:
    return pd.DataFrame()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the outcomes of a comparison say beyond its means; every table is empty where nothing was asked or measured.

    In each, `p_holm` is corrected for all tests of the table (of a model on a data set, for slices), and `significant`
    tells whether it is below ALPHA.
    """

    intervals: pd.DataFrame = field(default_factory=_none)
    """model, dataset, and the columns of `stacked.intervals`."""
    tests: pd.DataFrame = field(default_factory=_none)
    """Clean against perturbed: model, dataset, the columns of `stacked.against_clean`, p_holm, significant."""
    duels: pd.DataFrame = field(default_factory=_none)
    """Model against model: dataset, model, other, the columns of `stacked.against`, p_holm, outcome (win, tie, loss)."""
    slices: pd.DataFrame = field(default_factory=_none)
    """model, dataset, the columns of `weak_spots`, p_holm, significant; findings first, smallest p_holm first."""


def weigh(datasets: Mapping[str, Mapping[str, Stacked]]) -> Evidence:
    """Compute intervals, tests and weak spots.

    Args:
        datasets: for each data set, by model, the cells that were measured; all over the same examples.
    """
    spans, tests, duels, slices = [], [], [], []
    for dataset, models in datasets.items():
        draws = Resampling(int(next(iter(models.values())).clusters.max()) + 1)
        for model, stacked in models.items():
            keys = {"model": model, "dataset": dataset}
            spans.append(intervals(stacked, draws).assign(**keys))
            tests.append(against_clean(stacked, draws).assign(**keys))
            slices.append(_corrected(weak_spots(stacked, draws)).assign(**keys))
        duels += [
            against(models[one], models[other], draws).assign(dataset=dataset, model=one, other=other)
            for one, other in combinations(models, 2)
        ]
    found = _joined(slices)
    if not found.empty:
        found = found.sort_values(["p_holm", "difference"], ascending=[True, False], ignore_index=True)
    return Evidence(_joined(spans), _corrected(_joined(tests)), _with_outcome(_corrected(_joined(duels))), found)


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put tables below each other, names first."""
    parts = [part for part in parts if not part.empty]
    if not parts:
        return _none()
    table = pd.concat(parts, ignore_index=True)
    names = [name for name in ("dataset", "model", "other") if name in table]
    return table[[*names, *(name for name in table if name not in names)]]


def _corrected(table: pd.DataFrame) -> pd.DataFrame:
    if table.empty:
        return table
    corrected = holm(table["p"].to_numpy(dtype=float))
    return table.assign(p_holm=corrected, significant=corrected < ALPHA)


def _with_outcome(duels: pd.DataFrame) -> pd.DataFrame:
    if duels.empty:
        return duels
    outcome = duels["difference"].gt(0).map({True: "win", False: "loss"}).where(duels["significant"], "tie")
    return duels.assign(outcome=outcome)
