"""What people really write: how much of it the perturbations can produce, and a table learnt from it."""

import json
import tempfile
from collections.abc import Mapping
from math import isnan
from pathlib import Path

import pandas as pd

from crt.errors import DataError
from crt.perturbations import PERTURBATIONS, load
from crt.perturbations.learning import is_held_out, learn
from crt.reporting.markdown import Markdown
from crt.reporting.markdown import table as markdown
from crt.reporting.spreadsheet import write_csv
from crt.resources import TABLE_SCHEMA, OwnTable
from crt.scoring.reach import TOGETHER, Texts, reach
from crt.studies.outputs import Files, formats
from crt.studies.results import staged

NOT_COUNTED = ("synonym_all", "garden_path", "swap", "repeat", "delete", "evade", "mixture")
"""Left out by default: what composes or widens the others, and slips that explain a change that was made on purpose."""

FAMILIES = tuple(name for name in PERTURBATIONS if name not in NOT_COUNTED)
"""The perturbations whose reach is counted by default."""

FILES = Files(
    "reach",
    formats("reach", "the changed segments that each perturbation can produce", ".csv", ".md")
    | {"unreached.csv": "the changed segments that none of them can produce, the most frequent first"},
)

TABLE = "learnt_table.json"
LEARNT = Files("learn", {TABLE: "a table learnt from pairs, for table=NAME:FILE"})

SHOWN = 20
"""Unreached segments that are printed."""


def reach_table(counts: pd.DataFrame) -> Markdown:
    """Return the share of changed segments that each family reaches, a column for each set, the best family first.

    Families that reach nothing are left out.
    """
    sets = list(dict.fromkeys(counts["set"]))
    rows = {(row.set, row.family): row for row in counts.itertuples(index=False)}
    hits = counts.groupby("family", sort=False)["reached"].sum().drop(TOGETHER)
    families = [TOGETHER, *hits[hits > 0].sort_values(ascending=False, kind="stable").index]
    cells = [[family, *(_share(rows[name, family].share) for name in sets)] for family in families]
    for what, column in (("changed segments", "segments"), ("pairs", "pairs"), ("pairs reached as a whole", "whole")):
        cells.append([what, *(f"{getattr(rows[name, TOGETHER], column):,}" for name in sets)])
    return markdown(["family", *sets], cells)


def unreached_table(missed: pd.DataFrame) -> Markdown:
    """Return the most frequent segments that no family reaches."""
    rows = missed.head(SHOWN).itertuples(index=False, name=None)
    return markdown(
        ["original", "written", "text", "count"], [[a or "–", b or "–", text, n] for a, b, n, text in rows], texts=3
    )


def publish(counts: pd.DataFrame, missed: pd.DataFrame, folder: Path) -> str:
    """Write the files of `reach` into a folder; return what they say, in Markdown.

    Raises:
        CrtError: they cannot be written.
    """
    told = f"{reach_table(counts)}\nmost frequent changes that none of them gives:\n\n{unreached_table(missed)}"
    with staged(None, folder, FILES) as staging:
        write_csv(counts, staging / "reach.csv")
        write_csv(missed, staging / "unreached.csv")
        (staging / "reach.md").write_text(told, encoding="utf-8", errors="replace")
    return told


def held_out_reach(pairs: Texts, name: str, minimum: int) -> tuple[int, int]:
    """Return how many changed segments of the held-out originals a table reaches that is learnt from the others, and how many there are.

    Args:
        pairs: originals, each with the text as somebody wrote it.
        name: of the perturbation whose table it takes the place of.
        minimum: of the count of an option.
    """
    counts = learn([pair for pair in pairs if not is_held_out(pair[0])], minimum)
    families = {}
    with tempfile.TemporaryDirectory() as folder:
        if counts:
            path = Path(folder) / TABLE
            path.write_text(_table(counts, name, ""), encoding="utf-8")
            families[name] = load(name, OwnTable(path)).find
    found, _ = reach({"held out": [pair for pair in pairs if is_held_out(pair[0])]}, families)
    row = found[found["family"] == TOGETHER].iloc[0]
    return int(row["reached"]), int(row["segments"])


def write_table(pairs: Texts, name: str, source: str, minimum: int, folder: Path) -> Mapping[str, Mapping[str, int]]:
    """Learn a table from all pairs and write it; return its options with their counts.

    Args:
        pairs: originals, each with the text as somebody wrote it.
        name: of the perturbation whose table it takes the place of.
        source: what the pairs are, for the file.
        minimum: of the count of an option.
        folder: made if it does not exist.

    Raises:
        DataError: no option was written that often.
        CrtError: the table cannot be written.
    """
    counts = learn(pairs, minimum)
    if not counts:
        raise DataError(f"no change stands in {minimum} of the {len(pairs):,} pairs; lower minimum, or give more pairs")
    with staged(None, folder, LEARNT) as staging:
        (staging / TABLE).write_text(_table(counts, name, source), encoding="utf-8")
    return counts


def _table(counts: Mapping[str, Mapping[str, int]], name: str, source: str) -> str:
    """Return the text of a table."""
    entries = {key: list(options) for key, options in counts.items()}
    content = {"schema": TABLE_SCHEMA, "name": name, "source": source, "entries": entries, "counts": counts}
    return f"{json.dumps(content, ensure_ascii=False, indent=1)}\n"


def _share(value: object) -> str:
    number = float(str(value))
    return "–" if isnan(number) else f"{number:.2f}"
