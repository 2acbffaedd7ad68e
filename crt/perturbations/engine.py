"""From sites to perturbed texts: find, choose, perturb.

There are two doses. At a prob, a site is edited if its draw is below `prob`. The draw belongs to (seed, perturbation,
input, field) and the position of the site; `prob` has no part in it, nor has the file or the row that the input stands
in. So the edits at a low prob are a subset of those at a higher one, equal inputs get equal edits, the result does not
depend on other examples, and a new table entry leaves all other sites as they were.

To a degree, as RobTest (Chen et al., Findings of ACL 2023) has it, an example is edited at as many sites as the degree
asks for by its length, those of the smallest draws. These draws belong to the number of the sample too.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from crt import randomness
from crt.errors import ResourceError
from crt.records import Edit, Example, Input, Perturbed, Site

SiteFinder = Callable[[str], tuple[Site, ...]]
"""Pure: the sites of a text, sorted, not overlapping, at most one a start."""

FIELDS: dict[str, tuple[int, ...]] = {"both": (0, 1), "first": (0,), "second": (1,)}
"""Which fields of a pair are perturbed; a single text is field 0."""

_TAKE, _PICK = 0, 1


def checked(find: SiteFinder, name: str) -> SiteFinder:
    """Return a site finder that looks at what it finds.

    Raises:
        ResourceError: when it is called: its sites are not sorted, overlap, or have an option that changes nothing.
    """

    def found(text: str) -> tuple[Site, ...]:
        sites, end = tuple(Site(*site) for site in find(text)), 0
        for number, site in enumerate(sites):
            same_start = number > 0 and site.start == sites[number - 1].start
            if not (end <= site.start <= site.end <= len(text)) or same_start:
                raise ResourceError(f"{name}: the sites of {text!r} are not sorted, or overlap, or lie outside: {site}")
            if not site.options or text[site.start : site.end] in site.options:
                raise ResourceError(f"{name}: a site of {text!r} has no option, or one that changes nothing: {site}")
            end = site.end
        return sites

    return found


@dataclass(frozen=True, slots=True)
class Sites:
    """The sites of many examples, side by side; entry k of each array is site k."""

    examples: tuple[Example, ...]
    """The examples, in their order."""
    keys: tuple[int, ...]
    """What the draws of each example belong to, see `Example.key`."""
    sites: tuple[Site, ...]
    """By example, field and start."""
    owner: NDArray[np.int64]
    """Row of the example."""
    field: NDArray[np.int64]
    """Field of the input."""
    start: NDArray[np.int64]
    """Position within the field."""
    options: NDArray[np.int64]
    """Number of options."""
    count: NDArray[np.int64]
    """int64[n]: sites of each example."""
    length: NDArray[np.int64]
    """int64[n]: code points of the fields of each example that were searched."""
    pieces: tuple[str, ...]
    """All fields of all examples, cut at their sites: what stands before a site, at it, ..., after the last one."""
    place: NDArray[np.int64]
    """Which of `pieces` stands at the site."""
    bounds: tuple[tuple[int, ...], ...]
    """For each example where in `pieces` its fields begin, and where the last one ends."""


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the garbage collector: of some 100,000 tuples without a cycle each of its passes is in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_collector_paused()
def find_sites(examples: Sequence[Example], finder: SiteFinder, *, fields: str = "both") -> Sites:
    """Find the sites of every example once; a text that occurs several times is searched once."""
    found: dict[str, tuple[Site, ...]] = {}
    sites: list[Site] = []
    owner: list[int] = []
    field: list[int] = []
    start: list[int] = []
    options: list[int] = []
    pieces: list[str] = []
    place: list[int] = []
    bounds: list[tuple[int, ...]] = []
    length = np.zeros(len(examples), dtype=np.int64)
    for row, example in enumerate(examples):
        begins = [len(pieces)]
        for index, text in enumerate(example.input):
            here: tuple[Site, ...] = ()
            if index in FIELDS[fields]:
                length[row] += len(text)
                if text not in found:
                    found[text] = finder(text)
                here = found[text]
            done = 0
            for first, last, _ in here:
                if first > done:
                    pieces.append(text[done:first])
                place.append(len(pieces))
                pieces.append(text[first:last])
                done = last
            pieces.append(text[done:])
            sites += here
            start += [site[0] for site in here]
            options += [len(site[2]) for site in here]
            owner += [row] * len(here)
            field += [index] * len(here)
            begins.append(len(pieces))
        bounds.append(tuple(begins))
    owners = np.array(owner, dtype=np.int64)
    return Sites(
        tuple(examples),
        tuple([example.key for example in examples]),
        tuple(sites),
        owners,
        np.array(field, dtype=np.int64),
        np.array(start, dtype=np.int64),
        np.array(options, dtype=np.int64),
        np.bincount(owners, minlength=len(examples)).astype(np.int64),
        length,
        tuple(pieces),
        np.array(place, dtype=np.int64),
        tuple(bounds),
    )


@dataclass(frozen=True, slots=True)
class PerturbedInputs(Sequence[Perturbed]):
    """The perturbed inputs of one cell; element i belongs to example i, and its edits are only made when asked for."""

    inputs: tuple[Input, ...]
    """The inputs after their edits."""
    edits: NDArray[np.int64]
    """int64[n]: number of edits."""
    _sites: Sites
    _taken: NDArray[np.int64]
    _new: list[str]

    @property
    def sites(self) -> NDArray[np.int64]:
        """int64[n]: places that could have been edited."""
        return self._sites.count

    def __len__(self) -> int:
        return len(self.inputs)

    @overload
    def __getitem__(self, row: int) -> Perturbed: ...
    @overload
    def __getitem__(self, row: slice) -> list[Perturbed]: ...
    def __getitem__(self, row: int | slice) -> Perturbed | list[Perturbed]:
        if isinstance(row, slice):
            return [self[k] for k in range(*row.indices(len(self)))]
        row = range(len(self))[row]
        first, last = np.searchsorted(self._sites.owner[self._taken], (row, row + 1)).tolist()
        edits = []
        for k in range(first, last):
            number = int(self._taken[k])
            site = self._sites.sites[number]
            old = self._sites.pieces[self._sites.place[number]]
            edits.append(Edit(int(self._sites.field[number]), site.start, site.end, old, self._new[k]))
        return Perturbed(self.inputs[row], tuple(edits), int(self.sites[row]))


def choose(sites: Sites, *, name: str, prob: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sites to edit, ascending, and the rank of the option that each of them gets."""
    keys = _keys(sites, lambda row, field: (seed, name, sites.keys[row], field))
    taken = np.flatnonzero(randomness.uniforms(keys, sites.start, stream=_TAKE) < prob)
    return taken, _ranks(sites, taken, keys)


def choose_to_degree(
    sites: Sites, *, name: str, degree: float, seed: int, sample: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the same for a degree; the sites of both fields of an example are ranked together."""
    keys = _keys(sites, lambda row, field: (seed, name, sites.keys[row], field, sample[row]))
    order = np.lexsort((randomness.uniforms(keys, sites.start, stream=_TAKE), sites.owner))
    first = np.cumsum(sites.count) - sites.count
    rank = np.arange(len(order)) - first[sites.owner]
    taken = np.sort(order[rank < asked(sites, degree)[sites.owner]])
    return taken, _ranks(sites, taken, keys)


def asked(sites: Sites, degree: float) -> NDArray[np.int64]:
    """Return how many edits a degree asks for: int64[n], ceil(degree x code points of the searched fields)."""
    # rounded first: 0.07 * 100 is a little more than 7
    return np.ceil(np.round(degree * sites.length, 9)).astype(np.int64)


def _keys(sites: Sites, key: Callable[[int, int], tuple[str | int, ...]]) -> NDArray[np.uint64]:
    """Return the base of the draws of each site, from the key of its input and field."""
    bases = np.zeros((len(sites.examples), 2), dtype=np.uint64)
    for field in sorted(set(sites.field.tolist())):
        bases[:, field] = [randomness.base(*key(row, field)) for row in range(len(sites.examples))]
    return np.asarray(bases[sites.owner, sites.field])


def _ranks(sites: Sites, taken: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the rank of the option that each of the taken sites gets."""
    options = sites.options[taken]
    weight = np.cumsum(1.0 / np.arange(1, options.max(initial=1) + 1))
    draws = randomness.uniforms(keys[taken], sites.start[taken], stream=_PICK)
    ranks = np.searchsorted(weight, draws * weight[options - 1], side="right")
    return np.minimum(ranks, options - 1)


def perturb_all(sites: Sites, *, name: str, prob: float, seed: int) -> PerturbedInputs:
    """Perturb every example.

    Args:
        sites: from `find_sites`.
        name: of the perturbation, part of the key of the draws.
        prob: share of the sites to edit, 0..1.
        seed: of the draws.
    """
    return _edited(sites, *choose(sites, name=name, prob=prob, seed=seed))


def perturb_to_degree(
    sites: Sites, *, name: str, degree: float, seed: int, sample: int | Sequence[int]
) -> PerturbedInputs:
    """Perturb every example to a degree: the first ceil(degree x characters) sites, all of them where it has fewer.

    The edits of a sample at a lower degree are a subset of those at a higher one.

    Args:
        sites: from `find_sites`.
        name: of the perturbation, part of the key of the draws.
        degree: edits by code points of the searched fields, from 0.
        seed: of the draws.
        sample: its number, part of the key of the draws too: one for all examples, or one for each.
    """
    numbers = [sample] * len(sites.examples) if isinstance(sample, int) else sample
    return _edited(sites, *choose_to_degree(sites, name=name, degree=degree, seed=seed, sample=numbers))


def _edited(sites: Sites, taken: NDArray[np.int64], ranks: NDArray[np.int64]) -> PerturbedInputs:
    new = [sites.sites[k].options[rank] for k, rank in zip(taken.tolist(), ranks.tolist(), strict=True)]
    pieces = list(sites.pieces)
    for place, option in zip(sites.place[taken].tolist(), new, strict=True):
        pieces[place] = option
    edits = np.bincount(sites.owner[taken], minlength=len(sites.examples)).astype(np.int64)
    inputs = tuple(
        tuple(["".join(pieces[begin:end]) for begin, end in pairwise(bounds)]) if edited else example.input
        for example, bounds, edited in zip(sites.examples, sites.bounds, edits.tolist(), strict=True)
    )
    return PerturbedInputs(inputs, edits, sites, taken, new)


def perturb(
    example: Example, finder: SiteFinder, *, name: str, prob: float, seed: int, fields: str = "both"
) -> Perturbed:
    """Perturb one example: the same result as `perturb_all` gives it among others."""
    return perturb_all(find_sites([example], finder, fields=fields), name=name, prob=prob, seed=seed)[0]
