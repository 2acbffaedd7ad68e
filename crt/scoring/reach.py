"""Reach: how much of what people really write some perturbations can produce."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

import pandas as pd

from crt.perturbations.alignment import reached, segments
from crt.perturbations.engine import SiteFinder

TOGETHER = "all together"
"""The row of all families."""

Texts = Sequence[tuple[str, str]]
"""Originals, each with the text as somebody wrote it."""


def reach(sets: Mapping[str, Texts], families: Mapping[str, SiteFinder]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what each family can produce, and what none of them can.

    The first has a row for each set and family, and for all families together. Columns: set, family, segments (changed ones),
    reached, share (NaN without a segment), pairs, whole (those reached as a whole). The second has the segments that all
    families together do not reach, the most frequent first. Columns: original, written, count, text (the first one, as written).

    Args:
        sets: pairs by the name of their set.
        families: finders by name.
    """
    finders = {name: cache(find) for name, find in families.items()}
    rows = []
    missed: Counter[tuple[str, str]] = Counter()
    seen: dict[tuple[str, str], str] = {}
    for set_, pairs in sets.items():
        for family in (*finders, TOGETHER):
            chosen = list(finders.values()) if family == TOGETHER else [finders[family]]
            once = {
                (a, b): reached(a, b, [site for find in chosen for site in find(a)]) for a, b in dict.fromkeys(pairs)
            }
            found = [once[pair] for pair in pairs]
            total, hit = sum(map(len, found)), sum(map(sum, found))
            share = hit / total if total else float("nan")
            rows.append((set_, family, total, hit, share, len(pairs), sum(map(all, found))))
        for (original, written), hits in zip(pairs, found, strict=True):  # of all families together
            for (a, b, c, d), hit in zip(segments(original, written), hits, strict=True):
                if not hit:
                    missed[original[a:b], written[c:d]] += 1
                    seen.setdefault((original[a:b], written[c:d]), written)
    ordered = sorted(missed.items(), key=lambda item: (-item[1], item[0]))
    return (
        pd.DataFrame(rows, columns=["set", "family", "segments", "reached", "share", "pairs", "whole"]),
        pd.DataFrame(
            [(*pair, count, seen[pair]) for pair, count in ordered], columns=["original", "written", "count", "text"]
        ),
    )
