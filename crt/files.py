"""Files that take their place whole: a reader never meets half a file, and what a killed writer left is cleared away.

Also whether there is a file or folder of a name that may be anything: pathlib raises for one that is too long; and what to
say where there is none.
"""

import atexit
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import IO

from filelock import FileLock

from crt.errors import CrtError, nearest, remedy
from crt.liveness import space, started

_HOST = re.sub(r"\W", "-", platform.node())
_PARTIAL = re.compile(rf"\..+\.{_HOST}\.(\d+)\.partial")
"""Names of files that are being written on this host; the number is that of the process."""
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


def neighbour(path: str | Path, kind: str = "file") -> Path | None:
    """Return what stands in the folder of a path under the nearest other name; None: there is nothing of a near name.

    Args:
        path: where nothing stands, or nothing of that kind.
        kind: `file`, `folder`, or what may be both.
    """
    fits = {"file": is_file, "folder": is_folder}.get(kind, exists)
    path, found = Path(path), list[Path]()
    with suppress(OSError, ValueError):  # there is no such folder, or its name can be none
        found = sorted(entry for entry in path.parent.iterdir() if entry.name != path.name and fits(entry))
    near = nearest(path.stem, [entry.stem for entry in found])  # `a.csv` is not near to `b.csv`
    same = sorted((entry for entry in found if entry.stem == near), key=lambda entry: entry.suffix != path.suffix)
    return same[0] if same else None


def no_such(path: str | Path, kind: str = "file") -> str:
    """Return the message for a path at which there is no file, or none of another kind, with the nearest one there is."""
    if kind == "file" and is_folder(path):
        return f"{path}: no such file; it is a folder"
    near = neighbour(path, kind)
    return f"{path}: no such {kind}{f'; did you mean {near}?' if near else ''}"


@contextmanager
def replacing(*paths: Path) -> Iterator[list[IO[bytes]]]:
    """Give a file to write into for each path; when all of them are whole, each takes the place of its path in one step.

    If the block fails, what stood there stays. The folders are made if they do not exist.

    Raises:
        OSError: the files cannot be written.
    """
    partials = [path.with_name(f".{path.name}.{_HOST}.{os.getpid()}.partial") for path in paths]
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
def alone(path: Path, *, patience: float = PATIENCE) -> Iterator[bool]:
    """Hold the lock of a file or folder against the other writers of crt on this host.

    The lock is a temporary file, not one of the folder: that is the user's.

    Args:
        path: what is written to.
        patience: seconds to wait for another writer.

    Yields:
        Whether the lock is held: not where another process holds it longer than that, or where there are no locks.
    """
    digest = sha256(str(path.resolve()).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    lock = FileLock(Path(tempfile.gettempdir()) / f"crt-{digest}.lock", timeout=patience, mode=0o666)
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
    """Delete the half-written files of processes of this host that are gone."""
    for path in folder.iterdir():
        found = _PARTIAL.fullmatch(path.name)
        if found and started(int(found[1])) is None:
            with suppress(OSError):
                path.unlink()


@cache
def scratch() -> Path:
    """Return the folder for large temporary files of this process; it goes with the process.

    What processes left that were killed goes at the next call on their host.
    """
    root = Path(tempfile.gettempdir()) / f"crt-{sha256(f'{Path.home()} {space()}'.encode()).hexdigest()[:16]}"
    root.mkdir(mode=0o700, exist_ok=True)
    for folder in root.iterdir():
        pid, _, began = folder.name.partition("-")
        if pid.isdecimal() and started(int(pid)) not in (began, ""):
            shutil.rmtree(folder, ignore_errors=True)
    mine = root / f"{os.getpid()}-{started(os.getpid())}"
    mine.mkdir(exist_ok=True)
    atexit.register(shutil.rmtree, mine, ignore_errors=True)
    return mine
