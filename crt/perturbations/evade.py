"""Words disguised from a filter: each in one of the ways in which the other perturbations write it."""

from collections.abc import Sequence
from functools import lru_cache

from crt.perturbations.engine import SiteFinder
from crt.perturbations.own_words import apart, occurrences
from crt.perturbations.script import holds_simplified, in_simplified, is_traditional
from crt.perturbations.text import words
from crt.records import Site
from crt.resources import Table


def evade(triggers: Table | None, ways: Sequence[SiteFinder]) -> SiteFinder:
    """Find the words that somebody would disguise.

    Args:
        triggers: the words, wherever they stand, each in either script; without them every word of two characters or more.
        ways: finders, the most usual first; each disguises a word by the first option of all of its sites.
    """
    triggered = occurrences(triggers.entries) if triggers else None

    @lru_cache(maxsize=1 << 16)
    def disguises(word: str) -> tuple[str, ...]:
        options = dict.fromkeys(_disguised(word, way(word)) for way in ways)
        return tuple(option for option in options if option != word)

    def disguises_there(word: str) -> tuple[str, ...]:
        """Return those that a text in traditional script may hold: its own characters, or the whole word in the other script."""
        other = in_simplified(word)
        return tuple(option for option in disguises(word) if option == other or not holds_simplified(option))

    def find(text: str) -> tuple[Site, ...]:
        plain = in_simplified(text)
        spans = apart(triggered(text)) if triggered else [span for span in words(plain) if span[1] - span[0] > 1]
        written = disguises_there if is_traditional(text) else disguises
        return tuple(Site(start, end, options) for start, end in spans if (options := written(text[start:end])))

    return find


def _disguised(word: str, sites: tuple[Site, ...]) -> str:
    parts: list[str] = []
    at = 0
    for site in sites:
        parts += (word[at : site.start], site.options[0])
        at = site.end
    return "".join([*parts, word[at:]])
