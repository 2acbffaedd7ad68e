"""What a model says, asked once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from crt.catalogue import Task
from crt.files import is_folder
from crt.models import Predictor, predict_all
from crt.models.processes import from_main
from crt.records import Input, Prediction, ResolvedModel
from crt.redaction import redacted

if TYPE_CHECKING:
    from accelerate import Accelerator

    from crt.tracking.runs import MlflowTracker


def resolved(spec: str, task: Task, accelerator: "Accelerator", tracker: "MlflowTracker | None") -> ResolvedModel:
    """Return, on every process, the model that a spec stands for; without a tracker, the spec itself.

    Args:
        spec: of the model; empty: the best that is registered for the task.
        task: see `spec`.
        accelerator: device and processes; every process must call this.
        tracker: None on all processes but the main one.
    """
    return at_hand(
        from_main(accelerator, lambda: tracker.resolve(spec, task) if tracker else ResolvedModel(spec, spec))
    )


def at_hand(model: ResolvedModel) -> ResolvedModel:
    """Return the model where this process can read it: another machine fetches the version that the main one chose."""
    if model.spec == model.source or is_folder(model.spec):
        return model
    from crt.tracking import registry

    return registry.resolve(model.source)


def model_params(predictor: Predictor, source: str) -> dict[str, str]:
    """Return the params that say which model answered, and how; an unknown training seed is empty."""
    return {
        "model_source": redacted(source),
        "predictor": predictor.fingerprint,
        "train_seed": "" if predictor.train_seed is None else str(predictor.train_seed),
        **predictor.settings,
    }


class Answers:
    """Predictions by input: each distinct input is predicted once."""

    def __init__(self, predictor: Predictor, inputs: Sequence[Input], known: "Answers | None" = None) -> None:
        """Predict the inputs that are not known yet."""
        self.predictor = predictor
        self.rows: dict[Input, int] = dict(known.rows) if known else {}
        fresh = list(dict.fromkeys(value for value in inputs if value not in self.rows))
        self.rows |= {value: row for row, value in enumerate(fresh, start=len(self.rows))}
        predicted = predict_all(predictor, fresh)
        self.predictions: Prediction = known.predictions.join(predicted) if known else predicted

    def extended(self, inputs: Sequence[Input]) -> "Answers":
        """Return answers to these inputs too; this object stays as it is."""
        return Answers(self.predictor, inputs, self)

    def of(self, inputs: Sequence[Input]) -> Prediction:
        """Return the predictions of the inputs, in their order."""
        return self.predictions.take(np.fromiter((self.rows[value] for value in inputs), np.int64, len(inputs)))
