"""Short phrases: neighbouring words that are disguised as one, since no dictionary has 死妈 or 黑鬼."""

import re
from collections.abc import Callable, Collection, Sequence
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

FUNCTION_WORDS = frozenset(
    "的 了 是 在 我 你 您 他 她 它 们 这 那 哪 谁 和 与 及 或 就 都 也 很 太 更 最 又 再 还 才 只 吗 呢 吧 啊 呀 哦 嘛 啦 而 但 却 若 "
    "被 把 给 对 从 到 向 往 跟 让 比 按 为 以 因 于 由 着 过 得 地 之 其 所 有 要 会 能 可 该 将 已 曾 正 并 且 等 说 想 叫 去 来 上 下 "
    "里 中 外 前 后 时 个 些 种 次 样 什么 怎么 这个 那个 这些 那些 这样 那样 我们 你们 他们 她们 自己 因为 所以 如果 但是 可是 还是 "
    "就是 可以 已经 一个 一些 以及 或者 而且 虽然 不过 然后".split()
)
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
        """Return start and end of each word, then of each run of several words."""
        ends = list(accumulate(map(len, self.words)))
        starts = [0, *ends[:-1]]
        runs = ((first, last) for at, first in enumerate(starts) for last in ends[at + 1 :])
        return [*zip(starts, ends, strict=True), *runs]

    def put(self, new: str, first: int, last: int) -> str:
        """Return the phrase with something else in place of some of its characters."""
        return self.text[:first] + new + self.text[last:]


def by_phrase(options_of: Callable[[Phrase], tuple[str, ...]], known: Collection[str] = ()) -> SiteFinder:
    """Find the phrases of a text that have options; the phrases in `known` are told apart first.

    Words that negate are passed over. Others are joined up to LONGEST characters, but for function words and numerals.
    """
    read = lru_cache(maxsize=1 << 16)(options_of)
    ambiguous = readings().ambiguous
    lengths: dict[str, list[int]] = {}
    for length, first in sorted({(len(phrase), phrase[0]) for phrase in known if len(phrase) > 1}, reverse=True):
        lengths.setdefault(first, []).append(length)

    @lru_cache(maxsize=1 << 16)
    def alone(words: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the options of a phrase; None if they depend on the words around it."""
        if not ambiguous.isdisjoint(chain.from_iterable(words)):
            return None
        return read(Phrase(words, _heard(words, 0, len(words))))

    def known_from(found: Sequence[str], at: int, text: str, start: int) -> int:
        """Return behind which word the longest known phrase from word `at` on ends; 0 if there is none."""
        for length in lengths[text[start]]:
            if text[start : start + length] in known:
                reached = list(accumulate(map(len, found[at : at + length])))
                if length in reached:
                    return at + reached.index(length) + 1
        return 0

    def find(text: str) -> tuple[Site, ...]:
        found = tokens(text)
        starts = [0, *accumulate(map(len, found))]
        ends = [
            known_from(found, at, text, start) if text[start] in lengths else 0 for at, start in enumerate(starts[:-1])
        ]
        kinds = list(map(_kind, found))
        counted = [False, *(kind is Kind.NUMBER for kind in kinds)]
        joins = [
            kind is Kind.CONTENT and not (end or after) for kind, end, after in zip(kinds, ends, counted, strict=False)
        ]
        sites = []
        at = 0
        while at < len(found):
            last = ends[at] or at + 1
            if joins[at]:
                while last < len(found) and joins[last] and starts[last + 1] - starts[at] <= LONGEST:
                    last += 1
            part_of_a_number = kinds[at] is Kind.NUMBER and counted[at]
            if (ends[at] or kinds[at] is not Kind.OTHER) and not part_of_a_number:
                words = tuple(found[at:last])
                options = alone(words)
                if options is None:
                    options = read(Phrase(words, _heard(found, at, last)))
                if options:
                    sites.append(Site(starts[at], starts[last], options))
            at = last
        return tuple(sites)

    return find


def _heard(words: Sequence[str], first: int, last: int) -> tuple[str, ...]:
    return tuple(chain.from_iterable(syllables_of(words, k) for k in range(first, last)))


@lru_cache(maxsize=1 << 16)
def _kind(token: str) -> Kind:
    if not _NUMERALS.isdisjoint(token) or token[-1].isdigit():
        return Kind.NUMBER
    if not _HAN_ONLY.fullmatch(token) or negations(token):
        return Kind.OTHER
    return Kind.FUNCTION if token in FUNCTION_WORDS else Kind.CONTENT
