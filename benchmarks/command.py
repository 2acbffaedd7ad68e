"""The command evaluate, run in this process on a store of its own."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import mlflow
from click.testing import CliRunner

from benchmarks.common import data
from crt.commands.evaluate import main


@contextmanager
def fresh_store(folder: Path) -> Iterator[None]:
    """Work in a folder, with a SQLite store there whose tables are made already: that is no part of a run."""
    here, before = Path.cwd(), mlflow.get_tracking_uri()
    os.environ.pop("MLFLOW_EXPERIMENT_ID", None)  # mlflow leaves there what it used last, of another store
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.search_experiments()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
        mlflow.set_tracking_uri(before)


def evaluate(arguments: Sequence[str]) -> None:
    """Run the command in fp32 on the data of the measurements; SystemExit if it fails."""
    done = CliRunner().invoke(main, [*arguments, "--data_dir", str(data().resolve()), "--precision", "fp32"])
    if done.exit_code:
        raise SystemExit(f"evaluate failed:\n{done.output}{done.exception or ''}")
