"""Two processes on one machine: one that fails, fewer rows than processes, a training that goes on."""

import os
import subprocess
import sys
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from conftest import ROOT, SAMPLES

from crt.reporting.table import detail_table
from crt.tracking.history import read_stored

BREAKS = """
import os, sys
from crt.errors import ModelError
from crt.models.transformer import TransformerClassifier
from crt.commands import evaluate

def breaks(*_):
    raise ModelError("the model broke")

if os.environ["RANK"] in sys.argv.pop(1):
    TransformerClassifier._forward = breaks
evaluate.main()
"""


STOPS = """
import sys
from crt.errors import ModelError
from crt.models.resuming import StateFile
from crt.commands import train

write = StateFile.write

def stops(self, state):
    write(self, state)
    if state["progress"]["epoch"] == 2:
        raise ModelError("killed after its second epoch")

StateFile.write = stops
train.main()
"""


@pytest.fixture
def launch(store, tmp_path):
    """Run a command, a script or module and its arguments, on a store of its own."""

    def run(*command, experiment="Default"):
        environment = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "MLFLOW_EXPERIMENT_NAME": experiment}
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return run


@pytest.fixture
def torchrun(launch, tiny_checkpoint):
    """Evaluate a tiny model with a script or module in two processes."""

    def run(*program, rows, experiment="Default"):
        arguments = f"--max_samples {rows} --dataset tnews --model {tiny_checkpoint} --data_dir {SAMPLES} --max_length 64 --eval_batch_size 1"
        arguments += " --perturbations space --seed 13 --no_figures"
        return launch(*program, *arguments.split(), experiment=experiment)

    return run


TWO = (sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2")


@pytest.mark.slow
@pytest.mark.parametrize("ranks", ["1", "0", "01"])
def test_a_process_that_fails_stops_the_other(torchrun, tmp_path, ranks):
    """If one process fails, or both, the command ends soon with an error that is said once, and no cell is FINISHED."""
    script = tmp_path / "breaks.py"
    script.write_text(BREAKS, encoding="utf-8")
    result = torchrun(*TWO, str(script), ranks, rows=20)
    assert result.returncode != 0
    assert result.stderr.count("error: the model broke") == 1, result.stderr
    assert read_stored((), ()).cells.empty


@pytest.mark.slow
def test_fewer_rows_than_processes(torchrun):
    """One example in two processes gives the cells of one process."""
    frames = []
    for experiment, launcher in (("one", (sys.executable,)), ("two", TWO)):
        result = torchrun(*launcher, "-m", "entrypoints.evaluate", rows=1, experiment=experiment)
        assert result.returncode == 0, result.stderr
        frames.append(read_stored([experiment], ()).cells)
    pd.testing.assert_frame_equal(detail_table(frames[0]), detail_table(frames[1]))
    assert len(frames[0]) == len(frames[1]) == 4


@pytest.mark.slow
def test_two_processes_go_on_after_a_kill(launch, tmp_path):
    """A training of two processes that was broken off after an epoch ends with the weights of an unbroken one."""
    script = tmp_path / "stops.py"
    script.write_text(STOPS, encoding="utf-8")
    arguments = ["--smoke", "--dataset", "tnews", "--max_length", "64", "--num_train_epochs", "4", "--resume"]
    assert launch(*TWO, "-m", "entrypoints.train", *arguments).returncode == 0
    assert "killed after its second epoch" in launch(*TWO, str(script), *arguments).stderr
    resumed = launch(*TWO, "-m", "entrypoints.train", *arguments)
    assert "training goes on after epoch 2 of 4" in resumed.stderr, resumed.stderr
    folders = (Path(mlflow.artifacts.download_artifacts(f"models:/crt-tnews/{number}")) for number in (1, 2))
    unbroken, again = (next(folder.rglob("model.safetensors")).read_bytes() for folder in folders)
    assert unbroken == again
