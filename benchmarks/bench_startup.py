"""What a command costs beside its work: its start, its help, and a run that finds every cell stored already.

    python benchmarks/bench_startup.py [--rounds 5]

Every row is a process of its own, from start to exit; the best of the rounds counts, but the last row runs once. evaluate
runs the rule classifier on the built-in reviews over the default grid: once on a store without tables, which it makes, then
again, when nothing is left to measure.
"""

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.common import ROOT, machine, parsed, parser, table, timed

EVALUATE = ["-m", "entrypoints.evaluate", "--dataset", "sample", "--model", "rule"]
ROWS = {
    "python, nothing": ["-c", "pass"],
    "import mlflow": ["-c", "import mlflow"],
    "import torch, transformers": ["-c", "import torch, transformers"],
    "evaluate --help": ["-m", "entrypoints.evaluate", "--help"],
    "baselines: prints the lines of a whole study": ["-m", "entrypoints.baselines"],
    "evaluate, every cell stored, no figures": [*EVALUATE, "--no_figures", "true"],
    "evaluate, every cell stored": EVALUATE,
}


def main() -> None:
    """Fill a store, then time each row in turn."""
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    options = parsed(arguments, rounds=1)
    with tempfile.TemporaryDirectory() as folder:
        first = timed(lambda: run(EVALUATE, folder))
        times = {
            name: min(timed(partial(run, command, folder)) for _ in range(options.rounds))
            for name, command in ROWS.items()
        }
    print(f"best of {options.rounds}; {machine('mlflow', 'torch', 'transformers', 'click')}\n")
    times["evaluate, the tables of the store to make and 55 cells to measure"] = first
    table(("what", "s"), [(name, f"{seconds:.2f}") for name, seconds in times.items()])


def run(command: list[str], folder: str) -> None:
    """Run python in a folder with a store of its own; SystemExit if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db"}
    done = subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command} failed:\n{done.stderr.decode(errors='replace')[-2000:]}")


if __name__ == "__main__":
    main()
