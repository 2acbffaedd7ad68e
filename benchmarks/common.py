"""What the measurements share: data, a model, a table of times."""

import os
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from crt.catalogue import TASKS
from crt.resources import resource_dir
from crt.tasks import Source, Split, load_split


def load(task: str, limit: int) -> Split:
    """Return evaluation examples from $CRT_DATA_DIR, or from the built-in rows without it."""
    folder = os.environ.get("CRT_DATA_DIR") or resource_dir() / "samples"
    return load_split(TASKS[task], TASKS[task].eval_split, Source(Path(folder))).limited(limit)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def machine(*packages: str) -> str:
    """Return one line that says where and when this was measured."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "",
    )
    return f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores {cpu}, Python {platform.python_version()}, {versions}"


def show(rows: list[tuple[str, float]], unit: str = "s") -> None:
    """Print times and their ratio to the first row."""
    first = rows[0][1]
    print(f"| what | {unit} | times the first row |\n| --- | ---: | ---: |")
    for name, value in rows:
        print(f"| {name} | {value:.2f} | {first / value:.1f} |")
