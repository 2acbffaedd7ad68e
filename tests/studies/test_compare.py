"""The choice of the cells of a comparison: the last of each measurement, measured alike, and what says so."""

import pandas as pd
import pytest
from conftest import SAMPLES

from crt import __version__
from crt.errors import TrackingError
from crt.provenance import signature
from crt.records import CLEAN
from crt.reporting.table import study_tables
from crt.studies import STUDIES, compare
from crt.studies.compare import select

BASE = {
    "model": "bert",
    "model_source": "models:/crt-tnews/3",
    "dataset": "tnews",
    "perturbation": "shape",
    "prob": 0.1,
    "seed": 13,
    "train_seed": "42",
    "scoring_version": "1",
    "data_digest": "d" * 16,
    "fields": "text",
    "table_sha256": "a" * 16,
    "num_examples": 200.0,
}


RULE = {"model": "rule", "model_source": None, "train_seed": None}


def frame(*changes: dict[str, object]) -> pd.DataFrame:
    """Return a cell for each of the changes to the base cell, oldest first; `key` numbers them."""
    return pd.DataFrame([BASE | {"key": str(number)} | change for number, change in enumerate(changes)])


def keys(cells: pd.DataFrame) -> list[str]:
    """Return which cells there are."""
    return list(cells["key"])


CLEAN_CELL = {"perturbation": CLEAN, "prob": 0.0, "seed": 0, "fields": None, "table_sha256": None}


# what is kept


@pytest.mark.parametrize(
    "column", [("model", "rule"), ("train_seed", "13"), ("dataset", "ocnli"), ("prob", 0.3), ("seed", 42)]
)
def test_different_measurements_are_kept(column):
    """Cells that differ in one part of their identity are two measurements."""
    name, value = column
    assert keys(select(frame({}, {name: value}))) == ["0", "1"]


def test_the_last_cell_counts(caplog):
    """Of several cells of one measurement the last one is kept, also where the training seed is unknown, and that is said."""
    caplog.set_level("INFO", "crt")
    cells = frame({"seed": 1}, {"seed": 2}, {"seed": 1}, {"seed": 2, "key": "1"}, {"seed": 42})
    assert keys(select(cells)) == ["2", "1", "4"]
    (said,) = caplog.records
    assert said.message == (
        "bert on tnews: 2 of 5 cells are left out, since others of the same measurements count: "
        "1 measured again in another way, 1 measured again alike"
    )
    assert keys(select(cells.assign(train_seed=None))) == ["2", "1", "4"]


VERSIONS = ({"predictor": "p2", "model_source": "models:/crt-tnews/10"}, {"predictor": "p1"})


def test_versions_stand_side_by_side(caplog):
    """Two versions of a registered model are two rows, whatever the clocks of those who measured them said, and that is said."""
    caplog.set_level("INFO", "crt")
    cells = frame(*VERSIONS, RULE)
    assert select(cells)["model"].tolist() == ["bert@v10", "bert@v3", "rule"]
    assert "bert on tnews: versions of one model stand side by side: bert@v10, bert@v3" in caplog.text
    by_folder_too = frame(*VERSIONS, {"predictor": "p2", "model_source": "a/folder", "seed": 42})
    assert select(by_folder_too)["model"].tolist() == ["bert@v10", "bert@v3", "bert@v10"]
    assert keys(select(cells, models=["models:/crt-tnews/3"])) == ["1"]
    assert select(cells, models=["models:/crt-tnews/3"])["model"].tolist() == ["bert"]
    runs = cells.assign(kind="behaviour")
    assert set(compare.select_studies(runs)["model"]) == {"bert@v10", "bert@v3", "rule"}


def test_versions_of_several_training_seeds_are_averaged():
    """A training seed of its own tells a version apart already: the row is a mean over them, as before."""
    cells = frame({"predictor": "p1"}, {"predictor": "p2", "model_source": "models:/crt-tnews/4", "train_seed": "43"})
    assert set(select(cells)["model"]) == {"bert"}


def test_versions_that_were_trained_otherwise_are_not_averaged(caplog):
    """Seeds of one way of training are one row; another way is another row, also with other seeds."""
    caplog.set_level("INFO", "crt")
    trained = [(1, "42", "a"), (2, "43", "a"), (3, "44", "b")]
    cells = frame(
        *(
            {"predictor": f"p{number}", "model_source": f"models:/m/{number}", "train_seed": seed, "recipe": recipe}
            for number, seed, recipe in trained
        )
    )
    assert select(cells)["model"].tolist() == ["bert@v1+v2", "bert@v1+v2", "bert@v3"]
    assert "bert on tnews: trained in 2 ways, which stand side by side: bert@v1+v2, bert@v3" in caplog.text
    assert set(select(cells.assign(recipe="a"))["model"]) == {"bert"}
    assert set(select(cells.assign(recipe=["a", "b", None]))["model"]) == {"bert"}


UNTOLD = {
    "folders": ({"model_source": "a"}, {"model_source": "b"}),
    "a version and a folder": ({}, {"model_source": "b"}),
    "versions of two models": ({}, {"model_source": "models:/other/4"}),
    "one version, read in two ways": ({"max_length": "64"}, {"max_length": "128"}),
}


@pytest.mark.parametrize("changes", UNTOLD.values(), ids=UNTOLD)
def test_no_version_tells_which_counts(changes):
    """Two models of one name are not chosen from by a clock: both are named, and either can be had."""
    cells = frame(*(change | {"predictor": f"p{n}"} for n, change in enumerate(changes)), RULE)
    with pytest.raises(TrackingError) as caught:
        select(cells)
    told = str(caught.value)
    assert "\n  - bert on tnews: predictor p0 (" in told
    assert f"; predictor p1 ({changes[1].get('model_source', BASE['model_source'])}" in told
    assert "in models=…, these by their predictor; or measure them into experiments of their own" in told
    assert keys(select(cells, models=["rule", "p0"])) == ["0", "2"]
    with pytest.raises(TrackingError, match="share a name"):
        compare.select_studies(cells.assign(kind="behaviour"))


def test_an_unknown_training_seed_is_no_training_seed(caplog):
    """A checkpoint of unknown training is another model than those of its name that were trained here: it is left out."""
    caplog.set_level("INFO", "crt")
    rows = [{"seed": 1}, {"train_seed": None}, {"train_seed": "13"}, {"train_seed": None, "dataset": "ocnli"}]
    assert keys(select(frame(*rows))) == ["0", "2", "3"]
    assert "bert on tnews: 1 cells of a checkpoint whose training seed is not known are left out" in caplog.text
    assert "ocnli" not in caplog.text


def test_without_training_seeds():
    """Cells of which no model has a training seed need no such column."""
    cells = frame({}, {}, {"seed": 42}).drop(columns="train_seed")
    assert keys(select(cells)) == ["1", "2"]


def test_only_some():
    """Models and data sets narrow the choice, each by name."""
    cells = frame({}, {"model": "rule"}, {"dataset": "ocnli"}, {"model": "rule", "dataset": "ocnli"})
    assert keys(select(cells, models=["rule"])) == ["1", "3"]
    assert keys(select(cells, datasets=["ocnli"])) == ["2", "3"]
    assert keys(select(cells, models=["bert"], datasets=["tnews", "ocnli"])) == ["0", "2"]


def test_one_split_of_a_data_set(caplog):
    """Numbers on the split that models are chosen on never replace the reported ones; asked for, they are shown."""
    caplog.set_level("INFO")
    cells = frame({"split": "validation"}, {"split": "held out of train"}, {"split": "validation", "seed": 42})
    assert keys(select(cells)) == ["0", "2"]
    assert "cells on 'held out of train' are left out" in caplog.text
    assert keys(select(cells, split="held out of train")) == ["1"]
    assert keys(select(frame({"split": "held out of train"}))) == ["0"]
    with pytest.raises(
        TrackingError, match=r"no finished cell has the split 'test'\. There are held out of train, validation"
    ):
        select(cells, split="test")


def test_a_table_against_none():
    """A perturbation with a list of the user's own is not the same as without one."""
    cells = frame({"table_sha256": None}, {"model": "rule"})
    with pytest.raises(TrackingError, match="table_sha256 of shape differs: none"):
        select(cells)


# what is refused


EMPTY = {
    "no cell at all": (pd.DataFrame(columns=["key", "run_id"]), {}),
    "no cell at all, and a model asked for": (pd.DataFrame(columns=["key", "run_id"]), {"models": ["bert"]}),
    "clean cells only": (frame(CLEAN_CELL), {}),
    "clean cells only of what is asked for": (frame({}, CLEAN_CELL | {"model": "rule"}), {"models": ["rule"]}),
}


@pytest.mark.parametrize(("cells", "wanted"), EMPTY.values(), ids=EMPTY)
def test_nothing_to_compare(cells, wanted):
    """Without a perturbed cell the message says which command makes one."""
    with pytest.raises(TrackingError, match=r"no finished cell to compare; run: crt evaluate"):
        select(cells, **wanted)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            {"models": ["bert", "rul"]},
            "no finished cell has the model 'rul'; did you mean 'rule'? There are bert, rule",
        ),
        ({"datasets": ["ocnli"]}, "no finished cell has the dataset 'ocnli'. There are tnews"),
    ],
)
def test_unknown_name(wanted, message):
    """A model or data set without a cell is named, with those that have some."""
    with pytest.raises(TrackingError) as caught:
        select(frame({}, {"model": "rule"}), **wanted)
    assert str(caught.value) == message


DISAGREE = {
    "scoring version": ({"scoring_version": "0"}, "scoring_version differs: 0 (rule, 200 examples); 1 (bert, 200 "),
    "examples of a data set": (
        {"data_digest": "e" * 16, "num_examples": 50.0},
        f"data_digest of tnews differs: {'e' * 16} (rule, 50 examples); {'d' * 16} (bert, 200 examples)",
    ),
    "table of a perturbation": (
        {"table_sha256": "b" * 16},
        f"table_sha256 of shape differs: {'b' * 16} (rule, 200 examples); {'a' * 16} (bert, 200 examples)",
    ),
    "fields of a pair": (
        {"fields": "first"},
        "fields of tnews shape differs: first (rule, 200 examples); text (bert, 200 examples)",
    ),
}


@pytest.mark.parametrize(("change", "message"), DISAGREE.values(), ids=DISAGREE)
def test_disagreement(change, message):
    """Cells that were not measured alike are refused: what differs, in whose cells, and the command that redoes it."""
    with pytest.raises(TrackingError) as caught:
        select(frame(RULE | change, {}))
    text = str(caught.value)
    assert text.startswith("these cells were not measured in the same way:\n  - ")
    assert message in text
    assert "crt evaluate --dataset tnews --model rule" in text
    assert text.endswith("redo the odd ones, or compare only some with models=… or datasets=…")


def test_the_command_names_the_registered_version():
    """A model from the registry is redone by the version that was measured, not by the name of its base model."""
    with pytest.raises(TrackingError) as caught:
        select(frame({"scoring_version": "0"}, RULE))
    assert "crt evaluate --dataset tnews --model models:/crt-tnews/3 --force true\n" in str(caught.value)


def test_the_command_has_the_settings_of_the_newest_cell():
    """The older cells are redone with what the newest was measured with, and measured again though they are stored."""
    newest = {"data_digest": "e", "max_samples": "200", "exclude_seen": "true", "data_source": "my data/x.csv"}
    with pytest.raises(TrackingError) as caught:
        select(frame(RULE | {"data_source": "my data/x.csv"}, newest))
    assert "--dataset 'my data/x.csv' --model rule --max_samples 200 --exclude_seen true --force true" in str(
        caught.value
    )


def test_two_data_sets_of_one_name_are_named_by_their_files():
    """Where two files have one name both are shown, with the way to tell them apart."""
    cells = frame(
        {"dataset": "reviews", "data_source": "a/reviews.csv", "data_digest": "e" * 16, "prob": 0.3},
        {"dataset": "reviews", "data_source": "b/reviews.csv"},
    )
    with pytest.raises(TrackingError) as caught:
        select(cells)
    assert (
        f"data_digest of reviews differs: {'e' * 16} (bert, 200 examples, a/reviews.csv); "
        f"{'d' * 16} (bert, 200 examples, b/reviews.csv); if these are two data sets, measure one of them under another "
        "name with name=; to measure the older ones like the newest: "
    ) in str(caught.value)


def test_cells_that_give_way_to_another_data_set_are_told(caplog):
    """A newer cell of the same name on other texts takes the place of an older one, and that is said."""
    older = {"dataset": "reviews", "data_source": "a/reviews.csv", "data_digest": "e" * 16}
    with caplog.at_level("INFO", "crt"):
        assert keys(select(frame(older, {"dataset": "reviews", "data_source": "b/reviews.csv"}))) == ["1"]
        select(frame({}, {}))
    (told,) = [message for message in caplog.messages if "on other texts" in message]
    assert told == (
        "reviews, a/reviews.csv: older cells (1) on other texts are left out; if these are two data sets, measure one of them "
        "under another name with name="
    )


def test_a_cell_of_an_unknown_predictor_takes_no_place():
    """It was stored before predictors were, or by another hand: what is known counts, whatever the clocks say."""
    assert keys(select(frame({"predictor": "p" * 16}, {"predictor": None}))) == ["0"]


def test_cells_of_two_versions_of_a_model_are_not_joined():
    """A clean cell of one version and a perturbed one of another stay apart."""
    found = select(frame(CLEAN_CELL | VERSIONS[0], VERSIONS[1] | {"prob": 0.3}))
    assert found["model"].tolist() == ["bert@v10", "bert@v3"]


def test_all_disagreements_at_once():
    """Several faults stand in one message, a line each."""
    with pytest.raises(TrackingError) as caught:
        select(frame(RULE | {"scoring_version": "0", "data_digest": "e", "table_sha256": "b"}, {}))
    assert str(caught.value).count("\n  - ") == 3


AGREE = {
    "the digests of two data sets": ({"dataset": "ocnli", "data_digest": "e" * 16},),
    "the tables of two perturbations": ({"perturbation": "synonym", "table_sha256": "b" * 16},),
    "the fields of two data sets": ({"dataset": "ocnli", "data_digest": "e" * 16, "fields": "both"},),
    "a perturbation without a table": ({"perturbation": "space", "table_sha256": None},),
    "a clean cell, which has neither fields nor table": (CLEAN_CELL,),
    "an odd cell that was measured again since": (),
}


@pytest.mark.parametrize("changes", AGREE.values(), ids=AGREE)
def test_no_disagreement(changes):
    """What may differ does: digests between data sets, tables between perturbations; replaced cells do not count."""
    cells = frame({"scoring_version": "0", "data_digest": "e" * 16, "table_sha256": "b" * 16}, {}, *changes)
    assert keys(select(cells)) == [str(number) for number in range(1, len(changes) + 2)]


def test_a_disagreement_that_is_not_asked_for():
    """Only the cells that are compared must agree."""
    cells = frame(RULE | {"scoring_version": "0"}, {})
    assert keys(select(cells, models=["bert"])) == ["1"]


# the signature


def test_signature():
    """The signature names all that must agree, sorted, with short digests, and no clean prob or seed among them."""
    extra = {"max_length": "128", "precision": "fp32"}
    cells = frame(
        CLEAN_CELL | extra,
        extra | {"prob": 0.30, "seed": 100},
        extra | {"prob": 0.05, "seed": 13},
        extra | {"dataset": "ocnli", "data_digest": "0123456789abcdef", "fields": "both", "perturbation": "space"}
        | {"table_sha256": None},
    )  # fmt: skip
    assert signature(cells) == (
        f"crt:{__version__}|scoring:1|data:ocnli@01234567,tnews@dddddddd|tables:shape@aaaaaaaa|probs:0.05,0.1,0.3|"
        "seeds:13,100|max_length:128|precision:fp32|fields:both,text"
    )


def test_signature_does_not_depend_on_the_order():
    """The order in which the cells were measured leaves the signature as it is."""
    cells = frame(CLEAN_CELL, {"prob": 0.3}, {"seed": 42}, {"dataset": "ocnli", "data_digest": "e" * 16})
    assert signature(cells) == signature(cells.iloc[::-1])


def test_signature_leaves_out_what_is_unknown():
    """What no cell has is no part of the signature."""
    cells = frame({}).drop(columns=["table_sha256", "fields"])
    assert signature(cells) == f"crt:{__version__}|scoring:1|data:tnews@dddddddd|probs:0.1|seeds:13"


def test_studies_beside_the_grid(invoke, tmp_path):
    """Each study has a table beside that of the grid; a data set that only a study measured can be asked for."""
    data = ("--data_dir", SAMPLES, "--no_figures")
    invoke("heuristics", "--dataset", "ocnli", "--model", "rule", *data)
    invoke("behaviour", "--dataset", "sample", "--model", "rule", *data)
    grid = ("--perturbations", "space", "--prob", 0.3, "--seed", 1)
    invoke("evaluate", "--dataset", "chnsenticorp", "--model", "rule", *grid, *data)
    shown = invoke("compare", "--datasets", "ocnli", "--output_dir", "studies").stdout
    assert "| data set | model | overlap 0.00-0.25 entailed |" in shown
    assert "| ocnli | rule |" in shown
    assert {path.name for path in (tmp_path / "studies").iterdir()} == {
        "index.json",
        *(f"table_heuristics_ocnli.{suffix}" for suffix in ("csv", "md", "tex")),
    }
    shown = invoke("compare", "--no_figures").stdout
    assert "| chnsenticorp | rule |" in shown
    assert "dir pass rate | inv pass rate | mft pass rate" in shown
    names = {path.name for path in (tmp_path / "outputs").iterdir()}
    assert {"table_heuristics_ocnli.md", "table_behaviour_sample.csv", "paper_table_acc_drop.md"} <= names


def test_a_study_table():
    """The last run of each model counts, undefined metrics are dashes, and the best of several models is bold."""
    runs = pd.DataFrame(
        [
            {"kind": "behaviour", "model": "a", "dataset": "d", "metric.mft_pass_rate": 0.1, "metric.mft_total": 5.0},
            {
                "kind": "behaviour",
                "model": "a",
                "dataset": "d",
                "metric.mft_pass_rate": 0.5,
                "metric.inv_pass_rate": 1.0,
            },
            {
                "kind": "behaviour",
                "model": "b",
                "dataset": "d",
                "metric.mft_pass_rate": 0.75,
                "metric.num_examples": 88.0,
            },
        ]
    )
    (table,) = study_tables(runs, STUDIES)
    assert table.header == ("data set", "model", "inv pass rate", "mft pass rate")
    assert table.rows == (("d", "a", "100.0", "50.0"), ("d", "b", "–", "75.0"))
    assert table.best == {(1, 3)}
    assert table.caption.startswith("behaviour on d, in percent, n = 88.")
    assert study_tables(runs[:0], STUDIES) == ()


def test_a_study_table_over_training_seeds():
    """The last run of each training seed counts, an unknown seed only alone; of several there are mean and deviation."""
    runs = pd.DataFrame(
        [
            {"kind": "behaviour", "model": model, "dataset": "d", "train_seed": seed, "metric.mft_pass_rate": rate}
            for model, seed, rate in [
                ("a", None, 0.1),
                ("a", "13", 0.9),
                ("a", "13", 0.5),
                ("a", "42", 0.7),
                ("b", None, 0.55),
            ]
        ]
    )
    (table,) = study_tables(runs, STUDIES)
    assert table.rows == (("d", "a", "60.0±14.1"), ("d", "b", "55.0"))  # 14.1: 0.2 / sqrt(2)
    assert table.best == {(0, 2)}
    assert "over training seeds: up to 2 (a)" in table.caption


def test_studies_on_other_texts_are_left_out(caplog):
    """Of two suites the newest counts; the older run is named."""
    runs = pd.DataFrame(
        [
            {"kind": "behaviour", "model": "a", "dataset": "d", "suite_digest": "1"},
            {"kind": "behaviour", "model": "b", "dataset": "d", "suite_digest": "2"},
            {"kind": "heuristics", "model": "a", "dataset": "d", "data_digest": "3"},
        ]
    )
    with caplog.at_level("INFO"):
        kept = compare.select_studies(runs)
    assert kept[["kind", "model"]].to_numpy().tolist() == [["behaviour", "b"], ["heuristics", "a"]]
    assert "behaviour of a on d was measured on other texts" in caplog.text


def test_studies_measured_in_another_way_are_left_out(caplog):
    """Every digest must agree with the newest run that has it; one that a run lacks is no disagreement."""
    run = {"kind": "worst_case", "dataset": "d", "data_digest": "1"}
    runs = pd.DataFrame(
        [
            run | {"model": "a", "protocol_digest": "p", "shape_digest": "old"},
            run | {"model": "b", "protocol_digest": "q", "shape_digest": "new"},
            run | {"model": "c", "protocol_digest": "p", "shape_digest": "new"},
            run | {"model": "d", "protocol_digest": "p", "space_digest": "x"},
        ]
    )
    with caplog.at_level("INFO"):
        assert compare.select_studies(runs)["model"].tolist() == ["c", "d"]
    assert "worst_case of b on d was measured on other texts than the newest, or in another way (protocol_digest)" in (
        caplog.text
    )
    assert "worst_case of a on d" in caplog.text
