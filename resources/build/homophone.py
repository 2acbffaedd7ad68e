"""The table of homophones: words that an input method offers for the same letters, and characters of the same sound.

A key may name a reading ("行/hang2"): such a character is replaced only where it is read so. Options stand best first:
same tone before other tone, frequent before rare.
"""

from collections import defaultdict
from collections.abc import Iterable

from readings import MAIN_SHARE, NEGATIONS, NUMERALS, OPTION_SHARE, mains, phrases
from sources import OPPOSITES, common, dictionary, frequency, table

PER_TONE = 5
CHAR_COUNT = 2000
KEY_COUNT, SAME_TONE_COUNT, OTHER_TONE_COUNT = 10, 100, 500
PER_WORD = 3
NAMES = ("nr", "nz", "nt")
UNSAFE = NEGATIONS | NUMERALS
UNSEEMLY = frozenset("妓奸淫娼嫖婊屎尿屁尸粪")
"""In a word that nobody would leave standing: 讲师 -> 僵尸."""


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


def characters() -> dict[str, list[str]]:
    """Return the options of every character, by character or by character and reading."""
    sure, by_syllable = {}, defaultdict(list)
    for char in common():
        main = mains()[char]
        if main.share >= OPTION_SHARE and frequency().get(char, 0) >= CHAR_COUNT and safe(char):
            sure[char] = main.sound
            by_syllable[main.sound[:-1]].append(char)
    odd = defaultdict(set)
    for phrase, sounds in phrases().items():
        for char, sound in zip(phrase, sounds, strict=True):
            if sound != mains()[char].sound:
                odd[char].add(sound)
    entries = {}
    for char in common(2):
        if not safe(char):
            continue
        main = mains()[char]
        for sound in sorted({main.sound, *odd[char]}):
            others = [other for other in by_syllable[sound[:-1]] if other != char and char + other not in OPPOSITES]
            others.sort(key=lambda other: (-frequency()[other], other))
            same = [other for other in others if sure[other] == sound]
            rest = [other for other in others if sure[other] != sound]
            if options := same[:PER_TONE] + rest[:PER_TONE]:
                plain = main.share >= MAIN_SHARE and not odd[char]
                entries[char if plain else f"{char}/{sound}"] = options
    return entries


def words() -> dict[str, list[str]]:
    """Return the options of every word that has another word of the same letters."""
    known = set(common(2))
    groups = defaultdict(list)
    for word, (count, tag) in dictionary().items():
        usable = 2 <= len(word) <= 4 and count >= KEY_COUNT and set(word) <= known and safe(word)
        if usable and (sounds := word_sounds(word)):
            groups[toneless(sounds)].append((word, sounds, count, tag))
    entries = {}
    for group in groups.values():
        offered = [row for row in group if row[3] not in NAMES and not UNSEEMLY & set(row[0])]
        offered.sort(key=lambda row: (-row[2], row[0]))
        for word, sounds, _, _ in group:
            same = [row[0] for row in offered if row[0] != word and row[1] == sounds and row[2] >= SAME_TONE_COUNT]
            rest = [row[0] for row in offered if row[1] != sounds and row[2] >= OTHER_TONE_COUNT]
            if options := (same[:PER_WORD] + rest[:PER_WORD])[:PER_WORD]:
                entries[word] = options
    return entries


def build() -> str:
    """Return the text of resources/perturbations/homophone.json."""
    return table(
        "homophone",
        characters() | words(),
        licence="Unicode-DFS-2016 and MIT",
        source="Unihan 14.0.0, pypinyin 0.55.0 (readings of phrases), jieba 0.42.1 (words and their counts), changed",
    )
