"""What speaks against numbers before anybody reads them: a model that does not see the text, or has not learnt the task."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from crt.records import Prediction
from crt.scoring.metrics import Labels, accuracy, unknown_share

UNKNOWN = 0.05
"""Share of unknown tokens above which a model does not see enough of a text."""

FEW = 30
"""With fewer examples an accuracy below chance may be chance."""


def unread(tokens: NDArray[np.int64], unknown: NDArray[np.int64]) -> list[str]:
    """Return, in a sentence, that too many tokens of clean inputs are unknown to a model, if they are."""
    share = unknown_share(tokens=tokens, unknown=unknown) or 0.0
    if share <= UNKNOWN:
        return []
    return [f"{share:.1%} of the tokens are unknown to it; is its tokenizer its own, and made for Chinese?"]


def doubts(gold: Labels, clean: Prediction, labels: Sequence[str]) -> list[str]:
    """Return, in a sentence each, why what a model says of the clean inputs may be worth nothing.

    Args:
        gold: int64[n], true labels.
        clean: what the model says.
        labels: their names.
    """
    found = unread(clean.tokens, clean.unknown)
    predicted = clean.probabilities.argmax(axis=1).astype(np.int64)
    right = accuracy(gold=gold, predicted=predicted)
    if right is None:
        return found
    if one_answer(predicted) and not one_answer(gold):
        found.append(
            f"it answers '{labels[predicted[0]]}' to each of the {len(gold):,} clean inputs, whatever their label; it has not "
            "learnt the task, or label_map names the wrong outputs"
        )
    elif len(gold) >= FEW and right < 0.5 / len(labels):
        found.append(
            f"its clean accuracy {right:.4f} is far below that of guessing ({1 / len(labels):.4f}); its labels may be swapped: "
            "look at label_map, and at id2label in its config.json"
        )
    return found


def one_answer(labels: Labels) -> bool:
    """Return whether all labels are the same."""
    return len(np.unique(labels)) == 1


def not_learnt(gold: Labels, labels: Sequence[str], metric: Callable[..., float | None], value: float) -> str:
    """Return, in a sentence, that a model is no better than always giving the commonest label; empty if it is.

    Args:
        gold: int64[n], true labels.
        labels: their names.
        metric: of `gold` and `predicted`.
        value: of the model.
    """
    if not len(gold) or one_answer(gold):
        return ""
    commonest = int(np.bincount(gold).argmax())
    plain = metric(gold=gold, predicted=np.full_like(gold, commonest)) or 0.0
    if value > plain:
        return ""
    return (
        f"{value:.4f} is not above the {plain:.4f} of always answering '{labels[commonest]}': it has not learnt the task; "
        "train it longer, on more examples or at another learning rate"
    )
