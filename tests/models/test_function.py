"""Functions as models, and models of MLflow of any flavour: what they may answer, and what is no answer."""

import mlflow
import numpy as np
import pandas as pd
import pytest
from conftest import SAMPLES
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from crt.catalogue import TASKS
from crt.errors import CrtError, ModelError, TrackingError
from crt.models import PredictOptions, load_predictor
from crt.models.function import around
from crt.tasks import Source, find_task
from crt.tracking import registry

TASK, OPTIONS = TASKS["chnsenticorp"], PredictOptions()
INPUTS = [("好",), ("差",), ("很好",)]
GOOD = [False, True, False]


def asked(function, options=OPTIONS, inputs=INPUTS, task=TASK):
    """Return the probabilities of a function."""
    return around(function, task, options, Source(SAMPLES), name="mine").predict(inputs).probabilities


@pytest.mark.parametrize(
    "answer",
    [
        lambda texts: ["negative" if t == "差" else "positive" for t in texts],
        lambda texts: np.array([0 if t == "差" else 1 for t in texts]),
        lambda texts: pd.Series(["Negative" if t == "差" else "positive" for t in texts]),
        lambda texts: pd.DataFrame({"prediction": ["0" if t == "差" else "1" for t in texts]}),
        lambda texts: [{"label": "negative" if t == "差" else "positive", "score": 0.9} for t in texts],
        lambda texts: [{"positive": float(t != "差"), "negative": float(t == "差")} for t in texts],
        lambda texts: [[{"label": "negative", "score": float(t == "差")}, {"label": "1", "score": float(t != "差")}] for t in texts],
        lambda texts: np.array([[1, 0] if t == "差" else [0, 1] for t in texts], dtype=np.float32),
        lambda texts: (row for row in [[0, 1], [1, 0], [0, 1]]),
    ],
)  # fmt: skip
def test_forms_of_an_answer(answer):
    """Labels by name or by the numbers of the data set, probabilities in rows or by name: all are one answer."""
    assert (asked(answer)[:, 0] == [0, 1, 0]).all()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda texts: ["positive"], "gives 1 answers for a list of 3 texts; it must give one answer for each"),
        (lambda texts: "positive", "gives a str for a list of 3 texts"),
        (lambda texts: [0.7] * 3, "answers '0.7', which is no label.*give a row of probabilities"),
        (lambda texts: ["neutral"] * 3, "answers 'neutral', which is no label. The labels are negative, positive"),
        (lambda texts: [[0.1, 0.2, 0.7]] * 3, "gives 3 probabilities for a text, and there are 2 labels"),
        (lambda texts: [[2.0, -1.0]] * 3, "gives 2, -1, which are no probabilities: they must sum to 1"),
        (lambda texts: texts[7], r"fails on 3 texts, the first of them '好': IndexError.*test_function\.py, line"),
    ],
)
def test_what_is_no_answer(answer, message):
    """Another number of answers is never spread over the texts; a label or row that fits nothing is shown."""
    with pytest.raises(ModelError, match=message):
        asked(answer)


def test_none_is_no_answer():
    """None and NaN are rows without an answer, which `predict_all` refuses."""
    found = asked(lambda texts: ["positive", None, [float("nan"), 1]])
    assert np.isnan(found).any(axis=1).tolist() == [False, True, True]


def test_labels_are_mapped():
    """label_map says what a function's labels are called by the task."""
    assert asked(lambda texts: ["good"] * 3, PredictOptions(label_map={"good": "positive"}))[:, 1].sum() == 3


def test_pairs_are_tuples(accelerator):
    """A function of a task with pairs gets tuples of two texts."""
    found = load_predictor("python:answering:overlap", TASKS["ocnli"], accelerator, OPTIONS)
    assert found.predict([("他在吃饭", "吃饭"), ("他在吃饭", "睡觉")]).probabilities.argmax(axis=1).tolist() == [1, 0]


def test_texts_come_in_batches():
    """A function gets at most eval_batch_size texts at a time."""
    sizes = []
    asked(lambda texts: sizes.append(len(texts)) or ["positive"] * len(texts), PredictOptions(eval_batch_size=2))
    assert sizes == [2, 1]


def test_labels_of_a_single_file(tmp_path):
    """Where the data have no training file, their labels are those that stand in them."""
    (tmp_path / "mine.csv").write_text("text,label\n好,good\n差,bad\n")
    found = around(
        lambda texts: ["good"] * len(texts), find_task(str(tmp_path / "mine.csv")), OPTIONS, Source(), name="m"
    )
    assert found.labels == ("bad", "good")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("python:answering", "'answering' names no Python object; write it as PACKAGE.MODULE:NAME"),
        ("python:no_such_module:f", r"module no_such_module cannot be imported \(ModuleNotFoundError"),
        ("python:answering:as_lable", "there is no 'as_lable' in answering; did you mean 'as_label'"),
        ("python:conftest:SAMPLES", "is no function but PosixPath"),
    ],
)
def test_functions_that_cannot_be_found(spec, message, accelerator):
    """What is wrong with a spec is said, with the nearest name."""
    with pytest.raises(CrtError, match=message):
        load_predictor(spec, TASK, accelerator, OPTIONS)


def test_the_fingerprint_follows_the_source(tmp_path, monkeypatch, accelerator):
    """A changed file gives another fingerprint; the same one the same."""
    monkeypatch.chdir(tmp_path)
    found = []
    for label in ("positive", "positive", "negative"):
        (tmp_path / "mine_model.py").write_text(f"def f(texts):\n    return ['{label}'] * len(texts)\n")
        monkeypatch.delitem(__import__("sys").modules, "mine_model", raising=False)
        found.append(load_predictor("python:mine_model:f", TASK, accelerator, OPTIONS).fingerprint)
    assert found[0] == found[1] != found[2]


@pytest.fixture
def log(store):
    """Log and register a model; returns its version."""

    def logged(model, **options):
        with mlflow.start_run():
            if isinstance(model, mlflow.pyfunc.PythonModel):
                mlflow.pyfunc.log_model(
                    python_model=model, name="m", registered_model_name="m", pip_requirements=[], **options
                )
            else:
                mlflow.sklearn.log_model(model, name="m", registered_model_name="m", **options)
        return "models:/m/1"

    return logged


TEXTS = ["房间很好", "太差了"] * 3


def test_a_pipeline_over_texts(log, accelerator):
    """`predict` of a table of four texts gives one answer here; crt gives the list, and takes the classes of the pipeline."""
    pipeline = make_pipeline(TfidfVectorizer(analyzer="char"), LogisticRegression()).fit(TEXTS, [1, 0] * 3)
    spec = log(pipeline)
    table = pd.DataFrame({"text": ["好", "差", "好", "差"]})
    assert len(mlflow.pyfunc.load_model(spec).predict(table)) == 1
    resolved = registry.resolve("models:/m/1")
    assert resolved.spec == resolved.source == spec
    found = load_predictor(spec, TASK, accelerator, OPTIONS)
    assert found.name == "m"
    assert found.predict(INPUTS).probabilities == pytest.approx(pipeline.predict_proba(["好", "差", "很好"]), abs=1e-6)
    assert found.fingerprint == load_predictor(spec, TASK, accelerator, OPTIONS).fingerprint


class Rows(mlflow.pyfunc.PythonModel):
    """Gives probabilities without names, of a table whose text column is called `comment`."""

    def predict(self, context, model_input, params=None):
        """Return a row of two numbers for each text."""
        return np.array([[0.1, 0.9] if "好" in text else [0.8, 0.2] for text in model_input["comment"]])


def test_a_table_with_a_signature(log, accelerator):
    """The text column is that of the signature; numbers are the labels of the data set, or named by label_map."""
    signature = mlflow.models.infer_signature(pd.DataFrame({"comment": ["好"]}), np.array([[0.5, 0.5]]))
    spec = log(Rows(), signature=signature)
    assert (load_predictor(spec, TASK, accelerator, OPTIONS).predict(INPUTS).probabilities.argmax(1) == [1, 0, 1]).all()
    turned = PredictOptions(label_map={"0": "positive", "1": "negative"})
    assert (load_predictor(spec, TASK, accelerator, turned).predict(INPUTS).probabilities.argmax(1) == [0, 1, 0]).all()
    with pytest.raises(ModelError, match=r"the signature of the model has the text columns comment, and ocnli has 2"):
        load_predictor(spec, TASKS["ocnli"], accelerator, OPTIONS)


class Sum(mlflow.pyfunc.PythonModel):
    """Gives one answer, whatever it gets."""

    def predict(self, context, model_input, params=None):
        """Return one label."""
        return ["positive"]


def test_one_answer_for_all(log, accelerator):
    """A model that gives one answer for all texts is refused, with what it gave."""
    with pytest.raises(
        ModelError, match=r"answers neither a list nor a table(.|\n)*gives 1 answers for a list of 3 texts"
    ):
        load_predictor(log(Sum()), TASK, accelerator, OPTIONS)


def test_models_that_are_not_there(store):
    """A run that is not there is told as the registry tells a version."""
    with pytest.raises(TrackingError, match="the files of model runs:/0123/m cannot be read"):
        registry.resolve("runs:/0123/m")
