"""What a grid will need of the machine's memory, before it starts."""

import pytest

from crt.records import CLEAN, Cell, Example
from crt.studies import memory


def grid(perturbations, cells):
    """Return so many cells of each of some perturbations, and a clean one."""
    return [Cell("m", "d", name, 0.1, seed) for name in perturbations for seed in range(cells)] + [
        Cell("m", "d", CLEAN, 0.0, 0)
    ]


def texts(count, length):
    """Return so many examples of so many characters."""
    return [Example(str(number), ("好" * length,), 0) for number in range(count)]


@pytest.mark.parametrize(
    ("length", "perturbations", "cells", "measured"),
    [(110, 1, 9, 31.4), (20, 1, 9, 8.4), (110, 1, 3, 29.6), (110, 6, 9, 46.3)],
    ids=["reviews", "titles", "three cells", "six perturbations"],
)
def test_the_estimate_is_near_what_was_measured(length, perturbations, cells, measured):
    """The kB a text of docs/benchmarks.md, and of a side check with texts of 20 characters, within a tenth."""
    wanted = memory.needed(texts(100, length), grid([f"p{n}" for n in range(perturbations)], cells))
    assert wanted / 100 / 1024 == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(("left", "told"), [(1e3, True), (1e12, False), (None, False)])
def test_too_little_memory_is_said_before_the_start(monkeypatch, caplog, left, told):
    """One line names the need, what is left and what to do; where nothing is known, or enough is there, none."""
    monkeypatch.setattr(memory, "available", lambda: left)
    memory.warn("tnews", texts(100, 20), grid(["space"], 9))
    assert (len(caplog.records) == 1) == told
    assert ("need about 0.0 GB of memory beside the model, and 0.0 GB are left; use max_samples" in caplog.text) == told


def test_the_limit_of_a_container_counts(monkeypatch, tmp_path):
    """What a container may still take is its limit less what its processes hold; a missing or unlimited one is none."""
    whole = memory.available()
    if whole is None:
        pytest.skip("this system does not say how much memory is left")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory.available() == pytest.approx(whole, rel=0.5)
    (tmp_path / "memory.stat").write_text("anon 600\nfile 9000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available() > 1000
    (tmp_path / "memory.max").write_text("1000\n")
    assert memory.available() == 400


def test_clean_cells_alone_need_nothing_to_speak_of():
    """Without a perturbation there are no sites."""
    assert memory.needed(texts(10, 10), grid([], 0)) == 0
