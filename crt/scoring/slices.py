"""Which texts break a model: facts about examples, and the slices that they divide a data set into.

The facts are stored with the clean cell. Slices are computed from them and from the stored outcomes, so a new one over
known facts needs no model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import pandas as pd

from crt.perturbations.characters import CLASSES, is_polyphone, is_uncommon
from crt.perturbations.garden_path import crossing
from crt.records import Example, Input
from crt.scoring.cues import NEGATION, overlap

CLUSTER = "cluster"
"""Column of the facts that is equal for examples of one text; they are no independent evidence."""


def _share(belongs: Callable[[str], bool], of: Callable[[str], bool] = lambda _: True) -> Callable[[Input], float]:
    """Return the share of the characters of an input that belong, of those that count; 0 where none counts."""

    def share(value: Input) -> float:
        counted = [char for char in "".join(value) if of(char)]
        return round(sum(map(belongs, counted)) / max(len(counted), 1), 4)

    return share


FACTS: Mapping[str, Callable[[Input], float]] = {
    "latin_or_digit": _share(lambda char: CLASSES["latin"](char) or CLASSES["digit"](char)),
    "traditional": _share(CLASSES["traditional"], CLASSES["han"]),
    "uncommon": _share(is_uncommon, CLASSES["han"]),
    "polyphone": _share(is_polyphone, CLASSES["han"]),
    "negation": lambda value: sum(len(NEGATION.findall(text)) for text in value),
    "crossing": lambda value: sum(len(crossing(text)) for text in value),
}
"""What is counted in an input: shares of its (Han) characters, and numbers of occurrences."""

RESOURCES: tuple[str, ...] = ("readings.json",)
LIBRARIES: tuple[str, ...] = ("OpenCC", "jieba")
"""What FACTS depend on."""


def facts_of(examples: Sequence[Example], seen: frozenset[Input] | None) -> dict[str, list[object]]:
    """Return what is known of each example whatever the model and the perturbation, by column.

    Args:
        examples: n examples.
        seen: inputs of the training split; None where that is not at hand: the column is left out.

    Returns:
        `cluster`, a digest of the first field (the text, or the premise), the columns of FACTS, `overlap` for pairs (the
        characters of both, as a share of those of either), and `seen`.
    """
    inputs = [example.input for example in examples]
    columns: dict[str, list[object]] = {CLUSTER: [_digest(value[0]) for value in inputs]}
    columns |= {name: [fact(value) for value in inputs] for name, fact in FACTS.items()}
    if inputs and len(inputs[0]) == 2:
        columns["overlap"] = [round(overlap(*value), 4) for value in inputs]
    if seen is not None:
        columns["seen"] = [int(value in seen) for value in inputs]
    return columns


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Slice:
    """A way to divide the examples of a data set into groups."""

    name: str
    """Key of SLICES."""
    summary: str
    """One line for the reference page."""
    column: str
    """Of the facts or of the outcomes: what the group depends on; without it the data set has no such slice."""
    group: Callable[[pd.Series], pd.Series]
    """Returns the name of the group of each value."""


def _yes(column: pd.Series) -> pd.Series:
    return column.gt(0).map({True: "yes", False: "no"})


def _bands(*bounds: int) -> Callable[[pd.Series], pd.Series]:
    """Return a division of shares at fixed bounds in percent; a value at a bound belongs to the band above it."""
    names = [f"under {bounds[0]} %", *(f"{a} to {b} %" for a, b in pairwise(bounds)), f"{bounds[-1]} % and more"]
    limits = [bound / 100 for bound in bounds]
    return lambda column: pd.Series(np.array(names, dtype=object)[np.digitize(column, limits)], index=column.index)


def _some(bound: int) -> Callable[[pd.Series], pd.Series]:
    """Return a division of shares into none, and below and above a bound in percent."""
    return lambda column: _bands(bound)(column).mask(column == 0, "none")


def _quarters(column: pd.Series, unit: str = "") -> pd.Series:
    """Divide at the quartiles; equal values are never divided, so there may be fewer than four groups."""
    bounds = np.unique(np.quantile(column, (0.25, 0.5, 0.75)))
    place = np.searchsorted(bounds, column, side="left")
    spans = column.groupby(place).agg(["min", "max"])
    names = {
        number: (f"{low:g}" if low == high else f"{low:g} to {high:g}") + unit
        for number, low, high in spans.itertuples(name=None)
    }
    return pd.Series(place, index=column.index).map(names)


def _side(column: pd.Series) -> pd.Series:
    return column.map({"first": "first text only", "second": "second text only", "both": "both texts"})


SLICES: Mapping[str, Slice] = {
    s.name: s
    for s in (
        Slice("length", "characters, at the quartiles", "length", _quarters),
        Slice("label", "the gold label", "gold", lambda column: column.astype(str)),
        Slice("Latin or digits", "share of Latin letters and digits", "latin_or_digit", _some(10)),
        Slice("traditional script", "some characters are traditional already", "traditional", _yes),
        Slice("negation", "a word that negates, like 不 or 没", "negation", _yes),
        Slice("uncommon characters", "share outside GB2312's first level", "uncommon", _some(5)),
        Slice(
            "polyphones",
            "share of characters with several common readings",
            "polyphone",
            lambda column: _quarters((100 * column).round(), " %"),
        ),
        Slice("crossing words", "a frequent word lies across a border of two others", "crossing", _yes),
        Slice("seen in training", "the input also stands in the training split", "seen", _yes),
        Slice("overlap", "characters that both texts share, of those of either", "overlap", _bands(25, 50, 75)),
        Slice("clean confidence", "highest probability on the original input", "max_prob_clean", _bands(50, 70, 90)),
        Slice("sites", "places that could be edited, at the quartiles", "sites", _quarters),
        Slice("side perturbed", "which text of the pair really changed", "changed_fields", _side),
    )
}
"""The slices by name."""


def groups_of(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """Return for each slice that applies the name of the group of each row; rows without one are missing.

    Args:
        rows: facts and outcomes of examples; an example may stand there several times, once a cell.
    """
    return {
        name: cut.group(rows[cut.column])
        for name, cut in SLICES.items()
        if cut.column in rows and rows[cut.column].notna().any()
    }
