"""Words written as pinyin: all letters, or the initials, as people do to be quick or to get past a filter."""

from crt.perturbations.engine import SiteFinder
from crt.perturbations.sound import sounds
from crt.perturbations.text import tokens, words
from crt.records import Site


def pinyin() -> SiteFinder:
    """Find the words that can be read for certain: 安全 -> anquan, aq."""

    def find(text: str) -> tuple[Site, ...]:
        spoken = sounds(tokens(text))
        return tuple(
            Site(start, end, _letters(sound))
            for (start, end), sound in zip(words(text), spoken, strict=True)
            if all(sound)
        )

    return find


def _letters(sound: tuple[str, ...]) -> tuple[str, ...]:
    full = "".join(syllable[:-1] for syllable in sound)
    return (full,) if len(sound) == 1 else (full, "".join(syllable[0] for syllable in sound))
