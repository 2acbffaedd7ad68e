"""What stands in an output folder: an index says which command wrote which file, and no other file is replaced or removed.

Each command owns a set of files, which stand in the index under its name. They are written together, and what its run before
wrote beyond them goes: a folder never shows two experiments of one command. `evaluate` and `compare` may share a folder,
since no name belongs to both.
"""

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from hashlib import file_digest
from pathlib import Path
from typing import Any

from crt.errors import CrtError
from crt.files import alone, exists, is_file, replacing
from crt.invocation import this_command

INDEX = "index.json"
ABOUT = "What crt wrote into this folder. It replaces and removes only what stands here and was not changed since."

Index = dict[str, dict[str, Any]]
"""By command: its line, its run, when it wrote, and its files: for each what it is, and the digests of what may stand there."""


@dataclass(frozen=True, slots=True)
class Files:
    """The files that a command may write."""

    command: str
    """Its name in the index."""
    names: Mapping[str, str]
    """What each is, by its name or a pattern of names."""

    def what(self, name: str) -> str | None:
        """Return what a file is; None if it is none of these."""
        return next((what for pattern, what in self.names.items() if fnmatchcase(name, pattern)), None)


def formats(stem: str, what: str, *suffixes: str) -> dict[str, str]:
    """Return the names of a file that is written in several formats, and what it is."""
    return {f"{stem}{suffix}": what for suffix in suffixes}


def check(folder: Path, *files: Files) -> None:
    """Make sure that files can be written into a folder, before hours are spent on them.

    Raises:
        CrtError: the folder cannot be written to, its index is damaged, or a file that would be replaced is somebody else's.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        there = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise CrtError(f"output_dir {folder} cannot be written to ({error.strerror}); name another one") from error
    for mine in files:
        _refuse(folder, _read(folder), mine.command, {name: "" for name in there if mine.what(name)})


def put(source: Path, folder: Path, files: Files, run_id: str) -> None:
    """Move finished files into a folder, all together, and remove what the command wrote there before and does not write now.

    Args:
        source: holds the files.
        folder: made if it does not exist.
        files: all that the command may write.
        run_id: of the run that they belong to; empty: of none.

    Raises:
        CrtError: one of them would take the place of somebody else's file, or the index is damaged.
        OSError: they cannot be written.
    """
    new = {path.name: _digest(path) for path in sorted(source.iterdir())}
    stray = [name for name in new if files.what(name) is None]
    if stray:
        raise ValueError(f"{', '.join(stray)}: not among the files of {files.command}")
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder / INDEX):
        index = _read(folder)
        _refuse(folder, index, files.command, new)
        _swap(source, folder, files, index, new, run_id)


def _swap(source: Path, folder: Path, files: Files, index: Index, new: Mapping[str, str], run_id: str) -> None:
    old: dict[str, Any] = index.get(files.command, {}).get("files", {})
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    written: dict[str, Any] = {"line": this_command(), "run": run_id, "written": now}
    mine = {name: {"what": files.what(name), "sha256": [digest]} for name, digest in new.items()}
    # whoever is killed in between leaves no file that is taken for somebody else's
    before = {name: entry["sha256"] for name, entry in old.items()}
    either = {
        name: {"what": files.what(name), "sha256": [digest, *before.get(name, [])]} for name, digest in new.items()
    }
    _save(folder, index | {files.command: written | {"files": {**old, **either}}})
    names = list(new)
    with replacing(*(folder / name for name in names)) as opened:
        for file, name in zip(opened, names, strict=True):
            with (source / name).open("rb") as whole:
                shutil.copyfileobj(whole, file)
    others = {name for command, entry in index.items() if command != files.command for name in entry["files"]}
    for name, entry in old.items():
        if name not in mine and name not in others and _digest(folder / name) in entry["sha256"]:
            (folder / name).unlink()
    _save(folder, index | {files.command: written | {"files": mine}})


def _refuse(folder: Path, index: Index, command: str, names: Mapping[str, str]) -> None:
    """Raise an error for files of these names that are not the command's; one that has the digest given here may stay."""
    faults = []
    for name, digest in names.items():
        path = folder / name
        there = _digest(path)
        owners = {owner: entry["files"][name]["sha256"] for owner, entry in index.items() if name in entry["files"]}
        if not exists(path) or there in owners.get(command, []) or (there and there == digest):
            continue
        if command in owners:
            faults.append(f"{path}: was changed since {command} wrote it")
        elif owners:
            faults.append(f"{path}: was written by {' and '.join(owners)}, not by {command}")
        else:
            faults.append(f"{path}: was not written by crt, as far as {folder / INDEX} says")
    if faults:
        raise CrtError("\n".join([*faults, "nothing is overwritten: move that away, or name another output_dir"]))


def _digest(path: Path) -> str:
    """Return the digest of a file; empty: there is none, or it is a folder."""
    if not is_file(path):
        return ""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _read(folder: Path) -> Index:
    path = folder / INDEX
    if not exists(path):
        return {}
    try:
        index: Index = json.loads(path.read_text(encoding="utf-8"))["commands"]
        for entry in index.values():
            for name, file in entry["files"].items():
                # a name with a folder in it could have something removed elsewhere
                if Path(name).name != name or not all(isinstance(digest, str) for digest in file["sha256"]):
                    raise ValueError(f"'{name}' is no file of it")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise CrtError(
            f"{path}: is no index of what crt wrote there ({type(error).__name__}: {error}); move it away with the files that "
            "crt wrote, or name another output_dir"
        ) from error
    return index


def _save(folder: Path, index: Index) -> None:
    text = json.dumps({"about": ABOUT, "commands": index}, ensure_ascii=False, indent=1)
    with replacing(folder / INDEX) as (file,):
        file.write(f"{text}\n".encode("utf-8", "replace"))
