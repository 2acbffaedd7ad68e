"""Homophones against the fastest peer (nlpcda), over the 9 cells of a grid on the same reviews.

    pip install nlpcda; python benchmarks/bench_perturb.py [--examples 1200]

Data from $CRT_DATA_DIR, else the built-in rows. Without nlpcda only crt is measured.
"""

import argparse
import contextlib
import io
import random
import sys
import timeit
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.common import load, machine, show
from crt.perturbations import load as load_perturbation
from crt.perturbations.engine import find_sites, perturb_all

PROBS, SEEDS = (0.05, 0.15, 0.30), (13, 42, 100)


def main() -> None:
    """Time the peer, then crt with and without finding the sites."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1200)
    split = load("chnsenticorp", parser.parse_args().examples)
    find = load_perturbation("homophone").find
    rows = []
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            from nlpcda import Homophone
    except ImportError:
        print("nlpcda is not installed: only crt is measured\n")
    else:
        with contextlib.redirect_stdout(io.StringIO()):
            tools = [Homophone(create_num=2, change_rate=prob) for prob in PROBS]
        rows.append(("nlpcda, Homophone", best(lambda: peer(tools, [e.input[0] for e in split.examples]))))

    def cells(sites) -> None:  # noqa: ANN001
        for prob in PROBS:
            for seed in SEEDS:
                perturb_all(sites, name="homophone", prob=prob, seed=seed)

    sites = find_sites(split.examples, find)
    rows.append(("crt, sites found once for the 9 cells", best(lambda: cells(find_sites(split.examples, find)))))
    rows.append(("crt, once the sites are found", best(lambda: cells(sites))))
    print(f"{len(split.examples)} reviews x 9 cells; {machine('numpy')}\n")
    show(rows)


def best(work) -> float:  # noqa: ANN001
    """Return the seconds of the best of three runs, without the garbage collector, as timeit measures."""
    return min(timeit.repeat(work, number=1, repeat=3))


def peer(tools, texts: list[str]) -> None:  # noqa: ANN001
    """Perturb every text once a cell; the peer writes the original first, so two are asked for."""
    for tool in tools:
        for seed in SEEDS:
            random.seed(seed)
            for text in texts:
                tool.replace(text)


if __name__ == "__main__":
    main()
