"""Pairs of the user's own: texts, and how somebody really wrote them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crt.decoding import read_text
from crt.errors import DataError, one_of
from crt.reading import Row, read_rows, suffix_of
from crt.records import Example

ALL = "all"
"""The set of a file that has no sets."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A text, and how somebody wrote it."""

    where: str
    """File and line: the start of an error message."""
    written: str
    """As somebody wrote it."""
    original: str | None
    """As it would be written plainly; None: that of the example with its id."""
    id: str | None = None
    """Of its example in a data set."""


def read_pairs(path: Path, *, original: str = "original", written: str = "written") -> dict[str, list[Pair]]:
    """Read the pairs of a file, by set.

    A table (`crt.reading`) has a row for each pair, and is one set; its column `id` names an example. A JSON file may hold a
    list of [original, written], or an object with such a list for each set.

    Args:
        path: the file.
        original: column of the originals; it may be missing beside the column `id`.
        written: column of the texts as written.

    Raises:
        DataError: the file cannot be read, lacks a column, or a pair is none; the message names the line.
    """
    lists = _lists(path) if suffix_of(path) == ".json" else None
    if lists is not None:
        return {name: list(_listed(f"{path}, set '{name}'", pairs)) for name, pairs in lists.items()}
    rows = read_rows(path)
    for column, needed in ((written, True), (original, "id" not in rows[0].values)):
        if needed and column not in rows[0].values:
            fault = one_of(f"{rows[0].where}: no column '{column}'", column, rows[0].values, "The file has")
            raise DataError(
                f"{fault}; name the right one with {'original' if column == original else 'written'}_column="
            )
    return {ALL: [_of_row(row, original, written) for row in rows]}


def _of_row(row: Row, original: str, written: str) -> Pair:
    texts = [row.values.get(column) for column in (written, original)]
    for column, text in zip((written, original), texts, strict=True):
        if column in row.values and not isinstance(text, str):
            raise DataError(f"{row.where}: column '{column}' holds {text!r}, which is no text")
    id_ = row.values.get("id")
    return Pair(
        row.where, str(texts[0]), None if texts[1] is None else str(texts[1]), None if id_ is None else str(id_)
    )


def _lists(path: Path) -> Mapping[str, Sequence[object]] | None:
    """Return the sets of a JSON file of lists; None if it is a table, or none that can be read whole."""
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and value and isinstance(value[0], list):
        return {ALL: value}
    lists = isinstance(value, dict) and value and all(isinstance(one, list) for one in value.values())
    return value if lists else None


def _listed(where: str, pairs: Sequence[object]) -> Iterator[Pair]:
    for number, pair in enumerate(pairs, start=1):
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair)):
            raise DataError(f"{where}, pair {number}: expected [original, written], two texts, found {str(pair)[:60]}")
        yield Pair(f"{where}, pair {number}", pair[1], pair[0])


def texts_of(sets: Mapping[str, Sequence[Pair]]) -> dict[str, list[tuple[str, str]]]:
    """Return the original and the text as written of each pair.

    Raises:
        DataError: a pair has no original.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for name, pairs in sets.items():
        found[name] = []
        for pair in pairs:
            if pair.original is None:
                raise DataError(f"{pair.where}: has no original text; without a data set an id is not enough")
            found[name].append((pair.original, pair.written))
    return found


def of_examples(pairs: Sequence[Pair], examples: Sequence[Example]) -> tuple[dict[str, str], int]:
    """Return how the texts of a data set were written, and how many pairs belong to them; of several pairs the first counts.

    A pair belongs to the example of its id, which may be given as in the data set (`7` for `reviews/test/7`), or to every
    text that is its original.

    Raises:
        DataError: the original of a pair is not the text of the example with its id, or that has two texts.
    """
    ids = {name: example for example in examples for name in (example.id, example.id.rpartition("/")[2])}
    known = {text for example in examples for text in example.input}
    written: dict[str, str] = {}
    found = 0
    for pair in pairs:
        original = pair.original
        if pair.id is not None and (example := ids.get(pair.id)):
            original = _original(pair, example)
        if original in known and original is not None:
            found += 1
            written.setdefault(original, pair.written)
    return written, found


def _original(pair: Pair, example: Example) -> str:
    if pair.original is not None and pair.original not in example.input:
        raise DataError(
            f"{pair.where}: the original is not the text of example {example.id}: '{pair.original[:40]}' is not "
            f"'{example.input[0][:40]}'; give the id of its own example, or leave the ids out"
        )
    if pair.original is None and len(example.input) > 1:
        raise DataError(
            f"{pair.where}: example {example.id} has two texts; give the one that was written in the column original"
        )
    return example.input[0] if pair.original is None else pair.original
