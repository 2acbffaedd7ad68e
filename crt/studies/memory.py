"""What a grid needs of the machine's memory: told before it starts, by what was measured (docs/benchmarks.md)."""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from crt.records import CLEAN, Cell, Example

log = logging.getLogger(__name__)

CHARACTER, ANSWER, SEVERAL = 250, 350, 1.4
"""Bytes for a character of the texts (its sites) and for a text in a cell of one perturbation; times that for several of them."""
CGROUP = Path("/sys/fs/cgroup")


def needed(examples: Sequence[Example], cells: Iterable[Cell]) -> float:
    """Return about how many bytes some cells take, beside the model and what the process holds already."""
    counts = Counter(cell.perturbation for cell in cells if cell.perturbation != CLEAN)
    if not counts:
        return 0
    characters = sum(len(text) for example in examples for text in example.input)
    largest = CHARACTER * characters + ANSWER * len(examples) * max(counts.values())
    return largest * (SEVERAL if len(counts) > 1 else 1)


def available() -> float | None:
    """Return how many bytes this machine or container has left; None where the system does not say so."""
    try:
        left = 1024 * _field(Path("/proc/meminfo"), "MemAvailable:")
    except (OSError, ValueError):
        return None
    try:
        limit = int((CGROUP / "memory.max").read_text(encoding="ascii"))
        return min(left, limit - _field(CGROUP / "memory.stat", "anon"))
    except (OSError, ValueError):  # no container, or one without a limit
        return left


def _field(path: Path, name: str) -> int:
    lines = (line.split() for line in path.read_text(encoding="ascii").splitlines())
    return next((int(line[1]) for line in lines if line[0] == name), 0)


def warn(name: str, examples: Sequence[Example], cells: Iterable[Cell]) -> None:
    """Say so if a grid is likely to need more memory than there is.

    Args:
        name: of the data set.
        examples: that are measured.
        cells: that are to be measured on them.
    """
    wanted, left = needed(examples, cells), available()
    if left is not None and wanted > left:
        log.warning(
            "%s: these cells need about %.1f GB of memory beside the model, and %.1f GB are left; use max_samples, or a command "
            "for each perturbation (fewer probs or seeds, or shard, save little)", name, wanted / 1e9, left / 1e9,
        )  # fmt: skip
