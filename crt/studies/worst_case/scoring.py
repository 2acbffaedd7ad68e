"""The average and the worst case over several samples of each text, and one score of a model over the degrees.

After RobTest (Chen et al., "From Adversarial Arms Race to Model-centric Evaluation: Motivating a Unified Automatic
Robustness Evaluation Framework", Findings of ACL 2023, arXiv 2305.18503). Both cases are of the same samples here, so the
worst case is never above the average one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the scores of one degree are computed from; row i is text i."""

    clean_right: NDArray[np.bool_]
    """bool[n]: the original text is labelled right."""
    distinct: NDArray[np.int64]
    """int64[n]: samples that differ from each other, from 1."""
    right: NDArray[np.int64]
    """int64[n]: how many of these are labelled right."""
    characters: NDArray[np.int64]
    """int64[n]: code points of the perturbed fields of the original."""
    sites: NDArray[np.int64]
    """int64[n]: places that could have been edited."""
    asked: NDArray[np.int64]
    """int64[n]: edits that the degree asks for."""
    edits: NDArray[np.int64]
    """int64[n]: edits made in each sample."""

    @property
    def all_right(self) -> NDArray[np.bool_]:
        """bool[n]: every sample is labelled right."""
        return np.asarray(self.right == self.distinct)


def average_case(sampled: Sampled) -> float | None:
    """Return the mean, over the texts, of the share of distinct samples that are right; None without texts."""
    return _mean(sampled.right / sampled.distinct)


def worst_case(sampled: Sampled) -> float | None:
    """Return the share of the texts all of whose samples are right; None without texts."""
    return _mean(sampled.all_right)


def realised_degree(sampled: Sampled) -> float | None:
    """Return the mean, over the texts, of the edits by character that were made; an empty text counts as 0."""
    return _mean(sampled.edits / np.maximum(sampled.characters, 1))


def score(sampled: Sampled) -> dict[str, float]:
    """Return every score of a degree that is defined: the cases, and how far the degree was reached."""
    values = {
        "clean_acc": _mean(sampled.clean_right),
        "average_case": average_case(sampled),
        "worst_case": worst_case(sampled),
        "realised_degree": realised_degree(sampled),
        "short_of_sites_rate": _mean(sampled.edits < sampled.asked),
        "site_rate": _mean(sampled.sites > 0),
        "mean_distinct_samples": _mean(sampled.distinct),
        "num_examples": float(len(sampled.distinct)),
    }
    return {name: value for name, value in values.items() if value is not None}


def surviving(all_right: NDArray[np.bool_]) -> list[float]:
    """Return, for each degree, the share of the texts that are right in every sample at this and every smaller degree.

    This is the worst case as RobTest computes it: only texts that survived are tested at the next degree, so that it
    cannot rise.

    Args:
        all_right: bool[d, n], a row for each degree, the smallest first; n from 1.
    """
    return [float(share) for share in np.logical_and.accumulate(all_right).mean(axis=1)]


def folded(accuracies: Mapping[float, float]) -> float | None:
    """Return RobTest's score of a curve: s = 0, then s = (s + accuracy) / 2 from the largest degree to the smallest.

    The smallest degree has weight 1/2, the next one 1/4, and so on; the clean texts, degree 0, have no part in it. So k
    degrees give at most 1 - 2^-k. None without degrees.

    Args:
        accuracies: by degree.
    """
    total = 0.0
    for degree in sorted(accuracies, reverse=True):
        total = (total + accuracies[degree]) / 2
    return total if accuracies else None


def folded_share(accuracies: Mapping[float, float]) -> float | None:
    """Return `folded` divided by what a model gets that is always right: 0..1, whatever the number of degrees."""
    total = folded(accuracies)
    return None if total is None else total / (1 - 0.5 ** len(accuracies))


def _mean(values: NDArray[np.generic]) -> float | None:
    return float(np.asarray(values, dtype=np.float64).mean()) if len(values) else None
