"""What no perturbation touches: names, numbers, links, emoji, and the words that turn a sentence into its opposite."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import replace

from crt.perturbations.engine import SiteFinder
from crt.perturbations.text import HAN
from crt.records import Site
from crt.resources import Table

NEGATIONS = "不没无未非别莫勿"
"""Characters that negate; one of them less, or more, and the gold label may be wrong."""

_EMOJI = (
    "\u00a9\u00ae\u200d\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    "\u2b05-\u2b55\u3030\u303d\u3297\u3299\ufe0f\U0001f000-\U0001faff\U000e0020-\U000e007f"
)
"""Character class of emoji, and of what joins and varies them."""

_LETTER = rf"(?:(?![{HAN}])[^\W_])"

FOREIGN = re.compile(
    "|".join(
        (
            r"(?:https?://|www\.)[!-~]+",  # links
            r"#[^#\s]{1,60}#|#\w{1,30}",  # tags: #电影# and #电影
            r"@[\w\-]{1,30}",  # names: @张三, and the second half of an e-mail address
            rf"\[[{HAN}]{{1,4}}\]",  # emoticons that are spelt out: [微笑]
            rf"{_LETTER}+(?:[.,:/%+&'_\-]{_LETTER}+)*[%+]*",  # words of other scripts, and numbers: C++, 12.5%
            f"[{_EMOJI}]+",
        )
    )
)
"""What is never touched."""

NUMBER = re.compile("[零〇一二三四五六七八九十百千万亿两]{2,}")
"""Numbers in Han characters: another script may write them, nothing else."""


def outside(pattern: re.Pattern[str], find: SiteFinder) -> SiteFinder:
    """Leave out the sites of a finder that touch a match of the pattern; those at its borders stay."""
    return clear_of(lambda text: (match.span() for match in pattern.finditer(text)), find)


def clear_of(found: Callable[[str], Iterable[tuple[int, int]]], find: SiteFinder) -> SiteFinder:
    """Leave out the sites of a finder that touch one of the places that are found; those at its borders stay."""

    def outer(text: str) -> tuple[Site, ...]:
        sites = list(find(text))
        for first, last in found(text):
            low, high = bisect_left(sites, (first,)), bisect_left(sites, (last,))
            if low and sites[low - 1].end > first:
                low -= 1
            elif low < high and sites[low].end == first:  # an insertion at the border
                low += 1
            del sites[low:high]
        return tuple(sites)

    return outer


def guarded(find: SiteFinder, *, trusted: bool) -> SiteFinder:
    """Leave out the sites of a finder that no perturbation may have.

    Args:
        find: the finder of a perturbation.
        trusted: it may write negations and numbers otherwise.
    """
    if trusted:
        return outside(FOREIGN, find)
    return outside(re.compile(f"{FOREIGN.pattern}|{NUMBER.pattern}"), find)


def negating_alike(find: SiteFinder) -> SiteFinder:
    """Leave out the options of a finder that negate more or less often than what they replace."""

    def alike(text: str) -> tuple[Site, ...]:
        sites = (site._replace(options=_alike(text[site.start : site.end], site.options)) for site in find(text))
        return tuple(site for site in sites if site.options)

    return alike


def entries_negating_alike(table: Table) -> Table:
    """Leave out the same options of a table: it is looked through once, where a finder is at each site."""
    entries = {key: _alike(key, options) for key, options in table.entries.items()}
    return replace(table, entries={key: options for key, options in entries.items() if options})


def _alike(old: str, options: tuple[str, ...]) -> tuple[str, ...]:
    negations = _negations(old)
    return tuple(option for option in options if _negations(option) == negations)


def _negations(text: str) -> list[str]:
    return [char for char in text if char in NEGATIONS]
