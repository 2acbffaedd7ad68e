"""What was changed between a text and how somebody wrote it, and what some perturbations can produce of that.

A changed segment is what difflib finds between two equal ones. It is reached if the options of the sites of the original give
exactly what stands there: by the alignment that takes the fewest single steps (a character put in, left out or replaced by
another), and of those the fewest options.
"""

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from heapq import heappop, heappush
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from crt.perturbations.engine import SiteFinder
from crt.records import Site

_OPTION, _STEP = 0.001, 1.0
"""What an option and a single step cost; an equal character costs nothing."""


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
    most = _STEP * (1 + Levenshtein.distance(original, written))
    bound = _STEP
    while (steps := _cheapest(original, written, options, bound)) is None:
        bound = min(4 * bound, most)
    return steps


def _cheapest(
    original: str, written: str, options: dict[int, list[tuple[int, str]]], bound: float
) -> list[Segment] | None:
    """Return the single steps of the cheapest alignment; None if it costs as much as the bound, or more.

    A place, i in the original and j in the text as written, is the number i * width + j. Places are gone through in their order,
    and only those that cost less than the bound: with a low one few beside the equal parts.
    """
    rows, columns = len(original), len(written)
    width = columns + 1
    cost: dict[int, float] = {0: 0.0}
    came: dict[int, tuple[int, bool]] = {}
    open_ = [0]
    while open_:
        place = heappop(open_)
        i, j = divmod(place, width)
        here = cost[place]
        equal = i < rows and j < columns and original[i] == written[j]
        ways: list[tuple[int, float, bool]] = [(place + width + 1, here, False)] if equal else []
        for end, option in options.get(i, ()):
            to = end * width + j + len(option)
            if to != place and written.startswith(option, j):
                ways.append((to, here + _OPTION, False))
        if here + _STEP < bound:
            steps = ((width + 1, i < rows and j < columns and not equal), (width, i < rows), (1, j < columns))
            ways += [(place + step, here + _STEP, True) for step, possible in steps if possible]
        for to, price, single in ways:
            known = cost.get(to, bound)
            if price < known:
                if to not in cost:
                    heappush(open_, to)
                cost[to], came[to] = price, (place, single)
    goal = rows * width + columns
    return _single_steps(came, goal, width) if goal in cost else None


def _single_steps(came: dict[int, tuple[int, bool]], goal: int, width: int) -> list[Segment]:
    """Return the single steps on the way to a place."""
    found = []
    while goal:
        before, single = came[goal]
        if single:
            (start, written_start), (end, written_end) = divmod(before, width), divmod(goal, width)
            found.append(Segment(start, end, written_start, written_end))
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
