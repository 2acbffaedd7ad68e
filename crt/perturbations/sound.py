"""How a text is read aloud: the pinyin of each Han character, by the phrase it stands in.

`resources/readings.json` holds the main reading of each character and the phrases in which one is read otherwise. A
character with several common readings is read in a known phrase only; outside one its sound is unknown rather than
guessed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from crt.resources import read_json, resource_dir

LONGEST_PHRASE = 4


@dataclass(frozen=True, slots=True)
class Readings:
    """What is known about readings."""

    main: Mapping[str, str]
    """The sound of each character that has one usual reading: 安 -> an1."""
    ambiguous: frozenset[str]
    """The characters that have several."""
    toneless: Mapping[str, str]
    """The syllable of each ambiguous character whose readings differ in their tone alone: 难 -> nan."""
    phrases: Mapping[str, Mapping[str, str]]
    """For each phrase the sounds of those characters in it that may be read otherwise elsewhere."""
    moved: frozenset[str]
    """The characters that some phrase says the sound of."""


@cache
def readings() -> Readings:
    """Read `resources/readings.json`."""
    data = read_json(resource_dir() / "readings.json")
    ambiguous = frozenset(data["ambiguous"])
    usual = {char: sound for sound, chars in data["characters"].items() for char in chars}
    main = {char: sound for char, sound in usual.items() if char not in ambiguous}
    heard = {char: {usual[char][:-1]} for char in data["ambiguous"]}
    phrases: dict[str, dict[str, str]] = {}
    for key, joined in data["phrases"].items():
        char, sound = key.split("/")
        heard.setdefault(char, set()).add(sound[:-1])
        for phrase in joined.split(" "):
            phrases.setdefault(phrase, {})[char] = sound
    toneless = {char: min(heard[char]) for char in data["ambiguous"] if len(heard[char]) == 1}
    return Readings(main, ambiguous, toneless, phrases, frozenset(char for odd in phrases.values() for char in odd))


def sounds(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    """Return for each word of a text, given all of its words, the toned syllable of each code point; "" if unknown."""
    return [sounds_of(tokens, k) for k in range(len(tokens))]


def sounds_of(tokens: Sequence[str], k: int) -> tuple[str, ...]:
    """Return the same for word k alone."""
    spoken = _word(tokens[k])
    if readings().ambiguous.isdisjoint(tokens[k]):
        return spoken
    odd = _across(tokens, k)
    return tuple(odd.get(char, sound) for char, sound in zip(tokens[k], spoken, strict=True))


@lru_cache(maxsize=1 << 16)
def _word(word: str) -> tuple[str, ...]:
    """Return the sounds of a word; the longest phrases in it decide, from left to right."""
    known = readings()
    result = [known.main.get(char, "") for char in word]
    if known.moved.isdisjoint(word):
        return tuple(result)
    at = 0
    while at < len(word):
        for length in range(min(LONGEST_PHRASE, len(word) - at), 1, -1):
            if odd := known.phrases.get(word[at : at + length]):
                for place in range(at, at + length):
                    result[place] = odd.get(word[place], result[place])
                at += length
                break
        else:
            at += 1
    return tuple(result)


def _across(tokens: Sequence[str], k: int) -> Mapping[str, str]:
    """Return the sounds that a phrase of several words gives to characters of word k: 睡, 着 -> 睡着."""
    phrases = readings().phrases
    for first, last in ((k - 1, k + 2), (k, k + 2), (k - 1, k + 1)):
        if first >= 0 and last <= len(tokens) and (odd := phrases.get("".join(tokens[first:last]))):
            return odd
    return {}


def syllables_of(tokens: Sequence[str], k: int) -> tuple[str, ...]:
    """Return the toneless syllable of each code point of word k; "" if unknown. Tones need not be known: 难 is nan."""
    toneless, spoken = readings().toneless, sounds_of(tokens, k)
    return tuple(sound[:-1] or toneless.get(char, "") for char, sound in zip(tokens[k], spoken, strict=True))
