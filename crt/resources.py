"""The language resources: where they are, what a table looks like, and what identifies it."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from crt.decoding import read_text
from crt.errors import DataError, ResourceError
from crt.files import no_such

TABLE_SCHEMA = 1

_COMMENT = re.compile(r"(?:^|\s)\s*#.*")


def resource_dir() -> Path:
    """Return the folder `resources`: inside the installed package, or beside the package in a checkout."""
    package = Path(__file__).parent
    installed = package / "resources"
    return installed if installed.is_dir() else package.parent / "resources"


def rows_digest(rows: Iterable[object]) -> str:
    """Return 16 hexadecimal digits of the SHA-256 over rows, each written as JSON."""
    return sha256("\n".join(json.dumps(row) for row in rows).encode()).hexdigest()[:16]


def file_sha256(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        digest = sha256()
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


@cache
def manifest() -> Mapping[str, str]:
    """Return the SHA-256 of each shipped resource, by its path below `resources`."""
    files: Mapping[str, str] = read_json(resource_dir() / "MANIFEST.json")["files"]
    return files


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises:
        ResourceError: the file is missing, is no UTF-8 JSON object, or has a repeated key.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for key, value in pairs:
            if key in seen:
                raise ResourceError(f"{path}: key '{key}' stands there twice; keep one of them")
            seen[key] = value
        return seen

    try:
        value = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)
    except FileNotFoundError:
        raise ResourceError(no_such(path)) from None
    except OSError as error:
        raise ResourceError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:  # also for a number of many digits, and for lists in lists
        raise ResourceError(f"{path}: not UTF-8 JSON ({error})") from error
    if not isinstance(value, dict):
        raise ResourceError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


@dataclass(frozen=True, slots=True)
class Table:
    """A substitution table: what may stand in place of a key."""

    name: str
    """The perturbation that it belongs to."""
    entries: Mapping[str, tuple[str, ...]]
    """Options of each key, best first; none in a list of words."""
    sha256: str
    """Of the file."""
    modified: bool
    """The file is not the one that is shipped under this name."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """The other fields of the file."""
    path: Path = field(default=Path(), compare=False)
    """The file, for messages."""


@dataclass(frozen=True, slots=True)
class OwnTable:
    """A file of the user's for a perturbation: a table, or a list of words."""

    path: Path
    """The file."""
    adds: bool = False
    """Its entries are added to the shipped table; else they take its place."""

    @classmethod
    def of(cls, text: str) -> "OwnTable":
        """Return it as an option writes it: FILE, or +FILE where it adds."""
        return cls(Path(text.removeprefix("+")), text.startswith("+"))

    def __str__(self) -> str:
        return f"{'+' if self.adds else ''}{self.path}"


def own_table(name: str, own: OwnTable | None) -> Table:
    """Return the shipped table of a name, or the user's own: in its place, or with the shipped entries behind its own.

    Raises:
        ResourceError: see `load_table`.
    """
    table = load_table(name, own.path if own else None)
    return joined(table, load_table(name)) if own and own.adds else table


def joined(own: Table, shipped: Table) -> Table:
    """Return the entries of two tables; where both have a key, the options of the first one come first.

    Lists among the other fields are joined in the same way.
    """
    keys = dict.fromkeys([*shipped.entries, *own.entries])
    more = dict(shipped.more)
    for name, value in own.more.items():
        both = isinstance(value, list) and isinstance(more.get(name), list)
        more[name] = [*value, *more[name]] if both else value
    return Table(
        own.name,
        {key: tuple(dict.fromkeys([*own.entries.get(key, ()), *shipped.entries.get(key, ())])) for key in keys},
        sha256(f"{own.sha256}+{shipped.sha256}".encode()).hexdigest(),
        modified=True,
        more=more,
        path=own.path,
    )


def load_table(name: str, path: Path | None = None) -> Table:
    """Read and check `resources/perturbations/<name>.json`, or the user's own `path` in its place.

    The file is `{"schema": 1, "name": ..., "entries": {"key": ["option", ...]}}`; other fields are free.

    Raises:
        ResourceError: the file is unusable; the message names the file, the entry and what is wrong with it.
    """
    shipped = f"perturbations/{name}.json"
    path = path or resource_dir() / shipped
    data = read_json(path)
    if data.get("schema") != TABLE_SCHEMA:
        raise ResourceError(f"{path}: schema is {data.get('schema')!r}, this version reads {TABLE_SCHEMA}")
    if data.get("name", name) != name:
        raise ResourceError(f"{path}: is a table of '{data['name']}', not of '{name}'")
    entries = data.get("entries")
    if not isinstance(entries, dict) or not entries:
        raise ResourceError(f"{path}: 'entries' must be an object with at least one key")
    faults = [f"entry '{key}': {fault}" for key, options in entries.items() for fault in _entry_faults(key, options)]
    if faults:
        more = f" (and {len(faults) - 5} more)" if len(faults) > 5 else ""
        raise ResourceError(f"{path}: {'; '.join(faults[:5])}{more}")
    digest = file_sha256(path)
    return Table(
        name=name,
        entries={key: tuple(options) for key, options in entries.items()},
        sha256=digest,
        modified=digest != manifest().get(shipped),
        more={key: value for key, value in data.items() if key != "entries"},
        path=path,
    )


def load_words(name: str, path: Path) -> Table:
    """Read a list of words, one a line; blank lines, and what stands behind a # at the start or after a blank, are passed over.

    Raises:
        ResourceError: the file cannot be read, or lists no word.
    """
    try:
        lines = read_text(path).splitlines()
    except DataError as error:
        raise ResourceError(str(error)) from error
    words = dict.fromkeys(filter(None, (_COMMENT.sub("", line).strip() for line in lines)))
    if not words:
        raise ResourceError(f"{path}: lists no word; write one a line")
    return Table(name, dict.fromkeys(words, ()), file_sha256(path), modified=True, path=path)


def _entry_faults(key: str, options: object) -> list[str]:
    if not key.strip():
        return ["the key is empty"]
    if not isinstance(options, list) or not options:
        return ["needs a list of at least one option"]
    faults = []
    for option in options:
        if not isinstance(option, str):
            faults.append(f"option {option!r} is no string")
        elif not option:
            faults.append("an option is empty")
        elif option == key:
            faults.append("an option equals its key")
    if not faults and len(set(options)) < len(options):
        faults.append("an option stands there twice")
    return faults
