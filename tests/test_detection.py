"""Attack detection: no source in two parts, features of known texts, scores that can be wrong."""

import numpy as np
import pandas as pd
import pytest
from conftest import runner
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score
from strategies import PROPERTY

from crt.errors import DataError
from crt.perturbations import FAMILIES, MIXED, PERTURBATIONS, WAYS_TO_EVADE, load, relatives
from crt.records import Example, Prediction
from crt.scoring.metrics import balanced_accuracy, recalls
from crt.studies.detect import command as detect
from crt.studies.detect.attacks import PARTS, Attacked, downsampled, from_file, from_perturbations, labels_of, split
from crt.studies.detect.detectors import training_space
from crt.studies.detect.features import Surprise, points_of, text_features, victim_features
from crt.studies.detect.results import Verdict
from crt.studies.detect.study import _leave_one_out, _successful


def texts(sources, attacks=("a", "b")):
    """Return each source as it is and once for each attack."""
    return [
        Attacked((s if name == "clean" else f"{s}{name}",), name, (s,)) for s in sources for name in ("clean", *attacks)
    ]


@PROPERTY
@given(st.lists(st.text("甲乙丙丁戊", min_size=2, max_size=5), min_size=60, max_size=120), st.integers(0, 99))
def test_no_source_in_two_parts(sources, seed):
    """Whatever the texts: all that come from one source are in one part, and every text is in exactly one."""
    rows = texts(sources)
    try:
        parts = split(rows, seed=seed)
    except DataError:
        return
    groups = [{text.group for text in parts[name]} for name in PARTS]
    assert sum(map(len, groups)) == len(set.union(*groups))
    assert sum(map(len, parts.values())) == len(rows)


def test_parts_have_their_size():
    """60, 20 and 20 % of the texts, to within a source; the order of the texts does not matter."""
    rows = texts([f"文{k}" for k in range(100)])
    parts = split(rows, seed=13)
    assert [len(parts[name]) for name in PARTS] == [180, 60, 60]
    again = split(rows[::-1], seed=13)
    assert {name: set(parts[name]) for name in PARTS} == {name: set(again[name]) for name in PARTS}
    assert split(rows, seed=14) != parts


def test_a_pair_goes_by_its_premise():
    """Two pairs with one premise stay together."""
    rows = [
        Attacked((f"前{k // 2}", f"后{k}{a}"), a, (f"前{k // 2}", f"后{k}")) for k in range(40) for a in ("clean", "x")
    ]
    parts = split(rows, seed=1)
    assert not {t.input[0] for t in parts["train"]} & {t.input[0] for t in parts["test"]}


def test_every_class_in_every_part():
    """A rare attack that is missing from a part is an error that names it."""
    rows = [*texts([f"文{k}" for k in range(50)], attacks=("a",)), Attacked(("x",), "rare", ("文1",))]
    with pytest.raises(DataError, match=r"part '(train|validation|test)' has [01] source texts of 'rare'"):
        split(rows, seed=13)


def test_downsampling():
    """Clean texts are cut to the attacks in all for detection, to the most frequent attack for labelling; attacks stay."""
    rows = [Attacked((str(k),), "clean", (str(k),)) for k in range(100)]
    rows += [Attacked((f"{k}x",), "a" if k < 20 else "b", (str(k),)) for k in range(30)]
    assert len(downsampled(rows, labelling=False, seed=1)) == 60
    kept = downsampled(rows, labelling=True, seed=1)
    assert len(kept) == 50
    assert {100 + k for k in range(30)} <= set(kept)
    assert len(downsampled(rows[90:], labelling=False, seed=1)) == 40
    turned = rows[::-1]
    assert {turned[row] for row in downsampled(turned, labelling=True, seed=1)} == {rows[row] for row in kept}


def test_unchanged_texts_are_no_attacks():
    """What a perturbation leaves as it was is only there as clean text."""
    examples = [Example("x/y/0", ("价格很好",), 0), Example("x/y/1", ("abc",), 0)]
    found = [text for _, text in from_perturbations(examples, [load("homophone")], prob=1.0, seed=13)]
    assert [text.attack for text in found] == ["clean", "clean", "homophone"]
    assert found[2].source == ("价格很好",)


TCAB = """target_model_dataset,attack_name,status,original_text,perturbed_text,num_queries
imdb,deepwordbug,success,很好,很女子,3
imdb,deepwordbug,failure,不错,不昔,3
imdb,textfooler,success,很好,挺好,5
"""


def test_tcab_files(tmp_path):
    """Successful attacks count, and each of their originals once as a clean text."""
    path = tmp_path / "attacks.csv"
    path.write_text(TCAB, encoding="utf-8")
    assert [(text.input[0], text.attack, text.group) for text in from_file(path)] == [
        ("很好", "clean", "很好"),
        ("很女子", "deepwordbug", "很好"),
        ("挺好", "textfooler", "很好"),
    ]
    path.write_text(TCAB.replace("attack_name", "name"), encoding="utf-8")
    with pytest.raises(
        DataError, match=r"line 2: no column 'attack_name'.* The file has .*; TCAB's files have original_text"
    ):
        from_file(path)
    path.write_text(TCAB.replace("success", "failure"), encoding="utf-8")
    with pytest.raises(DataError, match="holds no attack with status 'success'"):
        from_file(path)


def test_features_of_known_texts():
    """Each trace is seen where it is: traditional script, Latin, spaces between Han, width, hidden characters, pinyin."""
    found = text_features([("头发很长",), ("頭髮很長",), ("好 的",), ("ｈi，hao",), ("好\u200b的",), ("",)])
    assert found["traditional_all"].tolist() == [0, 0.75, 0, 0, 0, 0]
    assert found["rare_all"][1] == 0.75
    assert found["space_between_han_all"].tolist() == [0, 0, pytest.approx(1 / 3), 0, 0, 0]
    assert found["fullwidth_all"][3] == pytest.approx(2 / 6)
    assert found["invisible_all"][4] == pytest.approx(1 / 3)
    assert found["pinyin"].tolist() == [0, 0, 0, pytest.approx(1 / 2), 0, 0]
    assert found["han_begin"].tolist() == [1, 1, 1, 0, 1, 0]
    assert all(np.isfinite(column).all() and len(column) == 6 for column in found.values())


def test_neighbours_of_other_texts_do_not_count():
    """A space at the end of a text is not between its last character and the first of the next text."""
    assert text_features([("好 ",), ("的",)])["space_between_han_all"].tolist() == [0, 0]


def test_repeats_are_those_of_one_text():
    """A text that begins as the one before it ended repeats nothing, whatever the order of the texts."""
    assert text_features([("你好",), ("好的",), ("好好",)])["repeated_all"].tolist() == [0, 0, 0.5]


def test_surprise():
    """What was often seen surprises less than what was not, and a start of text is a context of its own."""
    model = Surprise([("价格很好",)] * 5 + [("很好",)])
    expected, odd = (model.of(*points_of([(text,)])).sum() for text in ("价格很好", "架格很好"))
    assert expected < odd
    assert np.isfinite(model.of(*points_of([("",), ("龘",)]))).all()


def test_surprise_of_the_training_part_is_out_of_fold():
    """A clean text of the training part is not surprised less because the model had counted it."""
    inputs = [(f"第{chr(0x4E00 + k)}句",) for k in range(30)]
    space, matrix = training_space(inputs, np.ones(30, bool), [value[0] for value in inputs], None)
    column = space.names.index("surprise_all")
    assert matrix[:, column].min() > space.matrix(inputs, None)[:, column].max()


def test_victim_features():
    """A certain victim has margin 1 and entropy 0, an undecided one 0 and 1 bit."""
    zeros = np.zeros(2, dtype=np.int64)
    p = np.array([[1, 0], [0.5, 0.5]], dtype=np.float32)
    found = victim_features(Prediction(p, np.array([4, 4]), np.array([0, 1]), zeros.astype(bool)))
    assert found["p_margin"].tolist() == [1, 0]
    assert found["p_entropy"].tolist() == [pytest.approx(0, abs=1e-9), 1]
    assert found["unknown_tokens"].tolist() == [0, 0.25]


@PROPERTY
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=50))
def test_balanced_accuracy_is_that_of_scikit_learn(pairs):
    """Equal on random labels, a class of recall 0 among them."""
    gold, predicted = (np.array(column) for column in zip(*pairs, strict=True))
    assert balanced_accuracy(gold=gold, predicted=predicted) == pytest.approx(balanced_accuracy_score(gold, predicted))


def test_balanced_accuracy_by_hand():
    """Recalls 1 and 0 give 0.5; it is not symmetric; without examples it is undefined."""
    gold, predicted = np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0])
    assert recalls(gold=gold, predicted=predicted) == {0: 1.0, 1: 0.0}
    assert balanced_accuracy(gold=gold, predicted=predicted) == 0.5
    assert balanced_accuracy(gold=predicted, predicted=gold) == 0.75
    assert balanced_accuracy(gold=gold[:0], predicted=gold[:0]) is None


def test_always_clean_scores_one_half():
    """A detector that never raises an alarm has balanced accuracy 0.5, however few clean texts there are."""
    gold = np.array([0] * 5 + [1] * 95)
    verdict = Verdict(
        "detection", "always clean", ("clean", "attack"), gold, np.zeros(100, np.int64), tuple(map(str, range(100)))
    )
    assert verdict.metrics["balanced_accuracy"] == 0.5
    assert verdict.metrics["accuracy"] == 0.05
    assert verdict.confusion().to_numpy().tolist() == [[5, 0], [95, 0]]


def test_labels():
    """Detection has two labels, labelling one for each attack."""
    rows = texts(["文"])
    assert labels_of(rows, labelling=False)[0].tolist() == [0, 1, 1]
    assert labels_of(rows, labelling=True)[0].tolist() == [0, 1, 2]
    assert labels_of(rows, labelling=True)[1] == ("clean", "a", "b")


def test_families():
    """Every perturbation has a family; what composes others is related to all of them, and an unknown one to itself."""
    assert set().union(*FAMILIES.values()) == set(PERTURBATIONS), "edit FAMILIES in crt/perturbations/__init__.py"
    assert relatives("ime") == {"homophone", "ime", "fuzzy", "digits", "emoji_sound", "evade", "mixture"}
    assert relatives("martian") == {"martian", "traditional", "traditional_tw", "simplified", "evade"}
    assert set(WAYS_TO_EVADE) <= relatives("evade")
    assert set(MIXED) <= relatives("mixture")
    assert relatives("TextFooler") == {"TextFooler"}


def test_an_attack_is_left_out_with_its_family():
    """Of two relatives neither is in the training of the other's detector; attacks of one family alone have no such row."""
    rng = np.random.default_rng(0)
    names = np.repeat(["clean", "homophone", "ime", "space"], 40)
    shown = [Attacked((str(k),), name, (str(k),)) for k, name in enumerate(names)]
    # only the second feature gives homophone and ime away, only the first gives space away
    marks = {"clean": (0, 0), "homophone": (0, 9), "ime": (0, 9), "space": (9, 0)}
    matrix = np.array([marks[name] for name in names]) + rng.normal(size=(160, 2)) / 10
    found = _leave_one_out("gradient boosting", shown, matrix, shown, matrix, seed=1).set_index("left_out")
    assert found["with_it"].to_dict() == {"homophone": "ime", "ime": "homophone", "space": ""}
    assert (found["recall"] < 0.2).all()
    related = names != "space"
    some = [text for text, kept in zip(shown, related, strict=True) if kept]
    assert _leave_one_out("gradient boosting", some, matrix[related], some, matrix[related], seed=1).empty


def test_the_command(invoke, tmp_path):
    """`detect` attacks the built-in reviews, with a small encoder beside, and stores scores and tables."""
    import mlflow

    shown = invoke(
        "detect", "--dataset", "sample", "--model", "rule", "--perturbations", "space,martian,traditional",
        "--encoder", "tiny", "--num_train_epochs", 1, "--learning_rate", 0.001, "--max_samples", 80,
    ).stdout  # fmt: skip
    assert "| detection | features: " in shown
    assert "| labelling | encoder: tiny" in shown
    out = tmp_path / "outputs"
    scores = pd.read_csv(out / "detection.csv")
    assert scores["task"].tolist() == ["detection", "detection", "labelling", "labelling"]
    assert scores["balanced_accuracy"].between(0, 1).all()
    assert scores["balanced_accuracy"][0] > 0.6
    unseen = pd.read_csv(out / "unseen_attacks.csv")
    assert unseen["left_out"].tolist() == ["space", "martian", "traditional"]
    assert unseen["with_it"].fillna("").tolist() == ["", "traditional", "martian"]
    assert "| martian | traditional |" in shown
    assert "fewer than 30 test texts: clean " in shown
    texts = pd.read_csv(out / "detection_texts.csv")
    assert set(texts["part"]) == {"train", "validation", "test"}
    test = texts[texts["part"] == "test"]
    found = pd.crosstab(test["attack"], test["labelling_features"])
    assert texts[texts["part"] != "test"]["labelling_features"].isna().all()
    assert (texts[texts["attack"] == "clean"]["text_1"] == texts[texts["attack"] == "clean"]["source_1"]).all()
    assert ((test["detection_features_score"] > 0.5) == (test["detection_features"] == "attack")).all()
    (run,) = mlflow.search_runs(search_all_experiments=True, output_format="list")
    assert run.data.metrics["detection_balanced_accuracy"] == pytest.approx(scores["balanced_accuracy"][0])
    assert run.data.params["model_source"] == "rule"
    assert run.data.params["cfg.prob"] == "0.15"
    confusion = pd.read_csv(out / "confusion_labelling_features.csv", index_col=0)
    assert list(confusion.columns) == ["clean", "space", "martian", "traditional"]
    assert found.reindex_like(confusion).fillna(0).to_numpy().tolist() == confusion.to_numpy().tolist()
    stored = {file.path for file in mlflow.MlflowClient().list_artifacts(run.info.run_id)}
    assert {"detection_texts.csv", "unseen_attacks.csv"} <= stored


@pytest.mark.parametrize(
    ("successful", "message"),
    [
        ("false", "no attack changes a text at prob 0"),
        ("true", "no attack turns a right answer of rule into a wrong one"),
    ],
)
def test_texts_that_nothing_was_done_to(store, successful, message):
    """Without a single attack there is nothing to detect, and the message says why."""
    arguments = ["--dataset", "sample", "--model", "rule", "--prob", "0", "--successful", successful]
    result = runner().invoke(detect.main, [*arguments, "--perturbations", "space"])
    assert result.exit_code == 1, result.output
    assert f"error: sample: {message}" in result.stderr
    assert result.stderr.rstrip().endswith("at prob 0; raise it, or name other perturbations")


def test_successful_attacks_turn_a_right_answer_into_a_wrong_one():
    """An attack on an answer that was wrong already, and one that changes nothing, are no success; clean texts stay."""

    class Victim:
        name, labels, fingerprint, train_seed, settings = "v", ("n", "p"), "f", None, {}

        def predict(self, inputs):
            """Say p where 好 is read."""
            zeros = np.zeros(len(inputs), dtype=np.int64)
            said = np.array([[0, 1] if "好" in text else [1, 0] for (text,) in inputs], dtype=np.float32)
            return Prediction(said, zeros, zeros, zeros.astype(bool))

    examples = [Example("d/s/0", ("很好",), 1), Example("d/s/1", ("不好",), 0)]
    made = [
        (0, Attacked(("很好",), "clean", ("很好",))),
        (1, Attacked(("不好",), "clean", ("不好",))),
        (0, Attacked(("很女子",), "split", ("很好",))),
        (0, Attacked(("狠好",), "homophone", ("很好",))),
        (1, Attacked(("不女子",), "split", ("不好",))),
    ]
    rows, attacked = zip(*made, strict=True)
    kept = _successful(examples, rows, attacked, Victim())
    assert [(text.input[0], text.attack) for text in kept] == [
        ("很好", "clean"),
        ("不好", "clean"),
        ("很女子", "split"),
    ]
