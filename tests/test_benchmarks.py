"""The measurements run from end to end; what they measure is not looked at."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
