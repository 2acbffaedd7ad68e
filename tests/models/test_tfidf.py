"""The floor that is fitted to the training examples: how good it is, how it is registered, and what it refuses."""

import os

import mlflow
import pytest
from conftest import SAMPLES

from crt.catalogue import TASKS
from crt.errors import ModelError
from crt.models import PredictOptions, load_predictor, predict_all
from crt.models.recipe import TrainOptions
from crt.studies import train
from crt.tasks import Source, find_task, load_split
from crt.tracking import registry
from crt.tracking.runs import open_run

OPTIONS = PredictOptions()
TASK = TASKS["chnsenticorp"]


@pytest.mark.parametrize("name", ["chnsenticorp", "tnews", "ocnli"])
def test_it_learns(name, accelerator):
    """It is right on nearly all of the examples that it was fitted to, single texts and pairs."""
    task = TASKS[name]
    found = load_predictor("tfidf", task, accelerator, OPTIONS, Source(SAMPLES))
    examples = load_split(task, "train", Source(SAMPLES)).examples
    predicted = predict_all(found, [example.input for example in examples]).probabilities.argmax(axis=1)
    assert (predicted == [example.label for example in examples]).mean() > 0.9
    assert found.name == "tfidf"


def test_it_is_registered_apart(store, accelerator):
    """`train model=tfidf` registers it under a name of its own; loaded again it is the very same predictor."""
    before = mlflow.MlflowClient().create_registered_model(TASK.registered_name)
    with open_run("train", "test", {}) as tracker:
        version = train.run(TASK, Source(SAMPLES), TrainOptions(model="tfidf"), accelerator, tracker)
        metrics = mlflow.get_run(tracker.run_id).data.metrics
    assert version == "crt-chnsenticorp-tfidf/1"
    assert 0.5 < metrics["best_accuracy"] <= 1
    assert not mlflow.MlflowClient().get_registered_model(before.name).aliases
    spec = registry.resolve("models:/crt-chnsenticorp-tfidf@best")
    stored = load_predictor(spec.spec, TASK, accelerator, OPTIONS)
    fitted = load_predictor("tfidf", TASK, accelerator, OPTIONS, Source(SAMPLES))
    assert (stored.name, stored.fingerprint, stored.labels) == (fitted.name, fitted.fingerprint, fitted.labels)


def test_what_it_refuses(tmp_path, accelerator):
    """Data without training examples, and settings for encoders, are refused with what to do."""
    (tmp_path / "mine.csv").write_text("text,label\n好,good\n差,bad\n")
    with pytest.raises(ModelError, match=r"give a folder that holds train\.csv and test\.csv"):
        load_predictor("tfidf", find_task(str(tmp_path / "mine.csv")), accelerator, OPTIONS)
    with pytest.raises(ModelError, match="leave it out for tfidf"):
        train._fit(TASK, None, None, TrainOptions(augment=("space",)), object())


@pytest.mark.slow
@pytest.mark.skipif("CRT_TEST_DATA" not in os.environ, reason="needs the published data: CRT_TEST_DATA=FOLDER")
def test_it_reaches_what_is_known(accelerator):
    """On all reviews of ChnSentiCorp about nine of ten test texts are right, as such models are known to reach."""
    from pathlib import Path

    source = Source(Path(os.environ["CRT_TEST_DATA"]))
    found = load_predictor("tfidf", TASK, accelerator, OPTIONS, source)
    examples = load_split(TASK, "test", source).examples
    predicted = predict_all(found, [example.input for example in examples]).probabilities.argmax(axis=1)
    assert (predicted == [example.label for example in examples]).mean() == pytest.approx(0.92, abs=0.02)
