"""Stray characters between Han characters: `space`, `punctuation` and `invisible`.

Only the gap between two neighbouring Han characters is a site: numbers, Latin words and emoji stay whole.
"""

from crt.perturbations.engine import SiteFinder
from crt.perturbations.text import BETWEEN_HAN
from crt.records import Site

SPACE = (" ",)

PUNCTUATION = ("，", "、", "。", "！", "？", "；", "：", "…")
"""Marks of Chinese punctuation, the most usual first."""

INVISIBLE = ("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff")
"""Characters without a width: space, non-joiner, joiner, word joiner, no-break space."""


def insertion(options: tuple[str, ...]) -> SiteFinder:
    """Find the gaps between Han characters, where one of the options may be inserted."""

    def find(text: str) -> tuple[Site, ...]:
        return tuple(Site(gap.start(), gap.start(), options) for gap in BETWEEN_HAN.finditer(text))

    return find
