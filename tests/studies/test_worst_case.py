"""RobTest on a real store: the samples of a degree, their two cases, what is resumed and what is written."""

from fractions import Fraction
from math import ceil

import mlflow
import pandas as pd
import pytest
from conftest import SAMPLES, runner
from strategies import loaded

from crt.catalogue import TASKS
from crt.grid import Degrees, Grid
from crt.models import PredictOptions
from crt.models.rule import load_rule
from crt.perturbations.engine import find_sites, perturb_to_degree
from crt.studies import benchmark, cells
from crt.studies.worst_case import command as door
from crt.studies.worst_case import study as worst_case
from crt.tasks import Source, load_split
from crt.tracking.history import read_stored, stored_examples
from crt.tracking.runs import MlflowTracker, open_run

OPTIONS = PredictOptions(max_length=64)
SMALL = {"perturbations": ("homophone", "synonym"), "degrees": (0.1, 0.3), "samples": 4, "seed": 7}


@pytest.fixture
def measure(store, accelerator):
    """Measure degrees of a model on the sample rows of TNEWS; returns the keys and the degrees as they are stored."""

    def run(*, model="rule", force=False, **changes):
        scope = Degrees(models=(model,), datasets=("tnews",), **{**SMALL, **changes})
        with open_run("worst_case", "test", {}) as tracker:
            keys = worst_case.run(scope, Source(SAMPLES), OPTIONS, accelerator, tracker, force=force)
            return keys, tracker.cells(keys, "degree")

    return run


def outcomes(row):
    """Return the stored outcomes of a degree."""
    path = mlflow.artifacts.download_artifacts(run_id=row["run_id"], artifact_path="outcomes.csv")
    return pd.read_csv(path)


def count_degrees():
    """Return the number of degree runs in the store."""
    return len(mlflow.search_runs(filter_string="tags.`crt.kind` = 'degree'"))


def test_every_degree_is_a_run(measure):
    """Each (perturbation, degree) is a FINISHED child run with its keys, metrics, example pairs and outcomes."""
    keys, stored = measure()
    assert len(keys) == len(stored) == 4
    run = mlflow.get_run(stored.iloc[0]["run_id"])
    assert run.info.status == "FINISHED"
    names = ("perturbation", "degree", "seed", "samples", "fields", "split")
    assert [run.data.params[name] for name in names] == ["homophone", "0.1", "7", "4", "text", "validation"]
    parents = mlflow.search_runs(filter_string="tags.`crt.kind` = 'worst_case'")
    assert [run.data.tags["mlflow.parentRunId"]] == parents["run_id"].tolist()
    for row in stored.to_dict("records"):
        found = outcomes(row)
        assert len(found) == row["num_examples"] == 45
        assert row["average_case"] == pytest.approx((found["right_samples"] / found["distinct_samples"]).mean())
        assert row["worst_case"] == pytest.approx((found["right_samples"] == found["distinct_samples"]).mean())
        assert row["worst_case"] <= row["average_case"]
        assert row["clean_acc"] == pytest.approx((found["gold"] == found["clean"]).mean())
        assert row["realised_degree"] == pytest.approx((found["edits"] / found["characters"]).mean())
        assert row["short_of_sites_rate"] == pytest.approx((found["sites"] < found["asked"]).mean())
        assert row["mean_distinct_samples"] == pytest.approx(found["distinct_samples"].mean())
    homophone, synonym = stored[stored["perturbation"] == "homophone"], stored[stored["perturbation"] == "synonym"]
    assert (homophone["worst_case"] < homophone["average_case"]).all()
    assert (synonym["short_of_sites_rate"] > 0.5).all()


def test_samples_one_by_one(measure):
    """Counts and worst sample are those of each text alone: a wrong one, if any, that gives the true label least."""
    _, stored = measure(perturbations=("homophone",), degrees=(0.3,))
    found = outcomes(stored.iloc[0]).set_index("id")
    task = TASKS["tnews"]
    rule = load_rule(task)
    for example in load_split(task, "validation", Source(SAMPLES)).examples:
        sites = find_sites([example], loaded("homophone").find)
        drawn = {
            perturb_to_degree(sites, name="homophone", degree=0.3, seed=7, sample=k).inputs[0] for k in range(4)
        }  # fmt: skip
        probabilities = rule.predict(sorted(drawn)).probabilities
        right, of_gold = probabilities.argmax(axis=1) == example.label, probabilities[:, example.label]
        row = found.loc[example.id]
        assert (row["distinct_samples"], row["right_samples"]) == (len(drawn), right.sum())
        worst = of_gold.min() if right.all() else of_gold[~right].min()
        assert row["gold_prob_perturbed"] == pytest.approx(worst, abs=1e-6)
        assert row["asked"] == ceil(Fraction("0.3") * len(example.input[0]))


def test_the_worst_sample_is_shown(measure):
    """The stored label is that of a wrong sample wherever there is one; pairs are changed texts, flips first."""
    _, stored = measure(degrees=(0.3,))
    for row, pairs in zip(stored.to_dict("records"), stored_examples(stored), strict=True):
        found = outcomes(row)
        all_right = found["right_samples"] == found["distinct_samples"]
        assert ((found["perturbed"] == found["gold"]) == all_right).all()
        assert 0 < len(pairs) <= 20
        assert all(pair["original"] != pair["perturbed"] for pair in pairs)
        flips = [pair["flipped"] for pair in pairs]
        assert flips == sorted(flips, reverse=True)
        assert sum(flips) == min(20, ((found["clean"] == found["gold"]) & ~all_right).sum())


def test_only_what_is_missing_is_measured(measure):
    """Stored degrees are skipped; more degrees add their own; another number of samples is another measurement."""
    _, first = measure()
    assert list(measure()[1]["run_id"]) == list(first["run_id"])
    _, more = measure(degrees=(0.1, 0.3, 0.5))
    assert set(first["run_id"]) < set(more["run_id"])
    assert count_degrees() == len(more) == 6
    measure(samples=5, perturbations=("synonym",))
    assert count_degrees() == 8


def test_a_killed_study_is_finished_by_a_rerun(measure, monkeypatch):
    """After a kill a rerun gives the numbers of an unbroken run."""
    log_measurement, logged = MlflowTracker.log_measurement, []

    def dies(self, record):
        if len(logged) == 2:
            raise KeyboardInterrupt
        logged.append(record)
        log_measurement(self, record)

    monkeypatch.setattr(MlflowTracker, "log_measurement", dies)
    with pytest.raises(KeyboardInterrupt):
        measure()
    monkeypatch.undo()
    _, resumed = measure()
    assert count_degrees() == 4
    _, unbroken = measure(force=True)
    columns = list(worst_case.COLUMNS[:-1])
    pd.testing.assert_frame_equal(
        resumed[columns].reset_index(drop=True), unbroken[columns].reset_index(drop=True)
    )  # fmt: skip


def test_a_process_that_does_not_log(store, accelerator):
    """It plans the same measurements and needs no store."""
    scope = Degrees(models=("rule",), datasets=("tnews",), **SMALL)
    keys = worst_case.run(scope, Source(SAMPLES), OPTIONS, accelerator, cells.Silent())
    assert len(keys) == 4
    with open_run("worst_case", "test", {}) as tracker:
        assert worst_case.run(scope, Source(SAMPLES), OPTIONS, accelerator, tracker) == keys


def test_the_grid_does_not_see_degrees(measure, accelerator):
    """A degree and a cell of one perturbation, dose and seed are two measurements, and compare reads cells alone."""
    measure(degrees=(0.1,))
    grid = Grid(models=("rule",), datasets=("tnews",), perturbations=SMALL["perturbations"], probs=(0.1,), seeds=(7,))
    with open_run("grid", "test", {}) as tracker:
        keys = benchmark.run(grid, Source(SAMPLES), OPTIONS, accelerator, tracker)
    assert sorted(read_stored((), ("worst_case",)).cells["key"]) == sorted(keys)


def test_scores_by_hand():
    """Two degrees: the smaller weighs 1/2, the larger 1/4, and 3/4 is what can be had."""
    rows = [
        {"perturbation": name, "degree": degree, "average_case": a, "worst_case": w, "worst_case_surviving": s}
        for name, degree, a, w, s in (("x", 0.1, 0.8, 0.4, 0.4), ("x", 0.3, 0.4, 0.2, 0.0), ("y", 0.1, 1.0, 1.0, 1.0))
    ]
    table = worst_case.scores_table(pd.DataFrame(rows)).set_index("perturbation")
    assert table.loc["x"].to_dict() == pytest.approx(
        {"average": 0.5 / 0.75, "worst": 0.25 / 0.75, "surviving": 0.2 / 0.75}
        | {"average_raw": 0.5, "worst_raw": 0.25, "surviving_raw": 0.2}
    )
    assert table.loc["y", ["average", "average_raw"]].tolist() == [1.0, 0.5]


def test_matched_doses_by_hand():
    """At each degree the largest drop stands first; points per percent are over what was really edited."""
    rows = [
        {"perturbation": name, "degree": degree, "realised_degree": real, "short_of_sites_rate": 0.0, "clean_acc": 0.9, "average_case": a}
        for name, degree, real, a in (("x", 0.1, 0.1, 0.8), ("y", 0.1, 0.05, 0.7), ("x", 0.2, 0.2, 0.5), ("y", 0.2, 0.0, 0.9))
    ]  # fmt: skip
    found = worst_case.matched_table(pd.DataFrame(rows))
    assert found["perturbation"].tolist() == ["y", "x", "x", "y"]
    assert found["drop"].tolist() == pytest.approx([0.2, 0.1, 0.4, 0.0])
    assert found["per_percent"].tolist()[:3] == pytest.approx([4, 1, 2])
    assert pd.isna(found["per_percent"][3])


def test_the_command(invoke, tmp_path):
    """`worst_case` writes tables and a figure and the scores as metrics; `compare` has the models in one table."""
    options = ("--dataset", "tnews", "--data_dir", SAMPLES, "--perturbations", "homophone,synonym")
    result = invoke("worst_case", *options, "--model", "rule", "--degrees", "0.1,0.3,0.5", "--samples", 3)
    assert "| perturbation | average | worst | surviving | average raw |" in result.stdout
    out = tmp_path / "outputs"
    names = {
        "worst_case.csv",
        "worst_case_scores.csv",
        "worst_case_matched.csv",
        "worst_case.md",
        "worst_case.svg",
        "worst_case.png",
    }
    assert {file.name for file in out.iterdir()} == {*names, "index.json"}
    (run,) = mlflow.search_runs(filter_string="tags.`crt.kind` = 'worst_case'", output_format="list")
    assert {file.path for file in mlflow.MlflowClient().list_artifacts(run.info.run_id)} == names
    table, scores = pd.read_csv(out / "worst_case.csv"), pd.read_csv(out / "worst_case_scores.csv")
    assert list(table.columns) == list(worst_case.COLUMNS)
    assert len(table) == 6
    for name, group in table.groupby("perturbation"):
        assert group["worst_case_surviving"].is_monotonic_decreasing
        assert (group["worst_case_surviving"] <= group["worst_case"]).all()
        assert (group["worst_case"] <= group["average_case"]).all()
        first, second, third = group["average_case"]
        raw = first / 2 + second / 4 + third / 8
        assert run.data.metrics[f"{name}_average_raw"] == pytest.approx(raw)
        assert run.data.metrics[f"{name}_average"] == pytest.approx(raw * 8 / 7)
    for row in scores.to_dict("records"):
        assert run.data.metrics[f"{row['perturbation']}_worst"] == pytest.approx(row["worst"])
    assert run.data.params["degrees"] == "0.1,0.3,0.5"
    assert "| homophone | 0.1 |" in run.data.tags["mlflow.note.content"]
    assert "RobTest weighs the smallest degree 1/2" in result.stdout
    matched = pd.read_csv(out / "worst_case_matched.csv")
    assert matched["perturbation"].tolist() == ["homophone", "synonym"] * 3
    assert matched["drop"].tolist() == pytest.approx(
        [
            row["clean_acc"] - row["average_case"]
            for row in table.sort_values(["degree", "perturbation"]).to_dict("records")
        ]
    )
    shown = invoke("compare", "--no_figures").stdout
    columns = [f"{name} {case}" for name in ("homophone", "synonym") for case in ("average", "surviving", "worst")]
    assert f"| data set | model | {' | '.join(columns)} |" in shown
    assert (out / "table_worst_case_tnews.csv").is_file()


def test_bad_options_are_named(store):
    """A wrong degree or perturbation ends with exit 1 and all faults, before any run is opened."""
    arguments = ["--dataset", "tnews", "--degrees", "0,0.3", "--perturbations", "homophon"]
    result = runner().invoke(door.main, arguments)
    assert result.exit_code == 1
    assert "degree 0.0 is outside 0..1, or 0" in result.stderr
    assert "did you mean 'homophone'?" in result.stderr
    assert mlflow.search_runs().empty


def test_a_transformer_is_measured(measure, tiny_checkpoint):
    """A checkpoint goes through the same path, under the name of its base model and with its training seed."""
    _, stored = measure(model=str(tiny_checkpoint), perturbations=("shape",), degrees=(0.5,))
    row = stored.iloc[0]
    assert (row["model"], row["train_seed"], row["precision"]) == ("tiny", "42", "fp32")
    assert row["worst_case"] <= row["average_case"]


def test_degrees_of_pairs(invoke, tmp_path):
    """For pairs the degree counts the characters of the fields that are perturbed."""
    data = ("--dataset", "ocnli", "--model", "rule", "--data_dir", SAMPLES, "--no_figures", "--samples", 2)
    for fields in ("both", "second"):
        invoke("worst_case", *data, "--perturbations", "space", "--degrees", 0.2, "--fields", fields)
    runs = mlflow.search_runs(filter_string="tags.`crt.kind` = 'degree'", output_format="list")
    asked = {run.data.params["fields"]: outcomes({"run_id": run.info.run_id}).set_index("id") for run in runs}
    both, second = asked["both"], asked["second"].loc[asked["both"].index]
    assert (both["characters"] == both["length"]).all()
    assert (second["characters"] < second["length"]).all()
    assert (second["asked"] == [ceil(Fraction("0.2") * int(n)) for n in second["characters"]]).all()
