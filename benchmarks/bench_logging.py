"""Logging a cell against the bare sequence of client calls with the same payload, on a fresh SQLite store.

python benchmarks/bench_logging.py [--cells 100]
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

import mlflow
import pandas as pd
from mlflow.entities import Metric, Param

from benchmarks.common import machine, show, timed
from crt.records import Cell, CellRecord
from crt.scoring.metrics import METRICS
from crt.tracking import open_run


def main() -> None:
    """Log cells in turn both ways, so that both meet the same disk."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=100)
    count = parser.parse_args().cells
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        with open_run("grid", "bench", {}) as tracker:
            times = {"bare": 0.0, "crt": 0.0}
            for number in range(-2, count):
                record = make(number)
                bare_time = timed(lambda record=record: bare(tracker.client, tracker.experiment_id, record))
                crt_time = timed(lambda record=record: tracker.log_cell(record))
                if number >= 0:
                    times["bare"] += bare_time
                    times["crt"] += crt_time
        os.chdir("/")
    print(f"{count} cells of 1,200 outcomes and 20 examples; {machine('mlflow', 'sqlalchemy')}\n")
    show([("bare client calls", 1000 * times["bare"] / count), ("crt", 1000 * times["crt"] / count)], unit="ms a cell")
    print(f"\ncrt takes {times['crt'] / times['bare']:.2f} times the bare calls")


def make(number: int) -> CellRecord:
    """Return a cell of full size."""
    outcomes = {name: list(range(1200)) for name in "abcdefghijklmnop"}
    examples = [{"original": ["这家酒店的环境很好" * 8], "perturbed": ["这家酒店的环静很好" * 8], "edits": []}] * 20
    params = {f"param{k}": "value" for k in range(10)}
    metrics = dict.fromkeys(METRICS, 0.5)
    return CellRecord(f"key{number}", Cell("m", "d", "space", 0.15, number), params, metrics, examples, outcomes)


def bare(client: mlflow.MlflowClient, experiment: str, record: CellRecord) -> None:
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


if __name__ == "__main__":
    main()
