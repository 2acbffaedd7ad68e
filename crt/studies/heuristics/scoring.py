"""Accuracy by group on pairs that a surface heuristic would get wrong: the scoring of HANS (McCoy et al., ACL 2019).

The set has two gold labels, a model usually three: a predicted neutral or contradiction counts as non-entailment. The
label is collapsed, not the probabilities, as the official script does. The two gold labels are never pooled: a model that
follows the heuristic is right on nearly all entailed pairs and on none of the others.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from crt.errors import DataError, unknown
from crt.records import Input
from crt.scoring.cues import NEGATION, letters, overlap

ENTAILMENT, NOT_ENTAILMENT = "entailment", "non-entailment"
NLI = (ENTAILMENT, "neutral", "contradiction")
"""The labels of a model of natural language inference."""
COLLAPSED = {ENTAILMENT: ENTAILMENT} | dict.fromkeys((NOT_ENTAILMENT, "neutral", "contradiction"), NOT_ENTAILMENT)
"""Every label that a prediction may have, and what it counts as."""

COLUMNS = ("level", "group", "rule", "gold", "n", "accuracy")


def collapse(label: str) -> str:
    """Return what a label counts as.

    Raises:
        DataError: it is none of COLLAPSED; it is never taken for non-entailment.
    """
    if label not in COLLAPSED:
        raise DataError(unknown("label", label, COLLAPSED))
    return COLLAPSED[label]


def accuracy_by_group(
    groups: Mapping[str, Sequence[str]], gold: Sequence[str], predicted: Sequence[str]
) -> pd.DataFrame:
    """Return the accuracy within each group, separately for each gold label.

    Args:
        groups: for each level, coarsest first, the group of each pair.
        gold: true labels.
        predicted: predicted labels.

    Returns:
        Columns level, group, rule, gold, n and accuracy (0..1), groups in the order in which they first occur. Rule
        `collapsed` compares entailment with non-entailment; where both sides know all three labels, rule `three-way`
        compares these too. A group that holds no pair of a gold label has no row for it.
    """
    rules = {"collapsed": ([collapse(label) for label in gold], [collapse(label) for label in predicted])}
    if NOT_ENTAILMENT not in {*gold, *predicted}:
        rules["three-way"] = (list(gold), list(predicted))
    parts = []
    for rule, (true, said) in rules.items():
        right = np.array(true) == np.array(said)
        for level, names in groups.items():
            frame = pd.DataFrame({"group": names, "gold": true, "right": right})
            found = frame.groupby(["group", "gold"], sort=False)["right"].agg(["size", "mean"]).reset_index()
            found.insert(0, "level", level)
            found.insert(2, "rule", rule)
            parts.append(found.rename(columns={"size": "n", "mean": "accuracy"}))
    table = pd.concat(parts, ignore_index=True)[list(COLUMNS)]
    order = {label: number for number, label in enumerate((ENTAILMENT, NOT_ENTAILMENT, *NLI[1:]))}
    places = {level: {name: k for k, name in enumerate(dict.fromkeys(names))} for level, names in groups.items()}
    levels = {level: number for number, level in enumerate(groups)}
    keys = pd.DataFrame(
        {
            "rule": table["rule"],
            "level": table["level"].map(levels),
            "group": [places[level][name] for level, name in zip(table["level"], table["group"], strict=True)],
            "gold": table["gold"].map(order),
        }
    )
    return table.loc[keys.sort_values(["rule", "level", "group", "gold"], kind="stable").index].reset_index(drop=True)


BANDS = (0.25, 0.5, 0.75)
"""Bounds of the bands of character overlap."""


def surface_groups(inputs: Sequence[Input]) -> dict[str, list[str]]:
    """Sort pairs by the surface cues that a model may follow instead of the meaning.

    Args:
        inputs: premise and hypothesis.

    Returns:
        For each cue the group of each pair. `overlap`: size of the intersection of the character sets by that of their
        union, in quarters (the lexical overlap of Robustness Gym, on characters); `hypothesis in premise`: as one run of
        characters, as a subsequence, or not; `negation in the hypothesis`: only there, in both, or not.
    """
    return {
        "overlap": [_overlap_band(*pair) for pair in inputs],
        "hypothesis in premise": [_contained(*pair) for pair in inputs],
        "negation in the hypothesis": [_negated(*pair) for pair in inputs],
    }


def _overlap_band(premise: str, hypothesis: str) -> str:
    band = sum(overlap(premise, hypothesis) >= bound for bound in BANDS)
    bounds = (0.0, *BANDS, 1.0)
    return f"overlap {bounds[band]:.2f}-{bounds[band + 1]:.2f}"


def _contained(premise: str, hypothesis: str) -> str:
    premise, hypothesis = letters(premise), letters(hypothesis)
    if hypothesis in premise:
        return "one run"
    rest = iter(premise)
    return "subsequence" if all(character in rest for character in hypothesis) else "no"


def _negated(premise: str, hypothesis: str) -> str:
    if not NEGATION.search(hypothesis):
        return "none"
    return "both sides" if NEGATION.search(premise) else "hypothesis only"
