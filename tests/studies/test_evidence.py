"""Evidence, report and model cards from cells that were really measured and stored."""

import re
from dataclasses import replace

import mlflow
import pandas as pd
import pytest
from conftest import SAMPLES

from crt.catalogue import TASKS
from crt.errors import TrackingError
from crt.provenance import signature
from crt.records import CLEAN
from crt.reporting.card import LONGEST, card
from crt.reporting.pairs import pair_tables
from crt.reporting.verdict import notes, verdict
from crt.scoring.contrasts import above_majority
from crt.scoring.evidence import Evidence
from crt.scoring.stacked import ALL
from crt.scoring.summary import Comparison, latest
from crt.studies.evidence import read_evidence
from crt.tasks import SELECTION, Source, load_split, load_training, seen_in_training
from crt.tracking import registry
from crt.tracking.history import read_stored, stored_outcomes

EVALUATE = ("evaluate", "--data_dir", SAMPLES, "--no_figures", "true", "--output_dir", "out")
SMALL = ("--perturbations", "homophone,space", "--probs", "0.15,0.3", "--seeds", "13,42")


def test_a_comparison_with_evidence(invoke, tmp_path, monkeypatch):
    """Two models on pairs: intervals hold the values, tests have a family, and the page, the tables and the note say so."""
    # the smoke model is weak, and would stand outside
    strong = lambda *given: replace(above_majority(*given), p=0.0, one_label=False)  # noqa: E731
    monkeypatch.setattr("crt.scoring.evidence.above_majority", strong)
    invoke("train", "--smoke", "true", "--dataset", "ocnli", "--num_train_epochs", "1")
    invoke(*EVALUATE, "--dataset", "ocnli", "--model", "rule,models:/crt-ocnli@best", *SMALL)
    shown = invoke("compare", "--output_dir", tmp_path / "cmp", "--no_figures", "true").output
    folder = tmp_path / "cmp"
    cells = latest(read_stored((), ()).cells)
    intervals = pd.read_csv(folder / "intervals.csv")
    means = cells[cells["perturbation"] != "clean"].groupby(["model", "perturbation", "prob"])
    for metric in ("perturbed_acc", "acc_drop", "attack_success_rate", "macro_f1_drop"):
        rows = intervals[intervals["metric"] == metric].set_index(["model", "perturbation", "prob"])
        for key, value in means[metric].mean().dropna().items():
            row = rows.loc[key]
            assert row["value"] == pytest.approx(value)
            assert row["low"] <= row["value"] <= row["high"]
    tests = pd.read_csv(folder / "tests.csv")
    tested = tests[tests["test"] == "sign flips, mean over the seeds"]
    assert len(tested) == 2 * 2 * 2
    assert len(tests) == 3 * len(tested)  # and each of two seeds
    assert (tested["p_holm"] >= tested["p"]).all()
    assert (tested["seeds"] == 2).all()
    assert (tested["family"] == 4).all()
    duels = pd.read_csv(folder / "duels.csv")
    assert len(duels) == 1 + 3 * (2 * 2 + 2)
    assert len(pd.read_csv(folder / "pairs.csv")) == 3
    assert set(duels["outcome"]) <= {"win", "tie", "loss"}
    labels = pd.read_csv(folder / "classes.csv").set_index(["model", "perturbation", "prob", "label"])
    shift = labels["predicted_shift"].abs().groupby(["model", "perturbation", "prob"]).sum() / 2
    for key, value in means["prediction_shift"].max().items():
        assert shift[key] <= value + 1e-9  # labels that one seed gains and another loses offset each other
    assert pd.read_csv(folder / "rank_stability.csv")["perturbation"].tolist() == ["clean", "all"]
    assert "| ocnli | texts edited | 0.3 |" in (folder / "table_acc_drop.md").read_text()
    assert "| space | 0.3 |" in (folder / "table_doses_ocnli.md").read_text()
    assert "side perturbed" in set(pd.read_csv(folder / "slices.csv")["slice"])
    page = (folder / "report.html").read_text()
    assert "tiny" in page
    assert "crt compare" in page
    assert "Holm" in (folder / "paper_table_acc_drop.md").read_text()
    assert "\\*: differs" not in (folder / "paper_table_attack_success_rate.md").read_text()
    assert (folder / "table_wins_ocnli.tex").exists()
    paper = (folder / "paper_table_acc_drop.md").read_text()
    assert paper.startswith("| data set | model | clean acc | homophone | space | mean |")
    assert "30 % of the sites are edited (prob 0.3)" in paper
    assert "texts edited" not in paper
    assert "| ocnli | majority class |" in shown
    assert "| data set | model | n | clean acc | majority class | mean drop |" in shown
    run = mlflow.search_runs(filter_string="tags.`crt.kind` = 'compare'").iloc[0]
    assert run["tags.mlflow.note.content"].startswith("- ")
    assert "report.html" in [file.path for file in mlflow.MlflowClient().list_artifacts(run["run_id"])]


def test_without_significance(invoke, tmp_path):
    """Tables and page come without reading a single outcome; the page says what was not asked for."""
    invoke(*EVALUATE, "--dataset", "tnews", "--model", "rule", *SMALL)
    invoke("compare", "--output_dir", tmp_path / "cmp", "--no_figures", "true", "--significance", "false")
    names = ("tests", "duels", "pairs", "intervals", "models", "classes", "rank_stability")
    assert not [name for name in names if (tmp_path / "cmp" / f"{name}.csv").exists()]
    assert "significance=true" in (tmp_path / "cmp" / "report.html").read_text()


def test_outcomes_come_back_as_they_were(invoke):
    """Names stay text, the facts stand in the clean cell alone, and missing outcomes are an error that says what to do."""
    invoke(*EVALUATE, "--dataset", "ocnli", "--model", "rule", *SMALL)
    cells = read_stored((), ()).cells
    clean, *others = stored_outcomes(cells)
    task = TASKS["ocnli"]
    examples = load_split(task, "validation", Source(SAMPLES)).examples
    assert list(clean["id"]) == [example.id for example in examples]
    assert set(clean["gold"]) <= set(task.labels)
    assert {"cluster", "overlap", "negation"} <= set(clean)
    assert clean["cluster"].nunique() == len({example.input[0] for example in examples})
    assert all({"changed_fields", "sites"} <= set(frame) for frame in others)
    assert not any("cluster" in frame for frame in others)
    with pytest.raises(TrackingError, match="rule on ocnli: the clean cell is not stored; evaluate it again"):
        read_evidence(cells[cells["perturbation"] != "clean"])


def test_nothing_measured_is_nothing_claimed():
    """Without evidence the verdict gives means alone, and the notes say how to get more."""
    cells = pd.DataFrame(
        {
            "model": "m", "dataset": "d", "perturbation": ["clean", "space"], "prob": [0.0, 0.3], "seed": [0, 1],
            "clean_acc": 0.9, "perturbed_acc": [None, 0.8], "acc_drop": [None, 0.1], "num_examples": 50,
        }
    )  # fmt: skip
    told = verdict(Comparison.of(cells), Evidence())
    assert told.sentences == ("The largest drop is 10.0 points: m on d, from 90.0 to 80.0 %, under space at prob 0.3.",)
    assert told.table.header == ("data set", "model", "n", "clean acc", "mean drop", "largest drop", "under")
    assert told.table.rows == (("d", "m", "50", "90.0", "10.0", "10.0", "space 0.3"),)
    assert "significance=true" in notes(Evidence())[0]
    assert pair_tables(Evidence(), "") == ()


ROW = {"dataset": "d", "model": "m", "prob": 0.3, "n": 50, "error": 0.01, "family": 3, "p": 0.1, "p_holm": 0.2}
TESTS = (
    ROW | {"perturbation": "shape", "drop": 0.1, "low": 0.05, "high": 0.15, "significant": True, "alike": False},
    ROW | {"perturbation": "space", "drop": 0.02, "low": 0.003, "high": 0.04, "significant": False, "alike": False},
    ROW | {"perturbation": "ime", "drop": 0.01, "low": -0.003, "high": 0.023, "significant": False, "alike": False},
    ROW | {"perturbation": "synonym", "drop": 0.0, "low": -0.005, "high": 0.005, "significant": False, "alike": True},
)


def test_an_interval_that_excludes_0_is_open():
    """Only drops whose interval includes 0 are listed as none, with that interval; what the test misses alone is open."""
    cells = pd.DataFrame(
        {
            "model": "m", "dataset": "d", "perturbation": ["clean", *(t["perturbation"] for t in TESTS)], "prob": [0, *[0.3] * 4],
            "seed": 1, "clean_acc": 0.9, "perturbed_acc": [None, 0.8, 0.88, 0.89, 0.9], "acc_drop": [None, 0.1, 0.02, 0.01, 0],
            "num_examples": 50,
        }
    )  # fmt: skip
    evidence = Evidence(tests=pd.DataFrame(TESTS), intervals=pd.DataFrame([t | {"metric": "acc_drop"} for t in (*TESTS, ROW | {"perturbation": ALL, "prob": 0.0, "low": 0.01, "high": 0.04})]))  # fmt: skip
    told = verdict(Comparison.of(cells), evidence)
    row = dict(zip(told.table.header, told.table.rows[0], strict=True))
    assert row["significant/open/none"] == "1/1/2"
    assert row["no significant drop"] == "ime (-0.3 to 2.3), synonym (-0.5 to 0.5 ≈)"
    assert row["mean drop"] == "3.2 (1.0 to 4.0)"
    assert told.sentences[0].startswith("The largest drop is 10.0 points (95 % interval 5.0 to 15.0): m on d")
    (least,) = [text for text in notes(evidence) if "with 80 % power" in text]
    assert "a drop of 3.2 points" in least  # 0.01 * (2.39 + 0.84), the level of 3 tests
    words = " ".join((*told.sentences, told.table.caption, *notes(evidence)))
    assert "costs nothing" not in words
    assert "told from chance" not in words


def pair(difference, low, high, **values):
    """Return the evidence of one pair of models."""
    row = {"dataset": "d", "model": "a", "other": "b", "metric": "perturbed_acc", "n": 50, "family": 1}
    row |= {"difference": difference, "low": low, "high": high, "significant": False, "alike": False, "p_holm": 0.4}
    return Evidence(pairs=pd.DataFrame([row | values]))


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (pair(-0.02, -0.03, -0.01, significant=True, p_holm=0.0001),
         "On d, b is 2.0 points above a (interval 1.0 to 3.0, p < .001)."),
        (pair(0.02, 0.01, 0.03, significant=True, p_holm=0.012), "On d, a is 2.0 points above b (interval 1.0 to 3.0, p = .012)."),
        (pair(0.01, -0.003, 0.023), "On d, no significant difference between a and b (1.0 points, interval -0.3 to 2.3)."),
        (pair(0.002, -0.003, 0.005, alike=True),
         "On d, no significant difference between a and b (0.2 points, interval -0.3 to 0.5, alike within 1 point)."),
    ],
)  # fmt: skip
def test_a_pair_in_words(evidence, said):
    """One number for a pair of models: what it is, how sure it is, and whether equality is shown or only not refuted."""
    cells = pd.DataFrame(
        {"model": ["a", "b"], "dataset": "d", "perturbation": "clean", "prob": 0.0, "seed": 0, "clean_acc": 0.9}
    )
    assert verdict(Comparison.of(cells), evidence).sentences[-1] == said


def test_what_is_not_defined_is_a_dash_on_the_card():
    """A model that is never right has nothing to attack."""
    metrics = ("clean_acc", "clean_macro_f1", "perturbed_acc", "acc_drop", "attack_success_rate")
    rows = [
        {"model": "m", "dataset": "d", "perturbation": where, "prob": 0.0, "metric": metric, "value": value, "low": value, "high": value}
        for metric, where, value in zip(metrics, (CLEAN, CLEAN, ALL, ALL, ALL), (0.0, 0.0, 0.0, 0.0, None), strict=True)
    ]  # fmt: skip
    cells = pd.DataFrame(
        {
            "model": "m", "dataset": "d", "perturbation": ["clean", "space"], "prob": [0.0, 0.3], "seed": [0, 1],
            "clean_acc": 0.0, "perturbed_acc": [None, 0.0], "acc_drop": [None, 0.0], "num_examples": 5.0,
        }
    )  # fmt: skip
    text = card(
        "crt-tnews/1", TASKS["tnews"], {}, {"test": (Comparison.of(cells), Evidence(intervals=pd.DataFrame(rows)))}
    )
    assert "| attack success rate, mean | – | – |" in text
    assert "| clean accuracy | 0.0 | 0.0 to 0.0 |" in text


def test_only_what_all_models_were_measured_at_is_ranked():
    """A model that met stronger doses is not called worse for it."""
    rows = {"dataset": "d", "seed": 1, "clean_acc": 0.9}
    cells = pd.DataFrame(
        [
            {**rows, "model": model, "perturbation": name, "prob": prob, "perturbed_acc": 0.9 - drop, "acc_drop": drop}
            for model, name, prob, drop in (
                ("a", "clean", 0.0, 0.0), ("b", "clean", 0.0, 0.0), ("a", "space", 0.1, 0.02), ("b", "space", 0.1, 0.01),
                ("b", "space", 0.3, 0.3),
            )
        ]
    )  # fmt: skip
    told = verdict(Comparison.of(cells), Evidence())
    assert told.sentences == ("The largest drop is 30.0 points: b on d, from 90.0 to 60.0 %, under space at prob 0.3.",)
    column = told.table.header.index("mean drop")
    assert [(row[1], row[column]) for row in told.table.rows] == [("a", "2.0"), ("b", "1.0")]
    assert "the mean is over what all models were measured at" in told.table.caption


def test_wins_are_losses_of_the_other():
    """The matrix is read by its rows: what one wins the other loses, below the one number of the pair; means are no duel."""
    row = {
        "dataset": "d",
        "model": "a",
        "other": "b",
        "metric": "perturbed_acc",
        "perturbation": "space",
        "n": 50,
        "family": 5,
    }
    row |= {"difference": 0.021, "low": 0.003, "high": 0.039, "significant": True, "alike": False}
    outcomes = ["win", "win", "tie", "loss"]
    duels = [row | {"outcome": outcome} for outcome in outcomes] + [row | {"outcome": "win", "perturbation": ALL}]
    evidence = Evidence(duels=pd.DataFrame(duels), pairs=pd.DataFrame([row | {"outcome": "win", "family": 1}]))
    (table,) = pair_tables(evidence, "sig")
    assert table.header == ("data set", "model", "n", "a", "b")
    assert table.rows == (
        ("d", "a", "50", "–", "2.1* [0.3, 3.9] 2/1/1"),
        ("d", "b", "50", "-2.1* [-3.9, -0.3] 1/1/2", "–"),
    )
    assert "after Holm's correction for the 5 duels of a data set" in table.caption


# the selection split, and what the registry says


def test_the_selection_split_is_what_models_are_chosen_on():
    """It is validation where that is not reported, else what is held out of train, which nothing was trained on."""
    source = Source(SAMPLES)
    for name in ("chnsenticorp", "tnews"):
        task = TASKS[name]
        found = load_split(task, SELECTION, source)
        assert found.digest() == load_training(task, source)[1].digest()
        assert found.name == task.selection_split
    seen = seen_in_training(TASKS["tnews"], source, SELECTION)
    assert not seen & {example.input for example in load_split(TASKS["tnews"], SELECTION, source).examples}
    assert seen < seen_in_training(TASKS["tnews"], source)


@pytest.fixture
def small_default(monkeypatch):
    """A default grid of one prob and one seed; returns the options that ask for it."""
    monkeypatch.setattr("crt.studies.cards.DEFAULT_PROBS", (0.3,))
    monkeypatch.setattr("crt.studies.cards.DEFAULT_SEEDS", (13,))
    return ("--probs", "0.3", "--seeds", "13", "--max_samples", "20", "--no_figures", "true", "--output_dir", "out")


def test_the_most_robust_version(invoke, small_default, monkeypatch):
    """The alias is moved by the default grid on the selection split alone, and only by a better version."""
    for seed in (1, 2):
        invoke("train", "--smoke", "true", "--dataset", "sample", "--seed", seed, "--num_train_epochs", "1")
    grid = ("evaluate", "--dataset", "sample", *small_default)
    invoke(*grid, "--model", "models:/crt-sample/1")
    invoke(*grid, "--model", "models:/crt-sample/1", "--split", "selection", "--perturbations", "space")
    assert registry.best_version("crt-sample", "most_robust") is None
    invoke(*grid, "--model", "models:/crt-sample/1", "--split", "selection")
    assert str(registry.best_version("crt-sample", "most_robust").version) == "1"
    version = mlflow.MlflowClient().get_model_version("crt-sample", "1")
    assert {"test/clean_acc", "validation/mean_perturbed_acc"} <= set(version.tags)
    for text in (
        "# crt-sample version 1",
        "epochs | 1",
        "## On test (20 examples)",
        "## On validation",
        "95 % interval",
    ):
        assert text in version.description
    code = re.search(r"```python\n(.*)```", version.description, re.DOTALL)[1]
    names = {}
    exec(code, names)
    assert names["classify"](["很好"])[0]["label"] in ("negative", "positive")
    cells = read_stored((), ()).cells
    mark = signature(latest(cells[cells["split"] == "validation"]))
    assert "was measured otherwise" in registry.crown("crt-sample/2", 1.0, "another signature")
    assert "stays version 1 (" in registry.crown("crt-sample/2", 0.0, mark)
    assert registry.crown("crt-sample/2", 1.0, mark) == (
        "crt-sample@most_robust is version 2 (mean perturbed accuracy 1.0000)"
    )
    assert str(registry.best_version("crt-sample", "most_robust").version) == "2"
    monkeypatch.setattr(registry, "best_version", lambda *_: None)  # read before another process moved the alias
    assert registry.crown("crt-sample/1", 0.5, mark) == (
        "crt-sample@most_robust is version 2 (1.0000); this is version 1 (mean perturbed accuracy 0.5000)"
    )


def test_a_card_of_cells_that_were_measured_by_the_folder(invoke, small_default):
    """A checkpoint that was evaluated by its folder gets its card once it is asked for by the registry.

    The clean cell alone is measured again: now it is known what the model was trained on.
    """
    invoke("train", "--smoke", "true", "--dataset", "sample", "--num_train_epochs", "1")
    folder = registry.resolve("models:/crt-sample/1").spec
    invoke("evaluate", "--dataset", "sample", *small_default, "--model", folder)
    cells = read_stored((), ()).cells
    assert "## On test" not in mlflow.MlflowClient().get_model_version("crt-sample", "1").description
    invoke("evaluate", "--dataset", "sample", *small_default, "--model", "models:/crt-sample/1")
    again = read_stored((), ()).cells
    assert len(cells) == 7
    assert again[~again["run_id"].isin(cells["run_id"])]["perturbation"].tolist() == [CLEAN]
    assert again["trained_on_rate"].dropna().tolist() == [0]
    assert "## On test (20 examples)" in mlflow.MlflowClient().get_model_version("crt-sample", "1").description


def test_loading_by_alias_gives_the_same_predictions(invoke, command, small_default):
    """A fresh process that asks for the most robust version measures what this one has measured."""
    invoke("train", "--smoke", "true", "--dataset", "sample", "--num_train_epochs", "1")
    grid = ("--dataset", "sample", "--split", "selection", *small_default)
    invoke("evaluate", *grid, "--model", "models:/crt-sample/1")
    before = read_stored((), ()).cells.set_index("key")
    command("evaluate", *grid, "--model", "models:/crt-sample@most_robust", "--force", "true")
    after = latest(read_stored((), ()).cells).set_index("key")
    again = after[~after["run_id"].isin(before["run_id"])]
    assert len(again) == 1 + 6
    for old, new in zip(stored_outcomes(before.loc[again.index]), stored_outcomes(again), strict=True):
        pd.testing.assert_frame_equal(old, new)


def test_a_card_is_never_too_long():
    """What does not fit is left out from the end."""
    training = {"metric": "accuracy", "value": "0.5", "base_model": "m"}
    assert len(card("crt-tnews/1", TASKS["tnews"], training, {})) < LONGEST
    assert "epochs" not in card("crt-tnews/1", TASKS["tnews"], training, {})
    assert card("crt-tnews/1", TASKS["tnews"], training, {}).count("news\\_") == 15
