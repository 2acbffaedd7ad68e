"""A candidate against a baseline, and versions of one model, by the commands."""

import mlflow
import pandas as pd
import pytest
from conftest import SAMPLES

from crt.errors import ModelError, TrackingError
from crt.grid import Grid
from crt.models import PredictOptions
from crt.studies import benchmark, versus
from crt.tasks import Source
from crt.tracking.history import read_stored
from crt.tracking.runs import open_run

GRID = ("--dataset", "chnsenticorp", "--data_dir", SAMPLES, "--perturbations", "homophone,space", "--prob", 0.3)


def register(labels):
    """Register a function that gives labels by a rule as a version of the model `reviews`; return its number."""

    class Rule(mlflow.pyfunc.PythonModel):
        def predict(self, context, model_input, params=None):
            return labels(model_input.iloc[:, 0])

    with mlflow.start_run():
        found = mlflow.pyfunc.log_model(
            python_model=Rule(), name="m", registered_model_name="reviews", pip_requirements=[]
        )
    return found.registered_model_version


@pytest.fixture
def versions(store):
    """Two versions: one says that all is well, the other looks for bad words."""
    register(lambda texts: ["positive" for _ in texts])
    register(lambda texts: ["negative" if any(w in text for w in "差坏烂失脏吵") else "positive" for text in texts])


def test_two_versions_in_one_table(versions, invoke, tmp_path):
    """Two versions are measured by one command, and stand side by side in its table and in that of compare."""
    evaluated = invoke("evaluate", *GRID, "--model", "models:/reviews/1,models:/reviews/2", "--no_figures")
    assert evaluated.exit_code == 0
    names = {"reviews@v1", "reviews@v2"}
    assert set(pd.read_csv(tmp_path / "outputs" / "robustness_results_multi.csv")["model"]) == names
    said = invoke("compare", "--no_figures").output
    assert all(f"| {name}" in said for name in names)
    assert "14 of 14 cells of experiment Default" in said


def test_candidate_against_baseline(versions, invoke, tmp_path):
    """The paired difference of each perturbation, with how many texts are fixed and broken, and which they are."""
    invoke("evaluate", *GRID, "--model", "models:/reviews/1,models:/reviews/2", "--no_figures")
    mlflow.MlflowClient().set_registered_model_alias("reviews", "new", "2")
    said = invoke(
        "compare", "--baseline", "models:/reviews/1", "--candidate", "models:/reviews@new", "--no_figures"
    ).output
    assert "Accuracy of models:/reviews@new (candidate) and models:/reviews/1 (baseline)" in said.replace("\\", "")
    table = pd.read_csv(tmp_path / "outputs" / "table_versus_chnsenticorp.csv", dtype=str)
    assert table["perturbation"].tolist() == ["clean", "homophone", "space"]
    texts = pd.read_csv(tmp_path / "outputs" / versus.TEXTS)
    assert set(texts["what"]) <= {"fixed", "broken"}
    assert (texts.loc[texts["what"] == "fixed", "candidate"] == texts.loc[texts["what"] == "fixed", "gold"]).all()
    for row in table.itertuples():
        of = texts[texts["perturbation"] == row.perturbation]
        seeds = 1 if row.perturbation == "clean" else 3
        assert float(row.fixed) == pytest.approx((of["what"] == "fixed").sum() / seeds, abs=0.05)
        share = (float(row.fixed) - float(row.broken)) / 32
        assert float(row.difference) == pytest.approx(100 * share, abs=0.3)
        low, high = map(float, row[7].strip("[]*").split(", "))
        assert low <= float(row.difference) <= high


def test_one_model_by_another_name(invoke, tmp_path):
    """model_name is what the tables call a model; for several models it is refused."""
    invoke("evaluate", *GRID, "--model", "rule", "--no_figures")
    invoke("evaluate", *GRID, "--model", "rule", "--model_name", "words", "--no_figures")
    assert set(read_stored((), ()).cells["model"]) == {"rule", "words"}


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("rule", "none"), "no finished cell has the model 'none'"),
        (("rule", "many"), r"'many' stands for several models \(many@v1, many@v2\)"),
    ],
)
def test_what_cannot_be_held_against_each_other(pair, message):
    """A model that is not stored, and a name that several versions have, are refused with what to do."""
    base = {"dataset": "d", "perturbation": "space", "prob": 0.3, "seed": 1, "split": "test", "train_seed": None}
    many = [
        {"key": str(n), "model": "many", "predictor": f"p{n}", "model_source": f"models:/many/{n}", **base}
        for n in (1, 2)
    ]
    cells = pd.DataFrame([{"key": "0", "model": "rule", "predictor": "p", "model_source": "rule", **base}, *many])
    with pytest.raises(TrackingError, match=message):
        versus.chosen(cells, *pair)


def test_models_that_no_version_tells_apart(store, accelerator, tmp_path, monkeypatch):
    """Two functions under one name are refused; the way out is another name."""
    grid = Grid(
        ("python:answering:by_word", "python:answering:as_label"),
        ("chnsenticorp",),
        ("space",),
        probs=(0.3,),
        seeds=(1,),
    )
    from crt.models import Named, load_predictor

    def load(*arguments):
        return Named(load_predictor(*arguments), "one name")

    with (
        open_run("grid", "test", {}) as tracker,
        pytest.raises(ModelError, match="evaluate them one by one, each with a model_name"),
    ):
        benchmark.run(grid, Source(SAMPLES), PredictOptions(), accelerator, tracker, load=load)
