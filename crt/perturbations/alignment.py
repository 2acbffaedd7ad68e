"""What was changed between a text and how somebody wrote it, and what some perturbations can produce of that.

A changed segment is what difflib finds between two equal ones. It is reached if the options of the sites of the original give
exactly what stands there: by the alignment that takes the fewest single steps (a character put in, left out or replaced by
another), and of those the fewest options.
"""

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from heapq import heappop, heappush
from typing import NamedTuple

from crt.perturbations.engine import SiteFinder
from crt.records import Site

_OPTION, _STEP = 0.001, 1.0
"""What an option and a single step cost; an equal character costs nothing."""

_Place = tuple[int, int]
"""A position in the original, and one in the text as written."""


class Segment(NamedTuple):
    """A part of an original, and what stands for it in the text as written."""

    start: int
    """First code point in the original."""
    end: int
    """One past the last one; equal to `start` where something was put in."""
    written_start: int
    """First code point in the text as written."""
    written_end: int
    """One past the last one; equal to `written_start` where something was left out."""


def segments(original: str, written: str) -> list[Segment]:
    """Return the changed segments, from left to right; between two of them there are equal characters."""
    matcher = SequenceMatcher(None, original, written, autojunk=False)
    return [Segment(*place) for tag, *place in matcher.get_opcodes() if tag != "equal"]


def reached(original: str, written: str, sites: Iterable[Site]) -> list[bool]:
    """Return for each changed segment whether the options of some sites of the original give it.

    A single step that touches no segment counts against the nearest: a character typed twice may stand before or after itself.
    """
    changed = segments(original, written)
    missed: set[Segment] = set()
    for step in unexplained(original, written, sites):
        touched = [segment for segment in changed if _touches(step, segment)]
        missed.update(touched or [min(changed, key=lambda segment: abs(segment.start - step.start))])
    return [segment not in missed for segment in changed]


def _touches(step: Segment, segment: Segment) -> bool:
    x, y, z, w = step
    a, b, c, d = segment
    within = (x < b and y > a) or (x == y and a <= x <= b)
    return within or c <= z < d or (z == w and c <= z <= d and a <= x <= b)


def unexplained(original: str, written: str, sites: Iterable[Site]) -> list[Segment]:
    """Return the single steps that remain when the sites explain as much as they can; sites may overlap."""
    options: dict[int, list[tuple[int, str]]] = {}
    for site in sites:
        options.setdefault(site.start, []).extend((site.end, option) for option in site.options)
    bound = _STEP
    while (steps := _cheapest(original, written, options, bound)) is None:
        bound *= 2
    return steps


def _cheapest(
    original: str, written: str, options: dict[int, list[tuple[int, str]]], bound: float
) -> list[Segment] | None:
    """Return the single steps of the cheapest alignment; None if it costs as much as the bound, or more.

    Places are gone through in order, and only those that cost less: with a low bound few beside the equal parts.
    """
    goal = (len(original), len(written))
    cost: dict[_Place, float] = {(0, 0): 0.0}
    came: dict[_Place, tuple[_Place, bool]] = {}
    open_: list[_Place] = [(0, 0)]
    while open_:
        place = heappop(open_)
        i, j = place
        here = cost[place]
        equal = i < goal[0] and j < goal[1] and original[i] == written[j]
        ways: list[tuple[_Place, float, bool]] = [((i + 1, j + 1), here, False)] if equal else []
        for end, option in options.get(i, ()):
            if written.startswith(option, j) and (end, j + len(option)) != place:
                ways.append(((end, j + len(option)), here + _OPTION, False))
        if here + _STEP < bound:
            steps = ((i + 1, j), (i, j + 1)) if equal else ((i + 1, j + 1), (i + 1, j), (i, j + 1))
            ways += [(to, here + _STEP, True) for to in steps if to[0] <= goal[0] and to[1] <= goal[1]]
        for to, total, single in ways:
            known = cost.get(to)
            if total < bound and (known is None or total < known):
                if known is None:
                    heappush(open_, to)
                cost[to], came[to] = total, (place, single)
    return _single_steps(came, goal) if goal in cost else None


def _single_steps(came: dict[_Place, tuple[_Place, bool]], goal: _Place) -> list[Segment]:
    """Return the single steps on the way to a place."""
    found = []
    while goal in came:
        before, single = came[goal]
        if single:
            found.append(Segment(before[0], goal[0], before[1], goal[1]))
        goal = before
    return found


def as_written(texts: Mapping[str, str]) -> SiteFinder:
    """Find the changed segments of texts that somebody wrote otherwise; a site has one option, what was written.

    Args:
        texts: how each original was written.
    """

    def find(text: str) -> tuple[Site, ...]:
        written = texts.get(text, text)
        return tuple(Site(a, b, (written[c:d],)) for a, b, c, d in segments(text, written))

    return find
