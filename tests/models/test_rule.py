"""The rule classifier."""

import numpy as np
import pytest
from conftest import SAMPLES

from crt.catalogue import TASKS
from crt.errors import ModelError
from crt.models.rule import RULES, load_rule
from crt.tasks import Source, find_task, load_split


def label(task, *fields):
    """Return the label that the rules give one input."""
    predictor = load_rule(TASKS[task])
    return predictor.labels[predictor.predict([fields]).probabilities[0].argmax()]


@pytest.mark.parametrize(
    ("task", "fields", "expected"),
    [
        ("chnsenticorp", ("房间干净，服务热情，很满意",), "positive"),
        ("chnsenticorp", ("房间不干净，服务不热情，很失望",), "negative"),
        ("chnsenticorp", ("不错",), "positive"),
        ("chnsenticorp", ("",), "positive"),
        ("tnews", ("今年高考作文题公布",), "news_edu"),
        ("tnews", ("。。。",), "news_tech"),
        ("ocnli", ("他在北京工作", "他在北京"), "entailment"),
        ("ocnli", ("他在北京工作", "他不在北京"), "contradiction"),
        ("ocnli", ("他在北京工作", "公司很大"), "neutral"),
    ],
)
def test_rules_read_as_a_person_expects(task, fields, expected):
    """Plain cases get the label that their words ask for; text without a keyword gets the fallback."""
    assert label(task, *fields) == expected


@pytest.mark.parametrize("task", RULES)
def test_rules_beat_the_majority_class(task):
    """On the built-in rows of every task the rules are right more often than the most frequent label."""
    split = load_split(TASKS[task], TASKS[task].eval_split, Source(SAMPLES))
    gold = np.array([example.label for example in split.examples])
    predicted = load_rule(TASKS[task]).predict([e.input for e in split.examples]).probabilities.argmax(axis=1)
    assert np.mean(gold == predicted) > np.bincount(gold).max() / len(gold)


def test_no_rules_for_the_users_own_data(tmp_path):
    """Rules are refused for a file of the user's own."""
    path = tmp_path / "mine.csv"
    path.write_text("text,label\na,x\nb,y\n")
    with pytest.raises(ModelError, match="the rule classifier knows chnsenticorp, sample, tnews, ocnli, not mine"):
        load_rule(find_task(str(path)))
