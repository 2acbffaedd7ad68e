"""What the outcomes of a comparison say beyond its means: how sure each number is, who beats whom, and where models break."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations

import pandas as pd

from crt.scoring.contrasts import above_majority, against, against_clean, each_seed
from crt.scoring.metrics import METRICS
from crt.scoring.stacked import GROUP, Stacked, intervals
from crt.scoring.statistics import ALPHA, MARGIN, Resampling, SignFlips, flips_for, holm
from crt.scoring.weak_spots import weak_spots

ONE_LABEL, NOT_ABOVE = "gives one label only", "not significantly above the majority class"
"""Why a model is weak: what happens to its answers says nothing of robustness."""


def _none() -> pd.DataFrame:
    return pd.DataFrame()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the outcomes of a comparison say beyond its means; every table is empty where nothing was asked or measured.

    `p_holm` is corrected for the tests of a family, whose number is `family`, `significant` tells whether it is below ALPHA,
    and `alike` whether the interval lies within the margin on both sides of 0. A weak model has a row in `models` and
    `intervals` alone.
    """

    models: pd.DataFrame = field(default_factory=_none)
    """A row each: dataset, model, the values of `contrasts.Level`, weak (why it is; empty: it is not)."""
    intervals: pd.DataFrame = field(default_factory=_none)
    """dataset, model, and the columns of `stacked.intervals`."""
    tests: pd.DataFrame = field(default_factory=_none)
    """Clean against perturbed, a family for each model on a data set: dataset, model, the columns of `against_clean`, p_holm,
    significant, alike, family."""
    seeds: pd.DataFrame = field(default_factory=_none)
    """The same within each seed, uncorrected: dataset, model, the columns of `contrasts.each_seed`."""
    duels: pd.DataFrame = field(default_factory=_none)
    """Model against model, a family for each data set: dataset, model, other, the columns of `contrasts.against`, p_holm,
    significant, alike, family, outcome (of the model: win, tie, loss)."""
    pairs: pd.DataFrame = field(default_factory=_none)
    """Means over perturbations and probs, a family for each data set: the same columns, a row for each pair and metric."""
    slices: pd.DataFrame = field(default_factory=_none)
    """dataset, model, the columns of `weak_spots`, p_holm, significant, family (a model on a data set); findings first,
    smallest p_holm first."""
    margin: float = MARGIN
    """Accuracies that differ by less are called alike."""

    @property
    def weak(self) -> dict[tuple[str, str], str]:
        """Why a model on a data set is weak, by data set and model, of those that are."""
        if self.models.empty:
            return {}
        rows = self.models[self.models["weak"] != ""]
        return dict(zip(zip(rows["dataset"], rows["model"], strict=True), rows["weak"], strict=True))


def weigh(datasets: Mapping[str, Mapping[str, Stacked]], *, margin: float = MARGIN) -> Evidence:
    """Compute intervals, tests and weak spots.

    Args:
        datasets: for each data set, by model, the cells that were measured; all over the same examples.
        margin: accuracies that differ by less are called alike.
    """
    names = ("models", "intervals", "tests", "seeds", "duels", "pairs", "slices")
    found: dict[str, list[pd.DataFrame]] = {name: [] for name in names}
    for dataset, stacks in datasets.items():
        count = int(next(iter(stacks.values())).clusters.max()) + 1
        draws, strong = Resampling(count), dict[str, Stacked]()
        for model, stacked in stacks.items():
            keys = {"dataset": dataset, "model": model}
            flips = SignFlips(count, flips=flips_for(len(_groups(stacked))))
            level = above_majority(stacked, draws, flips)
            weak = ONE_LABEL if level.one_label else NOT_ABOVE if level.p >= ALPHA else ""
            found["models"].append(pd.DataFrame([keys | asdict(level) | {"weak": weak}]))
            found["intervals"].append(intervals(stacked, draws).assign(**keys))
            if weak:
                continue
            strong[model] = stacked
            found["tests"].append(_corrected(against_clean(stacked, draws, flips), margin).assign(**keys))
            found["seeds"].append(each_seed(stacked).assign(**keys))
            found["slices"].append(_corrected(weak_spots(stacked, draws), margin).assign(**keys))
        for name, duels in zip(("duels", "pairs"), _duels(strong, draws), strict=True):
            found[name].append(_with_outcome(_corrected(duels, margin)).assign(dataset=dataset))
    tables = {name: _joined(parts) for name, parts in found.items()}
    if not (slices := tables["slices"]).empty:
        tables["slices"] = slices.sort_values(["p_holm", "difference"], ascending=[True, False], ignore_index=True)
    return Evidence(**tables, margin=margin)


def _groups(stacked: Stacked) -> pd.DataFrame:
    return stacked.cells[GROUP].drop_duplicates()


def _duels(models: Mapping[str, Stacked], draws: Resampling) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the duels of a data set, and the pairs; there may be none."""
    several = list(combinations(models, 2))
    if not several:
        return _none(), _none()
    probs = max(of.cells["prob"].nunique() for of in models.values())
    tests = len(several) * (1 + 3 * (probs + max(len(_groups(of)) for of in models.values())))
    flips = SignFlips(draws.count, flips=flips_for(tests))
    parts = [
        [found.assign(model=one, other=other) for found in against(models[one], models[other], draws, flips)]
        for one, other in several
    ]
    single, over_all = zip(*parts, strict=True)
    return _joined(single), _joined(over_all)


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put tables below each other, names first."""
    parts = [part for part in parts if not part.empty]
    if not parts:
        return _none()
    table = pd.concat(parts, ignore_index=True)
    names = [name for name in ("dataset", "model", "other") if name in table]
    return table[[*names, *(name for name in table if name not in names)]]


def _corrected(table: pd.DataFrame, margin: float) -> pd.DataFrame:
    """Correct the tests of a family for their number."""
    if table.empty:
        return table
    corrected = holm(table["p"].to_numpy(dtype=float))
    alike = (table["low"] > -margin) & (table["high"] < margin)
    family = int(table["p"].notna().sum())
    return table.assign(p_holm=corrected, significant=corrected < ALPHA, alike=alike, family=family)


def _with_outcome(duels: pd.DataFrame) -> pd.DataFrame:
    if duels.empty:
        return duels
    sign = duels["metric"].map(lambda name: -1 if METRICS[name].better == "lower" else 1)
    outcome = (duels["difference"] * sign).gt(0).map({True: "win", False: "loss"})
    return duels.assign(outcome=outcome.where(duels["significant"], "tie"))
