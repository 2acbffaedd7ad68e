"""Statistics against independent implementations, hand-made tables and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests
from strategies import PROPERTY

from crt.scoring import statistics
from crt.scoring.metrics import balanced_accuracy
from crt.scoring.statistics import (
    Resampling,
    balanced_accuracy_interval,
    codes_of,
    cohens_g,
    detectable_difference,
    holm,
    interval,
    mcnemar,
    normal_p,
    summed,
)

counts = st.integers(0, 60)


@PROPERTY
@given(st.lists(st.tuples(counts, counts), min_size=1, max_size=20))
def test_mcnemar_is_that_of_statsmodels(pairs):
    """The exact test, for many tables at once."""
    lost, gained = np.array(pairs).T
    ours = mcnemar(lost, gained)
    for p, (a, b) in zip(ours, pairs, strict=True):
        assert p == pytest.approx(reference_mcnemar([[5, a], [b, 7]], exact=True).pvalue)


def test_mcnemar_of_large_tables_is_near_the_chi_square():
    """With many differing examples the exact test and the usual approximation agree."""
    exact, approximate = mcnemar(np.array([560]), np.array([500])), reference_mcnemar([[0, 560], [500, 0]], exact=False)
    assert exact[0] == pytest.approx(approximate.pvalue, rel=0.02)


def test_no_difference_is_no_finding():
    """Without an example that differs the p-value is 1, not 0 and not undefined."""
    assert mcnemar(np.array([0, 3]), np.array([0, 3])).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("count", [1, 2, 7, 30])
def test_holm_is_that_of_statsmodels(count):
    """Corrected p-values agree, ties and ones among them."""
    p = np.random.default_rng(count).integers(0, 20, count) / 20
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])


def test_holm_leaves_out_what_was_not_tested():
    """A missing p-value stays missing, and does not count as a test."""
    corrected = holm(np.array([0.01, np.nan, 0.02]))
    assert corrected[[0, 2]].tolist() == [0.02, 0.02]
    assert np.isnan(corrected[1])
    assert holm(np.array([])).tolist() == []


def test_effect_size():
    """All lost is a half, all gained its negative, and nothing is undefined."""
    assert cohens_g(10, 0) == 0.5
    assert cohens_g(0, 10) == -0.5
    assert cohens_g(30, 10) == pytest.approx(0.25)
    assert np.isnan(cohens_g(0, 0))


@pytest.mark.parametrize(("count", "differing"), [(300, 0.2), (1200, 0.1), (2000, 0.3)])
def test_the_detectable_difference_is_detected_so_often(count, differing):
    """Simulated tables with that difference are found with about the power that was asked for."""
    difference = detectable_difference(count, differing)
    shares = [(differing + difference) / 2, (differing - difference) / 2, 1 - differing]
    tables = np.random.default_rng(0).multinomial(count, shares, size=4000)
    statistic = (tables[:, 0] - tables[:, 1]) / np.sqrt(tables[:, 0] + tables[:, 1])
    assert np.mean(2 * stats.norm.sf(np.abs(statistic)) < 0.05) == pytest.approx(0.8, abs=0.02)


def test_too_few_examples_detect_nothing():
    """Where even the largest possible difference would be missed there is no detectable one."""
    assert detectable_difference(30, 0.05) is None
    assert detectable_difference(100, 0.0) is None
    assert detectable_difference(4000, 0.1) < detectable_difference(1000, 0.1)


def test_resampled_sums_are_those_of_drawn_clusters():
    """Clusters are drawn whole: two rows of one cluster are there equally often."""
    sums = Resampling(2, resamples=200, seed=1).sums(summed(np.eye(3), codes_of(["a", "a", "b"])))
    assert (sums[:, 0] == sums[:, 1]).all()
    assert (sums[:, 0] + sums[:, 2] == 2).all()
    assert abs(sums[:, 0].mean() - 1) < 0.15


def test_the_mean_of_a_sample_has_its_textbook_interval():
    """For a plain mean the bootstrap interval is the normal one, up to its own noise."""
    values = np.random.default_rng(0).normal(size=(400, 1))
    low, high = interval(Resampling(400, resamples=4000).sums(values)[:, 0] / 400)
    error = values.std() / 20
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_blocks_change_nothing(monkeypatch):
    """Where the weights do not fit into memory they are drawn in blocks: the same numbers."""
    values = np.random.default_rng(0).normal(size=(50, 3))
    whole = Resampling(50, resamples=40).sums(values)
    monkeypatch.setattr(statistics, "_BLOCK", 130)
    assert Resampling(50, resamples=40).sums(values) == pytest.approx(whole)


def test_interval_is_wider_for_clusters():
    """Rows that repeat each other are no more evidence than one of them."""
    rng = np.random.default_rng(0)
    gold = np.repeat(rng.integers(0, 2, 40), 10)
    predicted = np.repeat(rng.integers(0, 2, 40), 10)
    own = balanced_accuracy_interval(gold=gold, predicted=predicted, clusters=list(map(str, range(400))))
    whole = balanced_accuracy_interval(
        gold=gold, predicted=predicted, clusters=list(map(str, np.repeat(range(40), 10)))
    )
    assert whole[1] - whole[0] > 2 * (own[1] - own[0])
    assert own[0] < balanced_accuracy(gold=gold, predicted=predicted) < own[1]


def test_undefined_resamples_are_left_out():
    """Missing values do not move an interval, and of nothing but missing values there is none."""
    assert interval(np.array([1.0, np.nan, 1.0])) == (1.0, 1.0)
    assert interval(np.array([np.nan])) is None


@PROPERTY
@given(st.floats(-3, 3))
def test_the_normal_p_value(z):
    """A difference of z standard errors has the p-value of z."""
    resampled = np.array([-1.0, 1.0]) / np.sqrt(2)
    assert normal_p(z, resampled) == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_the_normal_p_value_at_its_ends():
    """No difference is no finding; without a spread, or without resamples, nothing is known."""
    assert normal_p(0.0, np.zeros(5)) == 1.0
    assert np.isnan(normal_p(0.1, np.zeros(5)))
    assert np.isnan(normal_p(0.1, np.array([np.nan, np.nan])))
