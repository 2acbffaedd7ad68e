"""Which of several measurements of one thing counts: a number decides, or whoever compares; never the clock of a machine."""

import logging
import re
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from crt.errors import TrackingError
from crt.provenance import IDENTITY
from crt.scoring.summary import latest

log = logging.getLogger(__name__)

CALLED = ("model", "model_source", "predictor")
"""What a model may be called in `models`: its name, the spec that was asked for, the fingerprint of its predictor."""


def named(cells: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Return the cells of some models, by what each is called; none: all."""
    if not models or cells.empty:
        return cells
    return cells[cells.reindex(columns=list(CALLED)).isin(list(models)).any(axis=1)]


def by_version(cells: pd.DataFrame, *within: str) -> pd.DataFrame:
    """Return the cells; versions of a registered model that share a name and a training seed are called `name@v1`, `name@v2`.

    So are versions that were trained in several ways: those of one way are averaged over their seeds, `name@v1+v2`.

    Args:
        cells: oldest first.
        within: what has one table beside data set, model and training seed.

    Raises:
        TrackingError: two models share name, data set and training seed, and no versions tell them apart.
    """
    if "predictor" not in cells:
        return cells
    cells = cells.reindex(columns=list(dict.fromkeys([*cells.columns, "train_seed", "model_source"])))
    # a cell of an unknown predictor never takes the place of one that is known
    there = cells["predictor"].notna()
    stray = ~there & there.groupby([cells["dataset"], cells["model"]]).transform("any")
    cells = cells.iloc[np.argsort(~stray.to_numpy(), kind="stable")]
    known = cells[cells["predictor"].notna()].assign(place=lambda rows: cells.index.get_indexer(rows.index))
    names, faults = cells["model"].to_numpy(dtype=object, copy=True), []
    for place, name in _by_recipe(known):
        names[place] = name
    known = known.assign(model=names[known["place"].to_numpy()])
    for (dataset, model, *_), rows in known.groupby(["dataset", "model", "train_seed", *within], dropna=False):
        if rows["predictor"].nunique() < 2:
            continue
        numbers = _numbers(rows)
        if 0 in numbers.values() or len(set(numbers.values())) < len(numbers):
            faults.append(
                f"  - {model} on {dataset}: " + "; ".join(_told(*group) for group in rows.groupby("predictor"))
            )
            continue
        called = rows["predictor"].map({predictor: f"{model}@v{number}" for predictor, number in numbers.items()})
        names[rows["place"].to_numpy()] = called.to_numpy()
        log.info(
            "%s on %s: versions of one model stand side by side: %s", model, dataset, ", ".join(sorted(set(called)))
        )
    if faults:
        raise TrackingError(
            "models share a name and a training seed, and no versions of a registered model tell them apart:\n"
            + "\n".join(faults)
            + "\nname all that you want to see in models=…, these by their predictor; or measure them into experiments of "
            "their own and name one in experiments=…"
        )
    return cells.assign(model=names)


def _by_recipe(cells: pd.DataFrame) -> Iterator[tuple[int, str]]:
    """Yield place and name of the cells of models that were trained in several ways, where the versions of each way are known."""
    if "recipe" not in cells:
        return
    for (dataset, model), rows in cells.groupby(["dataset", "model"]):
        numbers = rows["model_source"].map(
            lambda source: found[1] if (found := re.fullmatch(r"models:/.+/(\d+)", str(source))) else ""
        )
        if rows["recipe"].nunique() < 2 or (numbers == "").any() or rows["recipe"].isna().any():
            continue
        called = []
        for recipe, places in rows.groupby("recipe")["place"]:
            versions = sorted(set(numbers[rows["recipe"] == recipe]), key=int)
            called.append(f"{model}@{'+'.join(f'v{number}' for number in versions)}")
            yield from ((place, called[-1]) for place in places)
        log.info(
            "%s on %s: trained in %d ways, which stand side by side: %s", model, dataset, len(called), ", ".join(called)
        )


def _numbers(cells: pd.DataFrame) -> dict[str, int]:
    """Return for each predictor its highest version of the registered model that all of them are versions of, else 0."""
    versions: dict[str, dict[str, int]] = {str(predictor): {} for predictor in cells["predictor"].unique()}
    for predictor, source in cells[["predictor", "model_source"]].drop_duplicates().itertuples(index=False):
        if found := re.fullmatch(r"models:/(.+)/(\d+)", str(source)):
            of = versions[predictor]
            of[found[1]] = max(int(found[2]), of.get(found[1], 0))
    name = next((name for name in next(iter(versions.values())) if all(name in of for of in versions.values())), "")
    return {predictor: of.get(name, 0) for predictor, of in versions.items()}


def _told(predictor: object, cells: pd.DataFrame) -> str:
    said = [
        f"{label}{', '.join(sorted(set(cells[name].dropna())))}"
        for name, label in (("model_source", ""), ("max_length", "max_length "), ("precision", ""))
        if name in cells and cells[name].notna().any()
    ]
    return f"predictor {predictor} ({', '.join([*said, f'measured {len(cells)} times'])})"


def counted(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cell of each measurement that counts: the last one; say of which models others are left out.

    Args:
        cells: from `by_version`; of equal measurements it does not matter which one is the last.
    """
    kept = latest(cells)
    last = cells.reindex(columns=list(dict.fromkeys([*cells, *IDENTITY, "predictor"])))
    last["predictor"] = last["predictor"].astype(object).fillna("")
    counting = last.groupby(list(IDENTITY), dropna=False)[["key", "predictor"]].transform("last")
    why = np.select(
        [last["predictor"] != counting["predictor"], last["key"] == counting["key"]],
        ["of a model that is not known", "measured again alike"],
        "measured again in another way",
    )
    left = last.assign(why=why).drop(index=kept.index)
    for (model, dataset), rows in left.groupby(["model", "dataset"], sort=False):
        whole = int(((cells["model"] == model) & (cells["dataset"] == dataset)).sum())
        reasons = ", ".join(f"{count} {reason}" for reason, count in rows["why"].value_counts().items())
        log.info(
            "%s on %s: %d of %d cells are left out, since others of the same measurements count: %s", model, dataset,
            len(rows), whole, reasons,
        )  # fmt: skip
    return kept
