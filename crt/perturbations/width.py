"""Characters of another width or style: ， -> , and back, as input methods mix them, and Ｂ or 𝐁 for B, as people dress up."""

import re
import string
from functools import lru_cache

from crt.perturbations.guards import LATIN
from crt.records import Site

_FULL = "，。！？；：（）【】～“”‘’"
_HALF = ",.!?;:()[]~\"\"''"

OTHER_WIDTH: dict[str, tuple[str, ...]] = {
    **{full: (half,) for full, half in zip(_FULL, _HALF, strict=True)},
    **{half: tuple(f for f, h in zip(_FULL, _HALF, strict=True) if h == half) for half in _HALF},
}
"""The marks of the other width that may stand in place of a mark."""

_PLAIN = string.ascii_uppercase + string.ascii_lowercase + string.digits


def _style(upper: int, lower: int, digit: int) -> dict[int, int]:
    """Return the style whose A, a and 0 are these code points; without digits of its own it has full-width ones."""
    starts = (*range(upper, upper + 26), *range(lower, lower + 26), *range(digit, digit + 10))
    return dict(zip(map(ord, _PLAIN), starts, strict=True))


STYLES = (
    _style(0xFF21, 0xFF41, 0xFF10),  # full-width: ＡＢ
    _style(0x1D400, 0x1D41A, 0x1D7CE),  # mathematical bold: 𝐀𝐁
    _style(0x1D5A0, 0x1D5BA, 0x1D7E2),  # mathematical sans-serif: 𝖠𝖡
    _style(0x1D63C, 0x1D656, 0x1D7EC),  # mathematical sans-serif bold italic, bold digits: 𝘼𝘽
    _style(0x24B6, 0x24D0, 0xFF10),  # circled: Ⓐ, full-width digits
)
"""How letters and digits are dressed up, the most usual first."""

_SPOT = re.compile(rf"(?P<word>{LATIN})|[{re.escape(''.join(OTHER_WIDTH))}]")


def width(text: str) -> tuple[Site, ...]:
    """Find the marks that exist in two widths, and the Latin words and numbers; a mark within one is part of it."""
    return tuple(
        Site(spot.start(), spot.end(), options)
        for spot in _SPOT.finditer(text)
        if (options := _styled(spot["word"]) if spot["word"] else OTHER_WIDTH[spot.group()])
    )


@lru_cache(maxsize=1 << 14)
def _styled(word: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(new for style in STYLES if (new := word.translate(style)) != word))
