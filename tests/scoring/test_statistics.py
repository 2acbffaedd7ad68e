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
    SignFlips,
    balanced_accuracy_interval,
    codes_of,
    cohens_g,
    detectable_difference,
    flips_for,
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


@pytest.mark.parametrize("tests", [1, 18])
def test_the_detectable_difference_is_detected_so_often(tests):
    """Simulated differences of that size are found by sign flips, at the level of the first of so many tests, with that power."""
    generator, error = np.random.default_rng(0), 0.01
    values = generator.normal(size=(300, 1500)) * error * np.sqrt(300)
    p = SignFlips(300).p(values / 300 + detectable_difference(error, tests) / 300)
    assert np.mean(p < statistics.ALPHA / tests) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("differences", [[1, 1], [1, 1, 1, -1], [0.5, -0.25, 2, 0, 1, 1], list(range(1, 11))])
def test_few_clusters_are_tested_exactly(differences):
    """The p-value is that of scipy's permutation test over all flips; clusters without a difference have no part."""
    ours = SignFlips(len(differences)).p(np.array(differences, dtype=float)[:, None])
    theirs = stats.permutation_test(
        (np.array(differences, dtype=float),), np.sum, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert ours[0] == pytest.approx(theirs)
    assert SignFlips(2).p(np.array([[1.0, 0.0], [0.0, 0.0]])).tolist() == [1.0, 1.0]


def test_many_clusters_are_tested_as_by_the_exact_binomial():
    """Differences of plus and minus 1 are McNemar's table: the random flips give its p-value, up to their noise."""
    lost, gained = np.array([30, 40, 60, 25]), np.array([20, 20, 20, 25])
    columns = [np.r_[np.ones(a), -np.ones(b), np.zeros(200 - a - b)] for a, b in zip(lost, gained, strict=True)]
    p = SignFlips(200).p(np.stack(columns, axis=1))
    assert p == pytest.approx(mcnemar(lost, gained), abs=0.01)
    assert p[2] == 1 / 10_000


def test_a_test_does_not_depend_on_its_neighbours(monkeypatch):
    """The p-value of a column is the same alone, beside others, and in blocks; more flips begin with those of fewer."""
    values = np.random.default_rng(0).integers(-1, 3, size=(90, 8)) / 3
    flips = SignFlips(90)
    whole = flips.p(values)
    assert [flips.p(values[:, [column]])[0] for column in range(8)] == whole.tolist()
    monkeypatch.setattr(statistics, "_BLOCK", 90 * 100)
    assert flips.p(values).tolist() == whole.tolist()
    assert (SignFlips(90, flips=20_000)._packed[:9_999] == flips._packed).all()


def test_a_large_family_gets_more_flips():
    """The smallest p that flips can give is a finding after the correction; of the usual families it is with 9,999."""
    assert flips_for(1) == flips_for(18) == 9_999
    assert flips_for(1000) / 1000 >= 4 / statistics.ALPHA - 1
    assert flips_for(10**9) == statistics.MOST_FLIPS


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
