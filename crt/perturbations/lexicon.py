"""What a disguised word is taken for: the other words of the dictionary that its disguise fits as well."""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

from crt.perturbations.sound import readings
from crt.perturbations.text import dictionary, tag_of

LONGEST = 4
"""Characters of the words that are compared."""

OPPOSITES = frozenset("优劣免收多少高低大小好坏长短真假升降涨跌买卖进退胜负强弱增减前后上下内外左右早晚")
"""Characters of which the opposite fits beside the same ones."""

_RARE = 20
"""A word that jieba counted less often is taken for nothing."""

_NO_CONTENT = ("nr", "ns", "nt", "c", "d", "f", "m", "p", "q", "r", "u", "y")
"""How jieba's tags begin of names, and of words of grammar."""


def count(word: str) -> int:
    """Return how often jieba counted a word; 0 if it does not know it."""
    return dictionary().get(word, (0, ""))[0]


def content(word: str) -> bool:
    """Tell whether a word is neither a name nor one of grammar."""
    return not tag_of(word).startswith(_NO_CONTENT)


def others(word: str, at: int, initial: str = "") -> int:
    """Return how often jieba counted the words that differ from one in a single character.

    Args:
        word: the one.
        at: which character.
        initial: of the others there; "" for any.
    """
    found = _by_rest().get((word[:at], word[at + 1 :]), ())
    return sum(count(word[:at] + char + word[at + 1 :]) for char in found if char != word[at] and _fits(char, initial))


def _fits(char: str, initial: str) -> bool:
    syllable = readings().main.get(char) or readings().toneless.get(char, "")
    return not initial or syllable[:1] in ("", initial)


@cache
def _by_rest() -> Mapping[tuple[str, str], list[str]]:
    """Return the characters that make a word of what stands before and behind them."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for word, (counted, _) in dictionary().items():
        if counted >= _RARE and 1 < len(word) <= LONGEST:
            for at, char in enumerate(word):
                found[word[:at], word[at + 1 :]].append(char)
    return found
