"""How people chat: slang, and words that they mix up: 什么 -> 啥, 跑得快 -> 跑的快.

Both are whole words of the segmentation. A word that people mix up is a site only between the neighbours that its set
asks for, which are words, or parts of speech as jieba's dictionary has them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crt.errors import ResourceError
from crt.perturbations.engine import SiteFinder
from crt.perturbations.guards import TITLE, outside
from crt.perturbations.text import dictionary, words
from crt.records import Site
from crt.resources import Table


@dataclass(frozen=True, slots=True)
class Confusion:
    """Words that are written for each other."""

    words: tuple[str, ...]
    """What may be replaced."""
    to: tuple[str, ...]
    """What it may become, the most usual first; the words themselves unless the set says otherwise."""
    left: frozenset[str]
    """Words and tags, one of which the word before must be or have; "" is the start of the text. None: any word."""
    right: frozenset[str]
    """The same of the word after; "" is the end of the text."""

    def fits(self, before: str, after: str) -> bool:
        """Return whether a word between these two may be replaced."""
        return _allowed(self.left, before) and _allowed(self.right, after)


def _allowed(condition: frozenset[str], word: str) -> bool:
    return not condition or word in condition or dictionary().get(word, (0, None))[1] in condition


def colloquial(table: Table) -> SiteFinder:
    """Find the words of the table, and those that people mix up, outside titles; a word that is both has the options of both."""
    mixed: dict[str, list[Confusion]] = {}
    for confusion in confusions(table):
        for word in confusion.words:
            mixed.setdefault(word, []).append(confusion)

    def find(text: str) -> tuple[Site, ...]:
        sites = []
        spans = words(text)
        neighbours = ["", *(text[start:end] for start, end in spans), ""]
        for (start, end), before, word, after in zip(spans, neighbours, neighbours[1:], neighbours[2:], strict=False):
            here = [option for c in mixed.get(word, ()) if c.fits(before, after) for option in c.to]
            options = dict.fromkeys([*here, *table.entries.get(word, ())])
            options.pop(word, None)
            if options:
                sites.append(Site(start, end, tuple(options)))
        return tuple(sites)

    return outside(TITLE, find)


def confusions(table: Table) -> tuple[Confusion, ...]:
    """Return the sets under "confusions" in a table; a table may have none.

    A set is `{"words": [...], "to": [...], "left": [...], "right": [...]}`, of which only `words` must be given.

    Raises:
        ResourceError: a set is unusable; the message names the file, the set and what is wrong with it.
    """
    sets = table.more.get("confusions", [])
    if not isinstance(sets, list):
        raise ResourceError(f"{table.path}: 'confusions' must be a list of sets")
    faults = [f"confusion {at}: {fault}" for at, given in enumerate(sets, 1) if (fault := _fault(given))]
    if faults:
        raise ResourceError(f"{table.path}: {'; '.join(faults[:5])}")
    return tuple(_confusion(given) for given in sets)


def _confusion(given: Mapping[str, Any]) -> Confusion:
    left, right = frozenset(given.get("left", ())), frozenset(given.get("right", ()))
    return Confusion(tuple(given["words"]), tuple(given.get("to", given["words"])), left, right)


def _fault(given: object) -> str:
    if not isinstance(given, dict) or "words" not in given:
        return "must be an object with 'words'"
    if unknown := sorted(given.keys() - {"words", "to", "left", "right"}):
        return f"has no field '{unknown[0]}'; the fields are words, to, left and right"
    for name, value in given.items():
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            return f"'{name}' needs a list of at least one string"
    replaced: list[str] = given["words"]
    to: list[str] = given.get("to", replaced)
    if "" in replaced or "" in to:
        return "a word is empty"
    for word in replaced:
        if set(to) <= {word}:
            return f"'{word}' can become nothing but itself; name another word in 'words' or in 'to'"
    return ""
