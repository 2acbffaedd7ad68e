"""How sure a number is: bootstrap intervals over clusters of examples, paired tests, and corrections for their number."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr, ndtri

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

RESAMPLES = 1000
"""Resamples of a bootstrap."""

LEVEL = 0.95
"""Coverage of an interval."""

ALPHA = 0.05
"""A corrected p-value below it counts as a finding."""

MARGIN = 0.01
"""Accuracies that differ by less are called alike, if an interval says so."""

POWER = 0.8
"""Chance to find a difference of the size that is called detectable."""

FLIPS, MOST_FLIPS = 9_999, 99_999
"""Random flips of a sign-flip test, and how many there are at most for a large family of tests."""

EXACT = 13
"""Clusters that differ; with so many or fewer all flips are enumerated."""

_BLOCK = 1 << 24
"""Numbers that are held at once: 128 MB."""


def codes_of(clusters: Sequence[str]) -> Counts:
    """Return a number for each name, 0 to m - 1 in the order of their first occurrence."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    return np.array([numbers[name] for name in clusters], dtype=np.int64)


def summed(columns: NDArray[np.generic], codes: Counts) -> Floats:
    """Return the sums of columns within each cluster: float64[m, k] of [n, k]."""
    sums = np.zeros((int(codes.max(initial=-1)) + 1, columns.shape[1]))
    np.add.at(sums, codes, columns)
    return sums


class Resampling:
    """Resamples of m clusters, drawn with replacement; a function of the arguments alone.

    Two models over the same clusters get the same resamples, so their numbers are paired.
    """

    def __init__(self, count: int, *, resamples: int = RESAMPLES, seed: int = 0) -> None:
        """Take the number of clusters, m, of resamples, r, and the seed of the draws."""
        self.count, self.resamples, self.seed = count, resamples, seed
        self._kept = list(self._blocks()) if count * resamples <= _BLOCK else None

    def _blocks(self) -> Iterator[Floats]:
        """Yield how often each cluster is drawn, float64[b, m], in blocks of resamples that fit into memory."""
        generator = np.random.default_rng(self.seed)
        step = max(1, _BLOCK // max(self.count, 1))
        for start in range(0, self.resamples, step):
            size = min(step, self.resamples - start)
            yield generator.multinomial(self.count, np.full(self.count, 1 / self.count), size=size).astype(np.float64)

    def sums(self, columns: Floats) -> Floats:
        """Return the column sums of each resample, float64[r, k], of the sums of each cluster, float64[m, k].

        Every ratio of sums (accuracy, recall, F1 …) can be computed for all resamples at once from these.
        """
        blocks = self._blocks() if self._kept is None else self._kept
        return np.concatenate([block @ columns for block in blocks])


def interval(values: Floats, *, level: float = LEVEL) -> tuple[float, float] | None:
    """Return the percentile interval of resampled values; undefined ones (NaN) are left out; None if all are."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def bounds(columns: Floats) -> Floats:
    """Return low and high of the interval of each column: float64[k, 2] of [r, k]; NaN where there is none."""
    return np.array([interval(values) or (np.nan, np.nan) for values in columns.T], dtype=float).reshape(-1, 2)


def balanced_accuracy_interval(
    *, gold: Counts, predicted: Counts, clusters: Sequence[str], resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float] | None:
    """Return the interval of `metrics.balanced_accuracy`; a resample averages over the labels that it holds."""
    if not len(gold):
        return None
    size = int(gold.max()) + 1
    belongs = np.eye(size)[gold]
    columns = summed(np.hstack([belongs * (gold == predicted)[:, None], belongs]), codes_of(clusters))
    sums = Resampling(len(columns), resamples=resamples, seed=seed).sums(columns)
    right, total = sums[:, :size], sums[:, size:]
    held = total > 0
    recall = np.where(held, right / np.where(held, total, 1), 0)
    return interval(recall.sum(axis=1) / held.sum(axis=1))


class SignFlips:
    """The sign-flip test of the sum of m clusters: is it as far from 0 as if each cluster had its sign by chance?

    If two conditions are alike, the difference of a cluster is as likely to be positive as negative. The draws are a function
    of the number of clusters alone, and those of more flips begin with those of fewer. Fisher, The Design of Experiments,
    1935; for the 1 that is added to both counts, Phipson and Smyth, Statistical Applications in Genetics and Molecular Biology
    9, 2010.
    """

    def __init__(self, count: int, *, flips: int = FLIPS) -> None:
        """Take the number of clusters, m, and of random flips."""
        self.count, self.flips = count, flips
        generator = np.random.default_rng(0)
        self._packed = generator.integers(0, 256, size=(flips, -(-count // 8)), dtype=np.uint8)

    def p(self, sums: Floats) -> Floats:
        """Return the two-sided p-value of each column, float64[k], of the sums of each cluster, float64[m, k].

        The smallest one is 1 / (flips + 1). It is exact where EXACT clusters or fewer are not 0, and 1 where none is.
        """
        differing = np.count_nonzero(sums, axis=0)
        p = np.ones(sums.shape[1])
        for column in np.flatnonzero((differing > 0) & (differing <= EXACT)):
            p[column] = _exact_p(sums[sums[:, column] != 0, column])
        many = np.flatnonzero(differing > EXACT)
        if len(many):
            p[many] = self._drawn(sums[:, many])
        return p

    def _drawn(self, sums: Floats) -> Floats:
        used = sums.any(axis=1)
        sums, observed = sums[used], np.abs(sums.sum(axis=0))
        beaten = np.zeros(sums.shape[1])
        step = max(1, _BLOCK // self.count)
        for start in range(0, self.flips, step):
            bits = np.unpackbits(self._packed[start : start + step], axis=1, count=self.count)[:, used]
            beaten += _reached(bits, sums, observed)
        return (beaten + 1) / (self.flips + 1)


def flips_for(tests: int) -> int:
    """Return how many flips a family of tests needs: the smallest p, corrected for their number, is ALPHA / 4 or less."""
    return int(np.clip(4 * tests / ALPHA - 1, FLIPS, MOST_FLIPS))


def _exact_p(sums: Floats) -> float:
    signs = (np.arange(1 << len(sums))[:, None] >> np.arange(len(sums))) & 1
    return float(_reached(signs, sums[:, None], np.abs(sums.sum(keepdims=True)))[0] / len(signs))


def _reached(bits: NDArray[np.integer], sums: Floats, observed: Floats) -> Floats:
    """Return how many flips, int[b, m] of 0 (plus) and 1 (minus), come as far from 0 as what was observed, float64[k]."""
    flipped = np.abs(sums.sum(axis=0) - 2 * (bits.astype(np.float64) @ sums))
    rounding = 1e-9 * np.abs(sums).sum(axis=0)  # sums of the same numbers in another order are equal
    return np.asarray((flipped >= observed - rounding).sum(axis=0), dtype=np.float64)


def mcnemar(lost: Counts, gained: Counts) -> Floats:
    """Return the two-sided p-values of McNemar's test: are as many examples lost as gained?

    Exact (binomial, 1/2) for every size; 1 where no example differs. McNemar, Psychometrika 12, 1947.

    Args:
        lost: right under the first condition only.
        gained: right under the second condition only; the same shape.
    """
    few, all_ = np.minimum(lost, gained), np.asarray(lost) + np.asarray(gained)
    return np.asarray(np.minimum(1.0, 2 * bdtr(few, all_, 0.5)))


def cohens_g(lost: float, gained: float) -> float:
    """Return McNemar's effect size, -0.5 to 0.5: the lost ones' share of those that differ, less a half; NaN without any.

    0.05 is called small, 0.15 medium, 0.25 large (Cohen, Statistical Power Analysis, 1988).
    """
    return lost / (lost + gained) - 0.5 if lost + gained else float("nan")


def normal_p(difference: float, resampled: Floats) -> float:
    """Return the two-sided p-value of a difference, whose standard error is that of its resamples; NaN without a spread.

    The normal approximation, since r resamples alone cannot give a p-value below 1 / r.
    """
    defined = resampled[~np.isnan(resampled)]
    if len(defined) < 2:
        return float("nan")
    error = float(np.std(defined, ddof=1))
    if error == 0:
        return 1.0 if difference == 0 else float("nan")
    return float(2 * ndtr(-abs(difference) / error))


def holm(p: Floats) -> Floats:
    """Return p-values corrected for their number, after Holm (Scandinavian Journal of Statistics 6, 1979).

    NaN (no test) stays and does not count.
    """
    values = np.asarray(p, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(values))
    order = tested[np.argsort(values[tested], kind="stable")]
    corrected = values.copy()
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(len(order), 0, -1)))
    return corrected


def detectable_difference(error: float, tests: int, *, power: float = POWER) -> float:
    """Return the difference that a two-sided test finds with the given power though all others of its family are smaller.

    Args:
        error: standard error of the difference.
        tests: of the family: Holm's correction asks ALPHA / tests of the first one.
        power: chance to find it.
    """
    return float(error * (ndtri(1 - ALPHA / tests / 2) + ndtri(power)))
