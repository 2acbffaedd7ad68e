"""From sites to perturbed texts: choose, apply, perturb.

A site is edited if its draw is below `prob`. The draw belongs to (seed, perturbation, example, field) and the position
of the site; `prob` has no part in it. So the edits at a low prob are a subset of those at a higher one, the result
does not depend on other examples, and a new table entry leaves all other sites as they were.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crt import randomness
from crt.records import Edit, Example, Input, Perturbed, Site

SiteFinder = Callable[[str], tuple[Site, ...]]
"""Pure: the sites of a text, sorted, not overlapping, at most one a start."""

FIELDS: dict[str, tuple[int, ...]] = {"both": (0, 1), "first": (0,), "second": (1,)}
"""Which fields of a pair are perturbed; a single text is field 0."""

_TAKE, _PICK = 0, 1


@dataclass(frozen=True, slots=True)
class Sites:
    """The sites of many examples, side by side; entry k of each array is site k."""

    examples: tuple[Example, ...]
    """The examples, in their order."""
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
    old: tuple[str, ...]
    """What stands there."""
    count: NDArray[np.int64]
    """int64[n]: sites of each example."""


def find_sites(examples: Sequence[Example], finder: SiteFinder, *, fields: str = "both") -> Sites:
    """Find the sites of every example once; a text that occurs several times is searched once."""
    found: dict[str, tuple[Site, ...]] = {}
    sites: list[Site] = []
    owner: list[int] = []
    field: list[int] = []
    old: list[str] = []
    for row, example in enumerate(examples):
        for index in FIELDS[fields]:
            if index >= len(example.input):
                continue
            text = example.input[index]
            if text not in found:
                found[text] = finder(text)
            here = found[text]
            sites += here
            owner += [row] * len(here)
            field += [index] * len(here)
            old += [text[site.start : site.end] for site in here]
    owners = np.array(owner, dtype=np.int64)
    return Sites(
        tuple(examples),
        tuple(sites),
        owners,
        np.array(field, dtype=np.int64),
        np.fromiter((site.start for site in sites), dtype=np.int64, count=len(sites)),
        np.fromiter((len(site.options) for site in sites), dtype=np.int64, count=len(sites)),
        tuple(old),
        np.bincount(owners, minlength=len(examples)).astype(np.int64),
    )


def choose(sites: Sites, *, name: str, prob: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sites to edit, ascending, and the rank of the option that each of them gets."""
    bases = np.zeros((len(sites.examples), 2), dtype=np.uint64)
    for field in sorted(set(sites.field.tolist())):
        bases[:, field] = [randomness.base(seed, name, example.id, field) for example in sites.examples]
    keys = bases[sites.owner, sites.field]
    taken = np.flatnonzero(randomness.uniforms(keys, sites.start, stream=_TAKE) < prob)
    options = sites.options[taken]
    weight = np.cumsum(1.0 / np.arange(1, options.max(initial=1) + 1))
    draws = randomness.uniforms(keys[taken], sites.start[taken], stream=_PICK)
    ranks = np.searchsorted(weight, draws * weight[options - 1], side="right")
    return taken, np.minimum(ranks, options - 1)


def apply(original: Input, edits: Sequence[Edit]) -> Input:
    """Return the input after its edits, which are sorted by field and start and do not overlap."""
    fields = []
    for index, text in enumerate(original):
        parts: list[str] = []
        at = 0
        for field, start, end, _, new in edits:
            if field == index:
                parts += (text[at:start], new)
                at = end
        fields.append("".join([*parts, text[at:]]) if parts else text)
    return tuple(fields)


def perturb_all(sites: Sites, *, name: str, prob: float, seed: int) -> list[Perturbed]:
    """Perturb every example; element i belongs to example i.

    Args:
        sites: from `find_sites`.
        name: of the perturbation, part of the key of the draws.
        prob: share of the sites to edit, 0..1.
        seed: of the draws.
    """
    taken, ranks = choose(sites, name=name, prob=prob, seed=seed)
    chosen = taken.tolist()
    picked = [sites.sites[k] for k in chosen]
    columns = (
        sites.field[taken].tolist(),
        [site.start for site in picked],
        [site.end for site in picked],
        [sites.old[k] for k in chosen],
        [site.options[rank] for site, rank in zip(picked, ranks.tolist(), strict=True)],
    )
    edits = list(map(Edit._make, zip(*columns, strict=True)))
    ends = np.searchsorted(sites.owner[taken], np.arange(len(sites.examples)), side="right").tolist()
    result, at = [], 0
    for example, count, end in zip(sites.examples, sites.count.tolist(), ends, strict=True):
        own = tuple(edits[at:end])
        result.append(Perturbed(apply(example.input, own) if own else example.input, own, count))
        at = end
    return result


def perturb(
    example: Example, finder: SiteFinder, *, name: str, prob: float, seed: int, fields: str = "both"
) -> Perturbed:
    """Perturb one example: the same result as `perturb_all` gives it among others."""
    return perturb_all(find_sites([example], finder, fields=fields), name=name, prob=prob, seed=seed)[0]
