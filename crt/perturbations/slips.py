"""Slips of the hand inside a word: `swap`, `repeat` and `delete`.

Only Han characters in words of at least two are sites, and none that negates or says how much. A slip makes no other word.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from crt.perturbations.engine import SiteFinder
from crt.perturbations.guards import NEGATOR, NEGATORS, QUANTITY, negations
from crt.perturbations.text import HAN, NAMES, dictionary, tag_of, words
from crt.records import Site

_RUN = re.compile(f"[{HAN}]+")

Slip = Callable[[str], Iterator[Site]]


def swap(word: str) -> Iterator[Site]:
    """Exchange two neighbours: 电影 -> 影电, but not 牛奶 -> 奶牛."""
    for start, run in _runs(word):
        for at in range(0, len(run) - 1, 2):
            swapped = run[at + 1] + run[at]
            if run[at] != run[at + 1] and swapped not in dictionary():
                yield Site(start + at, start + at + 2, (swapped,))


def repeat(word: str) -> Iterator[Site]:
    """Type a character twice: 电影 -> 电电影, but not 路遥 -> 路遥遥, another person."""
    last = len(word) - tag_of(word).startswith("nr")
    for start, run in _runs(word[:last]):
        for at, char in enumerate(run, start):
            yield Site(at, at + 1, (char * 2,))


def delete(word: str) -> Iterator[Site]:
    """Leave one character of a word out: 电影 -> 电, but not 我们 -> 我, 免费 -> 费, nor 王琦瑶 -> 王琦."""
    if (
        _RUN.fullmatch(word)
        and not set(f"{NEGATORS}难難") & set(word)
        and not word.endswith("们")
        and not tag_of(word).startswith(NAMES)
    ):
        left = dict.fromkeys(word[:at] + word[at + 1 :] for at in reversed(range(len(word))))
        if options := tuple(filter(_nothing_else, left)):
            yield Site(0, len(word), options)


def slips(slip: Slip, *, after_negators: bool = True) -> SiteFinder:
    """Find the places of a slip in the words of a text.

    Args:
        slip: yields the sites of a word.
        after_negators: also in the word after one that negates.
    """
    sites_of = lru_cache(maxsize=1 << 16)(lambda word: tuple(slip(word)))

    def find(text: str) -> tuple[Site, ...]:
        sites: list[Site] = []
        negated = False
        for start, end in words(text):
            word = text[start:end]
            if end - start > 1 and not negated and not QUANTITY.fullmatch(word):
                sites += [Site(start + first, start + last, options) for first, last, options in sites_of(word)]
            negated = not after_negators and bool(negations(word))
        return tuple(sites)

    return find


def _nothing_else(rest: str) -> bool:
    """Return whether what is left of a word is no other word, like 性化 of 人性化, nor a degree of nothing, like 很 of 很快."""
    return rest not in "很最更太较极" if len(rest) == 1 else rest not in dictionary() and rest[0] != "性"


def _runs(word: str) -> Iterator[tuple[int, str]]:
    """Yield start and text of the Han characters of a word, without those that negate."""
    kept = NEGATOR.sub(lambda match: "\0" * len(match[0]) if match["negator"] else match[0], word)
    for run in _RUN.finditer(kept):
        yield run.start(), run.group()
