"""What the measurements share: options, data, a table of times, and a line that says where they were taken."""

import argparse
import os
import platform
import re
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

from crt.catalogue import TASKS
from crt.resources import resource_dir
from crt.tasks import Source, Split, load_split

ROOT = Path(__file__).parent.parent


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the one option that every measurement takes."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument(
        "--small", action="store_true", help="a size that only shows that it runs; the numbers mean nothing"
    )
    return made


def parsed(arguments: argparse.ArgumentParser, **small: object) -> argparse.Namespace:
    """Read the command line; with --small, an option that is not given takes its value from `small`."""
    if arguments.parse_args().small:
        arguments.set_defaults(**small)
    return arguments.parse_args()


def data() -> Path:
    """Return $CRT_DATA_DIR, or the folder of the built-in rows without it."""
    return Path(os.environ.get("CRT_DATA_DIR") or resource_dir() / "samples")


def load(task: str, limit: int) -> Split:
    """Return evaluation examples."""
    return load_split(TASKS[task], TASKS[task].eval_split, Source(data())).limited(limit)


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
    table(
        ("what", unit, "times the first row"), [(name, f"{value:.2f}", f"{first / value:.1f}") for name, value in rows]
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table in Markdown, the first column flush left, the others flush right."""
    print(f"| {' | '.join(header)} |\n| --- |{' ---: |' * (len(header) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def reviews(count: int) -> list[str]:
    """Return generated reviews of 100 to 150 characters, all distinct: sentences of real ones in random order."""
    real = [example.input[0] for example in load("chnsenticorp", 1200).examples]
    sentences = [part for text in real for part in re.split(r"[，。\s\\\\]+", text) if 0 < len(part) <= 50]
    generator = np.random.default_rng(0)
    made = []
    for number in range(count):
        text = ""
        while len(text) < 100:
            text += sentences[generator.integers(len(sentences))] + "，"
        made.append(f"{text}{number}。")
    return made


def write_reviews(folder: Path, count: int) -> None:
    """Write generated reviews as the test split of ChnSentiCorp; their labels alternate."""
    (folder / "chnsenticorp").mkdir()
    lines = [f"{number % 2}\t{text}\n" for number, text in enumerate(reviews(count))]
    (folder / "chnsenticorp" / "test.tsv").write_text("label\ttext_a\n" + "".join(lines), encoding="utf-8")
