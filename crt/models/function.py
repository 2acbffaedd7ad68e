"""`python:PACKAGE.MODULE:FUNCTION`, and whatever else answers a list of texts with labels or with probabilities."""

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from traceback import extract_tb
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crt.catalogue import Task
from crt.errors import ModelError, one_of
from crt.labels import same_label, spelled
from crt.models import PYTHON, PredictOptions, match_labels
from crt.outside import imported, source_digest
from crt.records import Input, Prediction
from crt.tasks import Source, with_labels

Ask = Callable[[list[Any]], Any]
"""From a list of n texts, or of n pairs of texts, to n answers; see `FunctionClassifier`."""

Shape = Callable[[list[Any]], Any]
"""What is made of a list of texts before a model gets it."""

PROBES = ("房间很干净", "服务太差了", "还可以")
"""What a model is asked first, to see what it takes: three, since a table of one or two columns may give one or two answers."""

TOLERANCE = 1e-3
"""How far the probabilities of an answer may be from summing to 1."""


class FunctionClassifier:
    """A predictor around a function of a list of texts; a pair is a tuple of two.

    It gives one answer for each text: a label; a row of probabilities in the order of `classes`; or a mapping of labels to
    probabilities. What it says of a text must not depend on the others. NaN and None are no answer.
    """

    train_seed: int | None = None

    def __init__(
        self,
        ask: Ask,
        task: Task,
        options: PredictOptions,
        *,
        name: str,
        fingerprint: str,
        classes: Iterable[object] = (),
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Match the labels of a function to those of a task.

        Args:
            ask: the function.
            task: with its labels.
            options: how many texts it gets at a time, and what its labels are called by the task.
            name: what the tables call it.
            fingerprint: over all that the function itself depends on.
            classes: what the columns of its probabilities stand for; none: for the labels of the task, in their order.
            settings: see `Predictor`.

        Raises:
            ModelError: it has other labels than the task.
        """
        self.ask, self.name, self.batch = ask, name, options.eval_batch_size
        self.settings = settings or {}
        self._meant = {**task.codes, **options.label_map}
        given = [spelled(label) for label in classes]
        named = [label if label in options.label_map else task.codes.get(label, label) for label in given]
        if named:
            self.labels, self._columns = match_labels(name, named, task, options.label_map)
        else:
            self.labels, self._columns = task.labels, tuple(range(len(task.labels)))
        facts = f"{fingerprint}|{self.labels}|{self._columns}|{sorted(self._meant.items())}"
        self.fingerprint = sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def predict(self, inputs: Sequence[Input]) -> Prediction:
        """Predict every input; see `Predictor.predict`.

        Raises:
            ModelError: the function fails, or its answers are none.
        """
        texts = [value[0] if len(value) == 1 else value for value in inputs]
        rows = [row for at in range(0, len(texts), self.batch) for row in self._rows(texts[at : at + self.batch])]
        found = np.array(rows, dtype=np.float32).reshape(len(texts), len(self.labels))
        zeros = np.zeros(len(texts), dtype=np.int64)
        return Prediction(found, zeros, zeros, zeros.astype(np.bool_))

    def _rows(self, texts: list[Any]) -> list[NDArray[np.float64]]:
        return [self._row(answer) for answer in answers_of(self.ask, texts, self.name)]

    def _row(self, answer: Any) -> NDArray[np.float64]:
        """Return float64[C] of one answer."""
        if isinstance(answer, Mapping) and "label" in answer:  # of a pipeline of transformers
            answer = answer["label"]
        elif isinstance(answer, Mapping) and len(answer) == 1 and not {*map(spelled, answer)} & {*self.labels}:
            (answer,) = answer.values()  # a table of one column
        if isinstance(answer, list | tuple) and answer and isinstance(answer[0], Mapping):
            answer = {one["label"]: one["score"] for one in answer}
        if isinstance(answer, Mapping):
            found = np.zeros(len(self.labels))
            for label, probability in answer.items():
                found[self._column(label)] = probability
            return self._checked(found)
        if hasattr(answer, "__len__") and not isinstance(answer, str):
            row = np.asarray(answer, dtype=np.float64)
            if row.shape != (len(self.labels),):
                raise ModelError(
                    f"model {self.name} gives {len(answer)} probabilities for a text, and there are {len(self.labels)} labels: "
                    f"{', '.join(self.labels[:20])}"
                )
            return self._checked(row[list(self._columns)])
        if answer is None or answer != answer:  # noqa: PLR0124  NaN
            return np.full(len(self.labels), np.nan)
        return np.asarray(np.eye(len(self.labels))[self._column(answer)])

    def _column(self, label: object) -> int:
        name = spelled(label)
        found = same_label(self._meant.get(name, name), self.labels)
        if found is None:
            fault = f"model {self.name} answers '{name}', which is no label"
            raise ModelError(
                f"{one_of(fault, name, self.labels, 'The labels are')}; name its labels with label_map={name}=LABEL, or give a "
                "row of probabilities for each text"
            )
        return self.labels.index(found)

    def _checked(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        if np.isnan(row).any():
            return np.full(len(row), np.nan)
        if row.min() < 0 or abs(row.sum() - 1) > TOLERANCE:
            shown = ", ".join(f"{value:.4g}" for value in row[:6])
            raise ModelError(
                f"model {self.name} gives {shown}, which are no probabilities: they must sum to 1 (softmax)"
            )
        return np.asarray(row / row.sum())


def answers_of(ask: Ask, texts: list[Any], name: str) -> list[Any]:
    """Return the answer for each text.

    Raises:
        ModelError: the function fails, or gives another number of answers.
    """
    try:
        given = ask(texts)
        if hasattr(given, "to_dict") and hasattr(given, "columns"):  # iterating over a table gives its columns
            given = given.to_dict("records")
        answers = None if isinstance(given, str | bytes | Mapping) else list(given)
    except Exception as error:  # a function raises whatever it meets
        where = extract_tb(error.__traceback__)[-1]
        raise ModelError(
            f"model {name} fails on {len(texts)} texts, the first of them {texts[0]!r}: {type(error).__name__}: {error} "
            f"({where.filename}, line {where.lineno})"
        ) from error
    if answers is None or len(answers) != len(texts):
        many = f"a {type(given).__name__}" if answers is None else f"{len(answers)} answers"
        raise ModelError(
            f"model {name} gives {many} for a list of {len(texts)} texts; it must give one answer for each"
        )
    return answers


def load_python(spec: str, task: Task, options: PredictOptions, source: Source) -> FunctionClassifier:
    """Return the predictor around `PACKAGE.MODULE:FUNCTION`; its attribute `labels`, if it has one, orders its probabilities.

    Raises:
        CrtError: it cannot be imported.
        ModelError: it has other labels than the task.
    """
    function = imported(spec)
    return around(function, task, options, source, name=f"{PYTHON}:{spec}")


def around(function: Ask, task: Task, options: PredictOptions, source: Source, *, name: str) -> FunctionClassifier:
    """Return the predictor around a function, whose labels are those of the task; where that has none, of its data."""
    return FunctionClassifier(
        function, with_labels(task, source), options, name=name, fingerprint=source_digest(function),
        classes=getattr(function, "labels", ()),
    )  # fmt: skip


def given(model: Any, task: Task, options: PredictOptions, source: Source, *, name: str) -> FunctionClassifier:
    """Return the predictor around an object of a program: a function, or an estimator in the manner of scikit-learn.

    What a function depends on cannot be seen: its fingerprint is that of no other.

    Raises:
        ModelError: it is neither, gives no answer for each text, or has other labels than the task.
    """
    methods = methods_of(model)
    if not methods and not callable(model):
        raise ModelError(
            f"a {type(model).__name__} is no model: give a spec, a predictor, a function or a fitted estimator"
        )
    shapes: list[Shape] = [list, table_of(columns_of(task))]
    ask = first_that_answers(name, methods, shapes, task)[0] if methods else model
    # a bound method, like `pipeline.predict_proba`
    classes = getattr(getattr(model, "__self__", model), "classes_", getattr(model, "labels", ()))
    try:
        state = pickle.dumps(model) if methods else uuid4().bytes
    except Exception:  # noqa: BLE001  the parts of an estimator raise whatever they meet
        state = uuid4().bytes
    return FunctionClassifier(
        ask, with_labels(task, source), options, name=name, fingerprint=sha256(state).hexdigest(), classes=classes
    )


def methods_of(model: Any) -> list[Ask]:
    """Return how an estimator is asked, best first; none: it is no estimator."""
    return [getattr(model, name) for name in ("predict_proba", "predict") if hasattr(model, name)]


def columns_of(task: Task) -> tuple[str, ...]:
    """Return what the columns of a table of texts are called where nobody says so."""
    return ("text", "text_pair")[: len(task.fields)]


def table_of(columns: Sequence[str]) -> Shape:
    """Return what makes a table of a list of texts, or of pairs; its cells are any text, lone surrogates too."""

    def table(texts: list[Any]) -> pd.DataFrame:
        rows = [text if isinstance(text, tuple) else (text,) for text in texts]
        return pd.DataFrame(rows, columns=list(columns), dtype=object)

    return table


def first_that_answers(name: str, methods: Sequence[Ask], shapes: Sequence[Shape], task: Task) -> tuple[Ask, list[Any]]:
    """Return the first way of asking that gives one answer for each text, with what it answered the probes.

    Raises:
        ModelError: none does; the message says what each gave.
    """
    probes: list[Any] = [(text,) * 2 for text in PROBES] if len(task.fields) == 2 else [*PROBES]
    faults = []
    for method in methods:
        for shape in shapes:

            def ask(texts: list[Any], method: Ask = method, shape: Shape = shape) -> Any:
                return method(shape(texts))

            try:
                return ask, answers_of(ask, probes, name)
            except ModelError as error:
                faults.append(str(error))
    raise ModelError(
        f"model {name} answers neither a list nor a table of texts, one answer for each:\n"
        + "\n".join(f"  - {fault}" for fault in dict.fromkeys(faults))
    )
