"""The numbers of a comparison: the cells that are compared, and mean and spread of each metric over seeds.

All functions take stored cells as `history.cell_frame` gives them: one row a cell, keys, params and metrics as columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from crt.perturbations import PERTURBATIONS
from crt.provenance import IDENTITY, signature
from crt.records import CLEAN
from crt.scoring.metrics import METRICS

KEYS = ("model", "dataset", "perturbation", "prob", "seed")
GROUP = ("model", "dataset", "perturbation", "prob")
ORDER = ("dataset", "model", "perturbation", "prob", "degree", "seed", "train_seed")
SPREAD = ("mean", "std", "n", "mean_std")
"""What is told of a number over seeds."""
TRAIN_SEEDS, SEEDS = "training seeds", "perturbation seeds"
DASH = "–"
NO_EFFECT = "no effect"
"""Stands in place of the numbers of a perturbation that changed no text: they would read as robustness."""
UNTOUCHED = f"{NO_EFFECT}: no text was changed"
"""The footnote."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Cells that were measured alike, and what every table, figure and sentence about them is made from."""

    cells: pd.DataFrame
    """A row a cell, clean ones among them."""
    summary: pd.DataFrame
    """From `summary_table`."""
    clean: pd.Series
    """The clean accuracy by data set and model, a mean over training seeds."""
    signature: str
    """What must agree for two comparisons to be comparable."""

    @classmethod
    def of(cls, cells: pd.DataFrame) -> "Comparison":
        """Return the comparison of some cells; the last of each measurement must have been taken, see `latest`."""
        clean = cells[cells["perturbation"] == CLEAN].groupby(["dataset", "model"])["clean_acc"].mean()
        return cls(cells, summary_table(cells), clean, signature(cells))


def no_effect(changed: Any) -> Any:
    """Return whether nothing was changed.

    Args:
        changed: the share of the texts, or of their characters, that was changed, or a column of shares; where it is not
            known there may have been an effect.
    """
    return changed == 0


def latest(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the last cell of each measurement; all columns of IDENTITY are there, missing values among them.

    Args:
        cells: oldest first.
    """
    cells = cells.reindex(columns=list(dict.fromkeys([*cells.columns, *IDENTITY])))
    return cells.drop_duplicates(list(IDENTITY), keep="last")


def in_order(cells: pd.DataFrame) -> pd.DataFrame:
    """Sort by the keys that are there; perturbations in the order of PERTURBATIONS."""
    order = {name: number for number, name in enumerate((CLEAN, *PERTURBATIONS))}
    keys = [key for key in ORDER if key in cells]
    return cells.sort_values(
        keys,
        key=lambda column: column.map(lambda p: order.get(p, len(order))) if column.name == "perturbation" else column,
    )


def by_seed(rows: pd.DataFrame, keys: Sequence[str], names: Sequence[Any], *, also: Sequence[str] = ()) -> pd.DataFrame:
    """Return the values that a mean and a std are over: one for each training seed where there are several.

    Perturbation seeds are averaged within a training seed; where there is one training seed, each perturbation seed has a
    value of its own.

    Args:
        rows: columns seed and train_seed, keys and values; missing values are left out of a mean.
        keys: of the groups within which training seeds are counted.
        names: of the values.
        also: further keys, which values are told apart by.

    Returns:
        Columns keys, `also`, `over` (what the values are over), `unit` (the seed) and names.
    """
    several = rows.groupby(list(keys))["train_seed"].transform("nunique") > 1
    parts = []
    for over, seed, here in ((TRAIN_SEEDS, "train_seed", rows[several]), (SEEDS, "seed", rows[~several])):
        found = here.groupby([*keys, *also, seed], sort=False)[list(names)].mean().reset_index()
        parts.append(found.rename(columns={seed: "unit"}).assign(over=over))
    return pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)


def summary_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return mean, std (n - 1) and n of each metric by model, data set, perturbation and prob.

    What they are over is told by `by_seed`, and by column `over`. With one value there is no std.
    """
    rows = _perturbed(cells)
    names = [name for name in METRICS if name in rows]
    group = list(GROUP)
    table = rows[group].drop_duplicates(ignore_index=True)
    keys = pd.MultiIndex.from_frame(table)
    values = by_seed(rows, group, names)
    over = values.groupby(group)["over"].first()
    grouped = values[[*group, *names]].groupby(group, sort=False)
    mean, std, count = (found.reindex(keys) for found in (grouped.mean(), grouped.std(ddof=1), grouped.count()))
    columns: dict[str, Any] = {"over": over.reindex(keys), "n": grouped.size().reindex(keys)}
    for name in METRICS:
        parts = dict.fromkeys(SPREAD)
        if name in names:
            texts = [mean_std(m, s) if m == m else None for m, s in zip(mean[name], std[name], strict=True)]  # noqa: PLR0124  NaN
            there = count[name].where(count[name] > 0)
            parts = {"mean": mean[name], "std": std[name], "n": there, "mean_std": texts}
        columns |= {f"{name}_{part}": value for part, value in parts.items()}
    return pd.concat([table, pd.DataFrame(columns, index=keys).reset_index(drop=True)], axis=1)


def dose_area(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the area under the accuracy over the prob, by model, data set and perturbation: a mean over the doses.

    The trapezoidal rule from prob 0, which is the clean accuracy, to the largest prob, divided by the largest prob. A seed
    that lacks one of the probs has no area. Mean, std and n are over seeds as in `summary_table`. Areas can be compared
    where column `probs` is the same.
    """
    rows = _perturbed(cells)
    rows = rows[rows["prob"] > 0]
    columns = [*GROUP[:3], "probs", "over", "n", *(f"area_{part}" for part in SPREAD)]
    if rows.empty:
        return pd.DataFrame(columns=columns)
    values = by_seed(rows, GROUP[:3], ("clean_acc", "perturbed_acc"), also=("prob",))
    order = rows[list(GROUP[:3])].drop_duplicates().itertuples(index=False, name=None)
    groups = dict(iter(values.groupby(list(GROUP[:3]), sort=False)))
    parts = []
    for key in order:
        group = groups[key]
        curves = group.pivot(index="unit", columns="prob", values="perturbed_acc")  # noqa: PD010  seeds by probs
        curves.insert(0, 0.0, group.groupby("unit")["clean_acc"].mean())
        curves = curves.dropna()
        probs, heights = curves.columns.to_numpy(dtype=float), curves.to_numpy(dtype=float)
        areas = pd.Series((heights[:, 1:] + heights[:, :-1]) / 2 @ (probs[1:] - probs[:-1]) / probs[-1])
        row: dict[str, Any] = dict(zip(GROUP, key, strict=False))
        row |= {"probs": ",".join(f"{prob:g}" for prob in probs[1:]), "over": group["over"].iloc[0]}
        row["n"] = group["unit"].nunique()
        if len(areas):
            std = areas.std(ddof=1) if len(areas) > 1 else None
            row |= {"area_mean": areas.mean(), "area_std": std, "area_n": len(areas)}
            row["area_mean_std"] = mean_std(areas.mean(), std)
        parts.append(row)
    return pd.DataFrame(parts, columns=columns)


def _perturbed(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the perturbed cells in order, an unknown training seed as an empty text."""
    rows = in_order(cells[cells["perturbation"] != CLEAN])
    return rows.assign(train_seed=rows["train_seed"].fillna("") if "train_seed" in rows else "")


def headline(found: Comparison) -> dict[str, float]:
    """Return the few numbers that describe one model on one data set: means over its perturbed cells.

    `worst_acc_drop` is the largest mean drop over seeds of a perturbation at a prob.
    """
    summary, cells = found.summary, found.cells
    clean = cells[cells["perturbation"] == CLEAN]
    values = {
        "clean_acc": clean["clean_acc"].mean() if len(clean) else None,
        "clean_macro_f1": clean["clean_macro_f1"].mean() if len(clean) else None,
        "mean_perturbed_acc": summary["perturbed_acc_mean"].mean(),
        "mean_acc_drop": summary["acc_drop_mean"].mean(),
        "worst_acc_drop": summary["acc_drop_mean"].max(),
        "mean_robustness_score": summary["robustness_score_mean"].mean(),
        "mean_macro_f1_drop": summary["macro_f1_drop_mean"].mean(),
        "mean_attack_success_rate": summary["attack_success_rate_mean"].mean(),
        "mean_changed_rate": summary["changed_rate_mean"].mean(),
        "num_examples": cells["num_examples"].max(),
    }
    return {name: float(value) for name, value in values.items() if value is not None and not pd.isna(value)}


def mean_std(mean: float | None, std: float | None, *, scale: float = 1.0, digits: int = 4) -> str:
    """Return `mean±std`; the mean alone where there is no std, a dash where there is no mean."""
    if mean is None or pd.isna(mean):
        return DASH
    text = f"{mean * scale:z.{digits}f}"  # z: no minus before a zero
    if std is None or pd.isna(std):
        return text
    return f"{text}±{std * scale:.{digits}f}"
