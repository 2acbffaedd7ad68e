"""Texts in traditional script: read in simplified script, as the tables are, and answered in their own."""

import re
from collections.abc import Iterable
from functools import cache

from crt.perturbations.engine import SiteFinder
from crt.perturbations.text import HAN, UNSAFE, dictionary, words
from crt.perturbations.traditional import in_traditional, simplified
from crt.records import Site

HARDLY = 0.2
"""The largest share of simplified characters, among those of one script only, in a text in traditional script."""

_BLOCKS = ((0x3400, 0x4DC0), (0x4E00, 0xA000))
"""The Han characters that either script is written with."""


@cache
def _only() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what matches the characters of traditional script only, and those of simplified script only."""
    han = [chr(code) for first, end in _BLOCKS for code in range(first, end)]
    pairs = [
        (there, here) for there, here in zip(han, simplified("\n".join(han)).split("\n"), strict=True) if there != here
    ]
    unknown = (here for _, here in pairs if not here.encode("big5", errors="ignore"))
    return _any(there for there, _ in pairs), _any(unknown)


def _any(chars: Iterable[str]) -> re.Pattern[str]:
    return re.compile(f"[{''.join(sorted(set(chars)))}]")


def holds_simplified(text: str) -> bool:
    """Tell whether a text holds a character that no text in traditional script is written with."""
    return bool(_only()[1].search(text))


def is_traditional(text: str) -> bool:
    """Tell whether a text holds characters of traditional script, and hardly any of simplified script."""
    traditional, here = _only()
    if not traditional.search(text):
        return False
    counts = len(traditional.findall(text)), len(here.findall(text))
    return counts[1] <= HARDLY * sum(counts)


def in_simplified(text: str) -> str:
    """Return a text in simplified script, character by character at its place."""
    if not _only()[0].search(text):
        return text
    converted = simplified(UNSAFE.sub("?", text))
    if len(converted) != len(text):
        converted = "".join(map(simplified, UNSAFE.sub("?", text)))
    return "".join(old if UNSAFE.match(old) else new for old, new in zip(text, converted, strict=True))


def in_script(find: SiteFinder, *, looks: bool = False) -> SiteFinder:
    """Find the sites of a text in traditional script by its simplified form; its options are in traditional script.

    A site whose options have no certain form there is left out. A text in simplified script is handed on as it is.

    Args:
        find: a finder whose words are in simplified script.
        looks: its options look like what they replace, so they hold between characters that both scripts share.
    """
    answered = _looking_alike if looks else _written_alike

    def found(text: str) -> tuple[Site, ...]:
        if not is_traditional(text):
            return find(text)
        plain = in_simplified(text)
        sites = []
        for start, end, options in find(plain):
            old = text[start:end]
            there = (answered(option, plain[start:end], old) for option in options)
            if kept := tuple(dict.fromkeys(option for option in there if option is not None and option != old)):
                sites.append(Site(start, end, kept))
        return tuple(sites)

    return found


def _looking_alike(option: str, plain: str, old: str) -> str | None:
    return option if plain == old and not holds_simplified(option) else None


def _written_alike(option: str, plain: str, old: str) -> str | None:
    """Return an option in the script of the text; the characters that it shares with what it replaces stay as they are."""
    if len(option) > 1 and option in dictionary():
        there = in_traditional(option)
        return there if there and simplified(there) == option else None
    pairs = dict(zip(plain, old, strict=True))
    if any(pairs[char] != own for char, own in zip(plain, old, strict=True)):  # 發 and 髮 in one word
        return None
    parts = [pairs.get(char) or in_traditional(char) if re.match(f"[{HAN}]", char) else char for char in option]
    return None if None in parts else "".join(part for part in parts if part)


def simplify() -> SiteFinder:
    """Find the words that are written differently in simplified script."""

    def find(text: str) -> tuple[Site, ...]:
        plain = in_simplified(text)
        sites = []
        for start, end in words(plain) if plain != text else ():
            differing = [at for at in range(start, end) if text[at] != plain[at]]
            if differing:
                first, last = differing[0], differing[-1] + 1
                sites.append(Site(first, last, (plain[first:last],)))
        return tuple(sites)

    return find
