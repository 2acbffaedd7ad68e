"""The memory that evaluate takes: whether it grows with the examples and the largest perturbation, or with the cells.

    python benchmarks/bench_memory.py [--sizes 2000,20000,200000] [--perturbation homophone]

The rule classifier on generated reviews: the 9 cells of one perturbation, three of those 9 (one prob), and the 54 cells of
the six perturbations. Each run is a process of its own, and its peak resident memory is what counts. The first row has 20
reviews: what is held before any text is. The perturbation should be the one with the most sites; without it among the six,
the 54 cells may take more than its 9.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.common import ROOT, machine, parsed, parser, table, write_reviews
from crt.perturbations import REFERENCE_PERTURBATIONS

BASE = 20
"""Reviews of the run that shows what is held anyway."""


def main() -> None:
    """Run evaluate on each size and each set of cells."""
    arguments = parser(__doc__)
    arguments.add_argument("--sizes", default="2000,20000,200000")
    arguments.add_argument("--perturbation", default="homophone")
    options = parsed(arguments, sizes="")
    sizes = [BASE, *map(int, filter(None, options.sizes.split(",")))]
    everything = ",".join(REFERENCE_PERTURBATIONS)
    grids = {
        "3 cells": ["--perturbations", options.perturbation, "--prob", "0.3"],
        "9 cells": ["--perturbations", options.perturbation],
        "54 cells": ["--perturbations", everything],
    }
    if options.small:
        single = ["--prob", "0.15", "--seed", "13"]
        grids = {"1 cell": [*grids["9 cells"], *single], "6 cells": [*grids["54 cells"], *single]}
    one, several = list(grids)[-2:]
    print(
        f"rule classifier, chnsenticorp format, {', '.join(list(grids)[:-1])} of {options.perturbation}, {several} of six perturbations; {machine('numpy', 'pandas', 'mlflow')}\n"
    )
    rows: list[tuple[str, ...]] = []
    base: dict[str, float] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_reviews(Path(folder), size)
            found = {name: peak(Path(folder), grid) for name, grid in grids.items()}
        base = base or {name: memory for name, (memory, _) in found.items()}
        grown = {name: memory - base[name] for name, (memory, _) in found.items()}
        ratio = f"{grown[several] / grown[one]:.2f}" if grown[one] > 0 else "-"
        rows.append(
            (
                f"{size:,} reviews",
                *(f"{memory / 2**20:,.0f} MB, {seconds:.0f} s" for memory, seconds in found.values()),
                *(f"{memory / size / 2**10:.1f}" if size > BASE else "-" for memory in grown.values()),
                ratio,
            )
        )
    heads = [*grids, *(f"{name}, kB a review" for name in grids), f"{several} / {one}, less the first row"]
    table(("what", *heads), rows)


def peak(folder: Path, grid: list[str]) -> tuple[int, float]:
    """Return the peak of the resident memory of evaluate, in bytes, and its seconds."""
    with tempfile.TemporaryDirectory() as work:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_TRACKING_URI": f"sqlite:///{work}/mlflow.db",
        }
        options = ["--dataset", "chnsenticorp", "--data_dir", str(folder), "--model", "rule", "--no_figures", "true"]
        command = [sys.executable, __file__, "--child", json.dumps([*options, *grid])]
        begun = time.perf_counter()
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"evaluate failed:\n{done.stderr[-2000:]}")
    return int(done.stdout.splitlines()[-1]), seconds


def child(arguments: list[str]) -> None:
    """Run evaluate in this process; the last line on stdout is the peak of the resident memory."""
    from crt.commands.evaluate import main as evaluate

    evaluate.main(arguments, standalone_mode=False)
    unit = 1 if sys.platform == "darwin" else 1024
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(json.loads(sys.argv[2]))
    else:
        main()
