"""Slips of the hand inside a word: `swap`, `repeat` and `delete`.

Only Han characters in words of at least two are sites, and none that negates.
"""

import re
from collections.abc import Callable, Iterator

from crt.perturbations.engine import SiteFinder
from crt.perturbations.guards import NEGATIONS
from crt.perturbations.text import HAN, words
from crt.records import Site

_RUN = re.compile(f"(?:(?![{NEGATIONS}])[{HAN}])+")

Slip = Callable[[str, int], Iterator[Site]]


def swap(run: str, start: int) -> Iterator[Site]:
    """Exchange two neighbours: 电影 -> 影电."""
    for at in range(0, len(run) - 1, 2):
        if run[at] != run[at + 1]:
            yield Site(start + at, start + at + 2, (run[at + 1] + run[at],))


def repeat(run: str, start: int) -> Iterator[Site]:
    """Type a character twice: 电影 -> 电电影."""
    for at, char in enumerate(run, start):
        yield Site(at, at + 1, (char * 2,))


def delete(run: str, start: int) -> Iterator[Site]:
    """Leave a character out: 电影 -> 影."""
    for at in range(start, start + len(run)):
        yield Site(at, at + 1, ("",))


def slips(slip: Slip) -> SiteFinder:
    """Find the places of a slip in the words of a text."""

    def find(text: str) -> tuple[Site, ...]:
        return tuple(
            site
            for start, end in words(text)
            if end - start > 1
            for run in _RUN.finditer(text, start, end)
            for site in slip(run.group(), run.start())
        )

    return find
