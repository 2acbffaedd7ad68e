"""The main experiment on a real store, with real models."""

import json
import shutil

import mlflow
import numpy as np
import pandas as pd
import pytest
from conftest import SAMPLES, train_tiny

from crt.catalogue import TASKS
from crt.errors import DataError, GridError, ModelError, TrackingError
from crt.grid import Grid, Shard
from crt.models import PredictOptions
from crt.models.transformer import TransformerClassifier
from crt.records import CLEAN, Prediction
from crt.reporting.table import EDITED, detail_table
from crt.studies import benchmark, compare, results
from crt.studies.answers import Answers
from crt.tasks import Source
from crt.tracking.history import read_stored, stored_examples
from crt.tracking.runs import MlflowTracker, open_run

OPTIONS = PredictOptions(max_length=64)
SMALL = {"perturbations": ("homophone", "space"), "probs": (0.05, 0.3), "seeds": (13, 42)}


@pytest.fixture
def measure(store, accelerator):
    """Measure a grid on the sample rows; returns the keys and the cells as they are stored."""

    def run(models=("rule",), datasets=("tnews",), *, force=False, **changes):
        grid = Grid(models=models, datasets=datasets, **{**SMALL, **changes})
        with open_run("grid", "test", {}) as tracker:
            keys = benchmark.run(grid, Source(SAMPLES), OPTIONS, accelerator, tracker, force=force)
            return keys, tracker.cells(keys)

    return run


def count_cells():
    """Return the number of cell runs in the store."""
    return len(mlflow.search_runs(filter_string="tags.`crt.kind` = 'cell'"))


def test_every_cell_is_a_run(measure):
    """Each (perturbation, prob, seed) and the clean cell is a FINISHED run with keys, metrics, examples and outcomes."""
    keys, cells = measure()
    assert len(keys) == len(cells) == 1 + 2 * 2 * 2
    assert set(keys.values()) == {("rule",)}
    run = mlflow.get_run(cells.iloc[-1]["run_id"])
    assert run.info.status == "FINISHED"
    assert {"model", "dataset", "perturbation", "prob", "seed", "split", "data_digest"} <= set(run.data.params)
    assert run.data.params["prob"] in {"0.05", "0.3"}
    outcomes = pd.read_csv(mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="outcomes.csv"))
    assert len(outcomes) == run.data.metrics["num_examples"] == 45
    assert (outcomes["gold"] == outcomes["perturbed"]).mean() == pytest.approx(run.data.metrics["perturbed_acc"])


def test_examples_show_flips_first(measure):
    """Example pairs are changed inputs, those that turned wrong first; the edits lead from one text to the other."""
    _, cells = measure(probs=(0.3,), seeds=(13,))
    examples = stored_examples(cells[cells["perturbation"] == "space"])[0]
    flips = [example["flipped"] for example in examples]
    assert flips == sorted(flips, reverse=True)
    assert 0 < len(examples) <= 20
    for example in examples:
        assert example["original"] != example["perturbed"]
        text = example["original"][0]
        for _, start, end, old, new in reversed(example["edits"]):
            assert text[start:end] == old
            text = text[:start] + new + text[end:]
        assert [text] == example["perturbed"]


def test_a_rerun_measures_nothing_again(measure):
    """Cells that are stored are skipped; force measures them again and the last one counts."""
    _, first = measure()
    assert count_cells() == len(first)
    _, second = measure(fields="first")  # a single text has one field
    assert count_cells() == len(first)
    assert list(second["run_id"]) == list(first["run_id"])
    _, third = measure(force=True)
    assert count_cells() == 2 * len(first)
    assert not set(third["run_id"]) & set(first["run_id"])
    pd.testing.assert_frame_equal(detail_table(first), detail_table(third))


def test_the_clean_cell_follows_the_training_split(measure, monkeypatch):
    """What is known of leakage is stored with the clean cell: when that changes, it alone is measured again."""
    _, first = measure()
    monkeypatch.setattr("crt.studies.cells.seen_in_training", lambda *_: None)
    _, second = measure()
    assert count_cells() == len(first) + 1
    clean = [cells[cells["perturbation"] == "clean"].iloc[0] for cells in (first, second)]
    assert clean[0]["seen_in_training_rate"] == 0
    assert "seen_in_training_rate" not in mlflow.get_run(clean[1]["run_id"]).data.metrics


def test_only_what_is_missing_is_measured(measure):
    """A larger grid adds its own cells to those of a smaller one."""
    measure(seeds=(13,))
    _, cells = measure(seeds=(13, 42, 100))
    assert count_cells() == len(cells) == 1 + 2 * 2 * 3


def test_a_killed_grid_is_finished_by_a_rerun(measure, monkeypatch):
    """After a kill in the middle of a cell a rerun gives the table of an unbroken run, without a doubled cell."""
    log_measurement, logged = MlflowTracker.log_measurement, []

    def dies(self, record):
        if len(logged) == 4:
            monkeypatch.setattr(self.client, "set_terminated", lambda *_: None)
            monkeypatch.setattr(self.client, "log_batch", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        logged.append(record)
        log_measurement(self, record)

    monkeypatch.setattr(MlflowTracker, "log_measurement", dies)
    with pytest.raises(KeyboardInterrupt):
        measure()
    monkeypatch.undo()
    mlflow.set_tracking_uri(mlflow.get_tracking_uri())
    _, resumed = measure()
    _, unbroken = measure(force=True)
    pd.testing.assert_frame_equal(detail_table(resumed), detail_table(unbroken))
    finished = mlflow.search_runs(filter_string="tags.`crt.kind` = 'cell' and attributes.status = 'FINISHED'")
    assert len(finished) == 2 * 9


def test_shards_share_out_the_cells(measure):
    """Each shard measures its own cells alone, and all together give the whole table, no cell twice."""
    shards = [measure(shard=Shard(number, 4))[0] for number in range(1, 5)]
    assert count_cells() == 9
    keys, cells = measure()
    assert sorted(key for shard in shards for key in shard) == sorted(keys)
    assert count_cells() == len(cells) == 9


def test_a_worker_without_the_training_split_shares_out_alike(measure, monkeypatch):
    """What falls to whom does not depend on what a worker knows of leakage: no cell is left to nobody."""
    found = []
    for number in range(1, 5):
        with pytest.MonkeyPatch.context() as patch:
            if number % 2:
                patch.setattr("crt.studies.cells.seen_in_training", lambda *_: None)
            found.append(measure(shard=Shard(number, 4))[1])
    cells = pd.concat(found)
    assert len(cells) == len(cells[["perturbation", "prob", "seed"]].drop_duplicates()) == 9


def test_a_transformer_is_measured(measure, tiny_checkpoint):
    """A checkpoint goes through the same path, under the name of its base model and with its training seed."""
    _, cells = measure(models=(str(tiny_checkpoint),), perturbations=("shape",), probs=(0.3,), seeds=(13,))
    row = cells[cells["perturbation"] == "shape"].iloc[0]
    assert (row["model"], row["train_seed"], row["precision"]) == ("tiny", "42", "fp32")
    assert row["unk_rate_increase"] > 0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_model_without_an_answer_ends_the_grid(measure, tiny_checkpoint, monkeypatch, value):
    """NaN or infinity for an input, here a perturbed one, is an error that shows it; no cell with it is stored."""
    forward, passes = TransformerClassifier._forward, []

    def breaks(self, features):
        passes.append(len(features))
        probabilities = forward(self, features)
        if len(passes) > clean:
            probabilities[0, 0] = value
        return probabilities

    monkeypatch.setattr(TransformerClassifier, "_forward", breaks)
    clean = 10**6
    measure(models=(str(tiny_checkpoint),), perturbations=("width",), probs=(0.0,), seeds=(1,))
    clean = len(passes)
    passes.clear()
    with pytest.raises(
        ModelError, match=r"no answer \(NaN or infinity, .*\) for 1 of \d+ inputs, the first of them \('"
    ):
        measure(models=(str(tiny_checkpoint),), force=True, perturbations=("space",), probs=(0.3,), seeds=(1,))
    runs = mlflow.search_runs(filter_string="tags.`crt.perturbation` = 'space' and attributes.status = 'FINISHED'")
    assert runs.empty


def test_each_input_is_predicted_once():
    """An input that occurs several times, or was predicted before, is not predicted again."""
    seen = []

    class Counting:
        name, labels, fingerprint, train_seed, settings = "m", TASKS["tnews"].labels, "f", None, {}

        def predict(self, inputs):
            seen.extend(inputs)
            zeros = np.zeros(len(inputs), dtype=np.int64)
            probabilities = np.full((len(inputs), 15), 1 / 15, dtype=np.float32)
            return Prediction(probabilities, zeros, zeros, zeros.astype(bool))

    inputs = [("甲",), ("乙",), ("甲",)]
    answers = Answers(Counting(), inputs)
    more = answers.extended([("甲",), ("丙",), ("丙",)])
    assert seen == [("甲",), ("乙",), ("丙",)]
    assert len(more.of([("丙",), ("甲",), ("丙",)]).probabilities) == 3


def test_pairs_choose_their_fields(measure):
    """For pairs `fields` says which text is edited; the param records it and the cells are other cells."""
    grids = {f: measure(datasets=("ocnli",), fields=f, probs=(1.0,), seeds=(13,)) for f in ("both", "first", "second")}
    edited = {}
    for fields, (_, cells) in grids.items():
        row = cells[cells["perturbation"] == "space"].iloc[0]
        assert row["fields"] == fields
        examples = stored_examples(cells[cells["perturbation"] == "space"])[0]
        edited[fields] = {edit[0] for example in examples for edit in example["edits"]}
    assert edited == {"both": {0, 1}, "first": {0}, "second": {1}}


def test_leakage_is_shown_and_can_be_left_out(store, accelerator, tmp_path):
    """The share of inputs that also stand in the training split is logged; exclude_seen drops just them."""
    folder = tmp_path / "data" / "chnsenticorp"
    folder.mkdir(parents=True)
    (folder / "train.tsv").write_text("label\ttext_a\n1\t很好\n0\t很差\n")
    (folder / "test.tsv").write_text("label\ttext_a\n1\t很好\n0\t太差了\n1\t真好啊\n0\t失望\n")
    found = {}
    for exclude in (False, True):
        grid = Grid(models=("rule",), datasets=("chnsenticorp",), exclude_seen=exclude, **SMALL)
        with open_run("grid", "test", {}) as tracker:
            cells = tracker.cells(benchmark.run(grid, Source(folder.parent), OPTIONS, accelerator, tracker))
        clean = cells[cells["perturbation"] == CLEAN].iloc[0]
        found[exclude] = (clean["num_examples"], clean["seen_in_training_rate"])
    assert found == {False: (4, 0.25), True: (3, 0.0)}


def test_metrics_are_finite_or_absent(store):
    """A metric that is no finite number is refused before anything is stored."""
    from crt.records import Cell, MeasurementRecord

    record = MeasurementRecord("k", Cell("m", "d", "space", 0.1, 1), {}, {"acc_drop": float("nan")})
    with open_run("grid", "test", {}) as tracker, pytest.raises(TrackingError, match="no finite numbers"):
        tracker.log_measurement(record)
    assert count_cells() == 0


def test_files_of_a_grid(measure, store, accelerator, tmp_path):
    """Tables, examples and figures stand in the folder and on the run, made from the stored cells."""
    grid = Grid(models=("rule",), datasets=("tnews",), **SMALL)
    with open_run("grid", "test", {}) as tracker:
        keys = benchmark.run(grid, Source(SAMPLES), OPTIONS, accelerator, tracker)
        results.write_grid(tracker, keys, tmp_path / "out", figures=True)
        run_id = tracker.run_id
    names = {
        "robustness_results_multi.csv",
        "robustness_summary_multi.csv",
        "examples_multi.json",
        "accuracy_drop_by_prob_multi.svg",
        "attack_success_rate_by_prob_multi.svg",
    }
    assert {file.name for file in (tmp_path / "out").iterdir()} == {*names, "index.json"}
    assert {file.path for file in mlflow.MlflowClient().list_artifacts(run_id)} == names
    assert len(pd.read_csv(tmp_path / "out" / "robustness_results_multi.csv")) == 8
    assert len(json.loads((tmp_path / "out" / "examples_multi.json").read_text())) == 8
    assert {"clean_acc", "mean_acc_drop", "worst_acc_drop"} <= set(mlflow.get_run(run_id).data.metrics)


def test_compare_reads_what_was_stored(measure, tiny_checkpoint, tmp_path):
    """A comparison has the paper table with both models, and one summary run for each model, also when repeated."""
    measure(models=("rule", str(tiny_checkpoint)))
    for split in ("", "selection"):  # an old summary that names no split, and one of another split
        keys = {"crt.kind": "summary", "crt.model": "rule", "crt.dataset": "tnews"} | (
            {"crt.split": split} if split else {}
        )
        mlflow.MlflowClient().create_run("0", run_name="rule on tnews", tags=keys)
    for _ in range(2):
        cells, _, experiments = read_stored((), ())
        with open_run("compare", "compare", {}) as tracker:
            found = compare.write_comparison(
                tracker, compare.select(cells), tmp_path / "out", "again", significance=False, figures=False
            )
    assert experiments == ("Default",)
    assert {row[1] for row in found.tables[0].rows} == {"rule", "tiny", EDITED}
    areas = pd.read_csv(tmp_path / "out" / "dose_area.csv")
    assert areas[["model", "perturbation"]].to_numpy().tolist() == [
        [model, perturbation] for model in ("rule", "tiny") for perturbation in ("homophone", "space")
    ]
    assert areas["area_mean"].between(0, 1).all()
    summaries = mlflow.search_runs(filter_string="tags.`crt.kind` = 'summary'")
    assert sorted(summaries["tags.mlflow.runName"]) == [
        "rule on tnews",
        "rule on tnews (validation)",
        "tiny on tnews (validation)",
    ]
    summaries = summaries[summaries["tags.crt.split"] == "validation"]
    assert summaries["tags.mlflow.note.content"].str.contains(r"\| tnews \|").all()


def test_two_models_of_one_name_are_refused(measure, tiny_checkpoint, accelerator, tmp_path):
    """Other weights under the same base model and seed could not be told apart in a table; the same ones count once."""
    twin = train_tiny("tnews", tmp_path / "twin", accelerator, num_train_epochs=2)
    with pytest.raises(
        ModelError,
        match="two models on tnews are both called tiny, and neither training seeds nor versions tell them apart",
    ):
        measure(models=(str(tiny_checkpoint), str(twin)))
    copy = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    keys, cells = measure(models=(str(tiny_checkpoint), str(copy)))
    assert len(keys) == len(cells) == 9
    assert set(keys.values()) == {(str(tiny_checkpoint), str(copy))}


def test_a_fault_of_the_second_data_set_comes_first(measure, tmp_path):
    """Every data set is looked at before the first cell is measured."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "test.csv").write_text("text,label\n好,a\n差,b\n")
    with pytest.raises(DataError, match=r"mine has no split 'validation'\. It has test"):
        measure(datasets=("sample", str(folder)), split="validation")
    assert count_cells() == 0


def test_clean_cell(measure):
    """The clean cell has only what is defined without a perturbation, and is no row of the detail table."""
    _, cells = measure()
    clean = cells[cells["perturbation"] == CLEAN].iloc[0]
    assert clean["clean_acc"] == pytest.approx(0.9333, abs=1e-4)
    assert pd.isna(clean["perturbed_acc"])
    assert CLEAN not in set(detail_table(cells)["perturbation"])


def test_faults_come_before_any_run(store):
    """A grid that contradicts itself is refused before a run is opened."""
    with pytest.raises(GridError, match="2 faults"):
        Grid(models=("rule",), datasets=("tnews",), probs=(1.5,), seeds=())
    assert mlflow.search_runs().empty
