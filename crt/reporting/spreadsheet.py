"""CSV files that people open in a spreadsheet program, with texts that a stranger may have written."""

from pathlib import Path
from typing import Any

import pandas as pd

FORMULA = tuple("=+-@＝＋－＠\t\r\n")
"""What a spreadsheet program takes for the start of a formula."""


def guarded(value: Any) -> Any:
    """Return a value of a cell; a text that would be computed on opening, with an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def bare(value: Any) -> Any:
    """Return what `guarded` was given."""
    return value[1:] if isinstance(value, str) and value.startswith("'") and value[1:].startswith(FORMULA) else value


def write_sheet(frame: pd.DataFrame, path: Path) -> None:
    """Write a table without its index; its names are guarded, too.

    With the mark of utf-8-sig spreadsheet programs see that it is UTF-8; half a surrogate pair cannot be shown.
    """
    frame = frame.map(guarded).rename(columns=guarded)
    frame.to_csv(path, index=False, encoding="utf-8-sig", errors="replace", lineterminator="\n")
