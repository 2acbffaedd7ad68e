"""The next command is spelled the way this one was started."""

import sys

import pytest

from crt.invocation import next_command

OPTIONS = {"dataset": "my data.csv", "model": "rule", "split": None, "prob": ""}


@pytest.fixture
def started(monkeypatch):
    """Pretend that the process was started by a script, in an environment."""

    def pretend(script, prefix="/home/me/env", run=""):
        monkeypatch.setattr(sys, "argv", [script, "--model", "rule"])
        monkeypatch.setattr(sys, "prefix", prefix)
        monkeypatch.delenv("MLFLOW_RUN_ID", raising=False)
        if run:
            monkeypatch.setenv("MLFLOW_RUN_ID", run)

    return pretend


MADE = "/home/me/.conda/envs/mlflow-da39a3ee5e6b4b0d3255bfef95601890afd80709"


@pytest.mark.parametrize(
    ("how", "spelled"),
    [
        (("/env/bin/crt",), "crt evaluate --dataset 'my data.csv' --model rule"),
        (("/env/crt/__main__.py",), "python -m crt evaluate --dataset 'my data.csv' --model rule"),
        (("/x/entrypoints/evaluate.py",), "python -m entrypoints.evaluate --dataset 'my data.csv' --model rule"),
        (
            ("/x/entrypoints/evaluate.py", "/home/me/env", "r"),
            "mlflow run . -e evaluate -P dataset='my data.csv' -P model=rule --env-manager local",
        ),
        (("/x/entrypoints/train.py", MADE, "r"), "mlflow run . -e evaluate -P dataset='my data.csv' -P model=rule"),
        (("/env/bin/pytest",), "crt evaluate --dataset 'my data.csv' --model rule"),
        (("/env/bin/crt", "/home/me/env", "r"), "crt evaluate --dataset 'my data.csv' --model rule"),
    ],
)
def test_next_command(started, how, spelled):
    """As a command, a module, an entry point, or under `mlflow run`, whose own environments need not be named."""
    started(*how)
    assert next_command("evaluate", OPTIONS) == spelled


def test_the_main_entry_point_needs_no_name(started):
    """`mlflow run .` starts the demonstration."""
    started("/x/entrypoints/main.py", MADE, "r")
    assert next_command("main") == "mlflow run ."
