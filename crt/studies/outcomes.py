"""From predictions to what is stored of a cell: the outcome, example pairs and per-example columns."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from crt.perturbations.engine import PerturbedInputs
from crt.records import Example, Input, Outcome, Prediction

EXAMPLES_PER_CELL = 20
"""Pairs that are kept for reading."""


def outcome_of(
    examples: Sequence[Example],
    labels: tuple[str, ...],
    perturbed: PerturbedInputs,
    clean: Prediction,
    after: Prediction,
    *,
    from_table: bool,
) -> Outcome:
    """Put together what the metrics of a cell are computed from.

    Args:
        examples: the n examples.
        labels: of the task.
        perturbed: their perturbed inputs.
        clean: predictions on the original inputs.
        after: predictions on the perturbed inputs.
        from_table: the sites come from a resource table.
    """

    def column(values: Sequence[int]) -> NDArray[np.int64]:
        return np.array(values, dtype=np.int64)

    pairs = list(zip((example.input for example in examples), perturbed.inputs, strict=True))
    return Outcome(
        ids=tuple(example.id for example in examples),
        labels=labels,
        gold=column([example.label for example in examples]),
        clean=clean.probabilities,
        perturbed=after.probabilities,
        changed=np.array([original != changed for original, changed in pairs], dtype=np.bool_),
        sites=perturbed.sites,
        edits=perturbed.edits,
        distance=column([distance_of(original, changed) for original, changed in pairs]),
        length=column([sum(map(len, example.input)) for example in examples]),
        tokens=np.stack([clean.tokens, after.tokens], axis=1),
        unknown=np.stack([clean.unknown, after.unknown], axis=1),
        truncated=np.stack([clean.truncated, after.truncated], axis=1),
        from_table=from_table,
    )


def distance_of(original: Input, changed: Input) -> int:
    """Return the Levenshtein distance of two inputs in code points, summed over the fields."""
    return sum(Levenshtein.distance(a, b) for a, b in zip(original, changed, strict=True) if a != b)


def example_pairs(outcome: Outcome, examples: Sequence[Example], perturbed: PerturbedInputs) -> list[dict[str, object]]:
    """Return up to `EXAMPLES_PER_CELL` changed inputs: those that turned wrong first, in the order of the data."""
    before, after = outcome.clean.argmax(axis=1), outcome.perturbed.argmax(axis=1)
    flipped = (before == outcome.gold) & (after != outcome.gold)
    rows = [*np.flatnonzero(outcome.changed & flipped), *np.flatnonzero(outcome.changed & ~flipped)]
    return [
        {
            "id": outcome.ids[row],
            "original": list(examples[row].input),
            "perturbed": list(perturbed.inputs[row]),
            "edits": [[e.field, e.start, e.end, e.old, e.new] for e in perturbed[row].edits],
            "gold": outcome.labels[outcome.gold[row]],
            "clean_label": outcome.labels[before[row]],
            "clean_prob": round(float(outcome.clean[row, before[row]]), 6),
            "perturbed_label": outcome.labels[after[row]],
            "perturbed_prob": round(float(outcome.perturbed[row, after[row]]), 6),
            "flipped": bool(flipped[row]),
        }
        for row in rows[:EXAMPLES_PER_CELL]
    ]


def outcome_columns(outcome: Outcome) -> dict[str, list[object]]:
    """Return the per-example facts that later metrics, slices and tests are computed from."""
    row = np.arange(len(outcome.gold))
    names = np.array(outcome.labels, dtype=object)
    columns = {
        "id": outcome.ids,
        "gold": names[outcome.gold],
        "clean": names[outcome.clean.argmax(axis=1)],
        "perturbed": names[outcome.perturbed.argmax(axis=1)],
        "gold_prob_clean": np.round(outcome.clean[row, outcome.gold].astype(float), 6),
        "gold_prob_perturbed": np.round(outcome.perturbed[row, outcome.gold].astype(float), 6),
        "max_prob_clean": np.round(outcome.clean.max(axis=1).astype(float), 6),
        "changed": outcome.changed.astype(int),
        "sites": outcome.sites,
        "edits": outcome.edits,
        "distance": outcome.distance,
        "length": outcome.length,
        "tokens_clean": outcome.tokens[:, 0],
        "tokens_perturbed": outcome.tokens[:, 1],
        "unknown_clean": outcome.unknown[:, 0],
        "unknown_perturbed": outcome.unknown[:, 1],
    }
    return {name: list(np.asarray(values).tolist()) for name, values in columns.items()}


def changed_fields(examples: Sequence[Example], perturbed: PerturbedInputs) -> list[str]:
    """Return for each pair which of its texts really changed: first, second, both, or none (empty)."""
    names = {(True, False): "first", (False, True): "second", (True, True): "both", (False, False): ""}
    return [
        names[first != example.input[0], second != example.input[1]]
        for example, (first, second) in zip(examples, perturbed.inputs, strict=True)
    ]
