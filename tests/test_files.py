"""crt.files: a file is there whole or not at all, and what a killed writer left does not stay."""

import os
import platform
import re
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from conftest import ROOT

from crt.errors import CrtError
from crt.files import no_such, remove_leftovers, replacing, write_files
from crt.liveness import started

HOST = re.sub(r"\W", "-", platform.node())


def names(folder):
    """Return the names of the files of a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_files_are_replaced_together(tmp_path, monkeypatch):
    """When the disk is full at the last of several files all of them stay as they were; with room all are replaced."""
    write_files(tmp_path, {"a": "old", "b": "old"})
    done = []

    def fills_up(_):
        done.append(1)
        if len(done) == 2:
            raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fills_up)
        with pytest.raises(
            CrtError, match=r"a and b cannot be written to .*No space left.*; make room and start again"
        ):
            write_files(tmp_path, {"a": "new", "b": "new"})
    assert [(tmp_path / name).read_text() for name in names(tmp_path)] == ["old", "old"]
    write_files(tmp_path, {"a": "new", "b": "新\ud800"})
    assert [(tmp_path / name).read_text() for name in names(tmp_path)] == ["new", "新?"]


def test_what_hinders_is_said(tmp_path):
    """Where no room is lacking, none is asked for."""
    (tmp_path / "file").touch()
    with pytest.raises(CrtError, match="put that right and start again"):
        write_files(tmp_path / "file", {"a": "x"})


def test_leftovers_of_a_killed_writer_are_deleted(tmp_path):
    """What SIGKILL left half written goes at the next look; what is still being written, and what is not ours, stays."""
    code = (
        "import os, pathlib, signal, sys; from crt.files import replacing\n"
        "with replacing(pathlib.Path(sys.argv[1])) as (file,):\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], env=path, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = names(tmp_path)
    (tmp_path / "mine.1.partial").touch()
    with replacing(tmp_path / "b") as (file,):
        file.write(b"whole")
        remove_leftovers(tmp_path)
        assert names(tmp_path) == [f".b.{HOST}.{os.getpid()}.partial", "mine.1.partial"]
    assert names(tmp_path) == ["b", "mine.1.partial"]
    assert left.startswith(".a.")
    remove_leftovers(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("reviwes.csv", "file", "no such file; did you mean {}/reviews.csv?"),
        ("Reviews.CSV", "file", "no such file; did you mean {}/reviews.csv?"),
        ("review", "folder", "no such folder; did you mean {}/reviews?"),
        ("reviws", "file or folder", "no such file or folder; did you mean {}/reviews?"),
        ("reviews.tsv", "file", "no such file; did you mean {}/reviews.csv?"),
        ("x.csv", "file", "no such file"),
        ("reviews", "file", "no such file; it is a folder"),
        ("reviews.csv", "folder", "no such folder; did you mean {}/reviews?"),
        ("no/reviews.csv", "file", "no such file"),
        ("x" * 300, "file", "no such file"),
        ("a\0/b", "folder", "no such folder"),
    ],
)
def test_a_missing_path_is_answered_with_the_nearest(tmp_path, name, kind, message):
    """The nearest name in the same folder is shown as a path that can be given, if what stands there is of that kind."""
    (tmp_path / "reviews.csv").touch()
    (tmp_path / "reviews").mkdir()
    assert no_such(tmp_path / name, kind) == f"{tmp_path / name}: {message.format(tmp_path)}"


def test_what_a_living_writer_writes_stays(tmp_path, monkeypatch):
    """A writer that did not get the lock in time goes on, and the next one leaves its file alone."""
    monkeypatch.setattr("crt.files.alone", lambda *_, **__: nullcontext(True))
    with replacing(tmp_path / "a") as (file,):
        file.write(b"slow")
        with replacing(tmp_path / "b") as (other,):
            other.write(b"quick")
    assert names(tmp_path) == ["a", "b"]


def test_scratch_goes_with_its_process(tmp_path):
    """Large temporary files go at the end of a process, and those of a killed one at the next start; others stay."""
    code = (
        "import os, signal, sys; from crt.files import scratch\n"
        "(scratch() / 'large').touch(); print(scratch(), flush=True)\n"
        "if sys.argv[1] == 'killed': os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}

    def run(how):
        done = subprocess.run(
            [sys.executable, "-c", code, how], env=environment, capture_output=True, text=True, check=False
        )
        return Path(done.stdout.strip())

    killed = run("killed")
    assert (killed / "large").exists()
    foreign = killed.parent / "mine"
    foreign.mkdir()
    alive = killed.parent / f"{os.getpid()}-{started(os.getpid())}"
    alive.mkdir()
    ended = run("whole")
    assert ended.parent == killed.parent
    assert not ended.exists()
    assert names(killed.parent) == sorted([alive.name, "mine"])
