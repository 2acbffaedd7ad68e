"""Files that take their place whole: a reader never meets half a file, and what a killed writer left is cleared away.

Also whether there is a file or folder of a name that may be anything: pathlib raises for one that is too long.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from filelock import FileLock

from crt.errors import CrtError, remedy

_PARTIAL = re.compile(r"\..+\.\d+\.partial")
"""Names of files that are being written; the number is that of the process."""
LOCK = ".crt.lock"
"""File of a folder that its writers lock."""
PATIENCE = 60.0
"""Seconds that a writer waits for another: a stopped one does not hold the others up for good."""


def exists(path: str | Path) -> bool:
    """Return whether there is a file or folder of that name."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: str | Path) -> bool:
    """Return whether there is a file of that name."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: str | Path) -> bool:
    """Return whether there is a folder of that name."""
    return os.path.isdir(path)  # noqa: PTH112


@contextmanager
def replacing(*paths: Path) -> Iterator[list[IO[bytes]]]:
    """Give a file to write into for each path; when all of them are whole, each takes the place of its path in one step.

    If the block fails, what stood there stays. The folders are made if they do not exist.

    Raises:
        OSError: the files cannot be written.
    """
    partials = [path.with_name(f".{path.name}.{os.getpid()}.partial") for path in paths]
    with ExitStack() as held:
        for folder in sorted({path.parent for path in paths}):
            folder.mkdir(parents=True, exist_ok=True)
            if held.enter_context(alone(folder)):
                _remove_partials(folder)
        try:
            with ExitStack() as opened:
                files: list[IO[bytes]] = [opened.enter_context(partial.open("wb")) for partial in partials]
                yield files
                for file in files:
                    file.flush()
                    os.fsync(file.fileno())
            for partial, path in zip(partials, paths, strict=True):
                partial.replace(path)
        except BaseException:
            for partial in partials:
                with suppress(OSError):
                    partial.unlink(missing_ok=True)
            raise


def write_files(folder: Path, contents: Mapping[str, str]) -> None:
    """Write texts into a folder; all of them are written before the first takes its place.

    Args:
        folder: made if it does not exist.
        contents: the text of each file, by its name; half a surrogate pair is written as a question mark.

    Raises:
        CrtError: they cannot be written; the message says what to do.
    """
    try:
        with replacing(*(folder / name for name in contents)) as files:
            for file, text in zip(files, contents.values(), strict=True):
                file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        raise CrtError(
            f"{' and '.join(contents)} cannot be written to {folder} ({error}); {remedy(error)} and start again"
        ) from error


def remove_leftovers(folder: Path) -> None:
    """Delete what writers left in a folder that were killed, unless one is at work there."""
    if is_folder(folder):
        with alone(folder, patience=0) as held:
            if held:
                _remove_partials(folder)


@contextmanager
def alone(folder: Path, *, patience: float = PATIENCE) -> Iterator[bool]:
    """Hold the lock of a folder against the other writers of crt, on whatever machine.

    Args:
        folder: must exist.
        patience: seconds to wait for another writer.

    Yields:
        Whether the lock is held: not where another process holds it longer than that, or where the disk has no locks.
    """
    lock = FileLock(folder / LOCK, timeout=patience, mode=0o666)
    try:
        lock.acquire()
    except (OSError, NotImplementedError):  # a timeout is an OSError, too
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _remove_partials(folder: Path) -> None:
    """Delete all half-written files of a folder; whoever holds its lock knows that nobody writes them any more."""
    for path in folder.iterdir():
        if _PARTIAL.fullmatch(path.name):
            with suppress(OSError):
                path.unlink()
