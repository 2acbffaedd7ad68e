"""Signs inside a word: 傻*逼, 尼·玛, and characters behind a mask: 强*, 强X, as people do to get past a filter."""

from crt.perturbations.engine import SiteFinder
from crt.perturbations.guards import negations
from crt.perturbations.phrases import FUNCTION_WORDS, Phrase, by_phrase
from crt.records import Site

SIGNS = ("*", "·", ".", "-", "/", "|", "_")
"""What stands between two characters, the most usual first."""

MASKS = ("*", "X", "口", "x", "■", "□", "○")
"""What stands in place of a character, the most usual first."""


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
    options = []
    for sign, mask in zip(SIGNS, MASKS, strict=True):
        options += [phrase.put(sign, at, at) for at in range(1, size)]
        options += [phrase.put(mask, at, at + 1) for at in reversed(range(size))]
    return tuple(dict.fromkeys(options))
