"""Signs inside a word: 傻*逼, 尼·玛, and characters behind a mask: 强*, 强X, as people do to get past a filter."""

from itertools import zip_longest

from crt.perturbations.engine import SiteFinder
from crt.perturbations.guards import negations
from crt.perturbations.lexicon import OPPOSITES, count, others
from crt.perturbations.phrases import FUNCTION_WORDS, Phrase, by_phrase
from crt.records import Site

SIGNS = ("*", "·", ".", "-", "/", "|", "_")
"""What stands between two characters, the most usual first."""

MASKS = ("*", "□", "■", "○", "X", "x")
"""What stands in place of a character, the most usual first."""

BOX = "口"
"""A character as a mask: in place of a masked character only, elsewhere it is read."""

MASKED = frozenset("逼屄屌奸婊嫖妓淫骚贱操垃圾毒赌枪")
"""Characters that people mask, whatever stands beside them."""

COARSE = frozenset("日我发操做爱草干搞")
"""Characters beside which a mask seems to hide something coarse."""

CLEAR = 0.05
"""How often, to one occurrence of a word, the words may occur that it might be too with a mask in the same place."""


def signs() -> SiteFinder:
    """Find the words and short phrases of two characters or more; none behind a negation, which would lose what it negates."""
    marked = by_phrase(_marked)

    def find(text: str) -> tuple[Site, ...]:
        return tuple(site for site in marked(text) if not negations(text[max(0, site.start - 2) : site.start]))

    return find


def _marked(phrase: Phrase) -> tuple[str, ...]:
    """Return the phrase with the first sign in each gap, the first mask for each character from the last one on, and so on."""
    size = len(phrase.text)
    if size < 2 or phrase.text in FUNCTION_WORDS:
        return ()
    hidden = [
        at
        for first, last in phrase.spans()[: len(phrase.words)]
        for at in reversed(range(first, last))
        if _read_behind_a_mask(phrase, first, last, at)
    ]
    options = []
    for sign, mask in zip_longest(SIGNS, MASKS):
        options += [phrase.put(sign, at, at) for at in range(1, size)]
        options += [phrase.put(mask, at, at + 1) for at in hidden if mask]
    options += [phrase.put(BOX, at, at + 1) for at in hidden if phrase.text[at] in MASKED]
    return tuple(dict.fromkeys(options))


def _read_behind_a_mask(phrase: Phrase, first: int, last: int, at: int) -> bool:
    """Tell whether a word is known without one of its characters: the dictionary has no other one, or people mask it."""
    word, char = phrase.text[first:last], phrase.text[at]
    if char in MASKED:
        return True
    beside = {phrase.text[near] for near in (at - 1, at + 1) if 0 <= near < len(phrase.text)}
    return (
        last - first > 1
        and char not in OPPOSITES | FUNCTION_WORDS
        and COARSE.isdisjoint(beside)
        and others(word, at - first) <= CLEAR * count(word)
    )
