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

POWER = 0.8
"""Chance to find a difference of the size that is called detectable."""

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


def detectable_difference(count: int, differing: float, *, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """Return the smallest difference of two accuracies that McNemar's test finds with the given power.

    From the sample size formula of Connor (Biometrics 43, 1987), solved for the difference.

    Args:
        count: examples.
        differing: share of them that are right under one condition only, 0..1.
        alpha: level of the two-sided test.
        power: chance to find it.

    Returns:
        A difference as a fraction; None where even the largest possible one, `differing`, would be missed.
    """
    a, b = float(ndtri(1 - alpha / 2)), float(ndtri(power))
    root = a * a * count * differing - (count + b * b) * (a * a - b * b) * differing
    found = (a * np.sqrt(count * differing) + np.sqrt(max(root, 0.0))) / (count + b * b)
    return float(found) if 0 < found <= differing else None
