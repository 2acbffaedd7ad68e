"""What an experiment measures: which cells or degrees there are, and whether they make sense."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from crt.catalogue import Task
from crt.errors import CrtError, GridError, unknown
from crt.files import is_file, no_such
from crt.perturbations import (
    PAIRS,
    PERTURBATIONS,
    REFERENCE_PERTURBATIONS,
    WAYS_TO_EVADE,
    Loaded,
    find_perturbation,
    load,
)
from crt.perturbations.engine import FIELDS
from crt.perturbations.own_words import OwnWords
from crt.records import CLEAN, Cell, Degree, Measurement
from crt.redaction import redacted
from crt.resources import OwnTable
from crt.tasks import find_task

DEFAULT_PROBS = (0.05, 0.15, 0.30)
DEFAULT_SEEDS = (13, 42, 100)
DEFAULT_DEGREES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
DEFAULT_SAMPLES = 20
DEFAULT_SEED = 42


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of the user's own data."""

    text: str = "text"
    """The text, or the first text of a pair."""
    text_pair: str | None = None
    """The second text of a pair."""
    label: str = "label"
    """The label."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The part of the cells that falls to one of several workers, which need not know of each other."""

    number: int
    """Of the worker, from 1."""
    of: int
    """Workers."""

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            GridError: there is no such worker.
        """
        if not 1 <= self.number <= self.of:
            raise GridError(
                [f"shard {self} does not exist; the shards of {self.of} workers are 1/{self.of} to {self.of}/{self.of}"]
            )

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def holds(self, key: str) -> bool:
        """Return whether the cell with this fingerprint falls to the worker: a function of the two alone."""
        return int(key, 16) % self.of == self.number - 1


M = TypeVar("M", bound=Measurement)


@dataclass(frozen=True, slots=True)
class Scope(Generic[M]):
    """Which models are measured on which data sets under which perturbations: what `Grid` and `Degrees` share."""

    kind: ClassVar[str]
    """The tag of the runs of its measurements."""
    models: tuple[str, ...]
    """Model specs."""
    datasets: tuple[str, ...]
    """Names in TASKS, or paths of the user's own data."""
    perturbations: tuple[str, ...] = REFERENCE_PERTURBATIONS
    """Keys of PERTURBATIONS, and `pairs` where there are some."""
    split: str | None = None
    """The split to evaluate on; None: that of the task."""
    limit: int | None = None
    """At most so many examples."""
    fields: str = "both"
    """Which texts of a pair are perturbed: both, first or second."""
    exclude_seen: bool = False
    """Leave out the examples whose input also stands in the training split."""
    tables: Mapping[str, OwnTable] = field(default_factory=dict)
    """The user's own table of a perturbation."""
    pairs: Path | None = None
    """What people wrote, for the perturbation `pairs`."""
    ways: tuple[str, ...] = ()
    """Those of WAYS_TO_EVADE that `evade` disguises words in; empty: all of them."""
    protect: Path | None = None
    """A list of words that are never changed."""
    only: Path | None = None
    """A list of the only words that are changed."""
    columns: Columns = Columns()
    """Columns of the user's own data."""
    name: str | None = None
    """What the user's own data are called; None: as their file or folder."""
    tasks: Mapping[str, Task] = field(default_factory=dict)
    """Data sets that are neither in TASKS nor in files, by their name in `datasets`."""
    shard: Shard | None = None
    """The part of the measurements that falls to this worker; None: all of them."""

    def __post_init__(self) -> None:
        """Check everything that can be checked before anything is loaded.

        Raises:
            GridError: with all faults at once.
        """
        faults = self.faults()
        if faults:
            raise GridError(faults)

    def faults(self) -> list[str]:
        """Return what is wrong with it, a sentence each."""
        lists = {"model": self.models, "data set": self.datasets, "perturbation": self.perturbations}
        faults = [fault for kind, values in lists.items() for fault in _list_faults(kind, values)]
        if self.name and len(self.datasets) > 1:
            faults.append(f"name is for one data set, and there are {len(self.datasets)}; measure them one by one")
        faults += self._data_set_faults()
        named = [name for name in self.perturbations if name != PAIRS.name]
        faults += [fault for name in named for fault in _perturbation_faults(name)]
        if PAIRS.name in self.perturbations and not self.pairs:
            faults.append("perturbation 'pairs' needs pairs=FILE: texts, and how somebody wrote them")
        if self.pairs and not is_file(self.pairs):
            faults.append(f"{no_such(self.pairs)} (in pairs={self.pairs})")
        if self.limit is not None and self.limit < 1:
            faults.append(f"max_samples is {self.limit}; it must be at least 1")
        if self.fields not in FIELDS:
            faults.append(unknown("value of fields", self.fields, FIELDS))
        faults += [fault for name, table in self.tables.items() for fault in _table_faults(name, table)]
        idle = [name for name in self.tables if name in PERTURBATIONS and name not in self.perturbations]
        faults += [
            f"table={name}:… is given, and {name} is not among the perturbations; name it there too" for name in idle
        ]
        words = {"protect": self.protect, "only": self.only}
        faults += [f"{no_such(p)} (in {name}={p})" for name, p in words.items() if p and not is_file(p)]
        return faults + _ways_faults(self.ways, self.perturbations)

    def loaded(self) -> list[Loaded]:
        """Return the perturbations but `pairs`, which depends on the data set, with the user's own tables, words and ways.

        Raises:
            ResourceError: a table or a list is missing or malformed.
        """
        words = OwnWords.read(self.protect, self.only)
        return [
            load(name, self.tables.get(name), words, ways=self.ways if find_perturbation(name).takes_words else ())
            for name in self.perturbations
            if name != PAIRS.name
        ]

    def cells(self, model: str, dataset: str, perturbation: str) -> tuple[M, ...]:
        """Return what is measured of a model on a data set under one perturbation, or under none, `CLEAN`."""
        raise NotImplementedError

    def _data_set_faults(self) -> list[str]:
        faults = []
        known: dict[str, str] = {}
        for name in dict.fromkeys(self.datasets):
            try:
                task = self.task(name)
            except CrtError as error:
                faults.append(str(error))
                continue
            if task.name in known:
                faults.append(f"data sets '{known[task.name]}' and '{name}' are both called {task.name} in the table")
            known[task.name] = name
            if self.fields == "second" and len(task.fields) == 1:
                faults.append(f"fields is second, but {task.name} has one text an example: nothing would be perturbed")
        return faults

    def task(self, dataset: str) -> Task:
        """Return the task of one of the data sets."""
        if dataset in self.tasks:
            return self.tasks[dataset]
        own = self.columns
        return find_task(dataset, text=own.text, text_pair=own.text_pair, label=own.label, name=self.name)


@dataclass(frozen=True, slots=True)
class Grid(Scope[Cell]):
    """The main experiment: the probs and seeds of each perturbation, and a clean cell of each model and data set."""

    kind: ClassVar[str] = Cell.kind
    probs: tuple[float, ...] = DEFAULT_PROBS
    """Shares of the sites to edit, 0..1."""
    seeds: tuple[int, ...] = DEFAULT_SEEDS
    """Seeds of the perturbations."""

    def faults(self) -> list[str]:
        """Return what is wrong with it, a sentence each."""
        return [
            *Scope.faults(self),
            *_list_faults("prob", self.probs),
            *(f"prob {p!r} is outside 0..1" for p in self.probs if not 0.0 <= float(p) <= 1.0),
            *_list_faults("seed", self.seeds),
            *_seed_faults(self.seeds),
        ]

    def cells(self, model: str, dataset: str, perturbation: str) -> tuple[Cell, ...]:
        """Return the cells of one perturbation of a model on a data set; `CLEAN` has one cell."""
        if perturbation == CLEAN:
            return (Cell(model, dataset, CLEAN, 0.0, 0),)
        return tuple(Cell(model, dataset, perturbation, p, s) for p in self.probs for s in self.seeds)


@dataclass(frozen=True, slots=True)
class Degrees(Scope[Degree]):
    """The worst case: the degrees of each perturbation, with several samples of each text."""

    kind: ClassVar[str] = Degree.kind
    degrees: tuple[float, ...] = DEFAULT_DEGREES
    """Edits by characters, above 0 and at most 1."""
    samples: int = DEFAULT_SAMPLES
    """How many are drawn of each text."""
    seed: int = DEFAULT_SEED
    """Seed of the perturbations."""

    def faults(self) -> list[str]:
        """Return what is wrong with it, a sentence each."""
        return [
            *Scope.faults(self),
            *_list_faults("degree", self.degrees),
            *(
                f"degree {d!r} is outside 0..1, or 0: the clean texts are measured anyway"
                for d in self.degrees
                if not 0.0 < float(d) <= 1.0
            ),
            *([f"samples is {self.samples}; it must be at least 1"] if self.samples < 1 else []),
            *_seed_faults([self.seed]),
        ]

    def cells(self, model: str, dataset: str, perturbation: str) -> tuple[Degree, ...]:
        """Return the degrees of one perturbation of a model on a data set; `CLEAN` has none."""
        if perturbation == CLEAN:
            return ()
        return tuple(Degree(model, dataset, perturbation, d, self.seed, self.samples) for d in self.degrees)


def format_prob(prob: float) -> str:
    """Return the one spelling of a prob or degree as a param: params compare as text."""
    return f"{prob:.6g}"


def measurement_params(cell: Measurement) -> dict[str, str]:
    """Return the params that name a measurement, its dose as `format_prob` spells it."""
    values = asdict(cell)
    return {name: format_prob(value) if isinstance(value, float) else str(value) for name, value in values.items()}


def measurement_title(cell: Measurement) -> str:
    """Return what a measurement of a model on a data set is called: `space prob 0.3 seed 13`."""
    if cell.perturbation == CLEAN:
        return CLEAN
    _, _, perturbation, *rest = measurement_params(cell).items()
    return " ".join([perturbation[1], *(f"{name} {value}" for name, value in rest)])


def _seed_faults(seeds: Sequence[int]) -> list[str]:
    return [f"seed {s} is negative" for s in seeds if s < 0]


def _perturbation_faults(name: str) -> list[str]:
    try:
        find_perturbation(name)
    except CrtError as error:
        return [str(error)]
    return []


def _table_faults(name: str, own: OwnTable) -> list[str]:
    if name not in PERTURBATIONS:
        return [f"{unknown('perturbation', name, PERTURBATIONS)} (in table={name}:{own})"]
    if not (PERTURBATIONS[name].table or PERTURBATIONS[name].takes_words):
        return [f"perturbation '{name}' has no table (in table={name}:{own})"]
    return [] if is_file(own.path) else [f"{no_such(own.path)} (in table={name}:{own})"]


def _ways_faults(ways: Sequence[str], perturbations: Sequence[str]) -> list[str]:
    faults = [unknown("way to evade", way, WAYS_TO_EVADE) for way in ways if way not in WAYS_TO_EVADE]
    if ways and "evade" not in perturbations:
        faults.append("ways is for evade, which is not among the perturbations")
    return faults


def _list_faults(kind: str, values: Sequence[object]) -> list[str]:
    if not values:
        return [f"the {kind} list is empty"]
    spelled = [format_prob(value) if isinstance(value, float) else str(value) for value in values]
    repeated = sorted({value for value in spelled if spelled.count(value) > 1})
    return [f"{kind} {redacted(value)} is listed twice" for value in repeated]
