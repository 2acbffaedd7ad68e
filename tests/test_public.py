"""What others build on: importing crt changes nothing, and the names that scripts use stay."""

import subprocess
import sys
from importlib.metadata import entry_points

from conftest import ROOT, SAMPLES
from sqlalchemy import create_engine

from crt.catalogue import TASKS
from crt.perturbations import PERTURBATIONS, load
from crt.tasks import Source, find_task, load_split
from crt.tracking.runs import open_run

IMPORTED = """
import logging, os, signal, sys
import mlflow, sqlalchemy, torch, transformers
import pkgutil, importlib

def patience():
    with sqlalchemy.create_engine("sqlite://").connect() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout = 7")
        return connection.exec_driver_sql("PRAGMA busy_timeout").scalar()

def state():
    loggers = {name: (log.level, len(log.handlers), log.disabled) for name, log in logging.root.manager.loggerDict.items()
               if isinstance(log, logging.Logger)}
    return {
        "environment": dict(os.environ), "loggers": {k: v for k, v in loggers.items() if not k.startswith("crt")},
        "root": (logging.root.level, len(logging.root.handlers)), "signals": [signal.getsignal(s) for s in signal.valid_signals()],
        "patience": patience(),
        "path": list(sys.path), "folder": os.getcwd(),
    }

for other in OTHERS:
    importlib.import_module(other)
before = state()
import crt
for module in pkgutil.walk_packages(crt.__path__, "crt."):
    if module.name != "crt.__main__":
        importlib.import_module(module.name)
after = state()
for name in before:
    old, new = before[name], after[name]
    if isinstance(old, dict):  # a library that is loaded for the first time may make loggers of its own
        new = {key: value for key, value in new.items() if key in old}
    assert old == new, (name, old, new)
"""


def test_importing_changes_nothing():
    """After all modules are imported the process has its environment, loggers, signals and database engines as before."""
    code = IMPORTED.replace(
        "OTHERS", repr(["accelerate", "datasets", "matplotlib.figure", "sklearn.ensemble", "click", "jieba"])
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_run_leaves_other_databases_alone(store):
    """While a run is open, an engine of the user's, even of the same file, keeps the patience that it was given."""
    with open_run("grid", "test", {}), create_engine(store).connect() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout = 7")
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 7


def test_names_that_scripts_use():
    """`PERTURBATIONS`, `load(NAME).find(TEXT)`, `find_task`, `Source` and `load_split` give what they gave."""
    text = "这家酒店的房间很干净，服务也很好。"
    for name in PERTURBATIONS:
        for start, end, options in load(name).find(text):
            assert 0 <= start <= end <= len(text)
            assert all(isinstance(option, str) and option != text[start:end] for option in options)
    start, end, options = load("space").find(text)[0]
    assert (start, end, options[0]) == (1, 1, " ")
    split = load_split(find_task("tnews"), "validation", Source(SAMPLES))
    assert split.examples[0].label < len(TASKS["tnews"].labels)
    assert load_split(find_task("tnews"), "validation", Source(data_dir=SAMPLES)).digest() == split.digest()


def test_the_command_is_installed():
    """The package brings the command `crt`."""
    (found,) = [point for point in entry_points(group="console_scripts") if point.name == "crt"]
    assert found.value == "crt.commands:crt"
