"""What every kind of model has in common: each entry of MODELS is loaded by a spec and asked."""

import os
import shutil
from dataclasses import replace

import mlflow
import numpy as np
import pytest
from answering import ByWord
from conftest import SAMPLES, train_tiny
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from crt.catalogue import TASKS
from crt.errors import ModelError
from crt.models import MODELS, PredictOptions, kind_of, load_predictor, needs_hub
from crt.tasks import Source

TASK = TASKS["chnsenticorp"]
INPUTS = [("房间很干净",), ("书太差了，很失望",), ("好",), ("",), ("屏幕有坏点\ud800",)]
SPECS = {
    "rule": "rule",
    "tiny": None,
    "tfidf": "tfidf",
    "python": "python:answering:by_word",
    "registered": "models:/reviews/1",
    "logged": "{logged}",
    "embedding": "embedding:{checkpoint}",
    "zeroshot": "zeroshot:{language_model}",
    "checkpoint": "{checkpoint}",
}
"""A spec of each kind; None: it cannot be asked, only trained."""


@pytest.fixture(scope="module")
def places(tmp_path_factory, accelerator, language_model, migrated):
    """What the specs name."""
    folder = tmp_path_factory.mktemp("contract")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{shutil.copy(migrated, folder / 'mlflow.db')}")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("models", str(folder / "artifacts")))
    texts, labels = ["房间很干净", "很好", "太差了", "很失望"], ["positive", "positive", "negative", "negative"]
    pipeline = make_pipeline(TfidfVectorizer(analyzer="char"), LogisticRegression()).fit(texts, labels)
    with mlflow.start_run() as run:
        mlflow.sklearn.log_model(pipeline, name="reviews", registered_model_name="reviews")
        mlflow.pyfunc.log_model(python_model=ByWord(), name="by_word", pip_requirements=[])
    yield {
        "checkpoint": train_tiny("chnsenticorp", folder / "tiny-reviews", accelerator),
        "language_model": language_model,
        "logged": f"runs:/{run.info.run_id}/by_word",
    }
    mlflow.set_tracking_uri(before)
    os.environ.pop("MLFLOW_EXPERIMENT_ID", None)


@pytest.fixture
def predictor(request, places, accelerator):
    """A model of a kind."""
    spec = SPECS[request.param].format(**places)
    return load_predictor(spec, TASK, accelerator, PredictOptions(max_length=64), Source(SAMPLES))


def test_every_kind_has_a_spec():
    """Each kind of model is tried here."""
    assert set(SPECS) == set(MODELS), "add a spec of the new kind to SPECS in tests/models/test_contract.py"


@pytest.mark.parametrize("predictor", [name for name, spec in SPECS.items() if spec], indirect=True)
def test_contract(predictor):
    """A row of probabilities for each input in the order of the inputs, whatever stands beside it; names and digits."""
    found = predictor.predict(INPUTS)
    assert predictor.labels == TASK.labels
    assert found.probabilities.shape == (len(INPUTS), len(TASK.labels))
    assert found.probabilities.dtype == np.float32
    assert found.probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)
    turned = predictor.predict(INPUTS[::-1])
    for name in ("probabilities", "tokens", "unknown", "truncated"):
        values = getattr(found, name)
        assert len(values) == len(INPUTS)
        assert (values == getattr(turned, name)[::-1]).all(), name
        assert (values[1:2] == getattr(predictor.predict(INPUTS[1:2]), name)).all(), name
    assert (found.unknown <= found.tokens).all()
    assert predictor.predict([]).probabilities.shape == (0, len(TASK.labels))
    assert predictor.name
    assert len(predictor.fingerprint) == 16
    assert int(predictor.fingerprint, 16) >= 0
    assert all(isinstance(value, str) for value in predictor.settings.values())
    assert predictor.train_seed is None or isinstance(predictor.train_seed, int)


@pytest.mark.parametrize("kind", [name for name, spec in SPECS.items() if spec])
def test_labels_in_another_order(kind, places, accelerator):
    """The columns follow the labels of the task: with the labels turned round, so are the probabilities."""
    spec, options = SPECS[kind].format(**places), PredictOptions(max_length=64)
    plain, turned = (
        load_predictor(spec, replace(TASK, labels=labels), accelerator, options, Source(SAMPLES))
        for labels in (TASK.labels, TASK.labels[::-1])
    )
    assert turned.labels == TASK.labels[::-1]
    one, other = (predictor.predict(INPUTS[:3]).probabilities for predictor in (plain, turned))
    assert one == pytest.approx(other[:, ::-1], abs=1e-5)


def test_kinds_that_cannot_be_asked(accelerator):
    """Random weights are refused with the way out."""
    with pytest.raises(ModelError, match="train it first"):
        load_predictor("tiny", TASK, accelerator, PredictOptions())


@pytest.mark.parametrize(
    ("spec", "name", "rest", "hub"),
    [
        ("rule", "rule", "", False),
        ("tiny", "tiny", "", False),
        ("embedding:org/encoder", "embedding", "org/encoder", True),
        ("zeroshot:org/model", "zeroshot", "org/model", True),
        ("zeroshot:http://localhost:8000/v1#NAME", "zeroshot", "http://localhost:8000/v1#NAME", False),
        ("hfl/chinese-macbert-base", "checkpoint", "hfl/chinese-macbert-base", True),
        ("rule-based", "checkpoint", "rule-based", True),
        ("models:/crt-tnews@best", "registered", "crt-tnews@best", False),
        ("runs:/0123/model", "logged", "0123/model", False),
        ("python:package.module:function", "python", "package.module:function", False),
        ("tfidf", "tfidf", "", False),
        ("tests", "checkpoint", "tests", False),
        ("", "checkpoint", "", False),
    ],
)
def test_kind_of_a_spec(spec, name, rest, hub, monkeypatch):
    """The start of a spec tells its kind; what is a folder, an address or a model of the registry is on no hub."""
    monkeypatch.chdir(SAMPLES.parent.parent)
    assert (kind_of(spec)[0].name, kind_of(spec)[1]) == (name, rest)
    assert needs_hub(spec) == hub
