"""Every error that crt raises on purpose.

CrtError
├── UnknownName      a name that is in no table; suggests the nearest one
├── GridError        an experiment that contradicts itself; lists all of its faults at once
├── ResourceError    a language table that cannot be used
├── DataError        a data set that cannot be read as asked
├── ModelError       a model that cannot be used on this task
└── TrackingError    the MLflow store or registry cannot do what is needed

A message says what is wrong, where, what would be right and what to do. Entry points print it and exit with 1.
"""

import errno
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

from crt.redaction import redacted

T = TypeVar("T")

_FULL = ("No space left on device", "Disk quota exceeded", "No usable temporary directory", "database or disk is full")
"""How the system, tempfile and SQLite say that there is no room."""
_WINDOWS = (39, 112)
"""ERROR_HANDLE_DISK_FULL and ERROR_DISK_FULL."""


class CrtError(Exception):
    """Something the user can put right."""


class UnknownName(CrtError):
    """A name that is not in the table it was looked up in."""


class GridError(CrtError):
    """One or more faults in the description of an experiment."""

    def __init__(self, faults: Sequence[str]) -> None:
        """Keep the faults and join them into one message."""
        self.faults = tuple(faults)
        count = len(self.faults)
        if count == 1:
            super().__init__(self.faults[0])
        else:
            super().__init__(f"{count} faults in the options:\n" + "\n".join(f"  - {fault}" for fault in self.faults))


class ResourceError(CrtError):
    """A language resource that is missing or malformed."""


class DataError(CrtError):
    """A data file or a hub data set that cannot be read as asked."""


class ModelError(CrtError):
    """A model that cannot be loaded, or does not fit the task."""


class TrackingError(CrtError):
    """The tracking store or the model registry refused."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a name is nearest to, whatever the case of its letters; None: it is near to none."""
    names = {each.casefold(): each for each in reversed([*known])}  # of two that differ in case only, the first
    near = get_close_matches(name.casefold(), names, n=1, cutoff=0.6)
    return names[near[0]] if near else None


def one_of(fault: str, name: str, known: Iterable[str], has: str = "Known:") -> str:
    """Return the message for a name that is none of those that are known: the fault, the nearest one, and all of them.

    Args:
        fault: what is wrong, a sentence without its full stop.
        name: what was asked for.
        known: what could be asked for, in the order in which it is listed.
        has: how the list begins.
    """
    names = list(known)
    near = nearest(name, names)
    hint = f"; did you mean '{near}'?" if near else "."
    return f"{fault}{hint} {has} {', '.join(names)}"


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a `name` that is none of `known`, with the nearest of them."""
    return one_of(f"unknown {kind} '{name}'", name, sorted(known))


def lookup(kind: str, name: str, known: Mapping[str, T]) -> T:
    """Return `known[name]`.

    Raises:
        UnknownName: `name` is no key of `known`; the message suggests the nearest key.
    """
    if name not in known:
        raise UnknownName(unknown(kind, name, known))
    return known[name]


def is_full(error: BaseException | None) -> bool:
    """Tell whether the cause of an error is that a disk is full: by its number, or by the text that libraries pass on."""
    met: set[int] = set()  # errors that are raised again may go in a circle
    while error is not None and id(error) not in met:
        met.add(id(error))
        full = (
            getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
            or getattr(error, "winerror", None) in _WINDOWS
        )
        if full or any(text in str(error) for text in _FULL):
            return True
        error = error.__cause__ or error.__context__
    return False


def remedy(error: BaseException) -> str:
    """Return what to do before something is tried again that could not be written."""
    return "make room" if is_full(error) else "put that right"


def no_room(error: BaseException) -> CrtError:
    """Return what to say of a full disk where nothing more is known about what was to be written."""
    cause = redacted(" ".join(str(error).split()))[:300]
    return CrtError(
        f"a file cannot be written ({cause}); make room, or set TMPDIR to a folder that has it if it is a temporary file, "
        "and start again: what was stored before is kept"
    )
