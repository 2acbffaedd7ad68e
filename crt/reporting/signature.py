"""When two cells are the same measurement, and what must agree for two tables to be comparable."""

import pandas as pd

from crt import __version__
from crt.records import CLEAN
from crt.resources import rows_digest

IDENTITY = ("model", "train_seed", "dataset", "split", "perturbation", "prob", "seed")
"""What makes two cells the same measurement: the later one counts."""


def latest(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the last cell of each measurement; all columns of IDENTITY are there, missing values among them.

    Args:
        cells: oldest first.
    """
    cells = cells.reindex(columns=list(dict.fromkeys([*cells.columns, *IDENTITY])))
    return cells.drop_duplicates(list(IDENTITY), keep="last")


def signature(cells: pd.DataFrame) -> str:
    """Return what must agree for two tables to be comparable, as `key:value` pairs."""

    def listed(column: str) -> str:
        return ",".join(sorted({str(value) for value in cells[column].dropna()})) if column in cells else ""

    def versions(name: str, column: str) -> str:
        if column not in cells:
            return ""
        pairs = cells[[name, column]].dropna().drop_duplicates().sort_values(name)
        return ",".join(f"{key}@{str(value)[:8]}" for key, value in pairs.itertuples(index=False))

    rows = cells[cells["perturbation"] != CLEAN]
    splits = (
        cells[["dataset", "split"]].dropna().drop_duplicates().sort_values("dataset") if "split" in cells else cells[:0]
    )
    sources = [listed(column) for column in ("resources", "libraries")]
    parts = {
        "crt": __version__,
        "scoring": listed("scoring_version"),
        "data": versions("dataset", "data_digest"),
        "split": ",".join(f"{dataset}@{split}" for dataset, split in splits.itertuples(index=False)),
        "tables": versions("perturbation", "table_sha256"),
        "with": rows_digest([sources])[:8] if any(sources) else "",
        "probs": ",".join(f"{prob:g}" for prob in sorted(rows["prob"].unique())),
        "seeds": ",".join(str(seed) for seed in sorted(rows["seed"].unique())),
        "max_length": listed("max_length"),
        "precision": listed("precision"),
        "fields": listed("fields"),
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items() if value)
