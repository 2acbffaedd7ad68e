"""Kill train and evaluate at random moments; what is started again must end as if nothing had happened.

python benchmarks/survival/kill.py [--kills 20] [--seed 0]

Each kill is SIGKILL, SIGTERM or Ctrl-C (SIGINT to the whole process group). It comes at a moment that is drawn: while the
command starts, meets its store or, the first one of each store, makes its tables; or a moment after the store has got a number
of new metrics. Only a kill that ended the command counts. After every few kills the command is started once more, to its
end; then the table, the cells, the weights, the files and the states of all runs are compared with those of an unbroken run.
"""

import argparse
import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

import mlflow

from crt.reporting.table import detail_table
from crt.tracking.history import read_stored

ROOT = Path(__file__).parent.parent.parent
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
JOBS = {
    "evaluate": ("evaluate", "--smoke", "--dataset", "tnews", "--no_figures"),
    "train": ("train", "--smoke", "--dataset", "tnews", "--num_train_epochs", "12", "--max_length", "64", "--resume"),
}

ROWS = {"evaluate": 100, "train": 30}
"""A late kill comes after 1 to so many more rows of metrics: a cell has about 24, an epoch of training about 8."""

KILLS_A_STORE = 4
"""After so many, or when the command ended before the kill, the rest is measured and compared, and the store is another."""


class Run(NamedTuple):
    """How a command ended."""

    code: int
    hit: bool
    """It was killed, and did not end well all the same."""
    first: float
    """Seconds to its first new metric."""
    seconds: float


def main() -> None:
    """Kill both commands in turn, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    # a script in the background ignores Ctrl-C, and what it starts does so, too
    signal.signal(signal.SIGINT, signal.default_int_handler)
    draw, signals = random.Random(arguments.seed), cycle(SIGNALS)
    share = -(-arguments.kills // len(JOBS))
    with tempfile.TemporaryDirectory() as name:
        for job in JOBS:
            told = Counter[str]()
            whole = run(job, Path(name, job, "unbroken"))
            print(f"{job}: an unbroken run takes {whole.seconds:.0f} s", flush=True)
            stores = 0
            while told.total() < share:
                stores += 1
                broken = Path(name, job, f"broken{stores}")
                told += kill_often(job, broken, whole, min(KILLS_A_STORE, share - told.total()), draw, signals)
                run(job, broken)
                {"evaluate": check_cells, "train": check_weights}[job](Path(name, job, "unbroken"), broken)
                check_runs(broken)
            print(f"{job}: {told.total()} kills in {stores} stores; signals and exit codes: {dict(told)}\n", flush=True)
    print("all is as in an unbroken run")


def kill_often(
    job: str, folder: Path, whole: Run, kills: int, draw: random.Random, signals: Iterator[signal.Signals]
) -> Counter[str]:
    """Kill a command until so many kills have ended it, or until it ends before a kill; return signals and exit codes."""
    told = Counter[str]()
    while told.total() < kills:
        name, early = next(signals), not told or draw.random() < 0.25
        after = 0 if early else draw.randint(1, ROWS[job])
        delay = draw.uniform(0, whole.first / 2 if early else 0.3)  # half: the machine may be less busy by then
        ended = run(job, folder, name, after, delay)
        if not ended.hit:
            break
        told[f"{name.name} {'early' if early else 'late'} -> {ended.code}"] += 1
    return told


def run(job: str, folder: Path, kill: signal.Signals | None = None, after: int = 1, delay: float = 0.0) -> Run:
    """Run a command in a folder; with a signal, send it to the process group a while after some new metrics."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_TRACKING")}
    environment = {**kept, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    environment |= {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db"}
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", f"entrypoints.{JOBS[job][0]}", *JOBS[job][1:]],
        cwd=folder, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wanted = metrics(folder) + after
    while process.poll() is None and metrics(folder) < wanted:
        time.sleep(0.05)
    first = time.monotonic() - started
    time.sleep(delay)
    sent = kill is not None and process.poll() is None
    if kill and sent:
        os.killpg(process.pid, kill)
    code = process.wait(600)
    assert sent or code == 0, f"{job} fails in {folder}"
    for file in (folder / "outputs").glob("*.csv"):
        assert file.read_bytes().endswith(b"\n"), f"{file} is half a file"
    return Run(code, sent and code != 0, first, time.monotonic() - started)


def metrics(folder: Path) -> int:
    """Return the number of metrics in the store; 0 before it has tables."""
    with (
        suppress(sqlite3.OperationalError),
        closing(sqlite3.connect(f"file:{folder}/mlflow.db?mode=ro", uri=True)) as db,
    ):
        return int(db.execute("SELECT count(*) FROM metrics").fetchone()[0])
    return 0


def check_cells(unbroken: Path, broken: Path) -> None:
    """The table, and the file of it, are those of an unbroken run; each cell is there, and FINISHED once."""
    tables = {}
    for folder in (unbroken, broken):
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        cells = read_stored((), ()).cells
        tables[folder] = detail_table(cells.drop_duplicates("key", keep="last"))
        print(f"{folder.name}: {len(cells)} finished cells, {cells['key'].nunique()} different ones")
        assert len(cells) == cells["key"].nunique()
    assert tables[unbroken].equals(tables[broken])
    names = sorted(file.name for file in (unbroken / "outputs").iterdir())
    for name in names:
        assert (unbroken / "outputs" / name).read_bytes() == (broken / "outputs" / name).read_bytes(), name


def check_weights(unbroken: Path, broken: Path) -> None:
    """The last registered model has the weights of an unbroken run, and no state of a training is left."""
    digests = []
    for folder in (unbroken, broken):
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        versions = mlflow.MlflowClient().search_model_versions("name = 'crt-tnews'")
        newest = max(int(version.version) for version in versions)
        model = Path(mlflow.artifacts.download_artifacts(f"models:/crt-tnews/{newest}"))
        (weights,) = model.rglob("model.safetensors")
        digests.append(hashlib.sha256(weights.read_bytes()).hexdigest())
        assert not list((folder / ".crt" / "training").iterdir())
    print(f"weights: {', '.join(digest[:16] for digest in digests)}")
    assert digests[0] == digests[1]


def check_runs(folder: Path) -> None:
    """No run of a process that is gone is still RUNNING."""
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    statuses = Counter(mlflow.search_runs()["status"])
    print(f"runs: {dict(statuses)}\n")
    assert not statuses["RUNNING"]


if __name__ == "__main__":
    main()
