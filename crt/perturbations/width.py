"""Punctuation of the other width: ， -> , and back, as input methods and web forms mix them."""

from crt.records import Site

_FULL = "，。！？；：（）【】～“”‘’"
_HALF = ",.!?;:()[]~\"\"''"

OTHER_WIDTH: dict[str, tuple[str, ...]] = {
    **{full: (half,) for full, half in zip(_FULL, _HALF, strict=True)},
    **{half: tuple(f for f, h in zip(_FULL, _HALF, strict=True) if h == half) for half in _HALF},
}
"""The marks of the other width that may stand in place of a mark."""


def width(text: str) -> tuple[Site, ...]:
    """Find the marks that exist in two widths."""
    return tuple(Site(at, at + 1, OTHER_WIDTH[char]) for at, char in enumerate(text) if char in OTHER_WIDTH)
