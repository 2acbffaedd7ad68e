"""Several families in one text, as posts mix them: each site is written in one of the ways of all families."""

from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter

from crt.perturbations.engine import SiteFinder
from crt.perturbations.text import in_turn
from crt.records import Site

OPTIONS = 3
"""How many options each family has at a site: those that people use most."""

_Piece = tuple[int, int, int, tuple[str, ...]]
"""Start and end of a site within the span of its group, the rank of its family, and its options."""


def mixture(families: Sequence[SiteFinder]) -> SiteFinder:
    """Find the places where any family has a site; sites that overlap are one.

    Args:
        families: finders, the most usual first: their first options stand before all second ones.
    """

    def find(text: str) -> tuple[Site, ...]:
        pieces = sorted(
            (start, end, rank, options[:OPTIONS])
            for rank, family in enumerate(families)
            for start, end, options in family(text)
        )
        sites, first = [], 0
        while first < len(pieces):
            start, end, *_ = pieces[first]
            last = first + 1
            while last < len(pieces) and pieces[last][0] < end:
                end = max(end, pieces[last][1])
                last += 1
            group = tuple(
                (begin - start, stop - start, rank, options) for begin, stop, rank, options in pieces[first:last]
            )
            sites.append(Site(start, end, _joined(text[start:end], group)))
            first = last
        return tuple(sites)

    return find


@lru_cache(maxsize=1 << 14)
def _joined(span: str, group: tuple[_Piece, ...]) -> tuple[str, ...]:
    """Return what may stand in place of a span: the first option of each family, the most usual family first, then the second."""
    columns: dict[int, list[str]] = {}
    for start, end, rank, options in sorted(group, key=itemgetter(2)):
        columns.setdefault(rank, []).extend(span[:start] + option + span[end:] for option in options)
    return tuple(dict.fromkeys(in_turn(columns.values())))
