"""The measurements run from end to end; what they measure is not looked at."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.bench_star_test import DROP, stars

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted([*(ROOT / "benchmarks").glob("bench_*.py"), ROOT / "benchmarks" / "gpu.py"])


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_small_size_runs_and_prints_a_table(script, store, tmp_path):
    """Exit code 0, a line with date and versions, and tables whose rows are as wide as their headers."""
    done = subprocess.run(
        [sys.executable, script, "--small"],
        cwd=tmp_path,
        env={**os.environ, "MLFLOW_TRACKING_URI": store},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any("cores" in line and "Python 3" in line for line in lines), done.stdout
    rules = [number for number, line in enumerate(lines) if line.startswith("| ---")]
    assert rules, done.stdout
    for number in rules:
        header, first = lines[number - 1], lines[number + 1]
        assert header.count("|") == lines[number].count("|") == first.count("|"), done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_is_documented(script):
    """docs/benchmarks.md has the command."""
    assert f"benchmarks/{script.name}" in (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")


def test_stars_are_neither_for_nothing_nor_rarer_with_more_seeds():
    """Stars stand for nothing in at most 6 % of the cases (and three standard errors of so few), and find 4.5 points."""
    alone = np.arange(400)
    ((size, _),) = stars("lost", 0.0, 3, alone, 300, (1,))
    assert size <= 0.06 + 3 * (0.06 * 0.94 / 300) ** 0.5
    power = [stars("lost", DROP, seeds, alone, 300, (126,))[0][0] for seeds in (1, 3, 5)]
    assert power[1] >= 0.95
    assert all(more >= fewer - 0.02 for fewer, more in pairwise(power))  # 3 standard errors of a difference near 1
