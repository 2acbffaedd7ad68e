"""The shared vocabulary: what flows from a data file to a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crt import randomness

Input = tuple[str, ...]
"""One text, or premise and hypothesis; the fields are never joined by a marker."""


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled input."""

    id: str
    """`task/split/row`: stable across runs and sources, unique in a task."""
    input: Input
    """The fields as they stand in the data, unnormalised."""
    label: int
    """Index into the labels of the task."""
    groups: tuple[str, ...] = ()
    """Values of the group columns of the task, for a probing set."""

    @property
    def key(self) -> int:
        """What its draws belong to: the text of all its fields, as read. Equal inputs draw alike, wherever they stand."""
        return randomness.base(*self.input)


class Site(NamedTuple):
    """A place of a text that may be edited: `text[start:end]` may become one of `options`; a tuple, as edits are."""

    start: int
    """First code point."""
    end: int
    """One past the last code point; equal to `start` for an insertion."""
    options: tuple[str, ...]
    """Replacements, best first; rank r is picked with weight 1 / (r + 1)."""


class Edit(NamedTuple):
    """One replacement that was made; a tuple, since millions of them are made."""

    field: int
    """Index of the field in the input."""
    start: int
    """First code point in the original field."""
    end: int
    """One past the last code point in the original field."""
    old: str
    """What stood there."""
    new: str
    """What stands there now."""


@dataclass(frozen=True, slots=True)
class Perturbed:
    """An input after its edits."""

    input: Input
    """The fields after the edits."""
    edits: tuple[Edit, ...]
    """The edits, by field and position; applied to the original they give `input`."""
    sites: int
    """Number of places that could have been edited."""


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model spec after the registry was asked."""

    spec: str
    """What `load_predictor` takes."""
    source: str
    """What to ask for to get it again: a spec that names a version, not an alias."""


TINY = "tiny"
"""Spec, for training only, of a small character-level BERT with random weights."""

TFIDF = "tfidf"
"""Spec of the character n-grams with logistic regression that are fitted to the training examples."""

RULE = "rule"
"""Spec of the rule classifier."""

REGISTERED, LOGGED = "models:/", "runs:/"
"""How a spec begins that MLflow resolves: a version of the registry, a model that a run has logged."""

CLEAN = "clean"
"""The perturbation of a clean cell, whose prob and seed are 0."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement of the grid."""

    kind: ClassVar[str] = "cell"
    """The tag of its run."""
    model: str
    """Id of the base model, never a path or an alias."""
    dataset: str
    """Name of the task."""
    perturbation: str
    """Key of PERTURBATIONS, or CLEAN."""
    prob: float
    """Share of sites to edit, 0..1."""
    seed: int
    """Seed of the perturbation."""


@dataclass(frozen=True, slots=True)
class Degree:
    """One measurement of the worst case: several samples of each text, perturbed to one degree."""

    kind: ClassVar[str] = "degree"
    """The tag of its run."""
    model: str
    """Id of the base model, never a path or an alias."""
    dataset: str
    """Name of the task."""
    perturbation: str
    """Key of PERTURBATIONS."""
    degree: float
    """Edits by characters, above 0."""
    seed: int
    """Seed of the perturbation."""
    samples: int
    """How many are drawn of each text."""


@dataclass(frozen=True, slots=True)
class Study:
    """What a comparison must know of a study beside the grid, whose results are one run a model and data set."""

    kind: str
    """The tag of its runs; its folder and its command have the same name."""
    summary: str
    """One line for the reference page."""
    shown: str
    """Regular expression of the metrics that stand in a table over several models."""
    agree: tuple[str, ...]
    """The params that must agree among the runs of a table: what was measured, and how. A pattern like `*_digest` stands for
    those named after perturbations, which only some of the runs have."""


Measurement = Cell | Degree
"""What has a run of its own, with a fingerprint: it is measured once."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model says of n inputs; row i belongs to input i."""

    probabilities: NDArray[np.float32]
    """float32[n, C]; rows sum to 1, or are NaN where the model gave no answer."""
    tokens: NDArray[np.int64]
    """int64[n]: tokens seen by the model, special ones left out; 0 for a model without a tokenizer."""
    unknown: NDArray[np.int64]
    """int64[n]: those of `tokens` that are the unknown token."""
    truncated: NDArray[np.bool_]
    """bool[n]: the input was longer than the model reads."""

    @property
    def failed(self) -> NDArray[np.bool_]:
        """bool[n]: the model gave no answer."""
        return np.asarray(np.isnan(self.probabilities).any(axis=1))

    def take(self, rows: NDArray[np.int64]) -> "Prediction":
        """Return the prediction of the given rows, in that order."""
        return Prediction(self.probabilities[rows], self.tokens[rows], self.unknown[rows], self.truncated[rows])

    def join(self, other: "Prediction") -> "Prediction":
        """Return this prediction followed by another."""
        return Prediction(
            np.concatenate([self.probabilities, other.probabilities]),
            np.concatenate([self.tokens, other.tokens]),
            np.concatenate([self.unknown, other.unknown]),
            np.concatenate([self.truncated, other.truncated]),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that a cell's metrics are computed from; row i is example i."""

    ids: tuple[str, ...]
    """Ids of the examples."""
    labels: tuple[str, ...]
    """The C labels, in the order of the columns of `clean` and `perturbed`."""
    gold: NDArray[np.int64]
    """int64[n]: true labels."""
    clean: NDArray[np.float32]
    """float32[n, C]: probabilities on the original input."""
    perturbed: NDArray[np.float32]
    """float32[n, C]: probabilities on the perturbed input."""
    changed: NDArray[np.bool_]
    """bool[n]: the perturbed input differs from the original."""
    sites: NDArray[np.int64]
    """int64[n]: places that could have been edited."""
    edits: NDArray[np.int64]
    """int64[n]: edits made."""
    distance: NDArray[np.int64]
    """int64[n]: Levenshtein distance in code points, summed over the fields."""
    length: NDArray[np.int64]
    """int64[n]: code points of the original, summed over the fields."""
    tokens: NDArray[np.int64]
    """int64[n, 2]: tokens of the clean and of the perturbed input."""
    unknown: NDArray[np.int64]
    """int64[n, 2]: unknown tokens of the clean and of the perturbed input."""
    truncated: NDArray[np.bool_]
    """bool[n, 2]: the clean and the perturbed input were longer than the model reads."""
    from_table: bool
    """The sites come from a resource table."""


@dataclass(frozen=True, slots=True)
class MeasurementRecord:
    """A measurement as it is stored: everything that is logged of it."""

    key: str
    """Fingerprint of all that the numbers depend on."""
    measurement: Measurement
    """What was measured."""
    params: Mapping[str, str]
    """Settings beside the keys of the cell: training seed, digests, versions."""
    metrics: Mapping[str, float]
    """Defined metrics only."""
    examples: Sequence[Mapping[str, object]] = ()
    """Up to 20 pairs, flips first."""
    outcomes: Mapping[str, Sequence[object]] = field(default_factory=dict)
    """Columns of the per-example outcomes, by name."""
    modified: bool = False
    """Its table is not the one that is shipped."""
