"""Classical detectors: features in, label out; which one is chosen by folds that keep a source text together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from crt.records import Input, Prediction
from crt.scoring.metrics import balanced_accuracy
from crt.studies.detect.features import Surprise, points_of, text_features, victim_features

FOLDS = 3
"""Folds of the training part that choose a candidate, and that its surprise is measured in."""

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]


def candidates(seed: int) -> dict[str, Any]:
    """Return the detectors to choose from, by name."""
    logistic = {
        f"logistic regression, C={c:g}": make_pipeline(
            StandardScaler(), LogisticRegression(C=c, class_weight="balanced", max_iter=2000)
        )
        for c in (0.1, 1.0)
    }
    boosted = HistGradientBoostingClassifier(
        max_iter=60,
        learning_rate=0.15,
        max_leaf_nodes=15,
        max_bins=63,
        class_weight="balanced",
        early_stopping=False,
        random_state=seed,
    )
    return {**logistic, "gradient boosting": boosted}


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """Turns texts into numbers; the surprise is that of the clean texts of the training part."""

    surprise: Surprise
    names: tuple[str, ...]
    """Of the columns."""

    def matrix(self, inputs: Sequence[Input], victim: Prediction | None) -> Matrix:
        """Return float64[n, features] of texts that are not in the training part."""
        return _matrix(_features(inputs, victim, self.surprise))


def training_space(
    inputs: Sequence[Input], clean: NDArray[np.bool_], groups: Sequence[str], victim: Prediction | None
) -> tuple[FeatureSpace, Matrix]:
    """Return the feature space of a training part, and the features of the part itself.

    The surprise of each text is measured by a model of the clean texts of the *other* folds: a clean text that the model
    had counted would look less unusual than any clean text to come.
    """
    rows = np.arange(len(inputs))
    parts: dict[int, NDArray[np.float64]] = {}
    for others, held in GroupKFold(n_splits=FOLDS).split(rows, groups=groups):
        model = Surprise([inputs[k] for k in others if clean[k]])
        points, starts = points_of([inputs[k] for k in held])
        values = np.split(model.of(points, starts), starts[1:])
        parts |= dict(zip(held.tolist(), values, strict=True))
    surprise = np.concatenate([parts[row] for row in rows.tolist()])
    features = text_features(inputs, surprise) | (victim_features(victim) if victim is not None else {})
    space = FeatureSpace(
        Surprise([value for value, is_clean in zip(inputs, clean, strict=True) if is_clean]), tuple(features)
    )
    return space, _matrix(features)


def select_detector(
    matrix: Matrix, labels: Labels, groups: Sequence[str], *, seed: int
) -> tuple[str, dict[str, float]]:
    """Return the name of the best candidate, and the mean balanced accuracy of each over folds of whole groups."""
    folds = list(StratifiedGroupKFold(n_splits=FOLDS).split(matrix, labels, groups=groups))
    scores = {}
    for name in candidates(seed):
        found = [
            balanced_accuracy(
                gold=labels[held], predicted=fit(name, matrix[others], labels[others], seed=seed).predict(matrix[held])
            )
            for others, held in folds
        ]
        scores[name] = float(np.mean([score for score in found if score is not None]))
    return max(scores, key=scores.__getitem__), scores


def fit(name: str, matrix: Matrix, labels: Labels, *, seed: int) -> Any:
    """Return a candidate fitted to some rows."""
    return candidates(seed)[name].fit(matrix, labels)


def _features(inputs: Sequence[Input], victim: Prediction | None, surprise: Surprise) -> dict[str, NDArray[np.float64]]:
    features = text_features(inputs, surprise.of(*points_of(inputs)))
    return features | (victim_features(victim) if victim is not None else {})


def _matrix(features: dict[str, NDArray[np.float64]]) -> Matrix:
    return np.column_stack(list(features.values()))
