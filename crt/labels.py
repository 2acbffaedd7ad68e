"""Labels as they stand in files: what their text is, which spellings are one label, and which labels there are."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence

from crt.errors import DataError
from crt.reading import Row

BLANK = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\u200b\u2060\ufeff"
"""White space of every width, and what has none."""


def label_of(row: Row, column: str) -> str:
    """Return the label of a row as text, without blanks around it; a missing one, of whatever kind, is empty.

    Raises:
        DataError: it is a list or the like.
    """
    value = row.values.get(column)
    if hasattr(value, "__len__") and not isinstance(value, str):
        raise DataError(f"{row.where}: column '{column}' holds {value!r}, which is no label")
    return spelled(value)


def spelled(value: object) -> str:
    """Return a label as text, without blanks around it; a missing one, of whatever kind, is empty."""
    if value is None or value != value:  # noqa: PLR0124  NaN is how pandas says missing
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip(BLANK)


def folded(label: str) -> str:
    """Return what spellings of a label have in common that differ in case, width, inner blanks or decimals."""
    plain = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
    return re.sub(r"^([+-]?\d+)\.0+$", r"\1", plain)


def spellings(labels: Collection[str]) -> dict[str, str]:
    """Return the label that a folded one stands for; nothing where labels differ in their spelling alone."""
    found = {folded(label): label for label in labels}
    return found if len(found) == len(labels) else {}


def same_label(name: str, labels: Sequence[str]) -> str | None:
    """Return the one of some labels that a name stands for: the same, else the only one that is spelled otherwise."""
    if name in labels:
        return name
    alike = [label for label in labels if folded(label) == folded(name)]
    return alike[0] if len(alike) == 1 else None


def label_map_for(theirs: Sequence[str], ours: Sequence[str]) -> str:
    """Return the option that calls a model's labels by ours: whole where LABEL_3 can only be 3, else with gaps to fill in."""
    numbers = {name: name.rpartition("_")[2] for name in theirs if name.upper().startswith("LABEL_")}
    if sorted(numbers.values()) == sorted(ours):
        return f"label_map={','.join(f'{name}={number}' for name, number in numbers.items())}"
    return f"label_map={','.join(f'{name}=TASK_LABEL' for name in theirs[:2])}{',…' if len(theirs) > 2 else ''}"


def collected(rows: Iterable[Row], column: str, absent: Collection[str]) -> dict[str, int]:
    """Return the labels of rows, each with how many rows have it: integers in numeric order, others in code point order.

    Args:
        rows: of the training file.
        column: that holds the labels.
        absent: how a missing label reads; beside `+` a dash is a label.

    Raises:
        DataError: what is a label must be asked; the message says where it stands.
    """
    places: dict[str, list[str]] = {}
    for row in rows:
        places.setdefault(label_of(row, column), []).append(row.where)
    for label in absent:
        if not (label == "-" and "+" in places):
            places.pop(label, None)
    labels = sorted(places)
    if all(label.removeprefix("-").isdecimal() for label in labels):
        labels = sorted(labels, key=lambda label: (int(label), label))
    _check_spellings(labels, places)
    _check_minus_one(labels, places)
    return {label: len(places[label]) for label in labels}


def _check_spellings(labels: Sequence[str], places: Mapping[str, Sequence[str]]) -> None:
    """Make sure that no label stands there in two spellings."""
    known: dict[str, str] = {}
    for label in labels:
        other = known.setdefault(folded(label), label)
        if other != label:
            raise DataError(
                f"{places[label][0]}: label '{label}' ({_count(places[label])}) is '{other}' ({_count(places[other])}, first "
                f"in {places[other][0]}) in another spelling; write both in one way, or rename one of them"
            )


def _check_minus_one(labels: Sequence[str], places: Mapping[str, Sequence[str]]) -> None:
    """Make sure that -1 is not what some programs write where there is no label."""
    others = [label for label in labels if label != "-1"]
    if "-1" in labels and len(others) > 1 and all(label.isdecimal() for label in others):
        raise DataError(
            f"{places['-1'][0]}: label '-1' ({_count(places['-1'])}) beside {', '.join(others[:20])} may be a class, or say "
            "that there is no label; if it is a class, write its name in place of -1, else leave the label empty or remove "
            "the rows"
        )


def _count(places: Sequence[str]) -> str:
    return f"{len(places):,} row{'s' if len(places) > 1 else ''}"
