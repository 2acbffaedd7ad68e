"""Two processes on one machine: one that fails, and fewer rows than processes."""

import os
import subprocess
import sys

import pandas as pd
import pytest
from conftest import ROOT, SAMPLES

from crt.history import read_stored
from crt.reporting.table import detail_table

BREAKS = """
import os, sys
from crt.errors import ModelError
from crt.models.transformer import TransformerClassifier
from entrypoints import evaluate

def breaks(*_):
    raise ModelError("the model broke")

if os.environ["RANK"] in sys.argv.pop(1):
    TransformerClassifier._forward = breaks
evaluate.main()
"""


@pytest.fixture
def torchrun(store, tmp_path, tiny_checkpoint):
    """Evaluate a tiny model with a script or module in two processes."""

    def run(*program, rows, experiment="Default"):
        arguments = f"--max_samples {rows} --dataset tnews --model {tiny_checkpoint} --data_dir {SAMPLES} --max_length 64 --eval_batch_size 1"
        arguments += " --perturbations space --seed 13 --no_figures"
        environment = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "MLFLOW_EXPERIMENT_NAME": experiment}
        return subprocess.run(
            [*program, *arguments.split()],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

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
