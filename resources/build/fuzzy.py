"""The table of sounds that many speakers do not tell apart: n/l, f/h before u, z/zh, c/ch, s/sh, an/ang, en/eng, in/ing.

What people were seen to write (`fuzzy_attested.tsv`) stands first, then words, then characters; same tone before other tone.
"""

from collections import defaultdict
from pathlib import Path

from homophone import LICENCE, NAMES, SOURCE, UNSEEMLY, offered, read_characters, usable_words
from sources import table

KEY_COUNT, CANDIDATE_COUNT = 100, 1000
PER_WORD, PER_CHARACTER = 2, 5
INITIALS = (("zh", "z"), ("ch", "c"), ("sh", "s"), ("n", "l"))
LIPS = {"hu": "fu", "hua": "fa", "huan": "fan", "huang": "fang", "hui": "fei", "hun": "fen"}
"""Syllables in which h is said as f, and f as h."""
PARTICLES = frozenset("了呢")
"""Characters that sound alike and make a statement or a question."""


def fold(syllable: str) -> str:
    """Return the syllable as somebody says it who does not hear the difference: shang -> san, hui -> fei."""
    syllable = LIPS.get(syllable, syllable)
    for full, flat in INITIALS:
        if syllable.startswith(full):
            syllable = flat + syllable.removeprefix(full)
            break
    return syllable[:-1] if syllable.endswith(("ang", "eng", "ing")) else syllable


def folded(sounds: tuple[str, ...]) -> tuple[str, ...]:
    """Fold every syllable of a word, without its tone."""
    return tuple(fold(sound[:-1]) for sound in sounds)


def tones(sounds: tuple[str, ...]) -> list[str]:
    """Return the tone of every syllable of a word."""
    return [sound[-1] for sound in sounds]


def words() -> dict[str, list[str]]:
    """Return for each word others of the same tones that sound alike only to those who do not hear the difference."""
    rows = list(usable_words(KEY_COUNT))
    alike = defaultdict(list)
    for word, sounds, count, tag in sorted(rows, key=lambda row: (-row[2], row[0])):
        if count >= CANDIDATE_COUNT and tag not in NAMES and not UNSEEMLY & set(word):
            alike[folded(sounds)].append((word, sounds))
    entries = {}
    for word, sounds, _, _ in rows:
        near = [
            other
            for other, heard in alike[folded(sounds)]
            if tones(heard) == tones(sounds) and [s[:-1] for s in heard] != [s[:-1] for s in sounds]
        ]
        if near:
            entries[word] = near[:PER_WORD]
    return entries


def characters() -> dict[str, list[str]]:
    """Return the options of every character, by character or by character and reading."""
    alike = defaultdict(list)
    for char, sound in offered().items():
        alike[fold(sound[:-1])].append((char, sound))
    entries = {}
    for key, char, sound in read_characters():
        if char in PARTICLES:
            continue
        near = [(other, heard) for other, heard in alike[fold(sound[:-1])] if heard[:-1] != sound[:-1]]
        same = [other for other, heard in near if heard[-1] == sound[-1] and other != char]
        rest = [other for other, heard in near if heard[-1] != sound[-1] and other != char]
        if options := (same or rest)[:PER_CHARACTER]:
            entries[key] = options
    return entries


def attested() -> dict[str, list[str]]:
    """Return what people were seen to write."""
    lines = (Path(__file__).parent / "fuzzy_attested.tsv").read_text(encoding="utf-8").splitlines()
    return {key: options for key, *options in (line.split("\t") for line in lines if not line.startswith("#"))}


def build() -> str:
    """Return the text of resources/perturbations/fuzzy.json."""
    entries = characters() | words()
    for key, seen in attested().items():
        entries[key] = list(dict.fromkeys([*seen, *entries.get(key, ())]))
    return table(
        "fuzzy", entries, licence=f"{LICENCE}; attested forms CC0-1.0", source=f"{SOURCE}; attested forms by hand"
    )
