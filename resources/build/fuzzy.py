"""The table of sounds that many speakers do not tell apart: n/l, f/h before u, z/zh, c/ch, s/sh, an/ang, en/eng, in/ing.

What people were seen to write (`fuzzy_attested.tsv`) stands first, then words, then characters; same tone before other tone.
A syllable differs in its initial or in its final, not in both, and an option keeps the polarity.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import product

from homophone import LICENCE, NAMES, SOURCE, offered, read_characters, seen_first, usable_words
from sources import table

from crt.perturbations.polarity import keeps_polarity

KEY_COUNT, CANDIDATE_COUNT = 100, 1000
PER_WORD, PER_CHARACTER = 2, 5
INITIALS = (("zh", "z"), ("ch", "c"), ("sh", "s"), ("n", "l"))
FINALS = (("ang", "an"), ("eng", "en"), ("ing", "in"))
LIPS = {"hu": "fu", "hua": "fa", "huan": "fan", "huang": "fang", "hui": "fei", "hun": "fen"}
"""Syllables in which h is said as f, and f as h."""
PARTICLES = frozenset("了呢")
"""Characters that sound alike and make a statement or a question."""


def misheard(syllable: str) -> Iterator[str]:
    """Yield what somebody says for a syllable who does not hear one difference: shang -> sang, shan; hui -> fei."""
    for one, other in (*INITIALS, *(pair[::-1] for pair in INITIALS)):
        if syllable.startswith(one) and not (len(one) == 1 and syllable[1:2] == "h"):
            yield other + syllable[len(one) :]
    for one, other in (*FINALS, *(pair[::-1] for pair in FINALS)):
        if syllable.endswith(one):
            yield syllable.removesuffix(one) + other
    for one, other in (*LIPS.items(), *(pair[::-1] for pair in LIPS.items())):
        if syllable == one:
            yield other


def alike(sounds: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the sounds that are said for those of a word: each syllable as it is or with one difference, at least one so."""
    ways = ((sound, *(other + sound[-1] for other in misheard(sound[:-1]))) for sound in sounds)
    yield from (said for said in product(*ways) if said != sounds)


def words() -> dict[str, list[str]]:
    """Return for each word others of the same tones that sound alike only to those who do not hear the difference."""
    rows = list(usable_words(KEY_COUNT))
    spoken = defaultdict(list)
    for word, sounds, count, tag in rows:
        if count >= CANDIDATE_COUNT and tag not in NAMES:
            spoken[sounds].append((-count, word))
    entries = {}
    for word, sounds, _, _ in rows:
        near = sorted(row for said in alike(sounds) for row in spoken.get(said, ()))
        if options := [other for _, other in near if keeps_polarity(word, other)][:PER_WORD]:
            entries[word] = options
    return entries


def characters() -> dict[str, list[str]]:
    """Return the options of every character, by character or by character and reading."""
    entries = {}
    for key, char, sound in read_characters():
        if char in PARTICLES:
            continue
        said = set(misheard(sound[:-1]))
        near = [
            row for row in offered().items() if row[1][:-1] in said and row[0] != char and keeps_polarity(char, row[0])
        ]
        same = [other for other, heard in near if heard[-1] == sound[-1]]
        if options := (same or [other for other, _ in near])[:PER_CHARACTER]:
            entries[key] = options
    return entries


def build() -> str:
    """Return the text of resources/perturbations/fuzzy.json."""
    entries = seen_first("fuzzy_attested.tsv", characters() | words())
    return table(
        "fuzzy", entries, licence=f"{LICENCE}; attested forms CC0-1.0", source=f"{SOURCE}; attested forms by hand"
    )
