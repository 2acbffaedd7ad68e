"""The lines of the README, as typed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from conftest import ROOT, SAMPLES

from crt.reporting.table import detail_table
from crt.tracking.history import read_stored


@pytest.fixture
def checkout(tmp_path, migrated):
    """A copy of the project with an empty store, as a user has it after cloning."""
    target = tmp_path / "checkout"
    target.mkdir()
    for name in ("crt", "entrypoints", "resources"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("MLproject", "conda.yaml"):
        shutil.copy(ROOT / name, target)
    shutil.copy(migrated, target / "mlflow.db")
    return target


@pytest.fixture
def conda(tmp_path):
    """A stand-in conda, which activates nothing: the line is tested, not the isolation."""
    home = tmp_path / "conda"
    (home / "bin").mkdir(parents=True)
    (home / "etc" / "profile.d").mkdir(parents=True)
    program = home / "bin" / "conda"
    program.write_text('#!/bin/sh\ncase "$*" in *"env list"*) echo \'{"envs": []}\';; esac\n')
    program.chmod(0o755)
    (home / "etc" / "profile.d" / "conda.sh").write_text("conda() { :; }\n")
    return {"MLFLOW_CONDA_HOME": str(home)}


def run(line, folder, **environment):
    """Run a shell line in a folder, with the programs of this environment first on the path."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_TRACKING")}
    result = subprocess.run(
        line,
        shell=True,
        cwd=folder,
        env={**kept, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'mlflow.db'}")
    return result


def test_evaluate_as_typed(checkout, conda):
    """`mlflow run . -e evaluate -P dataset=tnews` measures the whole default grid as child runs of the project run."""
    run("mlflow run . -e evaluate -P dataset=tnews", checkout, CRT_DATA_DIR=str(SAMPLES), **conda)
    cells = read_stored((), ()).cells
    assert len(cells) == 55
    parents = mlflow.search_runs(filter_string="tags.`crt.kind` = 'grid'")
    assert parents["status"].tolist() == ["FINISHED"]
    assert parents["params.dataset"].tolist() == ["tnews"]
    assert mlflow.get_run(cells["run_id"][0]).data.tags["mlflow.parentRunId"] == parents["run_id"][0]
    assert len(pd.read_csv(checkout / "outputs" / "robustness_results_multi.csv")) == 54


def test_a_wrong_option_fails_the_project_run(checkout, conda):
    """A fault ends `mlflow run` with an error, its message on the screen and the project run FAILED."""
    with pytest.raises(AssertionError, match="did you mean 'tnews'"):
        run("mlflow run . -e evaluate -P dataset=tnew", checkout, **conda)
    mlflow.set_tracking_uri(f"sqlite:///{checkout / 'mlflow.db'}")
    assert mlflow.search_runs()["status"].tolist() == ["FAILED"]


@pytest.mark.slow
def test_the_demo(checkout):
    """`mlflow run .` trains, registers, measures and compares on the built-in reviews; the model beats guessing."""
    result = run("mlflow run . --env-manager local", checkout)
    cells = read_stored((), ()).cells
    assert len(cells) == 110
    clean = cells[cells["perturbation"] == "clean"].set_index("model")["clean_acc"]
    assert clean["tiny"] > 0.7
    assert clean["rule"] > 0.7
    assert "ui --backend-store-uri" in result.stdout or "mlflow ui" in result.stdout
    assert {"paper_table_perturbed_acc.md", "accuracy_drop_by_prob.svg"} <= {
        f.name for f in (checkout / "outputs").iterdir()
    }


@pytest.mark.slow
def test_two_processes_give_the_cells_of_one(checkout, tiny_checkpoint):
    """Evaluate in two CPU processes stores, to the last digit, the cells that one process stores."""
    arguments = (
        f"--dataset tnews --model {tiny_checkpoint} --max_length 64 --data_dir {SAMPLES} --no_figures --seeds 13"
    )
    frames = []
    for experiment, launcher in (("one", f"{sys.executable} -m"), ("two", "torchrun --nproc_per_node 2 -m")):
        environment = {"MLFLOW_EXPERIMENT_NAME": experiment, "ACCELERATE_USE_CPU": "1", "OMP_NUM_THREADS": "1"}
        run(f"{launcher} entrypoints.evaluate {arguments} --output_dir {experiment}", checkout, **environment)
        frames.append(read_stored([experiment], ()).cells)
    pd.testing.assert_frame_equal(detail_table(frames[0]), detail_table(frames[1]))
    assert list(frames[0]["key"].sort_values()) == list(frames[1]["key"].sort_values())
    processes = mlflow.search_runs(experiment_names=["two"], filter_string="tags.`crt.kind` = 'grid'")
    assert processes["params.cfg.processes"].tolist() == ["2"]


@pytest.mark.slow
def test_two_processes_train(checkout):
    """Training in two CPU processes registers a model and takes as many steps as in one."""
    arguments = f"--smoke --dataset tnews --max_length 64 --data_dir {SAMPLES}"
    environment = {"ACCELERATE_USE_CPU": "1", "OMP_NUM_THREADS": "1"}
    for launcher in (f"{sys.executable} -m", "torchrun --nproc_per_node 2 -m"):
        run(f"{launcher} entrypoints.train {arguments}", checkout, **environment)
    runs = mlflow.search_runs(filter_string="tags.`crt.kind` = 'train'")
    client = mlflow.MlflowClient()
    steps = [max(m.step for m in client.get_metric_history(run_id, "train_loss")) for run_id in runs["run_id"]]
    assert steps[0] == steps[1]
    assert runs["status"].tolist() == ["FINISHED"] * 2
