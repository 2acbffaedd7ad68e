"""Classes of characters, as the features of a text and the slices of a data set count them."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache

from crt.perturbations.script import simplified
from crt.perturbations.sound import readings
from crt.perturbations.text import HAN

_HAN = re.compile(f"[{HAN}]")

_LEVEL_2 = 0xD8
"""First byte of the first character of GB2312's second level; the 3,755 characters of the first level stand before."""


def _is_han(char: str) -> bool:
    return bool(_HAN.match(char))


def _gb2312(char: str) -> bytes:
    """Return the code of a character in GB2312, the 6,763 that simplified texts are written with, or nothing."""
    return char.encode("gb2312", errors="ignore")


CLASSES: Mapping[str, Callable[[str], bool]] = {
    "han": _is_han,
    "rare": lambda char: _is_han(char) and not _gb2312(char),
    "traditional": lambda char: _is_han(char) and simplified(char) != char,
    "latin": lambda char: char.isascii() and char.isalpha(),
    "digit": str.isdigit,
    "space": str.isspace,
    "punctuation": lambda char: unicodedata.category(char).startswith("P"),
    "symbol": lambda char: unicodedata.category(char).startswith("S"),
    "invisible": lambda char: unicodedata.category(char) in ("Cf", "Cc", "Co", "Cs", "Mn", "Me"),
    "fullwidth": lambda char: unicodedata.east_asian_width(char) == "F",
    "half_punctuation": lambda char: char.isascii() and unicodedata.category(char).startswith("P"),
}
"""Tells of a character whether it belongs to the class."""


@cache
def is_uncommon(char: str) -> bool:
    """Tell whether a Han character is outside the first level of GB2312, the 3,755 most used ones."""
    return _is_han(char) and not _gb2312(char) < bytes([_LEVEL_2])


@cache
def is_polyphone(char: str) -> bool:
    """Tell whether a Han character has several common readings."""
    return char in readings().ambiguous


@cache
def classes_of(char: str) -> tuple[bool, ...]:
    """Return for each of CLASSES whether a character belongs to it."""
    return tuple(belongs(char) for belongs in CLASSES.values())
