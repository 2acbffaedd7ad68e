"""Words of the user: those that are never touched, and those that alone are.

A list may hold tens of thousands of words: a text is looked at once, whatever their number.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from crt.perturbations.engine import SiteFinder
from crt.perturbations.guards import clear_of
from crt.perturbations.script import in_simplified
from crt.records import Site
from crt.resources import Table, load_words

Spans = tuple[tuple[int, int], ...]
"""Start and end of the places of a text, by start."""


@dataclass(frozen=True, slots=True)
class OwnWords:
    """The lists of the user, which hold for every perturbation."""

    protect: Table | None = None
    """Words that are never changed, nor is anything put into them."""
    only: Table | None = None
    """The only words that are changed."""

    @classmethod
    def read(cls, protect: Path | None, only: Path | None) -> "OwnWords":
        """Return the words of the files that are given.

        Raises:
            ResourceError: a file cannot be read, or lists no word.
        """
        return cls(load_words("protect", protect) if protect else None, load_words("only", only) if only else None)

    def restrict(self, find: SiteFinder) -> SiteFinder:
        """Leave the sites of a finder that lie within the only words to be changed."""
        return within(occurrences(self.only.entries), find) if self.only else find

    def spare(self, find: SiteFinder) -> SiteFinder:
        """Leave out the sites of a finder that touch a word that is never changed; those at its borders stay."""
        return clear_of(occurrences(self.protect.entries), find) if self.protect else find


NO_WORDS = OwnWords()
"""The user gives none."""


def occurrences(words: Iterable[str]) -> Callable[[str], Spans]:
    """Return what finds words in a text, in either script: at each position the longest one that begins there.

    So places may overlap.
    """
    known = frozenset(map(in_simplified, words))
    lengths = {
        first: sorted({len(word) for word in group}, reverse=True) for first, group in _by_first_character(known)
    }

    def found(text: str) -> Spans:
        spans = []
        plain = in_simplified(text)
        for at, character in enumerate(plain):
            for length in lengths.get(character, ()):
                word = plain[at : at + length]
                if word in known:
                    spans.append((at, at + len(word)))
                    break
        return tuple(spans)

    return found


def _by_first_character(words: Iterable[str]) -> Iterable[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(word[0], []).append(word)
    return groups.items()


def apart(spans: Spans) -> Spans:
    """Return the places that do not overlap, taken from left to right."""
    taken, done = [], 0
    for start, end in spans:
        if start >= done:
            taken.append((start, end))
            done = end
    return tuple(taken)


def within(found: Callable[[str], Spans], find: SiteFinder) -> SiteFinder:
    """Leave the sites of a finder that lie within some places of a text.

    A place that has none, or that a site reaches beyond, as that of 信号 does in 微信号, has those of its characters alone.

    Args:
        found: finds the places.
        find: finds the sites.
    """
    alone = lru_cache(maxsize=1 << 16)(find)

    def inner(text: str) -> tuple[Site, ...]:
        spans = apart(found(text))
        sites = find(text) if spans else ()
        kept: list[Site] = []
        for start, end in spans:
            low, high = bisect_left(sites, (start,)), bisect_left(sites, (end,))
            here = [site for site in sites[low:high] if site.end > start]  # else it is an insertion before the place
            if here and here[-1].end <= end and (low == 0 or sites[low - 1].end <= start):
                kept += here
            else:
                kept += (Site(start + a, start + b, options) for a, b, options in alone(text[start:end]))
        return tuple(kept)

    return inner
