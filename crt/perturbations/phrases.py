"""Short phrases: neighbouring words that are disguised as one, since no dictionary has 死妈 or 黑鬼."""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import Enum, auto
from functools import lru_cache
from itertools import accumulate, chain
from typing import NamedTuple

from crt.perturbations.engine import SiteFinder
from crt.perturbations.guards import NUMERALS, negations
from crt.perturbations.sound import readings, syllables_of
from crt.perturbations.text import HAN, tokens
from crt.records import Site

_NUMERALS = frozenset(NUMERALS)
_HAN_ONLY = re.compile(f"[{HAN}]+")

LONGEST = 4
"""Characters of a phrase, unless a table knows it."""

FUNCTION_WORDS = frozenset((
    *"的了是在我你您他她它们这那哪谁和与及或就都也很太更最又再还才只吗呢吧啊呀哦嘛啦而但却若被把给对从到向往跟让比按为以因于由着过得地之其所有",
    *"要会能可该将已曾正并且等说想叫去来上下里中外前后时个些种次样",
    *("什么", "怎么", "这个", "那个", "这些", "那些", "这样", "那样", "我们", "你们", "他们", "她们", "自己", "因为", "所以", "如果"),
    *("但是", "可是", "还是", "就是", "可以", "已经", "一个", "一些", "以及", "或者", "而且", "虽然", "不过", "然后"),
))  # fmt: skip
"""Words that join no phrase."""


class Kind(Enum):
    """What a word is to its neighbours."""

    CONTENT = auto()
    """Joins others."""
    FUNCTION = auto()
    """Stands alone."""
    NUMBER = auto()
    """Holds a numeral; stands alone, as does the word after it, which may be what is counted."""
    OTHER = auto()
    """Negates, or is not written in Han characters: passed over."""


class Phrase(NamedTuple):
    """A word, or several that stand side by side."""

    words: tuple[str, ...]
    """The words, in their order."""
    syllables: tuple[str, ...]
    """The toneless syllable of each character of the phrase; "" if unknown."""

    @property
    def text(self) -> str:
        """The words as they stand in the text."""
        return "".join(self.words)

    def spans(self) -> list[tuple[int, int]]:
        """Return start and end of each word, then of each run of several words, then of both ends of longer words."""
        ends = list(accumulate(map(len, self.words)))
        starts = [0, *ends[:-1]]
        long = [(start, end) for start, end in zip(starts, ends, strict=True) if end - start > 2]
        runs = ((first, last) for at, first in enumerate(starts) for last in ends[at + 1 :])
        parts = (part for start, end in long for part in ((start, start + 2), (end - 2, end)))
        return [*zip(starts, ends, strict=True), *runs, *parts]

    def put(self, new: str, first: int, last: int) -> str:
        """Return the phrase with something else in place of some of its characters."""
        return self.text[:first] + new + self.text[last:]


def by_phrase(options_of: Callable[[Phrase], tuple[str, ...]], known: Collection[str] = ()) -> SiteFinder:
    """Find the phrases of a text that have options; the phrases in `known` are told apart first.

    Words that negate are passed over. Others are joined up to LONGEST characters, but for function words and numerals.
    """
    read = lru_cache(maxsize=1 << 16)(options_of)
    ambiguous = readings().ambiguous
    ends_of_known = _finder_of(known)

    @lru_cache(maxsize=1 << 16)
    def alone(words: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the options of a phrase; None if they depend on the words around it."""
        if not ambiguous.isdisjoint(chain.from_iterable(words)):
            return None
        return read(Phrase(words, _heard(words, 0, len(words))))

    def find(text: str) -> tuple[Site, ...]:
        found = tokens(text)
        starts = [0, *accumulate(map(len, found))]
        sites = []
        for first, last in _cut(found, starts, ends_of_known(text, starts)):
            words = tuple(found[first:last])
            options = alone(words)
            if options is None:
                options = read(Phrase(words, _heard(found, first, last)))
            if options:
                sites.append(Site(starts[first], starts[last], options))
        return tuple(sites)

    return find


def _finder_of(known: Collection[str]) -> Callable[[str, Sequence[int]], list[int]]:
    """Return what finds behind which word of a text the longest known phrase ends that begins with each; 0 if none does."""
    lengths: dict[str, list[int]] = {}
    for length, first in sorted({(len(phrase), phrase[0]) for phrase in known if len(phrase) > 1}, reverse=True):
        lengths.setdefault(first, []).append(length)

    def end_of_known(text: str, starts: Sequence[int], at: int) -> int:
        start = starts[at]
        for length in lengths.get(text[start], ()):
            last = bisect_left(starts, start + length, at)
            if last < len(starts) and starts[last] == start + length and text[start : start + length] in known:
                return last
        return 0

    return lambda text, starts: [end_of_known(text, starts, at) for at in range(len(starts) - 1)]


def _cut(found: Sequence[str], starts: Sequence[int], ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first word of each phrase, and the one behind its last.

    Args:
        found: all words of a text.
        starts: where each begins, and where the last one ends.
        ends: behind which word a known phrase ends that begins with this one; 0 if none does.
    """
    kinds = list(map(_kind, found))
    counted = [False, *(kind is Kind.NUMBER for kind in kinds)]
    joins = [
        kind is Kind.CONTENT and not (end or after) for kind, end, after in zip(kinds, ends, counted, strict=False)
    ]
    first = 0
    while first < len(found):
        last = ends[first] or first + 1
        while joins[first] and last < len(found) and joins[last] and starts[last + 1] - starts[first] <= LONGEST:
            last += 1
        inside_a_number = kinds[first] is Kind.NUMBER and counted[first]
        if (ends[first] or kinds[first] is not Kind.OTHER) and not inside_a_number:
            yield first, last
        first = last


def _heard(words: Sequence[str], first: int, last: int) -> tuple[str, ...]:
    return tuple(chain.from_iterable(syllables_of(words, k) for k in range(first, last)))


@lru_cache(maxsize=1 << 16)
def _kind(token: str) -> Kind:
    if not _NUMERALS.isdisjoint(token) or token[-1].isdigit():
        return Kind.NUMBER
    if not _HAN_ONLY.fullmatch(token) or negations(token):
        return Kind.OTHER
    return Kind.FUNCTION if token in FUNCTION_WORDS else Kind.CONTENT
