"""Words disguised from a filter: as people were seen to write them, or in one of the ways of the other perturbations."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from crt.perturbations.engine import SiteFinder
from crt.perturbations.script import in_simplified
from crt.perturbations.text import words
from crt.records import Site

Way = Callable[[str], Iterable[str]]
"""The disguises of a word, the most usual first."""

_PLAIN = {
    code + shift: ord(chr(code).lower())
    for codes, shifts in (
        (range(0x30, 0x3A), (0xFEE0,)),
        (range(0x41, 0x5B), (0, 0xFEE0)),
        (range(0x61, 0x7B), (0xFEE0,)),
    )
    for code in codes
    for shift in shifts
}
"""Letters and digits of either width and case as small ASCII ones: a character for a character."""

_STRAY = r"[ \t\xa0\u3000\u00ad\u200b-\u200f\u2060\ufeff*.·•‧・、'`^~|/\\+=_\-]{1,2}"
"""What is put into a word to break it: a blank, a mark that ends no sentence, a character without a width; at most two."""

BREAK = re.compile(rf"(?<=\w){_STRAY}(?=\w)")


class Found(NamedTuple):
    """A listed word in a text."""

    start: int
    """Its first code point."""
    end: int
    """One past its last code point."""
    word: str
    """As it is listed."""


def evade(listed: Iterable[str], ways: Sequence[Way]) -> SiteFinder:
    """Find the words that somebody would disguise.

    Args:
        listed: the words in simplified script, wherever they stand, and where they are broken already: 微 信, 微*信.
        ways: the most usual first; a site has what they make of its word, one after the other.
    """
    occurrences = finder_of(listed)

    @lru_cache(maxsize=1 << 16)
    def disguises(word: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(option for way in ways for option in way(word)))

    def find(text: str) -> tuple[Site, ...]:
        sites = []
        for start, end, word in occurrences(text):
            options = tuple(option for option in disguises(word) if option not in (word, text[start:end]))
            if options:
                sites.append(Site(start, end, options))
        return tuple(sites)

    return find


def in_the_way_of(find: SiteFinder) -> Way:
    """Return the way of a perturbation: the first option of all its sites in a word, then of each of them alone."""

    def disguised(word: str) -> list[str]:
        sites = find(word)
        return [_edited(word, chosen) for chosen in (sites, *((site,) for site in sites)) if chosen]

    return disguised


def _edited(word: str, sites: Sequence[Site]) -> str:
    parts: list[str] = []
    at = 0
    for site in sites:
        parts += (word[at : site.start], site.options[0])
        at = site.end
    return "".join([*parts, word[at:]])


def finder_of(listed: Iterable[str]) -> Callable[[str], list[Found]]:
    """Return what finds words in a text, the longest at each place, from left to right, in either script, in any case and width of letters.

    A text is gone through once, however many words there are. A word that is broken by a stray mark counts unless it begins
    within another word of the segmentation: 看电影 片子 holds no 影片.
    """
    known: dict[str, str] = {}
    lengths: dict[str, list[int]] = {}
    for word in sorted(listed, key=len, reverse=True):
        plain = word.translate(_PLAIN)
        known.setdefault(plain, word)
        of_start = lengths.setdefault(plain[:2], [])
        if len(plain) not in of_start:
            of_start.append(len(plain))

    def found(text: str) -> list[Found]:
        plain, places = _mended(in_simplified(text).translate(_PLAIN))
        spans: list[Found] = []
        at = 0
        while at < len(plain):
            candidates = (plain[at : at + length] for length in (*lengths.get(plain[at : at + 2], ()), 1))
            word = next((word for word in candidates if word in known), "")
            if word:
                spans.append(Found(places[at], places[at + len(word) - 1] + 1, known[word]))
            at += len(word) or 1
        if all(map(_is_whole, spans)):
            return spans
        within = {at for start, end in words(text) for at in range(start + 1, end)}
        return [span for span in spans if _is_whole(span) or span.start not in within]

    return found


def _is_whole(span: Found) -> bool:
    return span.end - span.start == len(span.word)


def _mended(text: str) -> tuple[str, Sequence[int]]:
    """Return a text without the stray marks in it, and the place of each of its characters."""
    breaks = [match.span() for match in BREAK.finditer(text)]
    if not breaks:
        return text, range(len(text))
    places: list[int] = []
    done = 0
    for start, end in [*breaks, (len(text), len(text))]:
        places += range(done, start)
        done = end
    return "".join([text[place] for place in places]), places
