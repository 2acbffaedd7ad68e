"""`models:/NAME/VERSION`, `models:/NAME@ALIAS`, `runs:/RUN/PATH`: a model of any flavour that MLflow has logged.

Such a model runs the code it holds. Checkpoints of transformers do not come here: they are read without running any.
"""

import logging
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import mlflow
from mlflow.exceptions import MlflowException
from mlflow.models import Model

from crt.catalogue import Task
from crt.errors import ModelError
from crt.files import scratch
from crt.models import PredictOptions
from crt.models.function import FunctionClassifier, Shape, columns_of, first_that_answers, methods_of, table_of
from crt.models.tfidf import classifier
from crt.records import REGISTERED, TFIDF
from crt.redaction import redacted
from crt.resources import file_sha256
from crt.tasks import Source, slug, with_labels

log = logging.getLogger(__name__)

META = "registered_model_meta"
"""File that the registry adds to a download; it is no part of the model."""


def load_registered(uri: str, task: Task, options: PredictOptions, source: Source) -> FunctionClassifier:
    """Load a model of any flavour.

    Args:
        uri: that names a version or a run, not an alias.
        task: see `load_predictor`.
        options: how to predict.
        source: where the labels of a task are read from, if the model does not say its own.

    Raises:
        ModelError: it cannot be loaded, or gives no answer for each text.
    """
    shown = redacted(uri)
    try:
        folder = Path(
            mlflow.artifacts.download_artifacts(uri, dst_path=tempfile.mkdtemp(prefix="model-", dir=scratch()))
        )
        info = Model.load(str(folder))
        log.info("%s is a model of MLflow (%s), which runs the code that it holds", shown, ", ".join(info.flavors))
        native = "sklearn" in info.flavors
        model: Any = mlflow.sklearn.load_model(str(folder)) if native else mlflow.pyfunc.load_model(str(folder))
    except (MlflowException, OSError) as error:
        raise ModelError(f"model {shown} cannot be read ({redacted(' '.join(str(error).split()))})") from error
    except Exception as error:  # it runs code of its own
        raise ModelError(f"model {shown} cannot be loaded ({type(error).__name__}: {error})") from error
    if native and (info.metadata or {}).get("crt_base_model") == TFIDF:
        return classifier(model, task, options)
    table = _table(info, task)
    # a pipeline of scikit-learn over a list of texts takes a table for the list of its columns
    shapes: list[Shape] = [list, table] if native else [table, list]
    ask, answers = first_that_answers(shown, methods_of(model), shapes, task)
    classes: Sequence[object] = list(getattr(model, "classes_", ())) if native else ()
    if not classes and _is_row(answers[0]):
        classes = range(len(answers[0]))  # numbers: which label each of them is must be told
    return FunctionClassifier(
        ask, task if classes else with_labels(task, source), options,
        name=_name(uri), fingerprint=_digest(folder), classes=classes, settings={"flavor": "sklearn" if native else "pyfunc"},
    )  # fmt: skip


def _table(info: Model, task: Task) -> Shape:
    """Return what makes a table of texts: the columns are those of the signature, where that has as many of texts."""
    columns = [fields[0] for fields in task.fields]
    inputs = info.signature.inputs if info.signature else None
    if inputs is not None and inputs.has_input_names():
        texts = [
            str(column.name)
            for column in inputs
            if getattr(column, "type", None) in (None, mlflow.types.DataType.string)
        ]
        if not set(columns) <= set(texts):
            if len(texts) != len(columns):
                raise ModelError(
                    f"the signature of the model has the text columns {', '.join(texts) or 'none'}, and {task.name} has "
                    f"{len(columns)} text{'s' * (len(columns) > 1)} an example; name the columns with text_column and "
                    "text_pair_column"
                )
            columns = texts
    else:
        columns = [*columns_of(task)]
    return table_of(columns)


def _is_row(answer: Any) -> bool:
    return hasattr(answer, "__len__") and not isinstance(answer, str | dict)


def _name(uri: str) -> str:
    """Return what the tables call a model: its name in the registry, or that of its folder in a run."""
    name, _, rest = uri.removeprefix(REGISTERED).strip("/").rpartition("/")
    return slug(name if name and uri.startswith(REGISTERED) else rest)


def _digest(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != META)
    facts = [f"{path.relative_to(folder).as_posix()} {file_sha256(path)}" for path in files]
    return sha256("\n".join(facts).encode("utf-8", "surrogatepass")).hexdigest()
