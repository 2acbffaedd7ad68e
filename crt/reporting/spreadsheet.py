"""CSV files that people open in a spreadsheet program, with names and texts that a stranger may have written.

All CSV files of an output folder are written here. What crt reads back are artifacts of runs: `outcomes.csv` of a cell is written
as it is, since a digit or a quote more would be another outcome; of `behavior_report.csv` `bare` takes the guard off.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FORMULA = tuple("=+-@＝＋－＠\t\r\n")
"""What a spreadsheet program takes for the start of a formula."""
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?(±[0-9]+(\.[0-9]+)?)?\*?")
"""A number as the tables print it, with its deviation and its star."""


def defused(value: Any) -> Any:
    """Return a value of a cell; a text that would be computed on opening, with an apostrophe before it."""
    return f"'{value}" if _starts_formula(value) and not _NUMBER.fullmatch(value) else value


def bare(value: Any) -> Any:
    """Return what `defused` was given."""
    return value[1:] if isinstance(value, str) and value.startswith("'") and _starts_formula(value[1:]) else value


def _starts_formula(value: Any) -> bool:
    return isinstance(value, str) and value.lstrip("'").startswith(FORMULA)


def write_csv(frame: pd.DataFrame, path: Path, encoding: str = "utf-8") -> None:
    """Write a table without its index; texts and names are defused, numbers stay as they are.

    Half a surrogate pair cannot be written and becomes a question mark.
    """
    safe = frame.rename(columns=defused)
    for place, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            values = [defused(value) for value in frame.iloc[:, place]]
            safe.isetitem(place, np.array(values, dtype=object))
    safe.to_csv(path, index=False, encoding=encoding, errors="replace", lineterminator="\n")


def write_sheet(frame: pd.DataFrame, path: Path) -> None:
    """Write a table of Chinese texts: by the mark of utf-8-sig spreadsheet programs see that it is UTF-8."""
    write_csv(frame, path, "utf-8-sig")
