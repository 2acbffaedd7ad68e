"""The metrics of a cell against numbers computed by hand, scikit-learn and their own limits."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from strategies import PROPERTY

from crt.records import Outcome
from crt.scoring.metrics import CLEAN_METRICS, METRICS, REFERENCE_METRICS, accuracy, macro_f1, score

COLUMNS = (
    "clean_acc", "perturbed_acc", "acc_drop", "robustness_score", "clean_macro_f1", "perturbed_macro_f1",
    "macro_f1_drop", "num_examples", "num_changed", "changed_rate", "mean_char_change_ratio", "num_resource_hits",
    "resource_coverage_rate", "mean_resource_hits_per_example", "num_clean_correct", "num_attack_eval",
    "attack_success_rate",
)  # fmt: skip
LABELS = ("negative", "neutral", "positive")
COUNTS = {name for name in METRICS if name.startswith("num_")}
SIGNED = {"acc_drop", "macro_f1_drop", "unk_rate_increase"}
BOTTOMLESS = {"relative_drop", "chance_corrected_retention", "drop_per_char_change"}
UNBOUNDED = {
    "robustness_score", "mean_char_change_ratio", "mean_resource_hits_per_example", "clean_brier", "perturbed_brier",
    "chance_corrected_retention", "drop_per_char_change",
}  # fmt: skip


class Row(NamedTuple):
    """One example of an outcome; labels are indices."""

    gold: int
    clean: int
    perturbed: int
    changed: bool = True
    sites: int = 2
    edits: int = 1
    distance: int = 1
    length: int = 4
    tokens: tuple[int, int] = (4, 4)
    unknown: tuple[int, int] = (0, 0)
    truncated: tuple[bool, bool] = (False, False)


UNTOUCHED = {"changed": False, "sites": 0, "edits": 0, "distance": 0}


def outcome(*rows: Row, from_table: bool = True) -> Outcome:
    """Return the outcome of the rows; the predicted label has probability 0.8."""
    columns = dict(zip(Row._fields, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(Row._fields, ())

    def numbers(name: str, dtype: type = np.int64, width: int | None = None) -> np.ndarray:
        return np.array(columns[name], dtype).reshape((len(rows), width) if width else len(rows))

    sure = np.full((len(LABELS), len(LABELS)), 0.1, np.float32) + np.eye(len(LABELS), dtype=np.float32) * 0.7
    return Outcome(
        ids=tuple(f"task/test/{row}" for row in range(len(rows))),
        labels=LABELS,
        gold=numbers("gold"),
        clean=sure[numbers("clean")],
        perturbed=sure[numbers("perturbed")],
        changed=numbers("changed", np.bool_),
        sites=numbers("sites"),
        edits=numbers("edits"),
        distance=numbers("distance"),
        length=numbers("length"),
        tokens=numbers("tokens", width=2),
        unknown=numbers("unknown", width=2),
        truncated=numbers("truncated", np.bool_, width=2),
        from_table=from_table,
    )


def expected(text: str) -> dict[str, float]:
    """Return the metrics that a text lists as `name value` pairs; a value may be a fraction."""
    words = text.split()
    halves = [value.split("/") for value in words[1::2]]
    values = [float(above) / float(*below or ("1",)) for above, *below in halves]
    return dict(zip(words[::2], values, strict=True))


ORDINARY = (
    Row(0, 0, 0, sites=3, edits=2, distance=3, length=10, tokens=(10, 9), unknown=(1, 2)),
    Row(0, 0, 1, sites=1, edits=1, distance=1, length=5, tokens=(5, 5), unknown=(0, 1), truncated=(True, True)),
    Row(1, 1, 2, sites=4, edits=3, distance=6, length=4, tokens=(4, 6), unknown=(0, 2), truncated=(False, True)),
    Row(1, 2, 1, sites=2, edits=1, distance=1, length=1, tokens=(2, 2)),
    Row(0, 0, 0, changed=False, sites=5, edits=0, distance=0, length=8, tokens=(8, 8), unknown=(1, 1)),
)
COMMON = """
    clean_acc 4/5   perturbed_acc 3/5   acc_drop 1/5   robustness_score 3/4
    clean_macro_f1 5/6   perturbed_macro_f1 13/20   macro_f1_drop 11/60
    num_examples 5   num_changed 4   changed_rate 4/5   mean_char_change_ratio 3/5
    num_clean_correct 4   num_attack_eval 3   attack_success_rate 2/3
    site_rate 1   edit_rate 7/15   unk_rate_increase 114/870   changed_acc 2/4   truncated_rate 2/5
    relative_drop 1/4   attack_success_rate_of_clean_correct 2/4   label_changed_rate_of_all 3/5   clean_unk_rate 2/29
    chance_corrected_retention 0   drop_per_char_change 1/3   prediction_shift 1/5
    clean_ece 0   perturbed_ece 1/5   clean_brier 34/100   perturbed_brier 62/100   clean_aurc 1/5   perturbed_aurc 2/5
"""
"""By hand. Clean: F1 of label 0 is 2*3/(3+3) = 1, of label 1 is 2*1/(2+1) = 2/3; label 2 is not in gold, so the mean is
5/6. Perturbed: label 0 has 2*2/(3+2) = 4/5, label 1 has 2*1/(2+2) = 1/2, together 13/20. Changes per character: 3/10,
1/5, 6/4, 1/1, 0: 3 over 5 examples. Unknown: 6/30 of the perturbed tokens, 2/29 of the clean ones; the difference is 114/870.
Of the four that are right when clean, two are wrong now; three of five get another label, one of them the right one. The
commonest label has 3/5. Predicted when clean: 3, 1, 1 of the labels, perturbed 2, 2, 1. All confidences are 0.8, so the error of
calibration is the distance of the accuracy from it, and the risk is the same at every coverage. A right answer has the
Brier score 0.2^2 + 2 * 0.1^2 = 0.06, a wrong one 0.8^2 + 0.9^2 + 0.1^2 = 1.46."""

CASES = {
    "no examples": ((), True, "num_examples 0 num_changed 0 num_resource_hits 0 num_clean_correct 0 num_attack_eval 0"),
    "one class, always right": (
        (Row(1, 1, 1), Row(1, 1, 1)),
        True,
        """clean_acc 1 perturbed_acc 1 acc_drop 0 robustness_score 1 clean_macro_f1 1 perturbed_macro_f1 1
        macro_f1_drop 0 num_examples 2 num_changed 2 changed_rate 1 mean_char_change_ratio 1/4 num_resource_hits 4
        resource_coverage_rate 1 mean_resource_hits_per_example 2 num_clean_correct 2 num_attack_eval 2
        attack_success_rate 0 site_rate 1 edit_rate 1/2 unk_rate_increase 0 changed_acc 1 truncated_rate 0
        relative_drop 0 attack_success_rate_of_clean_correct 0 label_changed_rate_of_all 0 clean_unk_rate 0
        drop_per_char_change 0 prediction_shift 0 clean_ece 1/5 perturbed_ece 1/5 clean_brier 6/100 perturbed_brier 6/100
        clean_aurc 0 perturbed_aurc 0""",
    ),
    "nothing to edit, nothing changed": (
        (Row(0, 0, 0, **UNTOUCHED), Row(1, 0, 0, **UNTOUCHED)),
        True,
        """clean_acc 1/2 perturbed_acc 1/2 acc_drop 0 robustness_score 1 clean_macro_f1 1/3 perturbed_macro_f1 1/3
        macro_f1_drop 0 num_examples 2 num_changed 0 changed_rate 0 mean_char_change_ratio 0 num_resource_hits 0
        resource_coverage_rate 0 mean_resource_hits_per_example 0 num_clean_correct 1 num_attack_eval 0
        site_rate 0 unk_rate_increase 0 truncated_rate 0
        relative_drop 0 attack_success_rate_of_clean_correct 0 label_changed_rate_of_all 0 clean_unk_rate 0
        prediction_shift 0 clean_ece 3/10 perturbed_ece 3/10 clean_brier 76/100 perturbed_brier 76/100
        clean_aurc 1/2 perturbed_aurc 1/2""",
    ),
    "right when clean, all wrong when perturbed": (
        (Row(0, 0, 1), Row(1, 1, 0)),
        True,
        """clean_acc 1 perturbed_acc 0 acc_drop 1 robustness_score 0 clean_macro_f1 1 perturbed_macro_f1 0
        macro_f1_drop 1 num_examples 2 num_changed 2 changed_rate 1 mean_char_change_ratio 1/4 num_resource_hits 4
        resource_coverage_rate 1 mean_resource_hits_per_example 2 num_clean_correct 2 num_attack_eval 2
        attack_success_rate 1 site_rate 1 edit_rate 1/2 unk_rate_increase 0 changed_acc 0 truncated_rate 0
        relative_drop 1 attack_success_rate_of_clean_correct 1 label_changed_rate_of_all 1 clean_unk_rate 0
        chance_corrected_retention -1 drop_per_char_change 4 prediction_shift 0 clean_ece 1/5 perturbed_ece 4/5
        clean_brier 6/100 perturbed_brier 146/100 clean_aurc 0 perturbed_aurc 1""",
    ),
    "clean accuracy 0: no robustness score, no attack": (
        (Row(0, 1, 0), Row(0, 2, 2)),
        True,
        """clean_acc 0 perturbed_acc 1/2 acc_drop -1/2 clean_macro_f1 0 perturbed_macro_f1 2/3 macro_f1_drop -2/3
        num_examples 2 num_changed 2 changed_rate 1 mean_char_change_ratio 1/4 num_resource_hits 4
        resource_coverage_rate 1 mean_resource_hits_per_example 2 num_clean_correct 0 num_attack_eval 0
        site_rate 1 edit_rate 1/2 unk_rate_increase 0 changed_acc 1/2 truncated_rate 0
        label_changed_rate_of_all 1/2 clean_unk_rate 0
        drop_per_char_change -2 prediction_shift 1/2 clean_ece 4/5 perturbed_ece 3/10 clean_brier 146/100
        perturbed_brier 76/100 clean_aurc 1 perturbed_aurc 1/2""",
    ),
    "no tokenizer: no unknown tokens to speak of": (
        (Row(0, 0, 0, tokens=(0, 0)),),
        True,
        """clean_acc 1 perturbed_acc 1 acc_drop 0 robustness_score 1 clean_macro_f1 1 perturbed_macro_f1 1
        macro_f1_drop 0 num_examples 1 num_changed 1 changed_rate 1 mean_char_change_ratio 1/4 num_resource_hits 2
        resource_coverage_rate 1 mean_resource_hits_per_example 2 num_clean_correct 1 num_attack_eval 1
        attack_success_rate 0 site_rate 1 edit_rate 1/2 changed_acc 1 truncated_rate 0
        relative_drop 0 attack_success_rate_of_clean_correct 0 label_changed_rate_of_all 0
        drop_per_char_change 0 prediction_shift 0 clean_ece 1/5 perturbed_ece 1/5 clean_brier 6/100 perturbed_brier 6/100
        clean_aurc 0 perturbed_aurc 0""",
    ),
    "an empty text counts as unchanged": (
        (Row(2, 2, 2, **UNTOUCHED, length=0, tokens=(0, 0)), Row(2, 2, 0, distance=2, tokens=(4, 4), unknown=(0, 1))),
        True,
        """clean_acc 1 perturbed_acc 1/2 acc_drop 1/2 robustness_score 1/2 clean_macro_f1 1 perturbed_macro_f1 2/3
        macro_f1_drop 1/3 num_examples 2 num_changed 1 changed_rate 1/2 mean_char_change_ratio 1/4 num_resource_hits 2
        resource_coverage_rate 1/2 mean_resource_hits_per_example 1 num_clean_correct 2 num_attack_eval 1
        attack_success_rate 1 site_rate 1/2 edit_rate 1/2 unk_rate_increase 1/4 changed_acc 0 truncated_rate 0
        relative_drop 1/2 attack_success_rate_of_clean_correct 1/2 label_changed_rate_of_all 1/2 clean_unk_rate 0
        drop_per_char_change 2 prediction_shift 1/2 clean_ece 1/5 perturbed_ece 3/10 clean_brier 6/100
        perturbed_brier 76/100 clean_aurc 0 perturbed_aurc 1/2""",
    ),
    "several classes, with a table": (
        ORDINARY,
        True,
        COMMON + "num_resource_hits 15 resource_coverage_rate 1 mean_resource_hits_per_example 3",
    ),
    "the same without a table: no resource hits": (
        ORDINARY,
        False,
        COMMON + "num_resource_hits 0 resource_coverage_rate 0 mean_resource_hits_per_example 0",
    ),
}


@pytest.mark.parametrize(("rows", "from_table", "values"), CASES.values(), ids=CASES)
def test_score_by_hand(rows, from_table, values):
    """Every defined metric has the value computed by hand, and every undefined one is absent."""
    found, by_hand = score(outcome(*rows, from_table=from_table)), expected(values)
    differ = ", ".join(sorted(set(found) ^ set(by_hand)))
    assert not differ, f"{differ}: defined here or by hand only; edit CASES in tests/scoring/test_metrics.py"
    assert found == pytest.approx(by_hand, abs=1e-7)  # probabilities are float32


def test_cases_cover_every_metric():
    """The table of cases holds a value of each metric, so that a new metric needs a hand-computed one."""
    covered = set().union(*(expected(values) for *_, values in CASES.values()))
    differ = ", ".join(sorted(covered ^ set(METRICS)))
    assert not differ, f"{differ}: in METRICS or in CASES only; edit tests/scoring/test_metrics.py"


def test_reference_columns():
    """REFERENCE_METRICS are the columns of the reference protocol, in its order."""
    assert REFERENCE_METRICS == COLUMNS


def test_metrics_are_described():
    """Each metric stands under its own name and says in one line what it is."""
    for name, metric in METRICS.items():
        described = metric.name == name and metric.summary and "\n" not in metric.summary
        assert described, f"{name} needs its name and a summary of one line; edit crt/scoring/metrics.py"
        assert metric.better in ("higher", "lower", "neither"), f"{name}: say what is better in crt/scoring/metrics.py"
    assert set(CLEAN_METRICS) <= set(METRICS)


@pytest.mark.parametrize("metric", [accuracy, macro_f1])
def test_gold_and_predicted_by_keyword_only(metric):
    """The two label arrays cannot be swapped by accident: they have no positions."""
    with pytest.raises(TypeError):
        metric(np.array([0]), np.array([0]))


LABEL = st.integers(0, len(LABELS) - 1)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """Draw an example whose counts go together."""
    changed = draw(st.booleans())
    length, sites = draw(st.integers(0, 50)), draw(st.integers(0, 20))
    tokens = draw(st.tuples(st.integers(0, 50), st.integers(0, 50)))
    gold, clean = draw(LABEL), draw(LABEL)
    return Row(
        gold,
        clean,
        draw(LABEL) if changed else clean,
        changed,
        sites,
        draw(st.integers(1, sites)) if changed and sites else 0,
        draw(st.integers(1, 50)) if changed else 0,
        length,
        tokens if changed else (tokens[0], tokens[0]),
        (draw(st.integers(0, tokens[0])),) * 2 if not changed else tuple(draw(st.integers(0, t)) for t in tokens),
        draw(st.tuples(st.booleans(), st.booleans())),
    )


@PROPERTY
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=60))
def test_macro_f1_is_that_of_scikit_learn(pairs):
    """Macro-F1 averages over the labels in gold, as scikit-learn does when it is given these labels."""
    gold, predicted = np.array(pairs, dtype=np.int64).T
    theirs = f1_score(gold, predicted, labels=np.unique(gold), average="macro", zero_division=0)
    assert macro_f1(gold=gold, predicted=predicted) == pytest.approx(theirs, abs=1e-12)


def test_chance_corrected_retention():
    """From 0.9 to 0.7, where always answering the commonest label is right in half of the cases: half is left."""
    examples = [Row(k % 2, k % 2 if k else 1, k % 2 if k > 2 else 2) for k in range(10)]
    assert score(outcome(*examples))["chance_corrected_retention"] == pytest.approx(0.5)


@PROPERTY
@given(st.lists(rows(), max_size=12), st.booleans())
def test_ranges(examples, from_table):
    """Shares lie in 0..1, differences of shares in -1..1, counts are whole numbers; all are finite floats.

    A drop as a share of the clean accuracy has no lower bound: the model may get many times better.
    """
    values = score(outcome(*examples, from_table=from_table))
    for name, value in values.items():
        assert type(value) is float
        assert np.isfinite(value)
        lowest = -np.inf if name in BOTTOMLESS else -1.0 if name in SIGNED else 0.0
        highest = np.inf if name in UNBOUNDED | COUNTS else 1.0
        assert lowest <= value <= highest, (
            f"{name} is {value}; if that is right, name it in the sets at the top of tests/scoring/test_metrics.py"
        )
        assert name not in COUNTS or value.is_integer(), name
    assert values["num_attack_eval"] <= min(values["num_changed"], values["num_clean_correct"])
    assert max(values["num_changed"], values["num_clean_correct"]) <= values["num_examples"] == len(examples)


@PROPERTY
@given(st.lists(rows().filter(lambda row: not row.changed), min_size=1, max_size=12))
def test_unchanged_text(examples):
    """Where no text changed there is no drop, no attack and so no success rate."""
    values = score(outcome(*examples))
    zero = {"acc_drop", "macro_f1_drop", "num_changed", "changed_rate", "mean_char_change_ratio", "num_attack_eval"}
    zero |= {"label_changed_rate_of_all", "prediction_shift"}
    assert {name: values[name] for name in zero} == dict.fromkeys(zero, 0.0)
    assert values.get("unk_rate_increase", 0.0) == 0.0
    assert values.get("robustness_score", 1.0) == 1.0
    assert values.get("chance_corrected_retention", 1.0) == 1.0
    assert all(values[f"clean_{name}"] == values[f"perturbed_{name}"] for name in ("ece", "brier", "aurc"))
    assert values.get("relative_drop", 0.0) == values.get("attack_success_rate_of_clean_correct", 0.0) == 0.0
    assert not {"attack_success_rate", "changed_acc", "drop_per_char_change"} & set(values)


@PROPERTY
@given(st.lists(rows(), min_size=1, max_size=12))
def test_success_by_denominator(examples):
    """Over more examples the same successes are a smaller share; an attack that succeeds changes the label."""
    values = score(outcome(*examples))
    if "attack_success_rate" in values:
        successes = values["attack_success_rate"] * values["num_attack_eval"]
        of_correct = values["attack_success_rate_of_clean_correct"] * values["num_clean_correct"]
        assert of_correct == pytest.approx(successes, abs=1e-9)
        assert values["label_changed_rate_of_all"] * len(examples) >= successes - 1e-9


@PROPERTY
@given(st.lists(rows(), min_size=1, max_size=12), st.permutations(range(12)))
def test_order_of_examples(examples, order):
    """The order of the examples has no influence on any metric."""
    shuffled = [examples[row] for row in order if row < len(examples)]
    assert score(outcome(*shuffled)) == pytest.approx(score(outcome(*examples)), abs=1e-12)
