"""The index of an output folder: a command replaces and removes what it wrote, and nothing else."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, SAMPLES, runner

from crt.commands import compare, evaluate
from crt.errors import CrtError
from crt.studies import outputs
from crt.studies.outputs import INDEX, Files, check, formats, put

TABLES = Files("tables", {"a.csv": "numbers", **formats("figure_*", "a figure", ".svg", ".png")})
OTHER = Files("other", {"a.csv": "other numbers", "b.csv": "more"})


def write(folder, files, **contents):
    """Have a command write files, a name and its text each; the dot of a name is written as two underscores."""
    source = folder.parent / f"{folder.name}-staging"
    source.mkdir(exist_ok=True)
    for path in source.iterdir():
        path.unlink()
    for name, text in contents.items():
        (source / name.replace("__", ".")).write_text(text, encoding="utf-8")
    put(source, folder, files, "run1")


def there(folder):
    """Return the files of a folder beside its index, with their texts."""
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.name != INDEX}


@pytest.fixture
def out(tmp_path):
    """A folder that does not exist yet."""
    return tmp_path / "out"


def test_what_stands_in_the_index(out, monkeypatch):
    """For each file what it is and its digest, for each command its run and its line, without the secret in it."""
    monkeypatch.setattr(sys, "argv", ["/env/bin/crt", "evaluate", "--model", "zeroshot:http://TOKEN@h#m"])
    write(out, TABLES, a__csv="1", figure_x__svg="<svg/>")
    (command,) = json.loads((out / INDEX).read_text(encoding="utf-8"))["commands"].items()
    assert command[0] == "tables"
    assert (command[1]["run"], command[1]["line"]) == ("run1", "crt evaluate --model 'zeroshot:http://***@h#m'")
    assert {name: file["what"] for name, file in command[1]["files"].items()} == {
        "a.csv": "numbers",
        "figure_x.svg": "a figure",
    }
    assert [len(digest) for file in command[1]["files"].values() for digest in file["sha256"]] == [64, 64]


def test_a_folder_shows_one_experiment(out):
    """What the same command wrote before and does not write now goes; what others wrote, and what is foreign, stays."""
    write(out, TABLES, a__csv="1", figure_x__svg="x", figure_y__svg="y")
    write(out, OTHER, b__csv="2")
    (out / "mine.txt").write_text("mine", encoding="utf-8")
    check(out, TABLES)
    write(out, TABLES, a__csv="3", figure_y__svg="z")
    assert there(out) == {"a.csv": "3", "figure_y.svg": "z", "b.csv": "2", "mine.txt": "mine"}
    write(out, TABLES)
    assert there(out) == {"b.csv": "2", "mine.txt": "mine"}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda out: (out / "a.csv").write_text("mine", encoding="utf-8"), r"a\.csv: was changed since tables wrote it"),
        (lambda out: (out / "figure_z.svg").write_text("mine", encoding="utf-8"), r"figure_z\.svg: was not written by crt"),
        (lambda out: (out / "figure_z.svg").mkdir(), r"figure_z\.svg: was not written by crt"),
        (lambda out: (out / INDEX).unlink(), r"a\.csv: was not written by crt, as far as .*index\.json says"),
        (lambda out: (out / INDEX).write_text("{", encoding="utf-8"), r"index\.json: is no index of what crt wrote there"),
        (lambda out: (out / INDEX).write_text('{"commands": [1]}', encoding="utf-8"), r"index\.json: is no index"),
        (lambda out: (out / INDEX).write_bytes(b"\xff"), r"index\.json: is no index"),
        (
            lambda out: (out / INDEX).write_text('{"commands": {"tables": {"files": {"../x": {"sha256": []}}}}}'),
            r"'\.\./x' is no file of it",
        ),
    ],
)  # fmt: skip
def test_what_is_not_the_commands_is_not_overwritten(out, spoil, message):
    """A changed file, a foreign one, or an index that cannot be read is refused before anything is measured, with the way out."""
    write(out, TABLES, a__csv="1")
    spoil(out)
    before = sorted(path.name for path in out.iterdir())
    with pytest.raises(CrtError, match=message) as caught:
        check(out, TABLES)
    assert "move" in str(caught.value)
    assert "name another output_dir" in str(caught.value)
    assert sorted(path.name for path in out.iterdir()) == before


def test_a_name_of_two_commands(out):
    """A file that another command wrote stays, unless it would hold the same; then it goes when neither writes it."""
    write(out, TABLES, a__csv="1")
    with pytest.raises(CrtError, match=r"a\.csv: was written by tables, not by other"):
        check(out, OTHER)
    with pytest.raises(CrtError, match=r"a\.csv: was written by tables, not by other"):
        write(out, OTHER, a__csv="2", b__csv="2")
    assert there(out) == {"a.csv": "1"}
    write(out, OTHER, a__csv="1")
    write(out, TABLES, figure_x__svg="x")
    assert there(out) == {"a.csv": "1", "figure_x.svg": "x"}
    write(out, OTHER)
    assert there(out) == {"figure_x.svg": "x"}


def test_a_file_that_was_put_there_meanwhile(out):
    """What appears while a command measures is not overwritten either, and none of its files is written."""
    write(out, TABLES, a__csv="1")
    (out / "figure_x.svg").write_text("mine", encoding="utf-8")
    with pytest.raises(CrtError, match=r"figure_x\.svg: was not written by crt"):
        write(out, TABLES, a__csv="2", figure_x__svg="x")
    assert there(out) == {"a.csv": "1", "figure_x.svg": "mine"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(out):
    """A read-only folder is an error that names it."""
    out.mkdir(mode=0o500)
    with pytest.raises(CrtError, match=r"out cannot be written to .*name another one"):
        check(out, TABLES)


def test_a_file_in_place_of_the_folder(out):
    """So is a file of its name."""
    out.write_text("mine", encoding="utf-8")
    with pytest.raises(CrtError, match=r"out cannot be written to .*name another one"):
        check(out, TABLES)


def test_a_full_disk_leaves_what_was_there(out, monkeypatch):
    """Where the new files find no room the old ones stay, and the command may write again."""
    write(out, TABLES, a__csv="1")
    monkeypatch.setattr("shutil.copyfileobj", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        write(out, TABLES, a__csv="2")
    monkeypatch.undo()
    assert there(out) == {"a.csv": "1"}
    check(out, TABLES)


HELPERS = "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; out = Path(sys.argv[2])\n"


@pytest.mark.parametrize("moment", ["replace", "unlink"])
def test_a_killed_command_leaves_nothing_foreign(out, moment):
    """After SIGKILL among the files, or among the stale ones, the same command takes all of them for its own."""
    write(out, TABLES, a__csv="1", figure_x__svg="x", figure_y__svg="y")
    code = HELPERS + (
        "import os, signal; from test_outputs import TABLES, write\n"
        f"real, count = Path.{moment}, iter(range(99))\n"
        "def deadly(self, *rest, **more):\n"
        "    if not self.name.startswith('.index') and next(count) == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(self, *rest, **more)\n"
        "(out.parent / 'out-staging').mkdir(exist_ok=True)\n"
        f"[path.unlink() for path in (out.parent / 'out-staging').iterdir()]; Path.{moment} = deadly\n"
        "write(out, TABLES, a__csv='2', figure_z__svg='z')"
    )
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    killed = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent), str(out)],
        env={**os.environ, "PYTHONPATH": path}, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL
    check(out, TABLES)
    write(out, TABLES, a__csv="3")
    assert there(out) == {"a.csv": "3"}


def test_commands_at_once(out):
    """Several processes that write into a folder at the same time lose no entry of the index, and leave no lock."""
    code = HELPERS + (
        "from test_outputs import write; from crt.studies.outputs import Files\n"
        "me = sys.argv[3]; Path(f'{out}-{me}').mkdir(exist_ok=True)\n"
        "import test_outputs, crt.studies.outputs as outputs\n"
        "source = Path(f'{out}-{me}')\n"
        "for k in range(20):\n"
        "    (source / f'{me}.csv').write_text(str(k)); outputs.put(source, out, Files(me, {f'{me}.csv': 'x'}), me)\n"
    )
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(Path(__file__).parent), str(out), name],
            env={**os.environ, "PYTHONPATH": path},
        )
        for name in "abc"
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert there(out) == {"a.csv": "19", "b.csv": "19", "c.csv": "19"}
    assert set(json.loads((out / INDEX).read_text(encoding="utf-8"))["commands"]) == {"a", "b", "c"}
    check(out, *(Files(name, {f"{name}.csv": "x"}) for name in "abc"))


# the commands


EVALUATE = ("--smoke", "--dataset", "tnews", "--perturbations", "space", "--prob", "0.3", "--seed", "13")


def test_commands_share_a_folder(invoke, store):
    """Both commands run again and again in one folder, with other options, too; stale figures go."""
    out = Path("outputs")
    invoke("evaluate", *EVALUATE)
    invoke("compare")
    first = {path.name for path in out.iterdir()}
    assert {"accuracy_drop_by_prob_multi.svg", "accuracy_drop_by_prob.svg", "report.html", INDEX} <= first
    invoke("evaluate", *EVALUATE, "--max_samples", 3, "--force", "--no_figures")
    invoke("compare", "--no_figures", "--significance", "false")
    now = {path.name for path in out.iterdir()}
    assert not [name for name in now if name.endswith((".svg", ".png", ".pdf"))]
    assert "intervals.csv" in first - now
    index = json.loads((out / INDEX).read_text(encoding="utf-8"))["commands"]
    assert {name for entry in index.values() for name in entry["files"]} | {INDEX} == now
    assert set(index) == {"evaluate", "compare"}


@pytest.mark.parametrize(("command", "name"), [(evaluate, "examples_multi.json"), (compare, "report.html")])
def test_a_foreign_file_stops_a_command_before_it_measures(store, command, name):
    """A report of somebody else in the folder is refused before a run is opened."""
    import mlflow

    Path("outputs").mkdir()
    Path("outputs", name).write_text("mine", encoding="utf-8")
    result = runner().invoke(command.main, EVALUATE if command is evaluate else [])
    assert result.exit_code == 1
    assert f"outputs/{name}: was not written by crt" in result.stderr
    assert Path("outputs", name).read_text(encoding="utf-8") == "mine"
    assert mlflow.search_runs().empty


def test_every_study_says_what_it_writes(invoke):
    """What the studies write stands in the index with what it is; each may run again in the same folder."""
    data = ("--data_dir", SAMPLES, "--model", "rule")
    for _ in range(2):
        invoke("heuristics", "--dataset", "ocnli", *data)
        invoke("behaviour", "--dataset", "sample", *data)
        invoke("compare", "--no_figures")
    index = json.loads(Path("outputs", INDEX).read_text(encoding="utf-8"))["commands"]
    assert set(index) == {"heuristics", "behaviour", "compare"}
    assert all(file["what"] for entry in index.values() for file in entry["files"].values())
    assert outputs.check(Path("outputs")) is None
