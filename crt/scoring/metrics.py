"""The metrics of a cell; `docs/metrics.md` gives each definition with its formula and source.

A metric is a function of an outcome. One that is undefined (a ratio over nothing) is None and left out: no number is
ever a stand-in.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crt.records import Outcome
from crt.scoring.calibration import brier_score, calibration_error, distribution_shift, risk_coverage_area

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]


class Sums(NamedTuple):
    """What the metrics with intervals are ratios of, added up within each of r resamples of the examples."""

    total: Floats
    """float64[r]: examples."""
    right: Floats
    """float64[r]: those that are right when clean."""
    still: Floats
    """float64[r]: those that are right when perturbed."""
    attacked: Floats
    """float64[r]: those that are right when clean and really changed."""
    lost: Floats
    """float64[r]: of these, the ones that are now wrong."""
    clean_f1: Floats
    """float64[r]: macro-F1 on the original inputs."""
    after_f1: Floats
    """float64[r]: macro-F1 on the perturbed inputs."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that is computed from an outcome."""

    name: str
    """Column name and MLflow key."""
    summary: str
    """One line for the reference page."""
    better: Literal["higher", "lower", "neither"]
    """Which direction is good for a model."""
    compute: Callable[[Outcome], float | None]
    """None where it is undefined."""
    resampled: Callable[[Sums], Floats] | None = None
    """The same of resamples, NaN where it is undefined; None: it gets no interval."""


def accuracy(*, gold: Labels, predicted: Labels) -> float | None:
    """Return the share of predictions that are right; None without examples."""
    return float(np.mean(gold == predicted)) if len(gold) else None


def macro_f1(*, gold: Labels, predicted: Labels) -> float | None:
    """Return F1 averaged over the labels that occur in gold; None without examples.

    Equal to scikit-learn's `f1_score(gold, predicted, labels=unique(gold), average="macro")`: clean and perturbed
    predictions of the same examples are averaged over the same labels.
    """
    if not len(gold):
        return None
    size = int(max(gold.max(), predicted.max())) + 1
    right = np.bincount(gold[gold == predicted], minlength=size)
    in_gold, in_predicted = np.bincount(gold, minlength=size), np.bincount(predicted, minlength=size)
    present = in_gold > 0
    return float(np.mean(2.0 * right[present] / (in_gold + in_predicted)[present]))


def recalls(*, gold: Labels, predicted: Labels) -> dict[int, float]:
    """Return, for each label that occurs in gold, the share of its examples that are predicted so."""
    return {int(label): float(np.mean(predicted[gold == label] == label)) for label in np.unique(gold)}


def balanced_accuracy(*, gold: Labels, predicted: Labels) -> float | None:
    """Return the unweighted mean of `recalls`; None without examples.

    Equal to scikit-learn's `balanced_accuracy_score(gold, predicted)`. It is not symmetric: with the arguments swapped it
    is the mean precision.
    """
    return float(np.mean(list(recalls(gold=gold, predicted=predicted).values()))) if len(gold) else None


def ratio(above: Floats, below: Floats) -> Floats:
    """Divide element by element; NaN where there is nothing to divide by."""
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def _ratio(above: float, below: float) -> float | None:
    return float(above) / float(below) if below else None


def _difference(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left - right


def _clean_labels(o: Outcome) -> Labels:
    labels: Labels = o.clean.argmax(axis=1).astype(np.int64)
    return labels


def _perturbed_labels(o: Outcome) -> Labels:
    labels: Labels = o.perturbed.argmax(axis=1).astype(np.int64)
    return labels


def clean_acc(o: Outcome) -> float | None:
    """Accuracy on the original inputs."""
    return accuracy(gold=o.gold, predicted=_clean_labels(o))


def perturbed_acc(o: Outcome) -> float | None:
    """Accuracy on the perturbed inputs."""
    return accuracy(gold=o.gold, predicted=_perturbed_labels(o))


def robustness_score(o: Outcome) -> float | None:
    """Perturbed accuracy as a share of clean accuracy."""
    clean, perturbed = clean_acc(o), perturbed_acc(o)
    return None if clean is None or perturbed is None else _ratio(perturbed, clean)


def clean_macro_f1(o: Outcome) -> float | None:
    """Macro-F1 on the original inputs."""
    return macro_f1(gold=o.gold, predicted=_clean_labels(o))


def perturbed_macro_f1(o: Outcome) -> float | None:
    """Macro-F1 on the perturbed inputs."""
    return macro_f1(gold=o.gold, predicted=_perturbed_labels(o))


def mean_char_change_ratio(o: Outcome) -> float | None:
    """Levenshtein distance per original character, averaged over the examples; an empty text counts as 0."""
    return float(np.mean(o.distance / np.maximum(o.length, 1))) if len(o.gold) else None


def _hits(o: Outcome) -> NDArray[np.int64]:
    return o.sites if o.from_table else np.zeros_like(o.sites)


def _attacked(o: Outcome) -> NDArray[np.bool_]:
    attacked: NDArray[np.bool_] = o.changed & (_clean_labels(o) == o.gold)
    return attacked


def attack_success_rate(o: Outcome) -> float | None:
    """Of the examples that were right when clean and really changed, the share that is now wrong."""
    attacked = _attacked(o)
    return _ratio(int(np.sum(attacked & (_perturbed_labels(o) != o.gold))), int(attacked.sum()))


def attack_success_rate_of_clean_correct(o: Outcome) -> float | None:
    """Of the examples that were right when clean, whether they changed or not, the share that is now wrong."""
    right = _clean_labels(o) == o.gold
    return _ratio(int(np.sum(right & (_perturbed_labels(o) != o.gold))), int(right.sum()))


def relative_drop(o: Outcome) -> float | None:
    """Accuracy drop as a share of clean accuracy; negative where the model got better."""
    kept = robustness_score(o)
    return None if kept is None else 1.0 - kept


def unknown_share(*, tokens: NDArray[np.int64], unknown: NDArray[np.int64]) -> float | None:
    """Return the share of the tokens that are unknown to the model; None without a token."""
    return _ratio(int(unknown.sum()), int(tokens.sum()))


def clean_unk_rate(o: Outcome) -> float | None:
    """Unknown share of the tokens of the original inputs; None without a tokenizer."""
    return unknown_share(tokens=o.tokens[:, 0], unknown=o.unknown[:, 0])


def unk_rate_increase(o: Outcome) -> float | None:
    """Unknown share of the perturbed tokens minus that of the clean ones; None without a tokenizer."""
    return _difference(unknown_share(tokens=o.tokens[:, 1], unknown=o.unknown[:, 1]), clean_unk_rate(o))


def chance_corrected_retention(o: Outcome) -> float | None:
    """What is left of the accuracy above that of always giving the commonest label; None where there was nothing above it."""
    clean, perturbed = clean_acc(o), perturbed_acc(o)
    if clean is None or perturbed is None:
        return None
    chance = float(np.bincount(o.gold).max() / len(o.gold))
    return (perturbed - chance) / (clean - chance) if clean > chance else None


def drop_per_char_change(o: Outcome) -> float | None:
    """Points of accuracy lost per percent of the characters that was changed; None where nothing was changed."""
    drop, change = _difference(clean_acc(o), perturbed_acc(o)), mean_char_change_ratio(o)
    return None if drop is None or change is None else _ratio(drop, change)


def prediction_shift(o: Outcome) -> float | None:
    """Total variation distance between the predicted labels of the original and of the perturbed inputs."""
    return distribution_shift(_clean_labels(o), _perturbed_labels(o), labels=len(o.labels))


def _worth(compute: Callable[..., float | None], when: Literal["clean", "perturbed"], o: Outcome) -> float | None:
    """Compute what the probabilities are worth, see `calibration`."""
    return compute(gold=o.gold, probabilities=getattr(o, when))


METRICS: Mapping[str, Metric] = {
    m.name: m
    for m in (
        Metric("clean_acc", "accuracy on the original inputs", "higher", clean_acc, lambda s: ratio(s.right, s.total)),
        Metric(
            "perturbed_acc",
            "accuracy on the perturbed inputs",
            "higher",
            perturbed_acc,
            lambda s: ratio(s.still, s.total),
        ),
        Metric(
            "acc_drop",
            "clean minus perturbed accuracy",
            "lower",
            lambda o: _difference(clean_acc(o), perturbed_acc(o)),
            lambda s: ratio(s.right, s.total) - ratio(s.still, s.total),
        ),
        Metric(
            "robustness_score",
            "perturbed divided by clean accuracy",
            "higher",
            robustness_score,
            lambda s: ratio(s.still, s.right),
        ),
        Metric("clean_macro_f1", "macro-F1 on the original inputs", "higher", clean_macro_f1, lambda s: s.clean_f1),
        Metric(
            "perturbed_macro_f1", "macro-F1 on the perturbed inputs", "higher", perturbed_macro_f1, lambda s: s.after_f1
        ),
        Metric(
            "macro_f1_drop",
            "clean minus perturbed macro-F1",
            "lower",
            lambda o: _difference(clean_macro_f1(o), perturbed_macro_f1(o)),
            lambda s: s.clean_f1 - s.after_f1,
        ),
        Metric("num_examples", "examples", "neither", lambda o: len(o.gold)),
        Metric("num_changed", "examples whose input really changed", "neither", lambda o: int(o.changed.sum())),
        Metric(
            "changed_rate",
            "share of examples whose input really changed",
            "neither",
            lambda o: _ratio(int(o.changed.sum()), len(o.gold)),
        ),
        Metric(
            "mean_char_change_ratio",
            "Levenshtein distance per original character, mean over examples",
            "neither",
            mean_char_change_ratio,
        ),
        Metric(
            "num_resource_hits",
            "places where the resource table has an option; 0 without a table",
            "neither",
            lambda o: int(_hits(o).sum()),
        ),
        Metric(
            "resource_coverage_rate",
            "share of examples with at least one such place",
            "neither",
            lambda o: _ratio(int(np.sum(_hits(o) > 0)), len(o.gold)),
        ),
        Metric(
            "mean_resource_hits_per_example",
            "such places per example",
            "neither",
            lambda o: _ratio(int(_hits(o).sum()), len(o.gold)),
        ),
        Metric(
            "num_clean_correct",
            "examples that are right when clean",
            "higher",
            lambda o: int(np.sum(_clean_labels(o) == o.gold)),
        ),
        Metric(
            "num_attack_eval",
            "examples that are right when clean and really changed",
            "neither",
            lambda o: int(_attacked(o).sum()),
        ),
        Metric(
            "attack_success_rate",
            "of the examples that are right when clean and really changed, the share that is now wrong",
            "lower",
            attack_success_rate,
            lambda s: ratio(s.lost, s.attacked),
        ),
        Metric(
            "site_rate",
            "share of examples with at least one place to edit",
            "neither",
            lambda o: _ratio(int(np.sum(o.sites > 0)), len(o.gold)),
        ),
        Metric(
            "edit_rate",
            "edits per place to edit: the realised prob",
            "neither",
            lambda o: _ratio(int(o.edits.sum()), int(o.sites.sum())),
        ),
        Metric(
            "unk_rate_increase",
            "rise of the unknown token's share of all tokens: a drop that is only masking shows here",
            "neither",
            unk_rate_increase,
        ),
        Metric(
            "changed_acc",
            "accuracy on the perturbed inputs, changed examples only",
            "higher",
            lambda o: accuracy(gold=o.gold[o.changed], predicted=_perturbed_labels(o)[o.changed]),
        ),
        Metric(
            "truncated_rate",
            "share of the perturbed inputs that the model did not read to the end",
            "neither",
            lambda o: _ratio(int(o.truncated[:, 1].sum()), len(o.gold)),
        ),
        Metric(
            "relative_drop",
            "accuracy drop divided by clean accuracy",
            "lower",
            relative_drop,
            lambda s: 1 - ratio(s.still, s.right),
        ),
        Metric(
            "attack_success_rate_of_clean_correct",
            "of the examples that are right when clean, changed or not, the share that is now wrong",
            "lower",
            attack_success_rate_of_clean_correct,
        ),
        Metric(
            "label_changed_rate_of_all",
            "share of all examples whose predicted label is another one than when clean",
            "lower",
            lambda o: _ratio(int(np.sum(_clean_labels(o) != _perturbed_labels(o))), len(o.gold)),
        ),
        Metric(
            "clean_unk_rate",
            "share of the tokens of the original inputs that are unknown: what the model does not see even when clean",
            "lower",
            clean_unk_rate,
        ),
        Metric(
            "chance_corrected_retention",
            "what is left of the accuracy above that of the commonest label",
            "higher",
            chance_corrected_retention,
        ),
        Metric(
            "drop_per_char_change", "points lost per percent of the characters changed", "lower", drop_per_char_change
        ),
        Metric(
            "prediction_shift", "distance between the predicted labels, clean and perturbed", "lower", prediction_shift
        ),
        *(
            Metric(f"{when}_{name}", f"{summary} on the {when} inputs", "lower", partial(_worth, compute, when))
            for name, summary, compute in (
                ("ece", "expected calibration error", calibration_error),
                ("brier", "Brier score", brier_score),
                ("aurc", "area under the risk-coverage curve", risk_coverage_area),
            )
            for when in ("clean", "perturbed")
        ),
    )
}
"""The metrics by name: those of the reference protocol, then what crt adds."""

REFERENCE_METRICS = (
    "clean_acc", "perturbed_acc", "acc_drop", "robustness_score", "clean_macro_f1", "perturbed_macro_f1", "macro_f1_drop",
    "num_examples", "num_changed", "changed_rate", "mean_char_change_ratio", "num_resource_hits", "resource_coverage_rate",
    "mean_resource_hits_per_example", "num_clean_correct", "num_attack_eval", "attack_success_rate",
)  # fmt: skip
"""The metric columns of the reference protocol, in its order."""

CLEAN_METRICS = (
    "clean_acc", "clean_macro_f1", "num_examples", "num_clean_correct", "truncated_rate", "clean_unk_rate",
    "clean_ece", "clean_brier", "clean_aurc",
)  # fmt: skip
"""The metrics that a clean cell has."""


def score(outcome: Outcome) -> dict[str, float]:
    """Return every metric of an outcome that is defined."""
    values = {name: metric.compute(outcome) for name, metric in METRICS.items()}
    return {name: float(value) for name, value in values.items() if value is not None}
