"""Kill train and evaluate at random moments; what is started again must end as if nothing had happened.

python benchmarks/survival/kill.py [--kills 20] [--seed 0]

Each kill is SIGKILL, SIGTERM or Ctrl-C (SIGINT to the whole process group), a moment after the store has got a number of
new metrics that is drawn. What was killed is
started again until it ends well; then the table, the cells, the weights, the files and the states of all runs are compared
with those of an unbroken run.
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
from contextlib import closing, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

import mlflow

from crt.history import read_stored
from crt.reporting.table import detail_table

ROOT = Path(__file__).parent.parent.parent
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
JOBS = {
    "evaluate": ("evaluate", "--smoke", "--dataset", "tnews", "--no_figures"),
    "train": ("train", "--smoke", "--dataset", "tnews", "--num_train_epochs", "12", "--max_length", "64", "--resume"),
}

ROWS = {"evaluate": 100, "train": 150}
"""A kill comes after 1 to so many more rows of metrics: a cell has about 20, an epoch of training about 18."""


def main() -> None:
    """Kill both commands in turn, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        for job, command in JOBS.items():
            unbroken, broken = Path(name, job, "unbroken"), Path(name, job, "broken")
            seconds, code = run(command, unbroken)
            assert code == 0
            told = Counter()
            for number in range(arguments.kills // len(JOBS)):
                after, name_of = draw.randint(1, ROWS[job]), SIGNALS[number % 3]
                code = run(command, broken, kill=name_of, after=after, delay=draw.uniform(0, 0.3))[1]
                told[f"{name_of.name} -> {code}"] += 1
            assert run(command, broken)[1] == 0
            print(f"{job}: an unbroken run takes {seconds:.0f} s; signals and exit codes: {dict(told)}", flush=True)
            {"evaluate": check_cells, "train": check_weights}[job](unbroken, broken)
            check_runs(broken)
    print("all is as in an unbroken run")


def run(
    command: tuple[str, ...], folder: Path, *, kill: signal.Signals | None = None, after: int = 0, delay: float = 0.0
) -> tuple[float, int]:
    """Run a command in a folder, and kill its process group after some new metrics; return its seconds and exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_TRACKING")}
    environment = {**kept, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    environment |= {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db"}
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", f"entrypoints.{command[0]}", *command[1:]],
        cwd=folder, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    if kill:
        wanted = metrics(folder) + after
        while process.poll() is None and metrics(folder) < wanted:
            time.sleep(0.05)
        time.sleep(delay)
        if process.poll() is None:
            os.killpg(process.pid, kill)
    code = process.wait(600)
    for file in (folder / "outputs").glob("*.csv"):
        assert file.read_bytes().endswith(b"\n"), f"{file} is half a file"
    return time.monotonic() - started, code


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
