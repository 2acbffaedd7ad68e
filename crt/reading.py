"""Rows of a data file or of a hub data set, each with the place it came from."""

import csv
import json
import logging
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, time
from io import StringIO
from pathlib import Path

from crt.decoding import LARGEST, read_text
from crt.errors import DataError, is_full, no_room, one_of
from crt.files import is_file, no_such

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Row:
    """One row, before anybody knows what its columns mean."""

    where: str
    """File and line, or data set and row: the start of an error message."""
    values: Mapping[str, object]
    """Values by column name."""


def read_rows(path: Path, suffix: str | None = None) -> list[Row]:
    """Read a CSV, TSV, JSON, Parquet or Excel file, as its suffix says, or the one that is given in its place.

    CSV is quoted with `"`; TSV has no quoting at all, as in the published Chinese data sets: with the default quoting
    of csv and pandas a text that starts with `"` swallows the lines after it. JSON is one object a line, or one array of
    them. A byte-order mark and CRLF are accepted, text files may be packed (`.gz`), and what encodings there are is in
    `crt.decoding`.

    Raises:
        DataError: the file is missing, empty, of another encoding or malformed; the message names the line.
    """
    reader = READERS.get(suffix or suffix_of(path))
    if reader is None:
        ending = suffix_of(path)
        fault = one_of(f"{path}: cannot tell the format of '{ending}'", ending, READERS)
        raise DataError(f"{fault}; a text file may be packed, like {next(iter(TEXTS))}.gz")
    if not is_file(path):
        raise DataError(no_such(path))
    rows = list(reader(path))
    if not rows:
        raise DataError(f"{path}: holds no rows")
    return rows


def suffix_of(path: Path) -> str:
    """Return the ending of a file name that tells its format, in lower case: of `reviews.csv.gz` it is `.csv`."""
    ending = path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    return inner if ending == ".gz" and inner in TEXTS else ending


def stem_of(path: Path) -> str:
    """Return a file name without the ending that tells its format: of `reviews.csv.gz` it is `reviews`."""
    return path.stem if path.suffix.lower() == suffix_of(path) else Path(path.stem).stem


def read_hub(repository: str, config: str | None, split: str, revision: str | None) -> list[Row]:
    """Read one split of a data set of the Hugging Face hub; class codes are turned into their names.

    Raises:
        DataError: the hub or the data set cannot be reached; the message says how to go on without the hub.
    """
    import datasets

    name = f"{repository}{f' ({config})' if config else ''}"
    try:
        data = datasets.load_dataset(repository, config, split=split, revision=revision)
    except Exception as error:
        if is_full(error):
            raise no_room(error) from error
        cause = " ".join(str(error).split())[:200]
        raise DataError(
            f"{name}: cannot be loaded from the hub ({type(error).__name__}: {cause}); without the hub, give "
            "data_dir=FOLDER or set CRT_DATA_DIR: the folder that holds chnsenticorp/, ocnli/ and tnews/"
        ) from error
    names = {key: value.names for key, value in data.features.items() if isinstance(value, datasets.ClassLabel)}
    return [
        Row(
            f"{name}, {split} row {index}",
            {
                key: names[key][value] if key in names and isinstance(value, int) and value >= 0 else value
                for key, value in values.items()
            },
        )
        for index, values in enumerate(data)
    ]


def _lines(text: str, path: Path) -> Iterator[tuple[str, str]]:
    """Yield place and text of each line that is not blank; only LF and CRLF end a line."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"{path}, line {number}", line.removesuffix("\r")


def _json(path: Path) -> Iterable[Row]:
    text = read_text(path)
    for where, value in _array(text, path) if text.lstrip().startswith("[") else _json_lines(text, path):
        if not isinstance(value, dict):
            raise DataError(f"{where}: expected a JSON object, found {type(value).__name__}")
        yield Row(where, value)


def _json_lines(text: str, path: Path) -> Iterator[tuple[str, object]]:
    for where, line in _lines(text, path):
        try:
            yield where, json.loads(line)
        except (ValueError, RecursionError) as error:  # also for a number of many digits, and for lists in lists
            raise DataError(f"{where}: not JSON ({error}); give one object a line, or one array of objects") from error


def _array(text: str, path: Path) -> Iterator[tuple[str, object]]:
    """Yield place and value of each element of an array, on one line or on many."""
    decoder, mark = json.JSONDecoder(), re.compile(r"\s*([\[,\]]?)\s*")
    found, expected, line, counted = mark.match(text), "[", 1, 0
    while found and found[1] == expected:
        start, expected = found.end(), ","
        line, counted = line + text.count("\n", counted, start), start
        where = f"{path}, line {line}"
        if found[1] == "[" and text.startswith("]", start):
            found = mark.match(text, start)
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: not JSON ({error})") from error
        yield where, value
        found = mark.match(text, end)
    if not found or found[1] != "]" or found.end() < len(text):
        raise DataError(f"{where}: not JSON (the array has something else than a comma or its end behind this element)")


def _tsv(path: Path) -> Iterable[Row]:
    lines = _lines(read_text(path), path)
    where, line = next(lines)
    header = _header(where, line.split("\t"))
    for where, line in lines:
        yield _row(where, header, line.split("\t"))


def _csv(path: Path) -> Iterable[Row]:
    text = read_text(path)
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    header: list[str] = []
    rows: list[Row] = []
    where = f"{path}, line 1"
    with _cells_of_any_length(text):
        try:
            while (cells := next(reader, None)) is not None:
                if header and cells:
                    rows.append(_row(where, header, cells))
                elif cells:
                    header = _header(where, cells)
                where = f"{path}, line {reader.line_num + 1}"
        except csv.Error as error:
            raise DataError(f"{where}: not valid CSV ({error})") from error
    return rows


@contextmanager
def _cells_of_any_length(text: str) -> Iterator[None]:
    """Lift the limit of csv, which all of the process shares, to the length of a text."""
    before = csv.field_size_limit()
    csv.field_size_limit(max(before, len(text)))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _header(where: str, cells: list[str]) -> list[str]:
    twice = [cell for cell in cells if cell and cells.count(cell) > 1]
    if twice:
        raise DataError(f"{where}: column '{twice[0]}' stands there twice; rename or remove one of them")
    return cells


def _row(where: str, header: list[str], cells: list[str]) -> Row:
    if len(cells) != len(header):
        raise DataError(f"{where}: {len(cells)} columns, the header has {len(header)} ({', '.join(header)})")
    return Row(where, dict(zip(header, cells, strict=True)))


def _parquet(path: Path) -> Iterable[Row]:
    import pandas as pd

    try:
        frame = pd.read_parquet(path).astype(object)
    except Exception as error:
        raise DataError(f"{path}: not a readable Parquet file ({_cause(error)})") from error
    for index, values in enumerate(frame.where(frame.notna(), None).to_dict("records")):
        yield Row(f"{path}, row {index}", {str(key): value for key, value in values.items()})


def _excel(path: Path) -> Iterable[Row]:
    rows = ((f"{path}, row {number}", row) for number, row in enumerate(_sheet(path), start=1) if any(row))
    where, header = next(rows, ("", []))
    header = _header(where, header)
    for where, row in rows:
        yield _row(where, header, [*row, *[""] * (len(header) - len(row))])


def _sheet(path: Path) -> list[list[str]]:
    """Return the cells of the first sheet of a workbook, without the blank ones at the end of a row."""
    try:
        import openpyxl
    except ImportError as error:
        raise DataError(
            f"{path}: Excel files are read by openpyxl; pip install 'chinese-robust-text[excel]', or save the sheet as CSV"
        ) from error
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(part.file_size for part in packed.infolist())
        if size > LARGEST:
            raise ValueError(f"unpacks to {size:,} bytes, more than {LARGEST:,}")
        with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
            sheet, *others = book.worksheets
            sheet.reset_dimensions()  # what a file says of its size is often wrong
            cells = [[_shown(value) for value in row] for row in sheet.iter_rows(values_only=True)]
    except Exception as error:
        raise DataError(f"{path}: not a readable Excel file ({_cause(error)}); save the sheet as CSV") from error
    if others:
        log.info("%s: the first of %d sheets is read, '%s'", path, 1 + len(others), sheet.title)
    for row in cells:
        while row and not row[-1]:
            row.pop()
    return cells


def _shown(value: object) -> str:
    """Return the value of a cell as the sheet saved as CSV would have it."""
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).upper() if isinstance(value, bool) else str(value)


def _cause(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


TEXTS: Mapping[str, Callable[[Path], Iterable[Row]]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".txt": _tsv,
    ".jsonl": _json,
    ".json": _json,
}
"""The formats of text, which may be packed."""

READERS: Mapping[str, Callable[[Path], Iterable[Row]]] = {**TEXTS, ".parquet": _parquet, ".xlsx": _excel}

SUFFIXES = (*READERS, *(f"{suffix}.gz" for suffix in TEXTS))
"""How the name of a file ends that can be read."""
