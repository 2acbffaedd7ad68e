"""Rows of a data file or of a hub data set, each with the place it came from."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from crt.errors import DataError, is_full, no_room
from crt.files import is_file


@dataclass(frozen=True, slots=True)
class Row:
    """One row, before anybody knows what its columns mean."""

    where: str
    """File and line, or data set and row: the start of an error message."""
    values: Mapping[str, object]
    """Values by column name."""


def read_rows(path: Path, suffix: str | None = None) -> list[Row]:
    """Read a CSV, TSV, JSON-lines or Parquet file, as its suffix says, or the one that is given in its place.

    CSV is quoted with `"`; TSV has no quoting at all, as in the published Chinese data sets: with the default quoting
    of csv and pandas a text that starts with `"` swallows the lines after it. A byte-order mark and CRLF are accepted.

    Raises:
        DataError: the file is missing, empty, of another encoding or malformed; the message names the line.
    """
    reader = READERS.get((suffix or path.suffix).lower())
    if reader is None:
        raise DataError(f"{path}: cannot tell the format of '{path.suffix}'; known: {', '.join(READERS)}")
    if not is_file(path):
        raise DataError(f"{path}: no such file")
    rows = list(reader(path))
    if not rows:
        raise DataError(f"{path}: holds no rows")
    return rows


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


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8 "
            "(Chinese files from Excel are often GB18030)"
        ) from error
    if not text.strip():
        raise DataError(f"{path}: is empty")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{path}, line {line}: holds a NUL character; this is no text file")
    return text


def _lines(path: Path) -> Iterable[tuple[str, str]]:
    """Yield place and text of each line that is not blank; only LF and CRLF end a line."""
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if line.strip():
            yield f"{path}, line {number}", line.removesuffix("\r")


def _json_lines(path: Path) -> Iterable[Row]:
    for where, line in _lines(path):
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:  # also for a number of many digits, and for lists in lists
            raise DataError(f"{where}: not JSON ({error})") from error
        if not isinstance(values, dict):
            raise DataError(f"{where}: expected a JSON object, found {type(values).__name__}")
        yield Row(where, values)


def _tsv(path: Path) -> Iterable[Row]:
    lines = iter(_lines(path))
    where, line = next(lines)
    header = _header(where, line.split("\t"))
    for where, line in lines:
        yield _row(where, header, line.split("\t"))


def _csv(path: Path) -> Iterable[Row]:
    reader = csv.reader(StringIO(_text(path), newline=""), strict=True)
    header: list[str] = []
    where = f"{path}, line 1"
    try:
        while (cells := next(reader, None)) is not None:
            if header and cells:
                yield _row(where, header, cells)
            elif cells:
                header = _header(where, cells)
            where = f"{path}, line {reader.line_num + 1}"
    except csv.Error as error:
        raise DataError(f"{where}: not valid CSV ({error})") from error


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
        frame = pd.read_parquet(path)
    except Exception as error:
        raise DataError(f"{path}: not a readable Parquet file ({' '.join(str(error).split())[:200]})") from error
    for index, values in enumerate(frame.to_dict("records")):
        yield Row(f"{path}, row {index}", {str(key): value for key, value in values.items()})


READERS: Mapping[str, Callable[[Path], Iterable[Row]]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".txt": _tsv,
    ".jsonl": _json_lines,
    ".json": _json_lines,
    ".parquet": _parquet,
}
