"""The average and the worst case of a degree, and the score of a curve, against numbers computed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import PROPERTY

from crt.studies.worst_case.scoring import Sampled, average_case, folded, folded_share, score, surviving, worst_case


def sampled(*rows: tuple[int, ...]) -> Sampled:
    """Return what was sampled of some texts: clean_right, distinct, right, characters, sites, asked, edits."""
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), 7).T
    return Sampled(columns[0].astype(np.bool_), *columns[1:])


BY_HAND = (
    (1, 4, 4, 10, 8, 3, 3),
    (1, 2, 1, 20, 2, 6, 2),
    (0, 5, 0, 10, 9, 3, 3),
    (1, 1, 1, 0, 0, 0, 0),
)


def test_a_degree_by_hand():
    """Average (4/4 + 1/2 + 0/5 + 1/1) / 4; all samples of two texts are right; 0.3, 0.1, 0.3 and 0 edits a character."""
    assert score(sampled(*BY_HAND)) == pytest.approx(
        {
            "clean_acc": 3 / 4,
            "average_case": 2.5 / 4,
            "worst_case": 2 / 4,
            "realised_degree": 0.7 / 4,
            "short_of_sites_rate": 1 / 4,
            "site_rate": 3 / 4,
            "mean_distinct_samples": 12 / 4,
            "num_examples": 4,
        }
    )


def test_without_texts():
    """Of no texts there is a count, and nothing else is defined."""
    assert score(sampled()) == {"num_examples": 0.0}


counts = st.integers(1, 20).flatmap(lambda distinct: st.tuples(st.just(distinct), st.integers(0, distinct)))


@PROPERTY
@given(st.lists(counts, min_size=1, max_size=20))
def test_the_worst_case_is_never_above_the_average(rows):
    """On the same samples; the two are equal just where no text has both right and wrong samples."""
    samples = sampled(*((0, distinct, right, 1, 1, 1, 1) for distinct, right in rows))
    worst, average = worst_case(samples), average_case(samples)
    assert worst <= average + 1e-12
    undivided = all(right in (0, distinct) for distinct, right in rows)
    assert (average - worst < 1e-12) == undivided


def test_surviving_by_hand():
    """Once a text had a wrong sample it does not come back: the last degree has two texts, of which one survived."""
    right = np.array([[1, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 0]], dtype=np.bool_)
    assert surviving(right) == [0.75, 0.5, 0.25]
    assert right.mean(axis=1).tolist() == [0.75, 0.75, 0.5]


@PROPERTY
@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=1)))
def test_survival_cannot_rise(rows):
    """It falls or stays with the degree, is at most the worst case of the degree, and begins with it."""
    right = np.array(rows)
    shares = surviving(right)
    assert shares == sorted(shares, reverse=True)
    assert all(share <= alone for share, alone in zip(shares, right.mean(axis=1), strict=True))
    assert shares[0] == right[0].mean()


def test_folded_by_hand():
    """Three degrees: 0.8 / 2 + 0.6 / 4 + 0.4 / 8 = 0.6, of at most 7/8; the order in which they are given is no matter."""
    curve = {0.3: 0.4, 0.1: 0.8, 0.2: 0.6}
    assert folded(curve) == pytest.approx(0.6)
    assert folded_share(curve) == pytest.approx(0.6 / 0.875)
    assert (folded({0.1: 0.7}), folded_share({0.1: 0.7})) == pytest.approx((0.35, 0.7))
    assert folded({}) is folded_share({}) is None


def test_folded_of_the_degrees_of_robtest():
    """Over its seven degrees a model that is always right gets 127/128."""
    always = dict.fromkeys((0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6), 1.0)
    assert folded(always) == 127 / 128
    assert folded_share(always) == 1.0


@PROPERTY
@given(st.dictionaries(st.integers(1, 100), st.floats(0, 1), min_size=1, max_size=8))
def test_a_folded_share_lies_within_the_curve(curve):
    """It is a weighted mean of the accuracies, in which the smallest degree weighs at least a half."""
    share, accuracies = folded_share(curve), list(curve.values())
    assert min(accuracies) - 1e-12 <= share <= max(accuracies) + 1e-12
    assert share >= curve[min(curve)] / 2 - 1e-12
