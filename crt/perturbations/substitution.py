"""Characters and words replaced by those that a table lists."""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate

from crt.perturbations.engine import SiteFinder
from crt.perturbations.guards import means_the_same
from crt.perturbations.polarity import keeps_polarity
from crt.perturbations.sound import readings, sounds_of
from crt.perturbations.text import grammatical, in_turn, tokens
from crt.records import Site
from crt.resources import Table

Entries = Mapping[str, tuple[str, ...]]

PER_CHARACTER = 3
"""How many options each character of a word adds to the word's own."""

_Spots = tuple[tuple[int, int, tuple[str, ...]], ...]
"""Start, end and options of each key in a word."""

_site = partial(tuple.__new__, Site)  # Site(...) takes three times as long, and there are millions


def substitution(table: Table, *, within: bool = True) -> SiteFinder:
    """Find the keys of a table, the longest at each position first, from left to right.

    A key is a word of the segmentation, or several, or stands within one: none is found across half a word. The key
    行/hang2 is the character 行 where it is read so; 行 is then no site where it is read otherwise. A key of several
    characters that stands within a word may also be written with one of its characters replaced, its own options first.

    Args:
        table: the keys and their options.
        within: find keys within words, and not only whole words; a key of one character then needs neighbours that are
            no part of an unknown name.
    """
    entries = table.entries
    phrases = _phrases(entries)
    read = frozenset(key[0] for key in entries if key[1:2] == "/")
    unsure = read & readings().ambiguous
    inside = lru_cache(maxsize=1 << 16)(partial(_inside, entries, _lengths(entries) if within else None, read))

    @lru_cache(maxsize=1 << 16)
    def alone(token: str) -> _Spots | None:
        """Return the keys in a word; None if that depends on the words around it."""
        if token in phrases or not unsure.isdisjoint(token):
            return None
        return inside(token, sounds_of([token], 0) if read else ())

    def find(text: str) -> tuple[Site, ...]:
        sites: list[Site] = []
        found = tokens(text)
        ends = set(accumulate(map(len, found))) if phrases else set()
        start = done = 0
        for k, token in enumerate(found):
            part = start < done or not (within or _alone(found, k))  # of a key of several words, or of a name
            if not part:
                spots = alone(token)
                if spots is None:
                    for phrase in phrases.get(token, ()):
                        if start + len(phrase) in ends and text.startswith(phrase, start):
                            done = start + len(phrase)
                            spots = ((0, len(phrase), entries[phrase]),)
                            break
                    else:
                        spots = inside(token, sounds_of(found, k) if read else ())
                for a, b, options in spots:
                    sites.append(_site((start + a, start + b, options)))
            start += len(token)
        return tuple(sites)

    return find


def _alone(found: Sequence[str], k: int) -> bool:
    """Tell whether a word of one character is one, and no part of a name that the dictionary lacks, as 里 is in 里皮."""
    if len(found[k]) > 1:
        return True
    before, after = found[k - 1] if k else "", found[k + 1] if k + 1 < len(found) else ""
    counted = before.isascii() and before.isalnum()  # 80后
    return not counted and grammatical(before) and grammatical(after)


def _inside(
    entries: Entries, lengths: Mapping[str, list[int]] | None, read: frozenset[str], word: str, spoken: tuple[str, ...]
) -> _Spots:
    """Return the keys in a word; without `lengths` only of the whole word."""
    found, at = [], 0
    while at < len(word):
        end = at + 1
        for length in lengths.get(word[at], ()) if lengths is not None else (len(word),):
            key = word[at : at + length]
            if key in read:
                key = f"{key}/{spoken[at]}"
            if at + length <= len(word) and (options := entries.get(key)):
                end = at + length
                if length > 1 and lengths is not None:
                    options = (*options, *_in_part(entries, read, key, spoken[at:end]))
                found.append((at, end, tuple(dict.fromkeys(options))))
                break
        at = end
    return tuple(found)


def _in_part(entries: Entries, read: frozenset[str], word: str, spoken: tuple[str, ...]) -> tuple[str, ...]:
    """Return a word with one character replaced: the first option of each character, then the second: 费物, 废务."""
    columns = []
    for at, char in enumerate(word):
        options = entries.get(f"{char}/{spoken[at]}" if char in read else char, ())[:PER_CHARACTER]
        columns.append([word[:at] + option + word[at + 1 :] for option in options])
    return tuple(option for option in in_turn(columns) if means_the_same(word, option) and keeps_polarity(word, option))


def _lengths(entries: Entries) -> dict[str, list[int]]:
    """Return for each first character the lengths of the keys that begin with it, longest first."""
    lengths: dict[str, list[int]] = {}
    for length, first in sorted({(1 if key[1:2] == "/" else len(key), key[0]) for key in entries}, reverse=True):
        lengths.setdefault(first, []).append(length)
    return lengths


def _phrases(entries: Entries) -> dict[str, list[str]]:
    """Return for each first word the keys of several words that begin with it, longest first."""
    phrases: dict[str, list[str]] = {}
    for key in sorted(entries, key=len, reverse=True):
        first, *others = tokens(key)
        if others and key[1:2] != "/":
            phrases.setdefault(first, []).append(key)
    return phrases
