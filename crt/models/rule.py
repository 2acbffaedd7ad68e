"""The rule classifier: keyword rules written by hand, a floor that needs no training and no download."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from crt.catalogue import Task
from crt.errors import ModelError
from crt.records import Input, Prediction
from crt.resources import file_sha256, read_json, resource_dir

RULES: Mapping[str, str] = {"chnsenticorp": "sentiment", "sample": "sentiment", "tnews": "tnews", "ocnli": "ocnli"}
"""File in `resources/rules` for each task."""

Scorer = Callable[[Input], dict[str, float]]


@dataclass(frozen=True, slots=True)
class RuleClassifier:
    """A predictor whose probabilities are the softmax of rule scores."""

    labels: tuple[str, ...]
    fingerprint: str
    scorer: Scorer
    name: str = "rule"
    train_seed: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def predict(self, inputs: Sequence[Input]) -> Prediction:
        """Score each input by the rules."""
        scores = np.zeros((len(inputs), len(self.labels)))
        index = {label: column for column, label in enumerate(self.labels)}
        for row, value in enumerate(inputs):
            for label, points in self.scorer(value).items():
                scores[row, index[label]] = points
        weights = np.exp(scores - scores.max(axis=1, keepdims=True, initial=0.0))
        zeros = np.zeros(len(inputs), dtype=np.int64)
        probabilities = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
        return Prediction(probabilities, zeros, zeros, np.zeros(len(inputs), dtype=np.bool_))


def load_rule(task: Task) -> RuleClassifier:
    """Return the rule classifier of a task.

    Raises:
        ModelError: there are no rules for this task.
    """
    if task.name not in RULES or task.root not in (None, resource_dir() / "samples"):
        raise ModelError(
            f"the rule classifier knows {', '.join(RULES)}, not {task.name}; give model=FOLDER or a hub id, or train one"
        )
    path = resource_dir() / "rules" / f"{RULES[task.name]}.json"
    rules = read_json(path)
    scorer = keyword_scorer(rules) if rules["kind"] == "keywords" else pair_scorer(rules)
    return RuleClassifier(task.labels, file_sha256(path)[:16], scorer)


def keyword_scorer(rules: Mapping[str, object]) -> Scorer:
    """Count keywords; one that follows a negation within two characters counts for the other label of two.

    The longest keyword at each position wins, so that 不错 is no negated 错. Ties go to the label that reads first in
    the task, unless no keyword was found at all: then to the fallback.
    """
    keywords: Mapping[str, Sequence[str]] = rules["keywords"]  # type: ignore[assignment]
    negations: Sequence[str] = rules["negations"]  # type: ignore[assignment]
    label_of = {word: label for label, words in keywords.items() for word in words}
    labels = list(keywords)
    pattern = _alternatives(label_of)
    negated = re.compile(f"(?:{_alternatives(negations).pattern})[^，。！？,.!?]{{0,2}}$") if negations else None

    def score(value: Input) -> dict[str, float]:
        points = dict.fromkeys(labels, 0.0)
        (text,) = value
        for match in pattern.finditer(text):
            label = label_of[match.group()]
            if negated and len(labels) == 2 and negated.search(text, max(0, match.start() - 4), match.start()):
                label = labels[1 - labels.index(label)]
            points[label] += 1.0
        if not any(points.values()):
            points[str(rules["fallback"])] = 1.0
        return points

    return score


def pair_scorer(rules: Mapping[str, object]) -> Scorer:
    """Judge a pair by its surface: contradiction if only the hypothesis is negated or the sides hold opposite words,
    entailment if most characters of the hypothesis stand in the premise, else the fallback.
    """
    negation = _alternatives(rules["negations"])  # type: ignore[arg-type]
    opposites: Sequence[tuple[str, str]] = rules["opposites"]  # type: ignore[assignment]

    def score(value: Input) -> dict[str, float]:
        premise, hypothesis = value
        negated = bool(negation.search(hypothesis)) and not negation.search(premise)
        opposed = any(
            (a in premise and b in hypothesis and a not in hypothesis and b not in premise)
            or (b in premise and a in hypothesis and b not in hypothesis and a not in premise)
            for a, b in opposites
        )
        characters = set(hypothesis) - set("，。！？,.!? ")
        overlap = len(characters & set(premise)) / max(len(characters), 1)
        # entailment overtakes the fallback at 60 % overlap; a contradiction outweighs any overlap
        contradiction = 1.5 if negated or opposed else 0.0
        return {str(rules["fallback"]): 0.5, "contradiction": contradiction, "entailment": 2.0 * overlap - 0.7}

    return score


def _alternatives(words: Sequence[str] | Mapping[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word))))
