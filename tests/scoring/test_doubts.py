"""What speaks against a model's numbers is said, and nothing is said of a model that is merely weak."""

import numpy as np
import pytest

from crt.records import Prediction
from crt.scoring.doubts import doubts, not_learnt, one_answer, unread
from crt.scoring.metrics import accuracy, macro_f1

LABELS = ("negative", "positive")


def numbers(*values):
    return np.array(values, dtype=np.int64)


def said(gold, predicted, labels=LABELS, unknown=0):
    """Return the doubts about predictions of inputs of 20 tokens each, so many of them unknown."""
    count = len(predicted)
    zeros = np.zeros(count, dtype=np.int64)
    probabilities = (
        np.eye(len(labels), dtype=np.float32)[predicted] if count else np.zeros((0, len(labels)), np.float32)
    )
    return doubts(numbers(*gold), Prediction(probabilities, zeros + 20, zeros + unknown, zeros > 0), labels)


def test_unknown_tokens():
    """More than 5 % is said, with the share; a model without a tokenizer has none."""
    assert unread(numbers(20, 20), numbers(1, 1)) == []
    (sentence,) = unread(numbers(20, 20), numbers(3, 1))
    assert sentence.startswith("10.0% of the tokens are unknown to it")
    assert unread(numbers(0), numbers(0)) == unread(numbers(), numbers()) == []
    assert len(said([0, 1], [0, 1], unknown=20)) == 1


def test_one_answer():
    """A model that always says the same is named with its answer, unless there is only one right answer."""
    (sentence,) = said([0, 1, 1], [1, 1, 1])
    assert sentence.startswith("it answers 'positive' to each of the 3 clean inputs")
    assert said([1, 1], [1, 1]) == said([], []) == said([0, 1], [1, 0]) == []
    assert one_answer(numbers(2, 2))
    assert not one_answer(numbers(2, 1))
    assert not one_answer(numbers())


def test_swapped_labels():
    """Far below guessing, on examples enough, the labels may be swapped; a weak model is only weak."""
    gold = [0, 1] * 15
    (sentence,) = said(gold, [1, 0] * 15)
    assert sentence.startswith(
        "its clean accuracy 0.0000 is far below that of guessing (0.5000); its labels may be swapped"
    )
    assert said(gold[:28], [1, 0] * 14) == []
    assert said(gold, [0, 1] * 4 + [1, 0] * 11) == []  # 8 of 30 are right, more than a quarter
    assert len(said(gold, [0, 1] * 3 + [1, 0] * 12)) == 1
    assert len(said(gold, [0] * 30)) == 1  # one sentence, not two


@pytest.mark.parametrize(("metric", "plain"), [(accuracy, 3 / 5), (macro_f1, 3 / 8)])
def test_a_model_that_has_not_learnt(metric, plain):
    """It is one that is no better than the commonest label: 3 of 5 right; F1 of 2*3/(3+5) and 0."""
    gold = numbers(1, 0, 1, 0, 1)
    sentence = not_learnt(gold, LABELS, metric, plain)
    assert sentence.startswith(f"{plain:.4f} is not above the {plain:.4f} of always answering 'positive'")
    assert not_learnt(gold, LABELS, metric, plain + 0.01) == ""
    assert not_learnt(numbers(1, 1), LABELS, metric, 1.0) == not_learnt(numbers(), LABELS, metric, 0.0) == ""
