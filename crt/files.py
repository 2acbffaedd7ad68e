"""Files that take their place whole: a reader never meets half a file, and what a killed writer left is cleared away.

Also whether there is a file or folder of a name that may be anything: pathlib raises for one that is too long.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from crt.errors import CrtError, remedy

_PARTIAL = re.compile(r"\..+\.\d+\.partial")
"""Names of files that are being written; the number is that of the process."""


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
    for folder in {path.parent for path in paths}:
        folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder)
    with ExitStack() as locks:
        try:
            with ExitStack() as opened:
                files: list[IO[bytes]] = []
                for partial in partials:
                    locks.enter_context(locked(partial))
                    files.append(opened.enter_context(partial.open("wb")))
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
    """Delete what writers left in a folder that were killed: one that lives holds a lock on its file."""
    if os.name == "nt":
        return
    import fcntl

    paths: list[Path] = []
    with suppress(OSError):
        paths = list(folder.iterdir())
    for path in paths:
        if _PARTIAL.fullmatch(path.name):
            with suppress(OSError), path.open("ab") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock on a file, which is made, where the system and the disk have locks."""
    if os.name == "nt":
        yield
        return
    import fcntl

    while True:
        with path.open("ab") as file:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            if is_file(path) and path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                yield
                return  # else another process took it for a leftover before it was locked
