"""The script of a text: simplified or traditional, and the simplified form of either."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from crt.perturbations.text import UNSAFE

HARDLY = 0.2
"""The largest share of simplified characters, among those of one script only, in a text in traditional script."""

_BLOCKS = ((0x3400, 0x4DC0), (0x4E00, 0xA000))
"""The Han characters that either script is written with."""


@cache
def _converter(configuration: str):  # type: ignore[no-untyped-def]  # noqa: ANN202  opencc has no types
    import opencc

    return opencc.OpenCC(configuration)


def convert(configuration: str, text: str) -> str:
    """Return a text as OpenCC converts it by one of its configurations."""
    result: str = _converter(configuration).convert(text)
    return result


converted = lru_cache(maxsize=1 << 16)(convert)
"""The same of a word, remembered."""


def simplified(word: str) -> str:
    """Return a word in simplified script (OpenCC, t2s)."""
    return converted("t2s", word)


@cache
def _only() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what matches the characters of traditional script only, and those of simplified script only."""
    han = [chr(code) for first, end in _BLOCKS for code in range(first, end)]
    pairs = [
        (there, here)
        for there, here in zip(han, convert("t2s", "\n".join(han)).split("\n"), strict=True)
        if there != here
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
    safe = UNSAFE.sub("?", text)
    plain = convert("t2s", safe)
    if len(plain) != len(text):
        plain = "".join(map(simplified, safe))
    return "".join(old if UNSAFE.match(old) else new for old, new in zip(text, plain, strict=True))
