"""The table of homophones: words that an input method offers for the same letters, and characters of the same sound.

A key may name a reading ("行/hang2"): such a character is replaced only where it is read so. Options stand best first:
what people were seen to write (`homophone_attested.tsv`), same tone before other tone, frequent before rare.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from readings import MAIN_SHARE, NEGATIONS, NUMERALS, OPTION_SHARE, REFUSALS, mains, phrases
from sources import common, dictionary, frequency, table

from crt.perturbations.polarity import keeps_polarity

LICENCE = "Unicode-DFS-2016 and MIT"
SOURCE = "Unihan 14.0.0, pypinyin 0.55.0 (readings of phrases), jieba 0.42.1 (words and their counts), changed"

PER_TONE = 5
CHAR_COUNT = 2000
KEY_COUNT, SAME_TONE_COUNT, OTHER_TONE_COUNT = 10, 100, 500
PER_WORD = 3
NAMES = ("nr", "nz", "nt")
UNSAFE = NEGATIONS | NUMERALS | REFUSALS


def word_sounds(word: str) -> tuple[str, ...] | None:
    """Return the sounds of a word: as the phrase dictionary has them, or else by characters that are read one way."""
    if word in phrases():
        return phrases()[word]
    if any(mains()[char].share < MAIN_SHARE for char in word):
        return None
    return tuple(mains()[char].sound for char in word)


def safe(text: str) -> bool:
    """Return whether neither a negation nor a numeral is in it."""
    return not UNSAFE & set(text)


def toneless(sounds: Iterable[str]) -> str:
    """Return the letters as they are typed."""
    return " ".join(sound[:-1] for sound in sounds)


@cache
def offered() -> dict[str, str]:
    """Return the sound of each character that is offered, the most frequent first."""
    chars = sorted(filter(safe, common()), key=lambda char: (-frequency().get(char, 0), char))
    sure = (char for char in chars if mains()[char].share >= OPTION_SHARE and frequency().get(char, 0) >= CHAR_COUNT)
    return {char: mains()[char].sound for char in sure}


def read_characters() -> Iterator[tuple[str, str, str]]:
    """Yield the key of a table, the character and the sound for every way in which a character is read."""
    sounds_of = {char: {mains()[char].sound} for char in common(2)}
    for phrase, sounds in phrases().items():
        for char, sound in zip(phrase, sounds, strict=True):
            sounds_of[char].add(sound)
    for char in filter(safe, common(2)):
        plain = mains()[char].share >= MAIN_SHARE and len(sounds_of[char]) == 1
        for sound in sorted(sounds_of[char]):
            yield char if plain else f"{char}/{sound}", char, sound


def usable_words(least: int) -> Iterator[tuple[str, tuple[str, ...], int, str]]:
    """Yield word, sounds, count and part of speech of the words that can be read and are counted so often."""
    known = set(common(2))
    for word, (count, tag) in dictionary().items():
        usable = 2 <= len(word) <= 4 and count >= least and set(word) <= known and safe(word)
        if usable and (sounds := word_sounds(word)):
            yield word, sounds, count, tag


def characters() -> dict[str, list[str]]:
    """Return the options of every character, by character or by character and reading."""
    sure, by_syllable = offered(), defaultdict(list)
    for char, sound in sure.items():
        by_syllable[sound[:-1]].append(char)
    entries = {}
    for key, char, sound in read_characters():
        others = [other for other in by_syllable[sound[:-1]] if other != char and keeps_polarity(char, other)]
        same = [other for other in others if sure[other] == sound]
        rest = [other for other in others if sure[other] != sound]
        if options := same[:PER_TONE] + rest[:PER_TONE]:
            entries[key] = options
    return entries


def words() -> dict[str, list[str]]:
    """Return the options of every word that has another word of the same letters."""
    groups = defaultdict(list)
    for row in usable_words(KEY_COUNT):
        groups[toneless(row[1])].append(row)
    entries = {}
    for group in groups.values():
        candidates = sorted((row for row in group if row[3] not in NAMES), key=lambda row: (-row[2], row[0]))
        for word, sounds, _, _ in group:
            kept = [row for row in candidates if row[0] != word and keeps_polarity(word, row[0])]
            same = [row[0] for row in kept if row[1] == sounds and row[2] >= SAME_TONE_COUNT]
            rest = [row[0] for row in kept if row[1] != sounds and row[2] >= OTHER_TONE_COUNT]
            if options := (same[:PER_WORD] + rest[:PER_WORD])[:PER_WORD]:
                entries[word] = options
    return entries


def seen_first(file: str, entries: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return entries with what people were seen to write, as a file beside this one lists it, before all else."""
    lines = (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {**entries, **{key: list(dict.fromkeys([*seen, *entries.get(key, ())])) for key, *seen in rows}}


def build() -> str:
    """Return the text of resources/perturbations/homophone.json."""
    entries = seen_first("homophone_attested.tsv", characters() | words())
    return table(
        "homophone", entries, licence=f"{LICENCE}; attested forms CC0-1.0", source=f"{SOURCE}; attested forms by hand"
    )
