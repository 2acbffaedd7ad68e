"""Words replaced by synonyms that mislead the eye: 肯定比现在好 -> 肯定比如今好, in which 比如 can be read.

Both texts mean the same; only in the second one does a frequent word lie across a border of the changed word. It is
part of no reading of the sentence, but a segmenter, or a model that has learnt words, may fall for it.
"""

from functools import cache

from crt.perturbations.engine import SiteFinder
from crt.perturbations.synonym import synonym
from crt.perturbations.text import dictionary, words
from crt.records import Site
from crt.resources import Table

FREQUENT = 300
"""Count, in jieba's dictionary, of a word that a reader sees at once."""

LONGEST = 4
"""Code points of a word that lies across others; longer ones hardly arise by chance."""


@cache
def _frequent() -> frozenset[str]:
    words_ = dictionary().items()
    return frozenset(word for word, (count, _) in words_ if 2 <= len(word) <= LONGEST and count >= FREQUENT)


def crossing(text: str) -> list[tuple[int, int]]:
    """Return where a frequent word lies across a border between two words of the text and cuts at least one of them."""
    borders = _borders(text)
    return sorted({span for border in borders for span in _across(text, border, borders)})


def garden_path(table: Table) -> SiteFinder:
    """Find the words of a table of synonyms that no frequent word lies across, but would after the replacement."""
    synonyms = synonym(table)

    def find(text: str) -> tuple[Site, ...]:
        borders = _borders(text)
        sites = []
        for start, end, options in synonyms(text):
            if _across(text, start, borders) or _across(text, end, borders):
                continue
            before, after = max(0, start - LONGEST), min(len(text), end + LONGEST)
            around = [at for at in range(before, after + 1) if at in borders and not start < at < end]
            misleading = []
            for option in options:
                shift = len(option) - (end - start)
                near = {at - before + (shift if at >= end else 0) for at in around}
                changed = text[before:start] + option + text[end:after]
                if any(_across(changed, at - before, near) for at in (start, end + shift)):
                    misleading.append(option)
            if misleading:
                sites.append(Site(start, end, tuple(misleading)))
        return tuple(sites)

    return find


def _borders(text: str) -> set[int]:
    return {0, *(end for _, end in words(text))}


def _across(text: str, border: int, borders: set[int]) -> list[tuple[int, int]]:
    """Return start and end of the frequent words across a border, but for those that are whole words side by side."""
    return [
        (start, end)
        for start in range(max(0, border - LONGEST + 1), border)
        for end in range(border + 1, min(len(text), start + LONGEST) + 1)
        if text[start:end] in _frequent() and not (start in borders and end in borders)
    ]
