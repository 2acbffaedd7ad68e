"""Logging a cell against the bare sequence of client calls with the same payload, on fresh stores of every kind.

    python benchmarks/bench_logging.py [--cells 100] [--run-seconds 818]

SQLite, a tracking server with one worker over SQLite, and PostgreSQL, where its programs and psycopg2 are installed. Cells
are logged in turn both ways, so that both meet the same disk. The share is that of a whole run: 54 cells and the clean one
against the seconds of a run that logs nothing. The default is what docs/benchmarks.md says of 1,200 reviews.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

import mlflow
import pandas as pd
import requests
from mlflow.entities import Metric, Param

from benchmarks.common import machine, parsed, parser, table, timed
from crt.records import Cell, MeasurementRecord
from crt.scoring.metrics import METRICS
from crt.tracking.runs import open_run

CELLS = 55
"""Of a grid of six perturbations, three probs and three seeds, and the clean one."""
PATIENCE = 120
"""Seconds that a server is given to start."""


class Missing(Exception):
    """A store is not available here."""


def main() -> None:
    """Log cells into each store."""
    arguments = parser(__doc__)
    arguments.add_argument("--cells", type=int, default=100)
    arguments.add_argument("--run-seconds", type=float, default=818.0)
    options = parsed(arguments, cells=3)
    rows, skipped = [], []
    for name, store in STORES.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                with store(Path(folder)) as uri:
                    bare_time, crt_time = measured(uri, Path(folder), options.cells)
            except Missing as problem:
                skipped.append(f"{name}: left out, {problem}")
                continue
        share = CELLS * crt_time / (CELLS * crt_time + options.run_seconds)
        milliseconds = [f"{1000 * seconds:.1f}" for seconds in (bare_time, crt_time)]
        rows.append((name, *milliseconds, f"{crt_time / bare_time:.2f}", f"{share:.1%}"))
    print(
        f"{options.cells} cells of 1,200 outcomes and 20 examples, share of a run of {options.run_seconds:g} s; "
        f"{machine('mlflow', 'sqlalchemy')}\n"
    )
    table(("store", "bare client calls, ms a cell", "crt, ms a cell", "times the bare calls", "share of a run"), rows)
    print("\n".join(["", *skipped]))


def measured(uri: str, folder: Path, count: int) -> tuple[float, float]:
    """Return the seconds that a cell takes with bare client calls and with crt; the first two cells warm up."""
    here = Path.cwd()
    os.chdir(folder)  # artifacts of a store without a server lie beside it
    os.environ.pop("MLFLOW_EXPERIMENT_ID", None)  # mlflow leaves there what it used last, of another store
    mlflow.set_tracking_uri(uri)
    times = {"bare": 0.0, "crt": 0.0}
    try:
        with open_run("grid", "bench", {}) as tracker:
            for number in range(-2, count):
                record = make(number)
                bare_time = timed(partial(bare, tracker.client, tracker.experiment_id, record))
                crt_time = timed(partial(tracker.log_measurement, record))
                if number >= 0:
                    times["bare"] += bare_time
                    times["crt"] += crt_time
    finally:
        os.chdir(here)
    return times["bare"] / count, times["crt"] / count


def make(number: int) -> MeasurementRecord:
    """Return a cell of full size."""
    outcomes = {name: list(range(1200)) for name in "abcdefghijklmnop"}
    examples = [{"original": ["这家酒店的环境很好" * 8], "perturbed": ["这家酒店的环静很好" * 8], "edits": []}] * 20
    params = {f"param{k}": "value" for k in range(10)}
    metrics = dict.fromkeys(METRICS, 0.5)
    return MeasurementRecord(f"key{number}", Cell("m", "d", "space", 0.15, number), params, metrics, examples, outcomes)


def bare(client: mlflow.MlflowClient, experiment: str, record: MeasurementRecord) -> None:
    """Store the same with as few calls as the client needs."""
    now = int(time.time() * 1000)
    run_id = client.create_run(experiment, start_time=now, tags={"kind": "cell"}).info.run_id
    client.log_batch(
        run_id,
        params=[Param(key, value) for key, value in record.params.items()],
        metrics=[Metric(key, value, now, 0) for key, value in record.metrics.items()],
    )
    with tempfile.TemporaryDirectory() as folder:
        text = "".join(json.dumps(example, ensure_ascii=False) + "\n" for example in record.examples)
        (Path(folder) / "examples.jsonl").write_text(text, encoding="utf-8")
        pd.DataFrame(record.outcomes).to_csv(Path(folder) / "outcomes.csv", index=False)
        client.log_artifacts(run_id, folder)
    client.set_terminated(run_id)


@contextmanager
def sqlite(folder: Path) -> Iterator[str]:
    """A file."""
    yield f"sqlite:///{folder}/mlflow.db"


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """A tracking server with one worker over a file; artifacts go through it."""
    port = free_port()
    command = [
        sys.executable, "-m", "mlflow", "server", "--workers", "1", "--host", "127.0.0.1", "--port", str(port),
        "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", f"{folder}/artifacts",
    ]  # fmt: skip
    uri = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return requests.get(f"{uri}/health", timeout=5).ok
        except requests.ConnectionError:
            return False

    with process(command, folder, answers):
        yield uri


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A fresh PostgreSQL cluster; it refuses to run as root, so that hands it to the user `postgres`."""
    if find_spec("psycopg2") is None:
        raise Missing("psycopg2 is not installed (pip install -e '.[postgres]')")
    found = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    path = os.pathsep.join([os.environ["PATH"], *map(str, found)])
    initdb, program = shutil.which("initdb", path=path), shutil.which("postgres", path=path)
    if initdb is None or program is None:
        raise Missing("initdb and postgres are neither in PATH nor in /usr/lib/postgresql/*/bin")
    cluster, port, user = folder / "cluster", free_port(), []
    cluster.mkdir()
    if os.geteuid() == 0:
        folder.chmod(0o755)
        shutil.chown(cluster, "postgres")
        user = ["runuser", "-u", "postgres", "--"]
    make = [
        *user,
        initdb,
        "-D",
        str(cluster),
        "-U",
        "crt",
        "--auth",
        "trust",
        "--locale",
        "C.UTF-8",
        "--encoding",
        "UTF8",
    ]
    subprocess.run(make, check=True, capture_output=True, cwd=cluster)
    command = [*user, program, "-D", str(cluster), "-h", "127.0.0.1", "-p", str(port), "-k", str(cluster)]

    def answers() -> bool:
        import psycopg2

        try:
            psycopg2.connect(host="127.0.0.1", port=port, user="crt", dbname="postgres").close()
        except psycopg2.OperationalError:
            return False
        return True

    with process(command, cluster, answers):
        yield f"postgresql+psycopg2://crt@127.0.0.1:{port}/postgres"


@contextmanager
def process(command: list[str], folder: Path, answers: Callable[[], bool]) -> Iterator[None]:
    """Run a server until the block ends; raise if it does not answer in time."""
    with (
        (folder / "server.log").open("wb") as log,
        subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as child,
    ):
        try:
            begun = time.monotonic()
            while not answers():
                if child.poll() is not None or time.monotonic() - begun > PATIENCE:
                    tail = (folder / "server.log").read_text(errors="replace")[-500:]
                    raise SystemExit(f"{command[0]} does not answer:\n{tail}")
                time.sleep(0.2)
            yield
        finally:
            child.terminate()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


STORES: dict[str, Callable[[Path], AbstractContextManager[str]]] = {
    "SQLite": sqlite,
    "mlflow server, one worker": server,
    "PostgreSQL": postgres,
}
"""What makes each store in a folder and gives its URI."""


if __name__ == "__main__":
    main()
