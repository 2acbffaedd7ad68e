"""What stands outside of crt: Python named as `PACKAGE.MODULE:NAME`, and what other packages offer as entry points."""

import importlib
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from crt.errors import CrtError, one_of


def imported(spec: str) -> Any:
    """Return what `PACKAGE.MODULE:NAME` names; modules of the working folder are found too.

    Raises:
        CrtError: there is no such module, it cannot be imported, or it has no such name.
    """
    module, colon, name = spec.partition(":")
    if not (module and colon and name):
        raise CrtError(f"'{spec}' names no Python object; write it as PACKAGE.MODULE:NAME")
    try:
        with _working_folder():
            found: Any = importlib.import_module(module)
    except Exception as error:  # a module raises whatever it meets
        raise CrtError(
            f"{spec}: module {module} cannot be imported ({type(error).__name__}: {error}); it must be installed, or stand in "
            f"the folder that crt is started in, {Path.cwd()}"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            known = [known for known in dir(found) if not known.startswith("_")]
            raise CrtError(one_of(f"{spec}: there is no '{part}' in {module}", part, known, "It has"))
        found = getattr(found, part)
    if not callable(found):
        raise CrtError(f"{spec}: is no function but {type(found).__name__}")
    return found


@contextmanager
def _working_folder() -> Iterator[None]:
    """Have modules of the working folder found; the command `crt`, unlike `python -m crt`, does not look there."""
    before = [*sys.path]
    sys.path.append(str(Path.cwd()))
    try:
        yield
    finally:
        sys.path[:] = before


def source_digest(found: object) -> str:
    """Return the SHA-256 of the file that defines a function or class; of what has no file, that of its name."""
    plain = inspect.unwrap(found) if callable(found) else found
    kind = plain if inspect.isroutine(plain) or inspect.isclass(plain) else type(plain)
    try:
        source = Path(inspect.getfile(kind)).read_bytes()
    except (TypeError, OSError):  # built in, or typed in
        source = b""
    name = f"{getattr(kind, '__module__', '')}:{getattr(kind, '__qualname__', '')}"
    return sha256(name.encode("utf-8", "replace") + b"\n" + source).hexdigest()


def offered(group: str, name: str) -> EntryPoint | None:
    """Return the entry point of that name that an installed package offers in a group, like `crt.models`; None: none does."""
    return next(iter(entry_points(group=group, name=name)), None)


def load_offered(point: EntryPoint) -> Any:
    """Return what an entry point names.

    Raises:
        CrtError: it cannot be imported.
    """
    try:
        return point.load()
    except Exception as error:  # as above
        raise CrtError(
            f"'{point.name}' of the entry points {point.group} ({point.value}) cannot be imported "
            f"({type(error).__name__}: {error})"
        ) from error
