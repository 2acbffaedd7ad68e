"""How characters are read: the main reading of each, and the phrases in which one is read otherwise.

Characters: Unihan (kHanyuPinlu, with the count of each reading; kMandarin where that is missing). Phrases: the phrase
dictionary of pypinyin, and a hand-written supplement of what it lacks. A character whose main reading has less than
95 % of its counts is read in known phrases only.
"""

import json
import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sources import common, dump, frequency, package, unihan

LEVEL = 2
LONGEST_PHRASE = 4
OPTION_SHARE, MAIN_SHARE = 0.85, 0.95
NEGATIONS, NUMERALS = frozenset("不没无未非别莫勿"), frozenset("零一二三四五六七八九十百千万亿两")
REFUSALS = frozenset("否拒禁甭毋唔冇")
"""They negate too, in most words."""
CORRECTED = {"嬷": "mo2"}
"""Characters whose first reading in Unihan is not that of today (kTGHZ2013)."""
_TONES = {"\u0304": "1", "\u0301": "2", "\u030c": "3", "\u0300": "4"}


class Main(NamedTuple):
    """The main reading of a character, and its share of the counted readings."""

    sound: str
    share: float


def numbered(pinyin: str) -> str:
    """Turn "xíng" into "xing2", "lǜ" into "lv4" and "de" into "de5"."""
    letters = unicodedata.normalize("NFD", pinyin).replace("u\u0308", "v")
    tone = next((_TONES[mark] for mark in letters if mark in _TONES), "5")
    return "".join(letter for letter in letters if "a" <= letter <= "z") + tone


@cache
def mains() -> dict[str, Main]:
    """Return the main reading of each character up to level 2."""
    found = {}
    for char in common(LEVEL):
        official = numbered(unihan("Readings")["kMandarin"][char].split(" ")[0])
        counted = unihan("Readings").get("kHanyuPinlu", {}).get(char, "")
        counts: dict[str, int] = {}
        for reading, count in re.findall(r"(\S+?)\((\d+)\)", counted):
            counts[numbered(reading)] = counts.get(numbered(reading), 0) + int(count)
        counts = counts or {official: 1}
        for neutral in [sound for sound in counts if sound.endswith("5") and sound != official]:
            full = [sound for sound in counts if sound[:-1] == neutral[:-1] and sound != neutral]
            if full:  # 识 in 知识 is a light shi2, no other sound
                counts[max(full, key=lambda sound: counts[sound])] += counts.pop(neutral)
            elif official[:-1] == neutral[:-1]:
                counts[official] = counts.pop(neutral)
        sound = max(counts, key=lambda sound: (counts[sound], sound == official, sound))
        found[char] = Main(sound, counts[sound] / sum(counts.values()))
    return found | {char: Main(sound, 1.0) for char, sound in CORRECTED.items()}


@cache
def supplement() -> dict[str, dict[str, str]]:
    """Return for each hand-written phrase the sounds of the characters in it that may be read otherwise."""
    found: dict[str, dict[str, str]] = {}
    for line in (Path(__file__).parent / "readings_supplement.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            key, words = line.split("\t")
            char, sound = key.split("/")
            for word in words.split(" "):
                found.setdefault(word, {})[char] = sound
    return found


@cache
def phrases() -> dict[str, tuple[str, ...]]:
    """Return the sounds of every phrase that is made of known characters; the hand-written ones win."""
    path = package("pypinyin") / "pypinyin/phrases_dict.json"
    found = {}
    for phrase, readings in json.loads(path.read_text(encoding="utf-8")).items():
        if 2 <= len(phrase) <= LONGEST_PHRASE and all(char in mains() for char in phrase):
            sounds = [numbered(options[0]) for options in readings]
            found[phrase] = tuple(full_tone(char, sound) for char, sound in zip(phrase, sounds, strict=True))
    unsure = set(ambiguous())
    for phrase, odd in supplement().items():
        if phrase in found or not unsure & set(phrase) - set(odd):
            known = found.get(phrase) or [mains()[char].sound for char in phrase]
            found[phrase] = tuple(odd.get(char, sound) for char, sound in zip(phrase, known, strict=True))
    return found


def full_tone(char: str, sound: str) -> str:
    """Return the sound with the character's own tone where a phrase gives it a neutral one."""
    main = mains()[char].sound
    return main if sound.endswith("5") and main[:-1] == sound[:-1] else sound


def ambiguous() -> list[str]:
    """Return the characters that cannot be read without a known phrase."""
    return sorted(char for char, main in mains().items() if main.share < MAIN_SHARE)


def build() -> str:
    """Return the text of resources/readings.json."""
    by_sound: dict[str, list[str]] = {}
    for char in sorted(mains(), key=lambda char: (-frequency().get(char, 0), char)):
        by_sound.setdefault(mains()[char].sound, []).append(char)
    odd: dict[str, list[str]] = {}
    unsure = set(ambiguous())
    for phrase, sounds in sorted(phrases().items()):
        for char in sorted(set(phrase) - NEGATIONS - NUMERALS):
            here = {sound for at, sound in zip(phrase, sounds, strict=True) if at == char}
            if len(here) == 1 and (char in unsure or here != {mains()[char].sound}):
                odd.setdefault(f"{char}/{here.pop()}", []).append(phrase)
    head = {
        "schema": 1,
        "name": "readings",
        "licence": "Unicode-DFS-2016 and MIT",
        "source": "Unihan 14.0.0 (kHanyuPinlu, kMandarin, kTGH) and the phrase dictionary of pypinyin 0.55.0, changed; a supplement by hand",
        "ambiguous": "".join(ambiguous()),
    }
    sounds_ = ",\n".join(f"{dump(sound)}:{dump(''.join(by_sound[sound]))}" for sound in sorted(by_sound))
    phrases_ = ",\n".join(f"{dump(key)}:{dump(' '.join(odd[key]))}" for key in sorted(odd))
    lines = ",\n".join(f"{dump(key)}:{dump(value)}" for key, value in head.items())
    return f'{{{lines},\n"characters":{{\n{sounds_}\n}},\n"phrases":{{\n{phrases_}\n}}}}\n'
