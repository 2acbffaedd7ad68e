"""`tfidf`: character n-grams and logistic regression, a floor that is fitted to the training examples of any data set in seconds.

The weight of an n-gram is (1 + ln count) ln((1 + n) / (1 + documents with it)) + 1, each text scaled to length 1, as in
scikit-learn; each text of a pair has n-grams of its own.
"""

import json
import warnings
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from crt.catalogue import Task
from crt.errors import ModelError
from crt.models import PredictOptions
from crt.models.function import FunctionClassifier, columns_of, table_of
from crt.records import TFIDF, Input
from crt.tasks import Source, Split, load_training

NGRAMS = (1, 2)
"""Shortest and longest n-gram, in characters."""

LEAST = 2
"""Training texts that an n-gram must stand in."""

STRENGTH = 4.0
"""Inverse strength of the L2 penalty."""

STEPS, GRADIENT = 100, 1e-4
"""The fit ends after so many steps, or at so small a gradient."""

BATCH = 1024
"""Texts that are asked at a time."""


def fitted(task: Task, train: Split) -> Pipeline:
    """Return a pipeline from a table with the columns `columns_of(task)` to probabilities, fitted to training examples.

    Raises:
        ModelError: the examples have fewer than two labels, or texts without characters.
    """
    found = {task.labels[example.label] for example in train.examples}
    if missing := [label for label in task.labels if label not in found]:
        raise ModelError(f"{TFIDF}: none of the {len(train.examples):,} training examples is '{missing[0]}'")
    # of few texts every n-gram counts
    least = LEAST if len(train.examples) >= 100 * LEAST else 1
    ngrams = [
        (
            name,
            TfidfVectorizer(analyzer="char", ngram_range=NGRAMS, min_df=least, sublinear_tf=True, dtype=np.float64),
            name,
        )
        for name in columns_of(task)
    ]
    classes = LogisticRegression(C=STRENGTH, max_iter=STEPS, tol=GRADIENT)
    pipeline = Pipeline([("ngrams", ColumnTransformer(ngrams)), ("classes", classes)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            pipeline.fit(
                table(task, [example.input for example in train.examples]),
                [task.labels[example.label] for example in train.examples],
            )
        except ValueError as error:
            raise ModelError(f"{TFIDF} cannot be fitted to {task.name} ({error})") from error
    return pipeline


def table(task: Task, inputs: Sequence[Input]) -> pd.DataFrame:
    """Return inputs as the table that the pipeline takes."""
    found: pd.DataFrame = table_of(columns_of(task))(list(inputs))
    return found


def classifier(pipeline: Pipeline, task: Task, options: PredictOptions) -> FunctionClassifier:
    """Return the predictor around a fitted pipeline."""
    shape = table_of(columns_of(task))

    def ask(texts: list[Any]) -> Any:
        return pipeline.predict_proba(shape(texts))

    return FunctionClassifier(
        ask, task, PredictOptions(eval_batch_size=BATCH, label_map=options.label_map),
        name=TFIDF, fingerprint=_digest(pipeline), classes=pipeline.classes_,
    )  # fmt: skip


def _digest(pipeline: Pipeline) -> str:
    """Return a digest of all that was fitted."""
    ngrams, classes = pipeline.named_steps["ngrams"], pipeline.named_steps["classes"]
    found = sha256(json.dumps([*map(str, classes.classes_)]).encode("utf-8", "surrogatepass"))
    for _, vectorizer, name in ngrams.transformers_:
        words = [str(name), *vectorizer.get_feature_names_out()]
        found.update(json.dumps(words).encode("utf-8", "surrogatepass"))
        found.update(vectorizer.idf_.tobytes())
    found.update(classes.coef_.tobytes() + classes.intercept_.tobytes())
    return found.hexdigest()


def load_tfidf(task: Task, options: PredictOptions, source: Source) -> FunctionClassifier:
    """Fit the model to the training examples of a task.

    Raises:
        ModelError: it cannot be fitted.
        DataError: there is no training split.
    """
    if "train" not in task.files:
        raise ModelError(
            f"{TFIDF} is fitted to training examples, and {task.name} has none; give a folder that holds train.csv and test.csv"
        )
    return classifier(fitted(task, load_training(task, source)[0]), task, options)
