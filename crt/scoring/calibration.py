"""What probabilities are worth: do they say how often a model is right, and do they tell its right answers from its wrong ones?

Each function takes the true labels, int64[n], and the probabilities, float32[n, C], and is None without examples. They are
defined by the probabilities as they are, whether a model was trained to give calibrated ones or, like the rules, was not.
The answer of a model is the label of the largest probability, and its *confidence* is that probability.
"""

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
Probabilities = NDArray[np.float32]

BINS = 15
"""Of the expected calibration error, as in Guo et al."""


def calibration_error(*, gold: Labels, probabilities: Probabilities) -> float | None:
    """Return the expected calibration error, 0..1: how far confidence and accuracy lie apart, over BINS bins of equal width.

    The mean, over the examples, of the distance between accuracy and mean confidence of their bin; bin m of M holds the
    confidences above (m - 1) / M up to m / M. Guo et al., "On Calibration of Modern Neural Networks", ICML 2017.
    """
    if not len(gold):
        return None
    confidence, right = _answers(gold, probabilities)
    bins = np.digitize(confidence, np.arange(1, BINS) / BINS, right=True)
    gaps = np.bincount(bins, weights=right - confidence, minlength=BINS)
    return float(np.abs(gaps).sum() / len(gold))


def brier_score(*, gold: Labels, probabilities: Probabilities) -> float | None:
    """Return the squared distance between the probabilities and the truth, summed over the labels, 0..2; lower is better.

    Brier, "Verification of Forecasts Expressed in Terms of Probability", Monthly Weather Review 78, 1950: not divided by
    the number of labels, nor by 2 for two labels.
    """
    if not len(gold):
        return None
    truth = np.eye(probabilities.shape[1])[gold]
    return float(np.mean(np.sum((probabilities.astype(np.float64) - truth) ** 2, axis=1)))


def risk_coverage_area(*, gold: Labels, probabilities: Probabilities) -> float | None:
    """Return the area under the risk-coverage curve, 0..1: the mean error of the k most confident answers, over k = 1..n.

    Answers of one confidence have no order: what counts is the mean over all orders, so that the order of the examples
    does not. El-Yaniv and Wiener, JMLR 11, 2010 (the curve); Geifman and El-Yaniv, NeurIPS 2017 (confidence of a network).
    """
    if not len(gold):
        return None
    confidence, right = _answers(gold, probabilities)
    _, rank, sizes = np.unique(-confidence, return_inverse=True, return_counts=True)
    wrong = np.bincount(rank, weights=1 - right) / sizes
    errors = np.cumsum(np.repeat(wrong, sizes))
    return float(np.mean(errors / np.arange(1, len(gold) + 1)))


def distribution_shift(before: Labels, after: Labels, *, labels: int) -> float | None:
    """Return the total variation distance, 0..1, between the frequencies of two sets of n predicted labels; None without any.

    Half the sum, over the labels, of how far the frequencies differ: the share of the answers that would have to change for
    the one set to look like the other.
    """
    if not len(before):
        return None
    counts = np.bincount(after, minlength=labels) - np.bincount(before, minlength=labels)
    return float(np.abs(counts).sum() / 2 / len(before))


def _answers(gold: Labels, probabilities: Probabilities) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the confidence of each answer, and 1 where it is right, 0 where it is wrong."""
    return probabilities.max(axis=1).astype(np.float64), (probabilities.argmax(axis=1) == gold).astype(np.float64)
