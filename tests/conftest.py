"""Fixtures: a real MLflow store, a real transformer of a few thousand weights, and the commands as a user runs them."""

import importlib
import inspect
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

os.environ |= {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "HF_HUB_OFFLINE": "1",
    "ACCELERATE_USE_CPU": "true",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",  # tiny models only lose time to a second thread, most of all on a busy machine
}
for name in ("MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID", "MLFLOW_EXPERIMENT_NAME", "CRT_DATA_DIR"):
    os.environ.pop(name, None)

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "resources" / "samples"


def runner():
    """Return a runner of commands that keeps stdout and stderr apart, which click before 8.2 does only when asked."""
    from click.testing import CliRunner

    old = "mix_stderr" in inspect.signature(CliRunner).parameters
    return CliRunner(mix_stderr=False) if old else CliRunner()


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """An empty store with all tables: made once, since the migrations take seconds."""
    import mlflow

    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    mlflow.set_tracking_uri(f"sqlite:///{path}")
    mlflow.search_experiments()
    return path


@pytest.fixture
def store(migrated, tmp_path, monkeypatch):
    """A fresh real store, which is also the working folder; yields its URI."""
    import mlflow

    shutil.copy(migrated, tmp_path / "mlflow.db")
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as database, database:
        database.execute("UPDATE experiments SET artifact_location = ?", (str(tmp_path / "mlruns" / "0"),))
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("Default")
    yield uri
    while mlflow.active_run():
        mlflow.end_run("KILLED")
    os.environ.pop("MLFLOW_EXPERIMENT_ID", None)  # set_experiment leaves it to every process that is started later


@pytest.fixture(scope="session")
def accelerator():
    """The one accelerator of the test process."""
    from crt.models.processes import start

    return start("fp32")


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory, accelerator):
    """A tiny BERT trained for one epoch on the sample rows of TNEWS, as a checkpoint folder."""
    return train_tiny("tnews", tmp_path_factory.mktemp("tiny") / "tiny-tnews", accelerator)


def train_tiny(task, folder, accelerator, **options):
    """Train a tiny BERT on sample rows with the real loop; return its folder."""
    from crt.catalogue import TASKS
    from crt.models import PredictOptions
    from crt.models.recipe import TrainOptions
    from crt.models.training import train
    from crt.tasks import Source, load_training

    split, selection = load_training(TASKS[task], Source(SAMPLES))
    recipe = {"model": "tiny", "learning_rate": 1e-3, "predict": PredictOptions(max_length=64), **options}
    list(train(TASKS[task], split, selection, accelerator, TrainOptions(**recipe), folder))
    return folder


@pytest.fixture(scope="session")
def language_model(tmp_path_factory):
    """A tiny causal model of random weights that knows the characters of the prompt for reviews."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    from crt.catalogue import TASKS
    from crt.models.tiny import build_tiny
    from crt.models.zeroshot import prompt_of

    folder = tmp_path_factory.mktemp("lm") / "tiny-lm"
    prompt = prompt_of(TASKS["chnsenticorp"])
    texts = [("房间很干净",), ("书太差了，很失望",), ("好",), ("屏幕有坏点{0}",)]
    _, tokenizer = build_tiny([*texts, (prompt.template + "".join(prompt.words),)] * 3, {0: "a", 1: "b"}, 64)
    tokenizer.model_max_length = 512
    torch.manual_seed(0)
    shape = {"vocab_size": len(tokenizer), "n_positions": 512, "n_embd": 32, "n_layer": 2, "n_head": 2}
    GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=0, eos_token_id=0)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def command(store, tmp_path):
    """Run `python -m entrypoints.<name>` as a user does, in a fresh folder with a fresh store."""

    def run(name, *arguments, check=True, **environment):
        result = subprocess.run(
            [sys.executable, "-m", f"entrypoints.{name}", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "MLFLOW_TRACKING_URI": store, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or result.returncode == 0, result.stderr
        return result

    return run


@pytest.fixture
def invoke(store):
    """Run a command in this process, with a fresh store in a fresh folder: the start of a process takes seconds."""

    def run(name, *arguments):
        main = importlib.import_module(f"entrypoints.{name}").main
        result = runner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result

    return run
