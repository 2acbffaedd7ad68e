"""What a number depends on: one table of facts, each with where it counts.

A fact may be part of the fingerprint that a cell is known by, a param that is stored with it, something that must agree
among the cells of a comparison, and a part of the signature that is printed under a table.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Literal

import pandas as pd

from crt import SCORING_VERSION, __version__
from crt.perturbations import Loaded
from crt.perturbations.text import cutter
from crt.records import CLEAN, Measurement
from crt.resources import manifest, rows_digest

IDENTITY = ("model", "train_seed", "dataset", "split", "perturbation", "prob", "seed")
"""What makes two cells the same measurement: one of them counts."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "cell": ("model", "dataset", "perturbation", "prob", "seed"),
    "degree": ("model", "dataset", "perturbation", "degree", "seed", "samples"),
}
"""The fields that name a measurement of each kind, as they stand in its fingerprint."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a measurement is made with."""

    examples: str
    """Digest of the examples."""
    split: str
    """Name of their split."""
    pairs: bool
    """The inputs are pairs of texts."""
    fields: str
    """Which texts of a pair are perturbed."""
    predictor: str
    """Fingerprint of the model."""
    loaded: Loaded | None
    """The perturbation with its table; None for the clean cell, which holds the facts about the examples too."""
    seen: str | None
    """Which examples also stand in the training split, if that is known."""
    fact_resources: tuple[str, ...]
    """Files below `resources` that the facts about the examples depend on."""
    fact_libraries: tuple[str, ...]
    """Distributions that they depend on."""

    @property
    def resources(self) -> dict[str, str]:
        """The digest of each resource that the measurement depends on, by its path."""
        paths = self.loaded.perturbation.resources if self.loaded else self.fact_resources
        outside = {"source": self.loaded.perturbation.source} if self.loaded and self.loaded.perturbation.source else {}
        return {path: manifest()[path] for path in paths} | outside

    @property
    def libraries(self) -> dict[str, str]:
        """The version of each library that the sites, or the facts about the examples, depend on."""
        names = self.loaded.perturbation.libraries if self.loaded else self.fact_libraries
        return {name: version(name) for name in names}

    @property
    def table(self) -> str:
        """The digest of the table; empty without one."""
        return self.loaded.table.sha256 if self.loaded and self.loaded.table else ""

    @property
    def ways(self) -> str:
        """The ways to evade that the user chose; empty without a choice."""
        return ",".join(sorted(self.loaded.ways)) if self.loaded else ""

    @property
    def protect(self) -> str:
        """The digest of the list of words that are never changed; empty without one."""
        return self.loaded.words.protect.sha256 if self.loaded and self.loaded.words.protect else ""

    @property
    def only(self) -> str:
        """The digest of the list of the only words that are changed; empty without one."""
        return self.loaded.words.only.sha256 if self.loaded and self.loaded.words.only else ""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a number depends on."""

    name: str
    """The param that it is stored as; an empty value is not stored."""
    param: Callable[[Setting], str] | None = None
    """Its value as a param; None: it is none, or it is one of the settings of the model."""
    key: str = ""
    """Its name in the fingerprint; empty: it is no part of it."""
    value: Callable[[Setting], object] | None = None
    """Its value in the fingerprint."""
    of: Literal["every", "clean", "perturbed", "chosen"] = "every"
    """The cells in whose fingerprint it stands; chosen: those that the user gave a value for."""
    stored: Literal["every", "perturbed"] = "every"
    """The cells that it is a param of."""
    within: tuple[str, ...] | None = None
    """It must agree among the cells of a comparison that have these in common; None: it may differ."""
    mark: str = ""
    """Its name in the signature; several facts of one name are told by a digest. Empty: it does not stand there."""
    each: str = ""
    """In the signature it is told for each value of this key, digests by their first digits: `tnews@0a1b2c3d`."""


def _short(digests: Mapping[str, str]) -> str:
    return ", ".join(f"{path} {digest[:8]}" for path, digest in digests.items())


FACTS: tuple[Fact, ...] = (
    Fact(
        "scoring_version", lambda _: str(SCORING_VERSION), "scoring", lambda _: SCORING_VERSION, within=(), mark="scoring"
    ),
    Fact(
        "data_digest", lambda s: s.examples, "examples", lambda s: s.examples, within=("dataset",), mark="data", each="dataset"
    ),
    Fact("split", lambda s: s.split, mark="split", each="dataset"),
    Fact(
        "table_sha256", lambda s: s.table[:16], "table", lambda s: s.table, of="perturbed", stored="perturbed",
        within=("perturbation",), mark="tables", each="perturbation",
    ),
    Fact(
        "ways", lambda s: s.ways, "ways", lambda s: s.ways, of="chosen", stored="perturbed", within=("perturbation",),
        mark="ways", each="perturbation",
    ),
    Fact(
        "protect", lambda s: s.protect[:16], "protect", lambda s: s.protect, of="chosen", stored="perturbed",
        within=("perturbation",), mark="protect", each="perturbation",
    ),
    Fact(
        "only", lambda s: s.only[:16], "only", lambda s: s.only, of="chosen", stored="perturbed",
        within=("perturbation",), mark="only", each="perturbation",
    ),
    Fact(
        "resources", lambda s: _short(s.resources), "resources", lambda s: s.resources, stored="perturbed",
        within=("perturbation",), mark="with",
    ),
    Fact(
        "libraries", lambda s: ", ".join(f"{name} {number}" for name, number in s.libraries.items()), "libraries",
        lambda s: s.libraries, stored="perturbed", within=("perturbation",), mark="with",
    ),
    Fact("cutter", lambda s: cutter() if "jieba" in s.libraries else ""),  # no key: each of them gives the same words
    Fact("max_length", mark="max_length"),
    Fact("precision", mark="precision"),
    Fact(
        "fields", lambda s: s.fields if s.pairs else "text", "fields", lambda s: s.fields if s.pairs else "both",
        of="perturbed", stored="perturbed", within=("dataset", "perturbation"), mark="fields",
    ),
    Fact(
        "predictor", lambda s: s.predictor, "predictor", lambda s: s.predictor, within=("dataset", "model", "train_seed")
    ),
    Fact("seen", key="seen", value=lambda s: s.seen, of="clean"),
)  # fmt: skip
"""The facts, in the order of the signature."""


def agreeing() -> tuple[Fact, ...]:
    """Return the facts that must agree among the cells of a comparison, those about perturbations last."""
    facts = [fact for fact in FACTS if fact.within is not None]
    return tuple(sorted(facts, key=lambda fact: "perturbation" in (fact.within or ())))


def of_perturbation() -> tuple[str, ...]:
    """Return the params that say where the sites of a perturbation come from."""
    return tuple(fact.name for fact in FACTS if fact.within == ("perturbation",))


def fingerprint(measurement: Measurement, setting: Setting) -> str:
    """Return 16 hexadecimal digits over all that the numbers of a measurement depend on."""

    def named(name: str) -> object:
        value = getattr(measurement, name)
        return repr(float(value)) if name in ("prob", "degree") else value

    kind = "perturbed" if setting.loaded else "clean"
    facts: dict[str, object] = {measurement.kind: [named(name) for name in NAMES[measurement.kind]]}
    facts |= {fact.key: fact.value(setting) for fact in FACTS if fact.value and fact.of in ("every", kind)}
    facts |= {
        fact.key: value for fact in FACTS if fact.value and fact.of == "chosen" and (value := fact.value(setting))
    }
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def params(setting: Setting) -> dict[str, str]:
    """Return the facts that are stored with a measurement, by the name of the param."""
    kinds = ("every", "perturbed") if setting.loaded else ("every",)
    values = {fact.name: fact.param(setting) for fact in FACTS if fact.param and fact.stored in kinds}
    return {name: value for name, value in values.items() if value}


def like_the_newest(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that agree with the newest one wherever cells of a comparison must.

    Args:
        cells: oldest first.
    """
    for fact in agreeing():
        if fact.name in cells and len(cells):
            values = cells[fact.name].fillna("")
            keys = [cells[key].fillna("") for key in fact.within or () if key in cells]
            newest = values.groupby(keys).transform("last") if keys else values.iloc[-1]
            cells = cells[values == newest]
    return cells


def signature(cells: pd.DataFrame) -> str:
    """Return what must agree for two tables to be comparable, as `key:value` pairs."""
    rows = cells[cells["perturbation"] != CLEAN]
    doses = {
        "probs": ",".join(f"{prob:g}" for prob in sorted(rows["prob"].unique())),
        "seeds": ",".join(str(seed) for seed in sorted(rows["seed"].unique())),
    }
    marks: dict[str, list[str]] = {}
    for fact in FACTS:
        if fact.mark:
            marks.setdefault(fact.mark, []).append(_told(cells, fact))
    told = {name: values[0] if len(values) == 1 else _digest(values) for name, values in marks.items()}
    names = list(told)
    at = names.index("max_length")
    ordered = {"crt": __version__, **{n: told[n] for n in names[:at]}, **doses, **{n: told[n] for n in names[at:]}}
    return "|".join(f"{key}:{value}" for key, value in ordered.items() if value)


def _told(cells: pd.DataFrame, fact: Fact) -> str:
    if fact.name not in cells:
        return ""
    if not fact.each:
        return ",".join(sorted({str(value) for value in cells[fact.name].dropna()}))
    pairs = cells[[fact.each, fact.name]].dropna().drop_duplicates().sort_values(fact.each)
    return ",".join(f"{key}@{_cut(str(value))}" for key, value in pairs.itertuples(index=False))


def _cut(text: str) -> str:
    """Return a digest by its first digits, any other text as it is."""
    return text[:8] if re.fullmatch("[0-9a-f]{16}", text) else text


def _digest(values: list[str]) -> str:
    return rows_digest([values])[:8] if any(values) else ""
