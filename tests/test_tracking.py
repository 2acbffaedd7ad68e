"""MLflow as it is really used: a real store, a real registry."""

import sqlite3
import threading
from contextlib import closing, nullcontext
from pathlib import Path

import mlflow
import pandas as pd
import pytest
import requests
from conftest import ROOT
from mlflow.exceptions import MlflowException
from packaging.version import Version

from crt.catalogue import TASKS
from crt.errors import CrtError, TrackingError
from crt.models import PredictOptions, load_predictor
from crt.records import Cell, Degree, MeasurementRecord
from crt.tracking import registry
from crt.tracking.history import DEMO, read_stored, stored_examples, stored_outcomes
from crt.tracking.runs import open_run

TASK = TASKS["tnews"]
FULL = OSError(28, "No space left on device")


def record(seed=1, **changes):
    """A cell as a study would log it."""
    fields = {
        "key": f"key{seed}",
        "measurement": Cell("模型/甲", "tnews", "space", 0.15, seed),
        "params": {"split": "validation"},
        "metrics": {"acc_drop": 0.25},
        "examples": [{"original": ["好\n“看”😀"], "perturbed": ["\ud800"]}],
        "outcomes": {
            "id": ["a", "b"],
            "gold": ['x,"y"', "z"],
            "clean": ["z", "z"],
            "perturbed": ["z", "z"],
            "changed": [1, 0],
        },
    }
    return MeasurementRecord(**{**fields, **changes})


def test_a_cell_comes_back_as_it_was_logged(store):
    """Keys, params, metrics and examples survive the store, odd characters among them."""
    with open_run("grid", "test", {"probs": "0.15"}) as tracker:
        tracker.log_measurement(record())
        assert tracker.finished() == {"key1"}
        row = tracker.cells(["key1"]).iloc[0]
        assert (row["model"], row["prob"], row["seed"], row["acc_drop"]) == ("模型/甲", 0.15, 1, 0.25)
        assert stored_examples(tracker.cells(["key1"]))[0] == record().examples
    run = mlflow.get_run(row["run_id"])
    assert run.data.tags["mlflow.parentRunId"] == tracker.run_id
    assert run.data.tags["crt.perturbation"] == "space"
    assert mlflow.get_run(tracker.run_id).data.params == {"cfg.probs": "0.15"}


def test_the_demonstration_has_an_experiment_of_its_own(store, monkeypatch):
    """Its cells are compared where they are asked for alone; a name in the environment counts for every command."""

    def log(kind, seed, *experiment):
        monkeypatch.delenv("MLFLOW_EXPERIMENT_ID", raising=False)  # mlflow leaves it there
        with open_run(kind, "test", {}, *experiment) as tracker:
            tracker.log_measurement(record(seed))
            return tracker.client.get_experiment(tracker.experiment_id).name

    assert [log("main", 1, DEMO), log("grid", 2)] == [DEMO, "Default"]
    monkeypatch.delenv("MLFLOW_EXPERIMENT_ID")
    assert read_stored((), ()).cells["key"].tolist() == ["key2"]
    assert read_stored((DEMO,), ()).cells["key"].tolist() == ["key1"]
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "mine")
    assert log("main", 3, DEMO) == "mine"
    assert f"mlflow run . --experiment-name {DEMO} " in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_a_run_that_only_looks_like_a_cell(store, caplog):
    """A finished run that somebody tagged as a cell, without a key, is told and left out."""
    with open_run("grid", "test", {}) as tracker:
        tracker.log_measurement(record())
        stranger = tracker.client.create_run(tracker.experiment_id, tags={"crt.kind": "cell"}).info.run_id
        tracker.client.set_terminated(stranger, "FINISHED")
        with caplog.at_level("INFO", "crt"):
            assert tracker.finished() == {"key1"}
            assert len(read_stored((), ()).cells) == 1
    assert "1 runs are tagged crt.kind = cell but have no crt.cell_key" in caplog.text


def test_kinds_are_kept_apart(store):
    """A degree has its own kind and params, and is none of the cells that a grid resumes from or a comparison reads."""
    degree = record(key="d", measurement=Degree("m", "tnews", "space", 0.3, 7, 20), metrics={"worst_case": 0.5})
    with open_run("worst_case", "test", {}) as tracker:
        tracker.log_measurement(record())
        tracker.log_measurement(degree)
        assert (tracker.finished(), tracker.finished("degree")) == ({"key1"}, {"d"})
        row = tracker.cells(["d"], "degree").iloc[0]
        assert (row["degree"], row["seed"], row["samples"], row["worst_case"]) == (0.3, 7, 20, 0.5)
        assert stored_outcomes(tracker.cells(["d"], "degree"))[0]["gold"].tolist() == ['x,"y"', "z"]
        with pytest.raises(TrackingError, match="1 of 1 cells are not in the store"):
            tracker.cells(["d"])
    assert mlflow.get_run(row["run_id"]).data.tags["crt.kind"] == "degree"
    assert list(read_stored((), ()).cells["key"]) == ["key1"]


def test_a_cell_that_fails_half_way_does_not_count(store, monkeypatch):
    """If the artifacts cannot be stored the cell ends FAILED and is not among the finished ones."""
    with open_run("grid", "test", {}) as tracker:
        monkeypatch.setattr(tracker.client, "log_artifacts", lambda *_: (_ for _ in ()).throw(FULL))
        with pytest.raises(TrackingError, match=r"files of .* cannot be stored \(.*No space.*\); make room and start"):
            tracker.log_measurement(record())
        assert tracker.finished() == frozenset()
    assert read_stored((), ()).cells.empty


def test_a_cell_that_the_server_broke_off_is_logged_again(store, monkeypatch, caplog):
    """If the server dies in the middle of an answer the cell is stored by a second run, and the first does not count."""
    with open_run("grid", "test", {}) as tracker:
        log_batch, calls = tracker.client.log_batch, []

        def breaks_once(*arguments, **options):
            calls.append(arguments)
            if len(calls) == 1:
                raise MlflowException("API request failed with exception ('Connection broken: IncompleteRead')")
            log_batch(*arguments, **options)

        monkeypatch.setattr(tracker.client, "log_batch", breaks_once)
        tracker.log_measurement(record())
        assert tracker.finished() == {"key1"}
    assert "trying once more" in caplog.text
    runs = mlflow.search_runs(filter_string="tags.`crt.kind` = 'cell'")
    assert sorted(runs["status"]) == ["FAILED", "FINISHED"]


@pytest.mark.parametrize("broken", [TrackingError("what broke"), KeyboardInterrupt()])
def test_what_broke_is_told_also_if_the_store_is_gone(store, monkeypatch, broken):
    """A run that cannot be closed any more does not hide why it failed; one that went well and cannot be closed is an error."""

    def gone(*_):
        raise MlflowException("the server is gone")

    monkeypatch.setattr("mlflow.tracking.client.MlflowClient.set_terminated", gone)
    with pytest.raises(type(broken)) as caught, open_run("grid", "test", {}):
        raise broken
    assert caught.value is broken
    with pytest.raises(TrackingError, match="the server is gone"), open_run("grid", "test", {}):
        pass


@pytest.mark.parametrize("broken", [1, 9])
def test_files_that_a_server_refuses_are_sent_again(store, monkeypatch, tmp_path, broken):
    """A refused upload is no full disk: it is tried twice, and then the answer of the server is shown, without a password."""
    refused = requests.HTTPError("413 Client Error: Request Entity Too Large for url: http://u:secret@h/outcomes.csv")

    def upload(tracker):
        log_artifacts, calls = tracker.client.log_artifacts, []

        def refuse(*arguments):
            calls.append(arguments)
            if len(calls) <= broken:
                raise refused
            log_artifacts(*arguments)

        monkeypatch.setattr(tracker.client, "log_artifacts", refuse)

    for log in (
        lambda tracker: tracker.log_measurement(record()),
        lambda tracker: tracker.log_folder(tmp_path / "files"),
    ):
        (tmp_path / "files").mkdir(exist_ok=True)
        said = pytest.raises(TrackingError, match=r"refused: 413 Client Error.*http://u:\*\*\*@h/outcomes\.csv")
        with said if broken > 2 else nullcontext(), open_run("grid", "test", {}) as tracker:
            upload(tracker)
            log(tracker)
    assert tracker.finished() == (frozenset() if broken > 2 else {"key1"})


def test_a_full_disk_while_reading_is_not_a_lost_file(store, tiny_checkpoint, monkeypatch):
    """Where the copy of a file finds no room, room is asked for, and nobody is told to measure or train again."""
    with open_run("train", "test", {}) as tracker:
        tracker.log_measurement(record())
        registry.register(
            tracker.run_id, tiny_checkpoint, TASK, name="n", alias="a", metric="accuracy", value=1.0, digest="d"
        )
        cells = tracker.cells(["key1"])
    monkeypatch.setattr(mlflow.artifacts, "download_artifacts", lambda *_, **__: (_ for _ in ()).throw(FULL))
    for read in (lambda: stored_examples(cells), lambda: registry.resolve("models:/crt-tnews@a")):
        with pytest.raises(CrtError, match=r"No space left.* make room, or set TMPDIR") as caught:
            read()
        assert "again with force" not in str(caught.value)
        assert "train it again" not in str(caught.value)


def test_artifacts_that_were_moved(store, tmp_path):
    """A cell whose files are no longer where the store says is an error that names the place and the ways out."""
    with open_run("grid", "test", {}) as tracker:
        tracker.log_measurement(record())
        run_id = tracker.cells(["key1"])["run_id"].item()
        folder = Path(mlflow.get_run(run_id).info.artifact_uri.removeprefix("file://"))
        folder.rename(tmp_path / "moved")
        with pytest.raises(TrackingError, match=rf"examples\.jsonl is not in .*{run_id}.*\(ln -s NEW OLD\)"):
            stored_examples(tracker.cells(["key1"]))[0]
        folder.symlink_to(tmp_path / "moved")
        assert stored_examples(tracker.cells(["key1"]))[0] == record().examples


DAMAGES = {
    "altered": lambda content: content.replace(b"b", b"c"),
    "half": lambda content: content[: len(content) // 2],
    "a row less": lambda content: content[: content[:-1].rindex(b"\n") + 1],
    "empty": lambda _: b"",
    "no column": lambda content: content.replace(b",clean", b""),
    "a word for a number": lambda content: content.replace(b",1", b",x"),
}


@pytest.mark.parametrize("name", ["outcomes.csv", "examples.jsonl"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_files_that_are_not_as_they_were_stored(store, name, damage):
    """A file of a cell that was altered, cut off or emptied is an error that names the run and what to do."""
    pairs = [{"id": "b"}, {"id": "b,1,clean"}]
    with open_run("grid", "test", {}) as tracker:
        tracker.log_measurement(record(metrics={"num_examples": 2.0}, examples=pairs))
        cells = tracker.cells(["key1"])
    run_id, artifacts = cells["run_id"].item(), Path(cells["artifacts"].item().removeprefix("file://"))
    content = (artifacts / name).read_bytes()
    read = stored_outcomes if name == "outcomes.csv" else stored_examples
    assert len(read(cells)[0]) == 2
    (artifacts / name).write_bytes(damage(content))
    assert damage(content) != content
    remedy = r"measure 模型/甲 on tnews again with force=true"
    with pytest.raises(TrackingError, match=rf"{name} of run {run_id} is not as it was stored \(SHA-256 .*; {remedy}"):
        read(cells)


UNSUMMED = {
    "half": "its last line is cut off",
    "a row less": "1 rows for 2 examples",
    "empty": "No columns to parse",
    "no column": "no column 'clean'",
    "a word for a number": "Unable to parse string",
}


@pytest.mark.parametrize(("damage", "said"), UNSUMMED.items(), ids=UNSUMMED)
def test_damaged_files_without_a_checksum(store, damage, said):
    """Cells of older versions have no checksum: whole files are read, and what cannot be whole is an error all the same."""
    with open_run("grid", "test", {}) as tracker:
        tracker.log_measurement(record(metrics={"num_examples": 2.0}))
        cells = tracker.cells(["key1"]).drop(columns=["outcomes_sha256", "examples_sha256"])
    file = Path(cells["artifacts"].item().removeprefix("file://")) / "outcomes.csv"
    assert len(stored_outcomes(cells)[0]) == 2
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    with pytest.raises(TrackingError, match=rf"outcomes\.csv of run .* is not as it was stored \({said}"):
        stored_outcomes(cells)


def test_more_cells_than_a_page(store, monkeypatch):
    """Reading goes on page by page: nothing is cut off without a word."""
    monkeypatch.setattr("crt.tracking.history.PAGE", 2)
    with open_run("grid", "test", {}) as tracker:
        for seed in range(5):
            tracker.log_measurement(record(seed))
        assert len(tracker.finished()) == 5
    assert len(read_stored((), ()).cells) == 5


@pytest.mark.parametrize("name", ["模型/甲", "it's", 'a "b"', """'"'"""])
def test_the_store_is_asked_for_what_is_wanted_alone(store, monkeypatch, name):
    """A model that has thousands of cells beside others has only its own read, whatever quotes are in its name."""
    with open_run("grid", "test", {}) as tracker:
        tracker.log_measurement(
            record(1, measurement=Cell(name, "tnews", "space", 0.15, 1), params={"model_source": name})
        )
        tracker.log_measurement(
            record(2, measurement=Cell(name, "ocnli", "space", 0.15, 1), params={"model_source": name})
        )
        tracker.log_measurement(record(3, measurement=Cell("other", "tnews", "space", 0.15, 1)))
        read = []
        search_runs = tracker.client.search_runs
        monkeypatch.setattr(
            tracker.client, "search_runs", lambda *a, **o: read.append(found := search_runs(*a, **o)) or found
        )
        assert tracker.finished(model=name, dataset="tnews") == {"key1"}
        assert list(tracker.cells(["key1"])["key"]) == ["key1"]
        assert list(tracker.cells_of(name, "tnews")["key"]) == ["key1"]
        if not {"'", '"'} <= set(name):  # no filter of MLflow can hold both quotes
            assert [len(page) for page in read] == [1, 1, 1]


def test_a_modified_table_is_tagged(store):
    """A cell whose table is not the shipped one can be told in the UI."""
    with open_run("grid", "test", {}) as tracker:
        tracker.log_measurement(record(modified=True))
        run_id = tracker.cells(["key1"])["run_id"].item()
    assert mlflow.get_run(run_id).data.tags["crt.table"] == "modified"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_run_that_is_broken_off_is_failed(store, error):
    """A run that ends by an exception, a kill included, is FAILED; only a whole one is FINISHED."""
    with pytest.raises(error), open_run("grid", "test", {}) as broken:
        raise error
    with open_run("grid", "test", {}) as whole:
        pass
    assert [mlflow.get_run(tracker.run_id).info.status for tracker in (broken, whole)] == ["FAILED", "FINISHED"]


def test_the_project_run_is_taken_over(store, monkeypatch):
    """Under `mlflow run` no second run is made."""
    run = mlflow.MlflowClient().create_run("0")
    monkeypatch.setenv("MLFLOW_RUN_ID", run.info.run_id)
    with open_run("grid", "named", {}) as tracker:
        assert tracker.run_id == run.info.run_id
    assert mlflow.get_run(run.info.run_id).data.tags["mlflow.runName"] == "named"
    assert len(mlflow.search_runs()) == 1


FOLDER = pytest.param(
    "file:./mlruns",
    marks=pytest.mark.skipif(Version(mlflow.__version__) < Version("3.13"), reason="MLflow takes a folder as a store"),
)


@pytest.mark.parametrize("uri", [FOLDER, "http://127.0.0.1:9", "nonsense://x", "sqlite:////proc/nowhere/mlflow.db"])
def test_a_store_that_cannot_work(store, monkeypatch, uri):
    """A tracking URI that cannot work is an error that says what to use."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    mlflow.set_tracking_uri(uri)
    with pytest.raises(TrackingError, match=r"use sqlite:///mlflow\.db \(the default\)"), open_run("grid", "t", {}):
        pass
    mlflow.set_tracking_uri(store)


def test_unknown_experiment(store):
    """An experiment that does not exist is an error, not an empty table."""
    with pytest.raises(TrackingError, match="there is no experiment 'x'; the store has Default"):
        read_stored(["x"], ())


def test_registry(store, tiny_checkpoint, accelerator, monkeypatch):
    """A registered checkpoint predicts as the folder it came from; `best` moves only to a better one on the same data."""

    def registered(value, digest):
        with open_run("train", "test", {}) as tracker:
            told = {"name": "n", "alias": "tiny-s1", "metric": "accuracy"}
            return registry.register(tracker.run_id, tiny_checkpoint, TASK, value=value, digest=digest, **told)

    said = []
    for value, digest in ((0.5, "a"), (0.4, "a"), (0.6, "a"), (0.9, "b"), (0.55, "a")):
        if value == 0.55:  # another process registered version 3 after this one had looked for the best
            monkeypatch.setattr(
                registry, "best_version", lambda name: mlflow.MlflowClient().get_model_version(name, "1")
            )
        reference, message = registered(value, digest)
        said.append(message)
        assert registry.resolve("models:/crt-tnews@tiny-s1").source == f"models:/{reference}"
    assert [registry.resolve(f"models:/crt-tnews{v}").source for v in ("@best", "/1")] == [
        "models:/crt-tnews/3",
        "models:/crt-tnews/1",
    ]
    assert "is version 1 (accuracy 0.5000), the first" in said[0]
    assert "stays version 1 (accuracy 0.5000); this is version 2 (accuracy 0.4000)" in said[1]
    assert "moves from version 1 (accuracy 0.5000) to version 3 (accuracy 0.6000)" in said[2]
    assert "cannot be compared" in said[3]
    assert said[4] == (
        "crt-tnews@best moves from version 1 (accuracy 0.5000) to version 3 (accuracy 0.6000); "
        "this is version 5 (accuracy 0.5500)"
    )
    assert mlflow.MlflowClient().get_model_version("crt-tnews", "1").tags["value"] == "0.5"
    folder = registry.resolve("models:/crt-tnews@best").spec
    options = PredictOptions(max_length=64)
    ours, stored = (load_predictor(spec, TASK, accelerator, options) for spec in (str(tiny_checkpoint), folder))
    assert stored.fingerprint == ours.fingerprint
    assert (stored.name, stored.train_seed) == ("tiny", 42)
    served = mlflow.pyfunc.load_model("models:/crt-tnews@best").predict(pd.DataFrame({"text": ["高考作文" * 100]}))
    assert served["label"][0] in TASK.labels
    with pytest.raises(TrackingError, match="crt-tnews has the versions 1, 2, 3, 4, 5"):
        registry.resolve("models:/crt-tnews/7")
    with pytest.raises(TrackingError, match="The registry has crt-tnews"):
        registry.resolve("models:/crt-news@best")
    Path(folder).rename(folder + "-moved")
    with pytest.raises(
        TrackingError,
        match=r"files of model models:/crt-tnews@best \(models:/crt-tnews/3\) cannot be read from .*ln -s NEW OLD",
    ):
        registry.resolve("models:/crt-tnews@best")
    Path(folder).symlink_to(folder + "-moved")
    assert registry.resolve("models:/crt-tnews@best").source == "models:/crt-tnews/3"
    monkeypatch.setattr(registry, "_TOGETHER", 0)  # version 3 was registered long ago, and the alias moved back by hand
    assert registered(0.55, "a")[1].endswith("moves from version 1 (accuracy 0.5000) to version 6 (accuracy 0.5500)")


def test_an_empty_spec_is_the_best_model_or_the_rules(store, tiny_checkpoint):
    """Without a registered model the rules are evaluated, and the name of the run says so."""
    with open_run("grid", "best model on tnews", {}) as tracker:
        assert tracker.resolve("", TASK).spec == "rule"
        assert mlflow.get_run(tracker.run_id).data.tags["mlflow.runName"] == "rule on tnews (no model registered)"
        registry.register(
            tracker.run_id, tiny_checkpoint, TASK, name="n", alias="a", metric="accuracy", value=1.0, digest="d"
        )
        assert tracker.resolve("", TASK).source == "models:/crt-tnews/1"


def test_threads_share_a_store(store):
    """Several workers that log into one store lose nothing."""
    with open_run("grid", "test", {}) as tracker:
        workers = [threading.Thread(target=tracker.log_measurement, args=(record(seed),)) for seed in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(tracker.finished()) == 4


def test_what_a_store_refuses_is_said_in_a_line(store, capfd):
    """An error of the database ends as ours, without its statement and values, and without a traceback before it."""
    with closing(sqlite3.connect(store.removeprefix("sqlite:///"))) as database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON latest_metrics BEGIN SELECT RAISE(FAIL, 'disk is full'); END"
        )
    with pytest.raises(TrackingError) as caught, open_run("grid", "test", {}) as tracker:
        tracker.log_metrics({"x": 1.0})
    assert "disk is full" in str(caught.value)
    assert "INSERT" not in str(caught.value)
    assert "Traceback" not in capfd.readouterr().err


def test_the_recipe_of_a_version(store):
    """It tells how a version was trained, whatever its seed; where that is not stored it is empty."""
    client = mlflow.MlflowClient()
    client.create_registered_model("m")
    for rate, seed in ((1e-5, 1), (1e-5, 2), (2e-5, 2)):
        with mlflow.start_run() as run:
            mlflow.log_params({"cfg.learning_rate": rate, "cfg.seed": seed})
        client.create_model_version("m", f"runs:/{run.info.run_id}/m", tags={"run_id": run.info.run_id})
    client.create_model_version("m", f"runs:/{run.info.run_id}/m")
    found = [registry.recipe(f"m/{number}") for number in (1, 2, 3, 4)]
    assert found[0] == found[1] != found[2] != ""
    assert found[3] == ""
