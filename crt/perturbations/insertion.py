"""Stray characters between Han characters: `space`, `invisible` and `punctuation`.

Only the gap between two neighbouring Han characters is a site: numbers, Latin words and emoji stay whole.
"""

from crt.perturbations.engine import SiteFinder
from crt.perturbations.guards import RUN_OF_NUMERALS, after_no_negator, outside
from crt.perturbations.text import BETWEEN_HAN, words
from crt.records import Site

SPACE = (" ",)

INVISIBLE = ("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff")
"""Characters without a width: space, non-joiner, joiner, word joiner, no-break space."""

PUNCTUATION = ("，", "、", "。", "！", "；", "：", "…")
"""Marks of Chinese punctuation, the most usual first; ？ would make a question of a statement."""

WITHIN_WORDS = PUNCTUATION[:2]
"""Those that slip into a word; one that ends a sentence would end it there."""


def blanks(options: tuple[str, ...]) -> SiteFinder:
    """Find the gaps between Han characters, where one of the options may be inserted."""

    def find(text: str) -> tuple[Site, ...]:
        return tuple(Site(gap.start(), gap.start(), options) for gap in BETWEEN_HAN.finditer(text))

    return outside(RUN_OF_NUMERALS, find)


def punctuation() -> SiteFinder:
    """Find the gaps where a mark may be inserted: any between two words, a comma within one, none after a negation or 对."""

    def find(text: str) -> tuple[Site, ...]:
        spans = words(text)
        ends = {end for _, end in spans}
        bound = {end for start, end in spans if text[start:end] == "对"}  # before a mark it says "right", and not "to"
        gaps = (gap.start() for gap in BETWEEN_HAN.finditer(text))
        return tuple(Site(at, at, PUNCTUATION if at in ends else WITHIN_WORDS) for at in gaps if at not in bound)

    return after_no_negator(find)
