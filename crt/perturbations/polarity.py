"""What a text is for or against: no option of a table turns it, or puts an offensive word into it.

`resources/polarity.json` lists positive, negative and offensive words, and characters that are opposites. What stands in
place of a word may be of a kind only that the word is of itself, so an insult may be disguised as another one. A word
that arises from an option and its neighbours is not looked for: that is 1 option in 2,000 of reviews, most of them across
two words (这还实|在国).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

from crt.resources import Table, read_json, resource_dir

KINDS = ("positive", "negative", "offensive")


@dataclass(frozen=True, slots=True)
class Polarity:
    """What is known about the polarity of words."""

    kinds: Mapping[str, str]
    """The kind of each word."""
    opposites: Mapping[str, str]
    """The characters that a character must not give way to: 卖 for 买, and 买 for 卖."""


@cache
def polarity() -> Polarity:
    """Read `resources/polarity.json`."""
    data = read_json(resource_dir() / "polarity.json")
    kinds = {word: kind for kind in KINDS for line in data[kind] for word in line.split(" ")}
    opposites: dict[str, str] = {}
    for pair in " ".join(data["opposites"]).split(" "):
        for at in (0, 1):
            opposites[pair[at]] = opposites.get(pair[at], "") + pair[1 - at]
    return Polarity(kinds, opposites)


def keeps_polarity(old: str, new: str) -> bool:
    """Return whether a text that stands in place of another brings in no word of another kind, and no opposite."""
    return _kinds(new) <= _kinds(old) and not _turned(old, new)


def entries_keeping_polarity(table: Table) -> Table:
    """Leave out the options of a table that do not keep the polarity of their key."""
    kept = {
        key: tuple(option for option in options if keeps_polarity(key.partition("/")[0], option))
        for key, options in table.entries.items()
    }
    return replace(table, entries={key: options for key, options in kept.items() if options})


@cache
def _kinds(text: str) -> frozenset[str]:
    """Return the kinds of the words that stand anywhere in an entry of a table."""
    kinds = polarity().kinds
    return frozenset(kinds[text[a:b]] for a, b in combinations(range(len(text) + 1), 2) if text[a:b] in kinds)


def _turned(old: str, new: str) -> bool:
    """Return whether a character gave way to its opposite."""
    opposites = polarity().opposites
    return any(
        other in new and char not in new and other not in old for char in old for other in opposites.get(char, "")
    )
