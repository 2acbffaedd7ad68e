"""Words written as pinyin: all letters, or the initials, as people do to be quick or to get past a filter."""

from itertools import accumulate

from crt.perturbations.engine import SiteFinder
from crt.perturbations.sound import sounds
from crt.perturbations.text import tokens
from crt.records import Site


def pinyin() -> SiteFinder:
    """Find the words that can be read for certain: 安全 -> anquan, aq."""

    def find(text: str) -> tuple[Site, ...]:
        spoken = sounds(tokens(text))
        starts = accumulate(map(len, spoken), initial=0)
        return tuple(
            Site(start, start + len(sound), _letters(sound))
            for start, sound in zip(starts, spoken, strict=False)
            if all(sound)
        )

    return find


def _letters(sound: tuple[str, ...]) -> tuple[str, ...]:
    full = "".join(syllable[:-1] for syllable in sound)
    return (full,) if len(sound) == 1 else (full, "".join(syllable[0] for syllable in sound))
