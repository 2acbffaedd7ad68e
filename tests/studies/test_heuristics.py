"""HANS: accuracy by group, the official prediction file, and labels that are never guessed."""

from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest

from crt.catalogue import TASKS
from crt.errors import DataError, ModelError
from crt.models import PredictOptions
from crt.models.recipe import TrainOptions
from crt.models.training import train
from crt.records import Prediction
from crt.studies.heuristics import study as heuristics
from crt.studies.heuristics.scoring import accuracy_by_group, collapse, surface_groups
from crt.tasks import Source, find_task, load_training, probing

REAL = Path(__file__).parents[3] / "shared/data"
published = pytest.mark.skipif(not REAL.is_dir(), reason="the published data are not at hand")

ROWS = """gold_label\tsentence1\tsentence2\tpairID\theuristic\tsubcase\ttemplate
non-entailment\tThe judge saw the actor .\tThe actor saw the judge .\tex0\tlexical_overlap\tln_swap\ttemp1
entailment\tThe judge and the actor slept .\tThe actor slept .\tex1\tlexical_overlap\tle_conj\ttemp2
entailment\tThe old judge slept .\tThe judge slept .\tex2\tsubsequence\tse_adj\ttemp3
"""


@pytest.fixture
def pairs(tmp_path):
    """A file with the columns of HANS, read as the user's own."""
    path = tmp_path / "probe.txt"
    path.write_text(ROWS, encoding="utf-8")
    return heuristics.load_pairs(probing(find_task(str(path))), None, Source(), None)


def predictions(tmp_path, *lines):
    """Write a prediction file."""
    path = tmp_path / "preds.txt"
    path.write_text("\n".join(("pairID,gold_label", *lines)) + "\n", encoding="utf-8")
    return path


def test_collapse():
    """Neutral and contradiction are no entailment; an unknown label is an error and not taken for one."""
    assert [collapse(label) for label in ("entailment", "neutral", "contradiction", "non-entailment")] == [
        "entailment",
        *["non-entailment"] * 3,
    ]
    with pytest.raises(
        DataError, match=r"unknown label 'LABEL_1'\. Known: contradiction, entailment, neutral, non-entailment"
    ):
        collapse("LABEL_1")


def test_each_gold_label_has_its_own_accuracy():
    """Groups are never pooled over the gold labels, and an empty group has no row."""
    table = accuracy_by_group(
        {"heuristic": ["a", "a", "a", "b"]},
        ["entailment", "non-entailment", "non-entailment", "entailment"],
        ["entailment", "neutral", "entailment", "contradiction"],
    )
    assert table.to_numpy().tolist() == [
        ["heuristic", "a", "collapsed", "entailment", 1, 1.0],
        ["heuristic", "a", "collapsed", "non-entailment", 2, 0.5],
        ["heuristic", "b", "collapsed", "entailment", 1, 0.0],
    ]


def test_three_labels_are_compared_where_both_sides_know_them():
    """Beside the collapsed rule stands the plain comparison of three labels."""
    table = accuracy_by_group(
        {"g": ["a"] * 3}, ["entailment", "neutral", "contradiction"], ["entailment"] + ["neutral"] * 2
    )
    plain = table[table["rule"] == "three-way"].set_index("gold")["accuracy"].to_dict()
    assert plain == {"entailment": 1.0, "neutral": 1.0, "contradiction": 0.0}
    collapsed = table[table["rule"] == "collapsed"].set_index("gold")["accuracy"].to_dict()
    assert collapsed == {"entailment": 1.0, "non-entailment": 1.0}


def test_surface_cues():
    """Pairs are sorted by overlap of characters, containment and negation."""
    pairs = [("他昨天去了北京。", "他去了北京"), ("猫在睡觉", "狗没叫"), ("他不来", "他不来。")]
    groups = surface_groups(pairs)
    assert groups["hypothesis in premise"] == ["subsequence", "no", "one run"]
    assert groups["negation in the hypothesis"] == ["none", "hypothesis only", "both sides"]
    assert groups["overlap"] == ["overlap 0.50-0.75", "overlap 0.00-0.25", "overlap 0.75-1.00"]


@published
def test_the_published_predictions(capsys):
    """The authors' example file gives the published numbers."""
    task, split = heuristics.load_pairs(TASKS["hans"], None, Source(REAL), None)
    found = heuristics.score_file(task, split, REAL / "hans/bert_preds.txt")
    assert found.metrics == {
        "num_examples": 30_000,
        "lexical_overlap_entailed": 0.9464,
        "lexical_overlap_non_entailed": 0.1640,
        "subsequence_entailed": 0.9932,
        "subsequence_non_entailed": 0.0386,
        "constituent_entailed": 0.9844,
        "constituent_non_entailed": 0.1612,
    }
    cases = found.table[found.table["level"] == "subcase"].set_index("group")["accuracy"]
    assert len(cases) == 30
    golden = {"ln_subject/object_swap": 0.001, "ln_preposition": 0.246, "ln_passive": 0.0, "sn_NP/Z": 0.102}
    golden |= {"cn_embedded_under_if": 0.499, "le_conjunction": 0.765, "ce_embedded_under_since": 0.931}
    assert cases[list(golden)].to_dict() == golden
    assert (found.table["level"] == "template").sum() == 60


@published
def test_chinese_hans_is_read_whole():
    """1,941 pairs with three labels, two categories, 46 templates; CRLF does not stick to a value."""
    task, split = heuristics.load_pairs(TASKS["chinese_hans"], None, Source(REAL), None)
    assert len(split.examples) == 1941
    assert np.bincount([e.label for e in split.examples]).tolist() == [560, 541, 840]
    assert {e.groups[0] for e in split.examples} == {"lexical_overlap", "subsequence-constituent"}
    assert len({e.groups[1] for e in split.examples}) == 46
    assert task.labels == ("neutral", "entailment", "contradiction")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["ex0,entailment", "ex1,entailment"], "1 of 3 pairs have no prediction, the first is ex2"),
        (["ex0,entailment", "ex0,neutral", "ex1,neutral", "ex2,neutral"], "line 3: pairID 'ex0' stands there twice"),
        (["ex0,entailment", "ex9,neutral"], "line 3: pairID 'ex9' is no pair of this set"),
        (["ex0,maybe"], "line 2: unknown label 'maybe'. Known: contradiction, entailment, neutral, non-entailment"),
        (["ex0,entailment,0.9"], "line 2: 3 columns, the header has 2"),
    ],
)
def test_bad_prediction_files(pairs, tmp_path, lines, message):
    """A prediction that is missing, repeated, unknown or no label is an error that says where."""
    with pytest.raises(DataError, match=message):
        heuristics.score_file(*pairs, predictions(tmp_path, *lines))


def test_a_prediction_file_of_other_columns_is_refused(pairs, tmp_path):
    """The column that is missing is named, and the one that may be meant."""
    (tmp_path / "p.csv").write_text("pairID,gold label\nex0,entailment\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"p\.csv, line 2: no column 'gold_label'; did you mean 'gold label'\?"):
        heuristics.score_file(*pairs, tmp_path / "p.csv")


def test_the_file_in_any_order(pairs, tmp_path):
    """Predictions are matched by id; the labels stay as they were written."""
    found = heuristics.score_file(*pairs, predictions(tmp_path, "ex2,contradiction", "ex0,neutral", "ex1,entailment"))
    assert found.predictions == (("ex0", "neutral"), ("ex1", "entailment"), ("ex2", "contradiction"))
    assert found.metrics == {
        "num_examples": 3,
        "lexical_overlap_entailed": 1.0,
        "lexical_overlap_non_entailed": 1.0,
        "subsequence_entailed": 0.0,
    }


class Named:
    """A model with given label names that always answers the first."""

    name, fingerprint, train_seed, settings = "m", "f", None, {}

    def __init__(self, *labels):
        self.labels = labels

    def predict(self, inputs):
        """Answer the first label."""
        zeros = np.zeros(len(inputs), dtype=np.int64)
        scores = np.tile(np.eye(len(self.labels), dtype=np.float32)[0], (len(inputs), 1))
        return Prediction(scores, zeros, zeros, zeros.astype(bool))


def test_labels_by_name():
    """The names decide, in whatever order and case a checkpoint has them; numbers are refused."""
    assert heuristics.inference_labels(Named("CONTRADICTION", "NEUTRAL", "ENTAILMENT")) == [
        "contradiction",
        "neutral",
        "entailment",
    ]
    with pytest.raises(ModelError, match=r"has the labels LABEL_0, LABEL_1, LABEL_2; .* label_map=LABEL_0=entailment"):
        heuristics.inference_labels(Named("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(ModelError, match=r"needs entailment and"):
        heuristics.inference_labels(Named("neutral", "contradiction"))


@pytest.mark.parametrize(
    "order", [("entailment", "neutral", "contradiction"), ("contradiction", "neutral", "entailment")]
)
def test_the_order_of_a_checkpoint_does_not_matter(pairs, monkeypatch, accelerator, order):
    """A model that always says what stands first gets the accuracy of that word, not of its number."""
    monkeypatch.setattr(heuristics, "load_predictor", lambda *_: Named(*order))
    found = heuristics.measure(*pairs, "x", None, accelerator, None, default=TASKS["ocnli"], source=Source())
    follows = order[0] == "entailment"
    assert found.metrics["lexical_overlap_entailed"] == float(follows)
    assert found.metrics["lexical_overlap_non_entailed"] == float(not follows)


def test_the_command(invoke, tmp_path):
    """`heuristics` on the sample pairs writes predictions, tables and figures, and a run with the metrics."""
    data = Path(__file__).parents[2] / "resources/samples"
    result = invoke("heuristics", "--dataset", "ocnli", "--model", "rule", "--data_dir", data)
    assert "hypothesis in premise" in result.stdout
    out = tmp_path / "outputs"
    lines = (out / heuristics.PREDICTIONS).read_text(encoding="utf-8").splitlines()
    assert lines[0] == "pairID,gold_label"
    assert {line.split(",")[1] for line in lines[1:]} <= {"entailment", "neutral", "contradiction"}
    assert (out / "heuristics.svg").stat().st_size > 1000
    table = pd.read_csv(out / "heuristics.csv")
    (run,) = mlflow.search_runs(search_all_experiments=True, output_format="list")
    assert run.data.tags["crt.kind"] == "heuristics"
    level = table[(table["level"] == "overlap") & (table["rule"] == "three-way")]
    for row in level.itertuples():
        assert run.data.metrics[f"{row.group}_{row.gold}".replace(" ", "_")] == pytest.approx(row.accuracy)
    assert {file.path for file in mlflow.MlflowClient().list_artifacts(run.info.run_id)} >= {
        "hans_predictions.txt",
        "heuristics.csv",
        "heuristics.md",
        "heuristics.svg",
    }


def test_names_of_groups_are_no_markup(invoke, tmp_path):
    """A group whose name a spreadsheet program would compute, or that holds a bar, keeps its place in both tables."""
    header = "gold_label\tsentence1\tsentence2\tpairID\theuristic\tsubcase\ttemplate\n"
    rows = "entailment\tA slept .\tA .\tp1\t=1+1\ta|b\tt\nnon-entailment\tB .\tA .\tp2\t=1+1\ta|b\tt\n"
    (tmp_path / "hans").mkdir()
    (tmp_path / "hans" / "heuristics_evaluation_set.txt").write_text(header + rows, encoding="utf-8")
    (tmp_path / "said.csv").write_text("pairID,gold_label\np1,entailment\np2,entailment\n", encoding="utf-8")
    invoke("heuristics", "--dataset", "hans", "--predictions", "said.csv", "--data_dir", tmp_path, "--no_figures")
    assert set(pd.read_csv(tmp_path / "outputs/heuristics.csv")["group"]) >= {"'=1+1", "a|b"}
    lines = (tmp_path / "outputs/heuristics.md").read_text(encoding="utf-8").splitlines()
    assert any("| a\\|b |" in line for line in lines)


def test_training_on_hans(tmp_path, accelerator):
    """HANS's training file goes through `train` like any data set, and the checkpoint through `heuristics`."""
    lines = [
        f"{'entailment' if k % 2 else 'non-entailment'}\tThe judge {k} slept .\tThe judge slept .\tex{k}\tsubsequence\ts{k % 2}\tt"
        for k in range(40)
    ]
    (tmp_path / "hans").mkdir()
    for name in ("train", "evaluation"):
        text = "\n".join((ROWS.splitlines()[0], *lines)) + "\n"
        (tmp_path / "hans" / f"heuristics_{name}_set.txt").write_text(text, encoding="utf-8")
    source = Source(tmp_path)
    split, selection = load_training(TASKS["hans"], source)
    options = TrainOptions(model="tiny", predict=PredictOptions(max_length=32))
    *_, checkpoint = train(TASKS["hans"], split, selection, accelerator, options, tmp_path / "model")
    pairs = heuristics.load_pairs(TASKS["hans"], None, source, None)
    found = heuristics.measure(
        *pairs, str(checkpoint.folder), PredictOptions(), accelerator, None, default=TASKS["hans"], source=source
    )
    assert set(found.metrics) == {"num_examples", "subsequence_entailed", "subsequence_non_entailed"}
    assert {label for _, label in found.predictions} <= {"entailment", "non-entailment"}
    assert (found.params["model"], found.params["train_seed"]) == ("tiny", str(options.seed))
