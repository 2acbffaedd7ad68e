"""What probabilities are worth, against scikit-learn, a plain loop and numbers computed by hand."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss
from strategies import PROPERTY

from crt.scoring.calibration import brier_score, calibration_error, distribution_shift, risk_coverage_area


@st.composite
def answers(draw, size=40):
    """Draw true labels and probabilities of 3 labels, ties among them."""
    rows = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=size))
    raw = np.array([(a, b, 4) for _, a, b in rows], dtype=np.float64) + 0.013
    return np.array([gold for gold, *_ in rows]), (raw / raw.sum(axis=1, keepdims=True)).astype(np.float32)


@PROPERTY
@given(answers())
def test_calibration_error_is_that_of_the_curve_of_scikit_learn(pair):
    """The distances of scikit-learn's reliability curve, weighted by how many answers each bin holds."""
    gold, p = pair
    confidence, right = p.max(axis=1).astype(float), p.argmax(axis=1) == gold
    accuracy, mean = calibration_curve(right, confidence, n_bins=15, strategy="uniform")
    sizes = [((confidence > m / 15) & (confidence <= (m + 1) / 15)).sum() for m in range(15)]
    theirs = np.dot(np.abs(accuracy - mean), [size for size in sizes if size]) / len(gold)
    assert calibration_error(gold=gold, probabilities=p) == pytest.approx(theirs, abs=1e-9)


@PROPERTY
@given(answers())
def test_brier_score_is_that_of_scikit_learn(pair):
    """The sum, over the labels, of its score of that label against the others."""
    gold, p = pair
    theirs = sum(brier_score_loss(gold == label, p[:, label].astype(float), pos_label=True) for label in range(3))
    assert brier_score(gold=gold, probabilities=p) == pytest.approx(theirs, abs=1e-6)


@PROPERTY
@given(answers(size=6))
def test_risk_coverage_area_is_the_mean_over_all_orders(pair):
    """Every order of the examples that is sorted by confidence gives an area; theirs is the mean."""
    gold, p = pair
    confidence, wrong = p.max(axis=1), p.argmax(axis=1) != gold
    areas = [
        np.mean([wrong[list(order[:k])].mean() for k in range(1, len(gold) + 1)])
        for order in permutations(range(len(gold)))
        if (np.diff(confidence[list(order)]) <= 0).all()
    ]
    assert risk_coverage_area(gold=gold, probabilities=p) == pytest.approx(np.mean(areas), abs=1e-12)


def test_by_hand():
    """Four answers of confidence .9, .8, .7, .6: right, wrong, right, wrong; each has a bin of its own."""
    sure = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]], dtype=np.float32)
    pair = {"gold": np.array([0, 1, 1, 0]), "probabilities": sure}
    assert calibration_error(**pair) == pytest.approx((0.1 + 0.8 + 0.3 + 0.6) / 4)
    assert brier_score(**pair) == pytest.approx(2 * (0.1**2 + 0.8**2 + 0.3**2 + 0.6**2) / 4)
    assert risk_coverage_area(**pair) == pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4) / 4)


def test_edges_of_the_bins():
    """A confidence of 1 falls into the last bin; of two answers in one bin the errors offset each other."""
    certain = np.array([[1.0, 0.0], [1.0, 0.0]], dtype=np.float32)
    assert calibration_error(gold=np.array([0, 1]), probabilities=certain) == 0.5
    near = np.array([[0.75, 0.25], [0.78, 0.22]], dtype=np.float32)
    assert calibration_error(gold=np.array([0, 1]), probabilities=near) == pytest.approx(abs(0.5 - 0.765))


def test_nothing_asked():
    """Without examples all of them are undefined."""
    none, p = np.zeros(0, np.int64), np.zeros((0, 2), np.float32)
    for metric in (calibration_error, brier_score, risk_coverage_area):
        assert metric(gold=none, probabilities=p) is None
    assert distribution_shift(none, none, labels=2) is None


def test_distribution_shift():
    """Of four answers one moves from the first label to the third: a quarter; an exchange of labels is no shift."""
    before = np.array([0, 0, 1, 2])
    assert distribution_shift(before, np.array([0, 2, 1, 2]), labels=3) == 0.25
    assert distribution_shift(before, np.array([2, 1, 0, 0]), labels=3) == 0
    assert distribution_shift(before[:2], np.array([1, 1]), labels=3) == 1
