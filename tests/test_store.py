"""A store that is new, locked or away, and runs whose process died: with real processes, locks and servers."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from conftest import ROOT, SAMPLES
from mlflow.exceptions import MlflowException
from test_tracking import record

from crt.errors import TrackingError
from crt.reporting.table import detail_table
from crt.tracking import processes, waiting
from crt.tracking.history import read_stored
from crt.tracking.processes import CLOSED, HEARTBEAT, HOST, PID, SILENCE, SPACE, STARTED, process_tags
from crt.tracking.runs import open_run
from crt.tracking.waiting import database_of

EVALUATE = ("evaluate", "--smoke", "--dataset", "tnews", "--no_figures")
TRAIN = ("train", "--smoke", "--dataset", "tnews", "--max_length", "64", "--num_train_epochs", "8")


def start(name, *arguments, folder, **environment):
    """Start `python -m entrypoints.<name>` in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", f"entrypoints.{name}", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended_well(processes):
    """Wait for processes; return what they wrote."""
    said = [process.communicate(timeout=600)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(said), "\n".join(said)
    return said


@contextmanager
def server(folder, port=None):
    """Run `mlflow server` with one worker until the block ends; give its address."""
    if port is None:
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
    arguments = [
        "server",
        "--workers",
        "1",
        "--port",
        str(port),
        "--backend-store-uri",
        f"sqlite:///{folder}/server.db",
    ]
    arguments += ["--artifacts-destination", str(folder / "artifacts")]
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    with (folder / "server.log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", *arguments],
            cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        for _ in range(600):
            with closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def status_of(run_id):
    """Return the status of a run and why it was closed."""
    run = mlflow.get_run(run_id)
    return run.info.status, run.data.tags.get(CLOSED)


def test_runs_of_dead_processes_are_closed(store):
    """A running run is closed if its process is gone or its number was given to another; of another host, never."""
    client, ours = mlflow.MlflowClient(), process_tags()
    gone = subprocess.Popen(["true"])
    gone.wait()
    tags = {
        "gone": {**ours, PID: str(gone.pid)},
        "reused": {**ours, STARTED: "1"},
        "elsewhere": {**ours, PID: str(gone.pid), HOST: "another"},
        "in another container": {**ours, PID: str(gone.pid), SPACE: "pid:[1]"},
        "silent": {**ours, HOST: "another", HEARTBEAT: str(int(time.time()) - SILENCE - 3600)},
        "of a version without heartbeats": {**{k: v for k, v in ours.items() if k != HEARTBEAT}, HOST: "another"},
        "alive": ours,
        "foreign": {},
    }
    runs = {name: client.create_run("0", tags=tag).info.run_id for name, tag in tags.items()}
    with open_run("grid", "next", {}):
        pass
    assert status_of(runs["gone"]) == ("KILLED", f"process {gone.pid} of {ours[HOST]} ended without closing this run")
    assert status_of(runs["reused"])[0] == "KILLED"
    assert status_of(runs["silent"]) == ("KILLED", f"process {ours[PID]} of another has said nothing for 3 hours")
    others = ("elsewhere", "in another container", "of a version without heartbeats", "alive", "foreign")
    assert [status_of(runs[name]) for name in others] == [("RUNNING", None)] * 5


def test_an_open_run_has_a_heartbeat(store, monkeypatch):
    """While a run is open its process says again and again that it lives; a store that fails once is no harm."""
    monkeypatch.setattr(processes, "BEAT", 0.05)
    with open_run("grid", "test", {}) as tracker:
        whole, calls = tracker.client.set_tag, []

        def once_away(*arguments):
            calls.append(arguments)
            if len(calls) == 1:
                raise ConnectionError
            return whole(*arguments)

        monkeypatch.setattr(tracker.client, "set_tag", once_away)
        for _ in range(200):
            if len(calls) > 2:
                break
            time.sleep(0.05)
        assert int(mlflow.get_run(tracker.run_id).data.tags[HEARTBEAT]) >= int(calls[1][2])


def test_a_run_that_is_made_late_is_alive(store, monkeypatch):
    """The runs of a grid that has gone on for long say that their process lives now, not when it began."""
    with open_run("grid", "test", {}) as tracker:
        later = time.time() + 2 * SILENCE
        monkeypatch.setattr(processes.time, "time", lambda: later)
        with tracker.child("train", "late", {}) as child:
            assert int(mlflow.get_run(child.run_id).data.tags[HEARTBEAT]) == int(later)


def test_a_killed_process_leaves_no_running_run(store, tmp_path):
    """After SIGKILL in the middle of a grid and of a cell the next command closes both runs."""
    code = (
        "import os, signal; from test_tracking import record; from crt.tracking.runs import open_run, MlflowTracker\n"
        "with open_run('grid', 'killed', {}) as tracker, tracker.child('detect', 'child', {}):\n"
        "    tracker.client.log_batch = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    tracker.log_measurement(record())"
    )
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    killed = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert mlflow.search_runs()["status"].tolist() == ["RUNNING"] * 3
    with open_run("grid", "next", {}):
        pass
    assert sorted(mlflow.search_runs()["status"]) == ["FINISHED", "KILLED", "KILLED", "KILLED"]


def test_a_store_is_whole_though_its_maker_was_killed(tmp_path, monkeypatch):
    """After SIGKILL in the middle of the migrations of a fresh store the next command makes its tables."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/new.db")
    code = (
        "import os, signal; from sqlalchemy import Engine, event; from crt.tracking.history import read_stored\n"
        "migrations = iter(range(5))\n"
        "def die(_, __, statement, *___):\n"
        "    if statement.startswith('UPDATE alembic_version') and next(migrations) == 4:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "event.listen(Engine, 'before_cursor_execute', die)\n"
        "read_stored((), ())"
    )
    killed = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert killed.returncode == -signal.SIGKILL
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/new.db")
    assert read_stored((), ()).cells.empty


def test_an_interrupted_command_does_not_wait_for_itself(store):
    """Ctrl-C in the middle of a read, whose lock nobody lets go, ends the command in moments, with its run left open."""
    broken_off = sqlite3.connect(store.removeprefix("sqlite:///"))

    def interrupted():
        with open_run("grid", "test", {}):
            broken_off.execute("BEGIN")
            broken_off.execute("SELECT count(*) FROM runs").fetchall()
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - began < 60
    broken_off.close()
    assert mlflow.search_runs()["status"].tolist() == ["RUNNING"]


def test_a_folder_with_a_blank_and_chinese_characters(tmp_path):
    """Where no store is named it lies in the folder, whatever that is called; nothing beside it is made."""
    folder = tmp_path / "我的 项目" / "crt"
    folder.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    for command in (
        ["evaluate", "--perturbations", "space", "--prob", "0.3", "--seed", "13", "--smoke", "true"],
        ["compare"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "crt", *command, "--no_figures", "true"],
            cwd=folder, env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert "mlflow ui --backend-store-uri sqlite:///mlflow.db" in done.stdout
    assert {"mlflow.db", "mlruns", "outputs"} <= {path.name for path in folder.iterdir()}
    assert not [path for path in tmp_path.rglob("*%*") if "mlruns" not in path.parts]


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("sqlite:///mlflow.db", "mlflow.db"),
        ("sqlite:////a/%E6%88%91%20b/mlflow.db?timeout=9", "/a/我 b/mlflow.db"),
        ("postgresql://host/mlflow", None),
        ("http://host:5000", None),
    ],
)
def test_the_file_of_a_store(uri, path):
    """An address is quoted, a path is not; a store that is no SQLite file has none."""
    assert database_of(uri) == (None if path is None else Path(path))


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        (
            "API request to endpoint /api/2.0/mlflow/runs/create failed with error code 401 != 200",
            "MLFLOW_TRACKING_TOKEN",
        ),
        ("(sqlite3.DatabaseError) database disk image is malformed", "put a copy of it back, or move it away"),
        ("(sqlite3.OperationalError) attempt to write a readonly database", "chmod g+w"),
        ("(sqlite3.OperationalError) no such table: runs", "put that right"),
    ],
)
def test_a_refusal_gets_the_remedy_of_its_own_fault(said, advice):
    """What a store says decides what a user is told to do."""
    assert advice in str(waiting.refusal(MlflowException(said)))


def test_a_damaged_database(tmp_path, monkeypatch):
    """A file that is no database is named as one, before anything is measured."""
    (tmp_path / "mlflow.db").write_bytes(b"not a database, but long enough to look like a page of one" * 100)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    with pytest.raises(TrackingError, match=r"file is not a database.*put a copy of it back"):
        read_stored((), ())


def test_a_stopped_process_is_named(store, monkeypatch, caplog):
    """Who waits for a stopped process says for whom, and gives up with advice."""
    code = (
        "import os, signal; from crt.tracking.waiting import first_contact\n"
        "with first_contact():\n    print('in', flush=True); os.kill(os.getpid(), signal.SIGSTOP)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    stopped = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert stopped.stdout.readline() == "in\n"
        monkeypatch.setattr(waiting, "NOTICE", 0.1)
        monkeypatch.setattr(waiting, "TURN", 0.3)
        with pytest.raises(TrackingError, match=f"process {stopped.pid} of .*kill -CONT PID"), waiting.first_contact():
            pass
        assert f"waiting for process {stopped.pid}" in caplog.text
        stopped.send_signal(signal.SIGCONT)
        assert stopped.wait() == 0
        with waiting.first_contact():
            pass
    finally:
        stopped.kill()


@pytest.mark.slow
def test_four_processes_meet_a_fresh_store(tmp_path):
    """Four commands that use a database for the first time at once all measure, and lose nothing."""
    uri = f"sqlite:///{tmp_path}/new.db"
    shards = [
        start(*EVALUATE, "--shard", f"{number}/4", folder=tmp_path, MLFLOW_TRACKING_URI=uri, MLFLOW_EXPERIMENT_NAME="x")
        for number in range(1, 5)
    ]
    ended_well(shards)
    mlflow.set_tracking_uri(uri)
    assert len(read_stored(["x"], ()).cells["key"].unique()) == 55


@pytest.mark.slow
def test_shards_on_a_server_give_the_cells_of_one_worker(tmp_path):
    """Four workers on one tracking server store, to the last digit, the cells that one worker stores."""
    with server(tmp_path) as uri:
        shards = [
            start(
                *EVALUATE, "--shard", f"{k}/4", folder=tmp_path, MLFLOW_TRACKING_URI=uri, MLFLOW_EXPERIMENT_NAME="four"
            )
            for k in range(1, 5)
        ]
        ended_well(shards)
        ended_well([start(*EVALUATE, folder=tmp_path, MLFLOW_TRACKING_URI=uri, MLFLOW_EXPERIMENT_NAME="one")])
        mlflow.set_tracking_uri(uri)
        four, one = (read_stored([name], ()).cells for name in ("four", "one"))
    assert len(four) == len(one) == 55
    assert sorted(four["key"]) == sorted(one["key"])
    pd.testing.assert_frame_equal(detail_table(four), detail_table(one))


@pytest.mark.slow
def test_a_locked_database_is_waited_for(store, tmp_path):
    """A database that somebody else locks for 30 seconds delays a cell, and does not lose it."""
    path = store.removeprefix("sqlite:///")
    locked = threading.Event()

    def lock():
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            locked.set()
            time.sleep(30)
            connection.rollback()

    with open_run("grid", "test", {}) as tracker:
        holder = threading.Thread(target=lock)
        holder.start()
        locked.wait()
        began = time.monotonic()
        tracker.log_measurement(record())
        assert time.monotonic() - began > 25
        holder.join()
        assert tracker.finished() == {"key1"}


@pytest.mark.slow
def test_a_server_that_goes_away_is_waited_for(tmp_path):
    """A tracking server that is killed in the middle of a grid and is back after 20 seconds loses no cell."""
    with server(tmp_path) as uri:
        port = int(uri.rpartition(":")[2])
        worker = start(*EVALUATE, folder=tmp_path, MLFLOW_TRACKING_URI=uri)
        mlflow.set_tracking_uri(uri)
        while worker.poll() is None and len(read_stored((), ()).cells) < 5:
            time.sleep(0.5)
    assert worker.poll() is None
    time.sleep(20)
    with server(tmp_path, port):
        ended_well([worker])
        cells = read_stored((), ()).cells
        runs = mlflow.search_runs()
    assert len(cells) == cells["key"].nunique() == 55
    assert set(runs["status"]) == {"FINISHED"}
    assert len(pd.read_csv(Path(tmp_path, "outputs", "robustness_results_multi.csv"))) == 54


@pytest.mark.slow
def test_no_download_stays(tmp_path):
    """What a command fetches of the registry of a server is deleted when the command ends."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    data = ("--data_dir", SAMPLES, "--max_length", 64, "--no_figures", "--prob", 0.3, "--seed", 13)
    with server(tmp_path) as uri:
        told = {"MLFLOW_TRACKING_URI": uri, "TMPDIR": str(temporary)}
        ended_well([start("train", "--smoke", "--dataset", "tnews", "--max_length", 64, folder=tmp_path, **told)])
        model = ("--dataset", "tnews", "--model", "models:/crt-tnews/1")
        ended_well([start("evaluate", *model, *data, folder=tmp_path, **told)])
        mlflow.set_tracking_uri(uri)
        assert set(read_stored((), ()).cells["model_source"]) == {"models:/crt-tnews/1"}
    assert not list(temporary.rglob("*.safetensors"))


def wait_for_steps(worker):
    """Wait until a training has logged something; it must not have ended by then."""
    while worker.poll() is None and not any(run.data.metrics for run in mlflow.search_runs(output_format="list")):
        time.sleep(0.5)
    assert worker.poll() is None


def whole_model():
    """Tell whether the store has one version of one model, with its weights, and all runs ended well."""
    (version,) = mlflow.MlflowClient().search_model_versions()
    folder = Path(mlflow.artifacts.download_artifacts(f"models:/{version.name}/{version.version}"))
    return bool(list(folder.rglob("model.safetensors"))) and set(mlflow.search_runs()["status"]) == {"FINISHED"}


@pytest.mark.slow
def test_a_training_waits_for_a_locked_database(store, tmp_path):
    """A database that is locked for 30 seconds in the middle of a training delays it; its model is registered."""
    worker = start(*TRAIN, folder=tmp_path, MLFLOW_TRACKING_URI=store)
    wait_for_steps(worker)
    with closing(sqlite3.connect(store.removeprefix("sqlite:///"), timeout=60)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        time.sleep(30)
        assert worker.poll() is None
        connection.rollback()
    ended_well([worker])
    assert whole_model()


@pytest.mark.slow
def test_a_training_waits_for_a_server_that_goes_away(tmp_path):
    """A tracking server that is killed in the middle of a training and is back after 20 seconds gets its model."""
    with server(tmp_path) as uri:
        port = int(uri.rpartition(":")[2])
        worker = start(*TRAIN, folder=tmp_path, MLFLOW_TRACKING_URI=uri)
        mlflow.set_tracking_uri(uri)
        wait_for_steps(worker)
    time.sleep(20)
    assert worker.poll() is None
    with server(tmp_path, port):
        ended_well([worker])
        assert whole_model()
