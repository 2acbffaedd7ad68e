"""MFT, INV and DIR: what passes, what fails, what does not apply and what was never answered."""

import pandas as pd
import pytest

from crt.studies.behaviour.scoring import Answer, as_answers, changes, given_answers, judge, pass_rates, report
from crt.suites import Case


def answer(p):
    """Return the answer of a model that gives the positive label probability p."""
    return Answer("positive" if p >= 0.5 else "negative", {"positive": p, "negative": 1 - p})


def mft(expected="positive", **values):
    """Return an MFT case."""
    return Case("m", "MFT", "c", ("好",), expected=expected, **values)


def inv(*changed, **values):
    """Return an INV case."""
    return Case("i", "INV", "c", ("好",), tuple((text,) for text in changed) or (("很好",),), **values)


def direction(must, **values):
    """Return a DIR case on the positive label."""
    return Case("d", "DIR", "c", ("好",), (("很好",),), target="positive", must=must, **values)


@pytest.mark.parametrize(
    ("case", "before", "after", "status"),
    [
        (mft(), 0.9, [], "passed"),
        (mft("negative"), 0.9, [], "failed"),
        (inv(), 0.9, [0.6], "passed"),
        (inv(), 0.9, [0.35], "failed"),
        (inv(), 0.51, [0.49], "failed"),
        (inv(tolerance=0.1), 0.51, [0.49], "passed"),
        (inv(tolerance=0.01), 0.51, [0.49], "failed"),
        (inv("很好", "挺好"), 0.9, [0.8, 0.2], "failed"),
        (inv("好"), 0.9, [0.9], "not applicable"),
        (direction("not_rise"), 0.6, [0.8], "failed"),
        (direction("not_rise"), 0.6, [0.6], "passed"),
        (direction("not_rise"), 0.6, [0.5], "passed"),
        (direction("not_rise", tolerance=0.25), 0.6, [0.8], "passed"),
        (direction("not_rise"), 1.0, [1.0], "not applicable"),
        (direction("not_fall"), 0.6, [0.5], "failed"),
        (direction("not_fall"), 0.6, [0.7], "passed"),
        (direction("not_fall"), 0.0, [0.0], "not applicable"),
        (direction("not_fall", tolerance=0.1), 0.1, [0.0], "not applicable"),
        (mft(disputed=True), 0.1, [], "disputed"),
    ],
)
def test_verdicts(case, before, after, status):
    """Each type passes and fails as it is defined; what cannot fail does not apply."""
    row = judge(case, answer(before), [answer(p) for p in after])
    assert row["status"] == status
    assert row.get("passed") == {"passed": True, "failed": False, "disputed": False}.get(status)


@pytest.mark.parametrize(("before", "after"), [(None, [0.5]), (0.5, [None]), (None, [None])])
def test_no_answer_is_no_wrong_answer(before, after):
    """A case whose prediction failed neither passes nor fails, and no number is made up for it."""
    row = judge(inv(), before and answer(before), [p and answer(p) for p in after])
    assert row["status"] == "execution failure"
    assert {"passed", "before_p", "after_p"}.isdisjoint(row)


def test_a_row_of_nan_is_no_answer():
    """NaN probabilities are never turned into a label."""
    answers = as_answers([("a",), ("b",)], ("x", "y"), [[float("nan")] * 2, [0.25, 0.75]])
    assert answers[("a",)] is None
    assert answers[("b",)] == Answer("y", {"x": 0.25, "y": 0.75})


def test_the_failing_variant_is_shown():
    """Of several variants the report shows one that failed."""
    row = judge(inv("很好", "挺好", "真好"), answer(0.9), [answer(0.95), answer(0.4), answer(0.99)])
    assert (row["changed"], row["after_p"]) == ("挺好", 0.4)


def test_given_scores_predict_from_half_on():
    """A score of exactly 0.5 predicts the target."""
    case = Case("m", "MFT", "c", ("好",), expected="positive", target="positive", scores=(0.5,))
    assert given_answers(case, ("negative", "positive"))[0].label == "positive"
    case = Case("m", "MFT", "c", ("好",), expected="positive", target="negative", scores=(0.2,))
    assert given_answers(case, ("negative", "positive"))[0] == Answer("positive", {"negative": 0.2, "positive": 0.8})


def test_rates_count_only_what_counts():
    """Not applicable, disputed and unanswered cases leave the denominator; a rate over nothing is missing."""
    rows = [
        judge(mft(), answer(0.9), []),
        judge(mft(), answer(0.1), []),
        judge(mft(disputed=True), answer(0.1), []),
        judge(mft(), None, []),
        judge(inv("好"), answer(0.9), [answer(0.9)]),
    ]
    rates = pass_rates(report(rows), "type").set_index("type")
    assert rates.loc["MFT"].to_dict() == {
        "passed": 1, "total": 2, "pass_rate": 0.5, "not applicable": 0, "disputed": 1, "execution failure": 1,
    }  # fmt: skip
    assert rates.loc["INV", "total"] == 0
    assert pd.isna(rates.loc["INV", "pass_rate"])


def test_changes():
    """Fixed, newly broken and still failing cases; the others are left out."""
    old, new = (
        pd.DataFrame([{"id": n, "status": s, **dict.fromkeys(("capability", "type", "original", "changed", "reason"), "")}
                      for n, s in zip("abcde", statuses, strict=True)])
        for statuses in (
            ("failed", "passed", "failed", "passed", "execution failure"),
            ("passed", "failed", "failed", "passed", "failed"),
        )
    )  # fmt: skip
    found = changes(old, new)
    assert dict(zip(found["id"], found["change"], strict=True)) == {
        "a": "fixed", "b": "newly broken", "c": "still failing",
    }  # fmt: skip
