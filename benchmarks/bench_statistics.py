"""The bootstrap against a plain loop, and the reading and tabulating of 10,000 cells against bare `search_runs`.

    python benchmarks/bench_statistics.py [--examples 1200] [--grid 54] [--resamples 1000] [--loops 3] [--cells 10000]

The plain loop draws rows, cuts the outcomes of each cell down to them and computes its metrics with
`crt.scoring.metrics`; a few of its resamples are timed and scaled up. Outcomes are random numbers.

The store is a SQLite file: a real grid of the built-in rows is measured once, then its runs are copied, with other models
and training seeds, until there are enough. Reading takes turns; the best of three counts. `compare` is what that command
does before the tests: read, select, and make the summary, the paper table and the table of cells.
"""

import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

import mlflow
import numpy as np
import pandas as pd
from click.testing import CliRunner

from benchmarks.common import machine, parsed, parser, show, table, timed
from crt.commands.evaluate import main as evaluate
from crt.grid import DEFAULT_PROBS, DEFAULT_SEEDS
from crt.perturbations import REFERENCE_PERTURBATIONS
from crt.records import Outcome
from crt.reporting.page import page
from crt.reporting.table import detail_table, paper_table
from crt.scoring.evidence import Evidence
from crt.scoring.metrics import METRICS
from crt.scoring.stacked import Stacked, intervals
from crt.scoring.statistics import Resampling
from crt.scoring.summary import Comparison
from crt.studies import STUDIES
from crt.studies.compare import TABLES as TOLD
from crt.studies.compare import select
from crt.studies.report import report
from crt.tracking.history import PAGE, read_stored

CLASSES = 15
"""Labels of the random outcomes, as many as TNEWS has."""
TABLES = ("params", "tags", "metrics", "latest_metrics")
"""What belongs to a run in MLflow's database, by `run_uuid`."""


def main() -> None:
    """Measure the bootstrap, then the reading."""
    arguments = parser(__doc__)
    arguments.add_argument("--examples", type=int, default=1200)
    arguments.add_argument("--grid", type=int, default=54)
    arguments.add_argument("--resamples", type=int, default=1000)
    arguments.add_argument("--loops", type=int, default=3)
    arguments.add_argument("--cells", type=int, default=10_000)
    options = parsed(arguments, examples=40, grid=6, resamples=20, loops=1, cells=20)
    print(
        f"{options.resamples:,} resamples of {options.examples:,} examples x {options.grid} cells, {CLASSES} classes; "
        f"{machine('numpy', 'pandas', 'mlflow')}\n"
    )
    bootstrap(options.examples, options.grid, options.resamples, options.loops)
    with tempfile.TemporaryDirectory() as folder:
        here = Path.cwd()
        os.chdir(folder)
        reading(Path(folder), options.cells, small=options.small)
        os.chdir(here)


def bootstrap(examples: int, count: int, resamples: int, loops: int) -> None:
    """Print the seconds of the bootstrap and of the plain loop."""
    stacked, outcomes = random_outcomes(examples, count)
    names = list(intervals(stacked, Resampling(examples, resamples=2))["metric"].unique())
    generator = np.random.default_rng(0)

    def plain() -> None:
        for _ in range(loops):
            rows = generator.integers(0, examples, examples)
            for outcome in outcomes:
                drawn = replace(
                    outcome, gold=outcome.gold[rows], clean=outcome.clean[rows], perturbed=outcome.perturbed[rows],
                    changed=outcome.changed[rows],
                )  # fmt: skip
                for name in names:
                    METRICS[name].compute(drawn)

    seconds = timed(plain) * resamples / loops
    show(
        [
            (f"plain loop ({loops} of {resamples:,} resamples, scaled up)", seconds),
            ("crt: draws and intervals", timed(lambda: intervals(stacked, Resampling(examples, resamples=resamples)))),
        ]
    )


def random_outcomes(examples: int, count: int) -> tuple[Stacked, list[Outcome]]:
    """Return random answers to the same examples in some cells, side by side and as outcomes."""
    generator = np.random.default_rng(0)
    gold = generator.integers(0, CLASSES, examples)

    def answers() -> np.ndarray:
        return np.where(generator.random(examples) < 0.6, gold, generator.integers(0, CLASSES, examples))

    clean = answers()
    perturbed = np.stack([np.where(generator.random(examples) < 0.8, clean, answers()) for _ in range(count)])
    changed = generator.random((count, examples)) < 0.9
    keys = [(p, prob, seed) for p in REFERENCE_PERTURBATIONS for prob in DEFAULT_PROBS for seed in DEFAULT_SEEDS]
    cells = pd.DataFrame(keys[:count], columns=["perturbation", "prob", "seed"]).assign(train_seed="")
    stacked = Stacked(cells, [], np.arange(examples), gold, np.tile(clean, (count, 1)), perturbed, changed)
    one_hot, none = np.eye(CLASSES, dtype=np.float32), np.zeros(examples, dtype=np.int64)
    pairs, never = np.zeros((examples, 2), dtype=np.int64), np.zeros((examples, 2), dtype=np.bool_)
    outcomes = [
        Outcome(
            tuple(map(str, range(examples))), tuple(map(str, range(CLASSES))), gold, one_hot[clean], one_hot[after],
            moved, none, none, none, none, pairs, pairs, never, from_table=False,
        )
        for after, moved in zip(perturbed, changed, strict=True)
    ]  # fmt: skip
    return stacked, outcomes


def reading(folder: Path, count: int, *, small: bool) -> None:
    """Print the seconds that the bare client and crt take for a store of many cells, and the size of their page."""
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    grid = ["--perturbations", "space", "--probs", "0.15", "--seeds", "13"] if small else []
    done = CliRunner().invoke(evaluate, ["--smoke", "true", "--no_figures", "true", *grid])
    if done.exit_code:
        raise SystemExit(f"evaluate failed:\n{done.output}{done.exception or ''}")
    stored = multiply(folder / "mlflow.db", count)
    steps: dict[str, float] = {}

    def step(name: str, work: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        found: list[pd.DataFrame] = []
        steps[name] = min(steps.get(name, 1e9), timed(lambda: found.append(work())))
        return found[0]

    def crt() -> pd.DataFrame:
        cells = step("read_stored", lambda: read_stored((), tuple(STUDIES)).cells)
        cells = step("select", lambda: select(cells))
        step("Comparison.of", lambda: Comparison.of(cells).summary)
        found = Comparison.of(cells)
        step("paper_table", lambda: paper_table(found, TOLD[0]).csv())
        step("detail_table", lambda: detail_table(cells))
        return cells

    times = {"search_runs, all pages": 1e9, "compare: read, select, tables": 1e9}
    for _ in range(1 if small else 3):
        for name, work in zip(times, (bare, crt), strict=True):
            times[name] = min(times[name], timed(work))
    print(f"\n{stored:,} cells in SQLite, pages of {PAGE:,}\n")
    show(list(times.items()))
    below, above = times.values()
    print(f"\ncompare takes {above / below:.1f} times the bare search\n")
    whole = sum(steps.values())
    table(("part of compare", "s", "share"), [(n, f"{s:.2f}", f"{s / whole:.1%}") for n, s in steps.items()])
    cells = crt()
    found = Comparison.of(cells)
    tables = tuple(paper_table(found, metric) for metric in TOLD)
    size = len(page(report(found, Evidence(), tables, "compare")).encode())
    print(f"\nthe page of {stored:,} cells, without tests, has {size / 1e6:.1f} MB ({size / stored:,.0f} bytes a cell)")


def bare() -> int:
    """Read every cell as the client gives it; return their number."""
    client, found, token = mlflow.MlflowClient(), 0, None
    experiment = client.get_experiment_by_name("Default")
    assert experiment is not None
    while True:
        runs = client.search_runs(
            [experiment.experiment_id], "tags.`crt.kind` = 'cell'", max_results=PAGE, page_token=token
        )
        found, token = found + len(runs), runs.token
        if not token:
            return found


def multiply(path: Path, wanted: int) -> int:
    """Copy the cells of a store, each copy under the name of another model or training seed; return how many there are."""
    with sqlite3.connect(path) as base:
        cells = [run for (run,) in base.execute("SELECT run_uuid FROM tags WHERE key = 'crt.kind' AND value = 'cell'")]
        rows = {name: contents(base, name, cells) for name in ("runs", *TABLES)}
        copies = -(-wanted // len(cells)) - 1
        for copy in range(copies):
            ids = {run: uuid4().hex for run in cells}
            model, seed = f"model-{copy // 3}", str(copy % 3)
            for name, (columns, values) in rows.items():
                marks = ",".join("?" * len(columns))
                changed = changes(name, columns, values, ids, model, seed)
                base.executemany(f"INSERT INTO {name} ({','.join(columns)}) VALUES ({marks})", changed)
    base.close()
    return len(cells) * (copies + 1)


def contents(base: sqlite3.Connection, name: str, runs: list[str]) -> tuple[list[str], list[tuple[object, ...]]]:
    """Return the columns of a table and its rows that belong to some runs."""
    found = base.execute(f"SELECT * FROM {name} WHERE run_uuid IN ({','.join('?' * len(runs))})", runs)
    return [column[0] for column in found.description], found.fetchall()


def changes(
    name: str, columns: list[str], rows: list[tuple[object, ...]], ids: dict[str, str], model: str, seed: str
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a table for the copies of some runs; each copy is given a training seed beside its model."""
    for row in rows:
        values = dict(zip(columns, row, strict=True))
        values["run_uuid"] = ids[str(values["run_uuid"])]
        key = str(values.get("key", "")).removeprefix("crt.")
        if key == "model":
            values["value"] = model
        if key in ("predictor", "cell_key"):
            values["value"] = f"{values['value']}-{model}-{seed}"
        yield tuple(values.values())
        if name == "params" and key == "model":
            yield tuple({**values, "key": "train_seed", "value": seed}.values())


if __name__ == "__main__":
    main()
