"""Training as an experiment, on a real store with a real registry."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import mlflow
import pandas as pd
import pytest
import requests
from conftest import ROOT, SAMPLES
from safetensors import SafetensorError

from crt.catalogue import TASKS
from crt.errors import TrackingError
from crt.grid import Grid
from crt.models import PredictOptions
from crt.models.recipe import TrainOptions
from crt.records import CLEAN, ResolvedModel
from crt.studies import benchmark, train
from crt.studies.answers import at_hand
from crt.tasks import Source, load_split
from crt.tracking import registry
from crt.tracking.runs import MlflowTracker, open_run

OPTIONS = TrainOptions(
    model="tiny", learning_rate=1e-3, num_train_epochs=2, train_batch_size=16, predict=PredictOptions(max_length=64)
)


@pytest.fixture
def trained(store, accelerator):
    """Train a tiny model on the sample reviews; returns the run and the registered version."""

    def run(**changes):
        with open_run("train", "test", {}) as tracker:
            version = train.run(
                TASKS["chnsenticorp"], Source(SAMPLES), OPTIONS, accelerator, tracker, eval_subset=8, **changes
            )
            return tracker.run_id, version

    return run


def curves(run_id):
    """Return every value of every metric that does not come from a clock, in the order they were logged."""
    client = mlflow.MlflowClient()
    names = set(client.get_run(run_id).data.metrics) - {"train_seconds", "tokens_per_second"}
    return {name: sorted((m.step, m.value) for m in client.get_metric_history(run_id, name)) for name in names}


def test_few_selection_examples_are_told(caplog):
    """That the best epoch is chosen on few examples is a warning, and so is a label that none of them has."""
    split = load_split(TASKS["chnsenticorp"], "validation", Source(SAMPLES))
    negative = split.where(lambda example: example.label == 0)
    for selection in (split.limited(train.FEW - 1), replace(split, examples=split.examples * 9), negative):
        train._warn_of_few(TASKS["chnsenticorp"], selection)
    few = (
        "chnsenticorp: only {} examples choose the best epoch; with fewer than 50 chance does: give more texts, best in a "
        "file of their own, named validation"
    )
    assert caplog.messages == [
        few.format(len(split.limited(train.FEW - 1).examples)),
        few.format(len(negative.examples)),
        "chnsenticorp: no example that chooses the best epoch is positive",
    ]


def test_a_resumed_run_has_the_whole_curve_once(trained):
    """The run that goes on has every metric of every epoch once, and its state is gone when the model is registered."""
    unbroken, first = trained()
    log_metrics = MlflowTracker.log_metrics

    def dies(self, metrics, step=0):
        if metrics.get("epoch") == 2:
            raise KeyboardInterrupt
        log_metrics(self, metrics, step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MlflowTracker, "log_metrics", dies)
        with pytest.raises(KeyboardInterrupt):
            trained(resume=True)
    assert list(train.STATES.iterdir())
    resumed, second = trained(resume=True)
    assert not list(train.STATES.iterdir())
    assert curves(resumed) == curves(unbroken)
    assert len(curves(resumed)["train_loss"]) == len({step for step, _ in curves(resumed)["train_loss"]})
    assert (first, second) == ("crt-chnsenticorp/1", "crt-chnsenticorp/2")


def test_a_machine_without_the_download_fetches_the_version_itself(trained):
    """A process that does not see the folder of the main process downloads the version that was chosen there."""
    _, version = trained()
    here = at_hand(ResolvedModel("/on/another/machine", f"models:/{version}"))
    assert here.source == f"models:/{version}"
    assert next(Path(here.spec).rglob("model.safetensors")).is_file()
    for seen in (here, ResolvedModel("rule", "rule"), ResolvedModel("some/hub-id", "some/hub-id")):
        assert at_hand(seen) == seen


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (OSError(28, "No space left on device"), "make room"),
        (SafetensorError('IoError(Os { code: 28, message: "No space left on device" })'), "make room"),
        (requests.HTTPError("413 Client Error for url: http://u:secret@h"), "put that right"),
    ],
)
def test_a_training_that_could_not_be_registered_is_not_lost(trained, monkeypatch, error, advice):
    """When the registry fails after the last epoch, `resume` registers the model without a step of training."""
    from crt.tracking import registry

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "register", lambda *_, **__: (_ for _ in ()).throw(error))
        with pytest.raises(TrackingError, match=rf"cannot be stored .*; {advice} and .* resume=true") as caught:
            trained()
    assert "secret" not in str(caught.value)
    monkeypatch.setattr("crt.models.loop.Loop.step", lambda *_: pytest.fail("a step was made again"))
    assert trained(resume=True)[1] == "crt-chnsenticorp/1"


TRAIN = ("--smoke", "true", "--dataset", "chnsenticorp", "--num_train_epochs", "1", "--resume", "true")
KILLED = """
import os, signal, sys
import mlflow
from crt.commands.train import main
from crt.models.resuming import StateFile
from crt.studies import cards
from crt.tracking import registry
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
owner, name = {POINT}
setattr(owner, name, die)
main.main(sys.argv[1:])
"""
POINTS = {
    "the model is logged": "mlflow, 'register_model'",
    "the version is registered": "mlflow.MlflowClient, 'set_registered_model_alias'",
    "its own alias is set": "registry, '_award'",
    "the aliases are set": "cards, 'update'",
    "the card is written": "StateFile, 'remove'",
}


@pytest.mark.parametrize("point", POINTS.values(), ids=POINTS)
def test_a_killed_registration_is_completed(invoke, point, monkeypatch, caplog):
    """Whatever was done when a training was killed, the next start does the rest: one version, with aliases and a card."""
    code = KILLED.replace("{POINT}", point)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code, *TRAIN], env=environment, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert list(train.STATES.iterdir())
    monkeypatch.setattr("crt.models.loop.Loop.step", lambda *_: pytest.fail("a step was made again"))
    invoke("train", *TRAIN)
    client = mlflow.MlflowClient()
    (version,) = client.search_model_versions("name = 'crt-chnsenticorp'")
    model = client.get_registered_model("crt-chnsenticorp")
    assert model.aliases == {"best": version.version, "tiny-s42": version.version}
    assert version.description.startswith("# crt-chnsenticorp version 1")
    assert ("was registered before run" in caplog.text) == ("register_model" not in point)
    assert not list(train.STATES.iterdir())
    assert sorted(mlflow.search_runs()["status"]) == ["FINISHED", "KILLED"]


def test_a_second_version_of_one_training_is_said(trained, caplog):
    """A training that was done before is done again when it is asked for, and the message names the version of before."""
    caplog.set_level("INFO", "crt")
    trained()
    assert "the same training" not in caplog.text
    assert trained(resume=True)[1] == "crt-chnsenticorp/2"
    assert "the same training gave version 1 before" in caplog.text


def test_what_a_model_was_trained_on_is_known_of_its_version(trained, accelerator):
    """Of the training split it saw the first 30 rows, and an evaluation of the registered version says so; the rules say nothing."""
    _, version = trained(train_subset=30)
    split = load_split(TASKS["chnsenticorp"], "train", Source(SAMPLES))
    taken = {example.input for example in split.limited(30).examples}
    share = sum(example.input in taken for example in split.examples) / len(split.examples)
    grid = Grid(
        models=(f"models:/{version}", "rule"), datasets=("chnsenticorp",), split="train", perturbations=("space",), probs=(0.1,), seeds=(1,)
    )  # fmt: skip
    with open_run("grid", "test", {}) as tracker:
        cells = tracker.cells(benchmark.run(grid, Source(SAMPLES), OPTIONS.predict, accelerator, tracker))
    clean = cells[cells["perturbation"] == CLEAN].set_index("model")
    assert clean["seen_in_training_rate"].tolist() == [1, 1]
    assert clean.loc["tiny", "trained_on_rate"] == pytest.approx(share)
    assert 0.1 < share < 0.9
    assert pd.isna(clean.loc["rule", "trained_on_rate"])
    assert registry.trained_on("crt-chnsenticorp/99") is None
