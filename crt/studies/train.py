"""Training as an experiment: data, loop, log, registry."""

import logging
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from crt.catalogue import Task
from crt.errors import TrackingError, is_full, remedy
from crt.models import checkpoint_alias
from crt.models.processes import share
from crt.models.recipe import TrainOptions
from crt.models.training import Checkpoint, EpochRecord, StepRecord, train
from crt.records import ResolvedModel
from crt.redaction import redacted
from crt.studies.answers import at_hand
from crt.tasks import Source, Split, labels_of, load_training

if TYPE_CHECKING:
    from accelerate import Accelerator

    from crt.tracking.runs import MlflowTracker

log = logging.getLogger(__name__)

STATES = Path(".crt", "training")
"""Where a training keeps its state, beside `outputs` and the store: in the folder that the command is run in."""


def run(
    task: Task,
    source: Source,
    options: TrainOptions,
    accelerator: "Accelerator",
    tracker: "MlflowTracker | None",
    *,
    train_subset: int | None = None,
    eval_subset: int | None = None,
    resume: bool = False,
) -> str:
    """Train a classifier, log it and register its best epoch; return the registered `name/version`.

    Args:
        task: what to train on.
        source: where the published data sets are read from.
        options: how to train.
        accelerator: device and processes; every process must call this.
        tracker: where to log; None on all processes but the main one.
        train_subset: train on at most so many examples.
        eval_subset: choose the best epoch on at most so many.
        resume: go on after the last epoch of the same training, if that was broken off.
    """
    task = replace(task, labels=labels_of(task, source))
    train_split, selection = load_training(task, source)
    train_split, selection = train_split.limited(train_subset), selection.limited(eval_subset)
    log.info(
        "%s: training on %d examples of '%s'; the best epoch is chosen on %d (%s)", task.name,
        len(train_split.examples), train_split.name, len(selection.examples), selection.name,
    )  # fmt: skip
    if train_split.unlabelled:
        log.info("%s: %d rows without a label are left out", task.name, train_split.unlabelled)
    if options.model.startswith("models:/"):
        chosen = share(accelerator, lambda: _registered(options.model))
        options = replace(options, model=at_hand(chosen).spec)
    if tracker is not None:
        tracker.log_params(
            {
                "train_examples": len(train_split.examples),
                "train_digest": train_split.digest(),
                "selection_examples": len(selection.examples),
                "selection_digest": selection.digest(),
            }
        )
    reference = ""
    with tempfile.TemporaryDirectory(prefix="crt-train-") as temporary:
        records = train(
            task, train_split, selection, accelerator, options, Path(temporary), states=STATES, resume=resume
        )
        for record in records:
            if isinstance(record, Checkpoint):
                reference = share(accelerator, partial(_register, record, task, selection, options, tracker))
            elif tracker is not None:
                _log(record, tracker)
    return reference


def _registered(spec: str) -> ResolvedModel:
    from crt.tracking import registry

    folder, version = registry.resolve(spec)
    return ResolvedModel(folder, f"models:/{version}")


def _log(record: StepRecord | EpochRecord, tracker: "MlflowTracker") -> None:
    if isinstance(record, StepRecord):
        tracker.log_metrics({"train_loss": record.loss, "learning_rate": record.learning_rate}, step=record.step)
        if record.step == record.steps or record.step % max(1, record.steps // 10) < max(1, record.steps // 100):
            log.info("step %d/%d: loss %.4f", record.step, record.steps, record.loss)
        return
    speed = {"train_seconds": record.seconds, "tokens_per_second": record.tokens_per_second, "epoch": record.epoch}
    scores = {f"selection_{name}": value for name, value in record.selection.items()}
    tracker.log_metrics(scores | speed, step=record.step)
    log.info(
        "epoch %d: %s; %.0f tokens/s%s", record.epoch,
        ", ".join(f"{name} {value:.4f}" for name, value in record.selection.items()),
        record.tokens_per_second, "; the best so far" if record.best else "",
    )  # fmt: skip


def _register(
    checkpoint: Checkpoint, task: Task, selection: Split, options: TrainOptions, tracker: "MlflowTracker | None"
) -> str:
    from crt.tracking import registry

    assert tracker is not None
    assert checkpoint.folder is not None
    value = checkpoint.epoch.selection[options.selection_metric]
    alias = checkpoint_alias(checkpoint.base_model, options.seed)
    tracker.log_metrics({f"best_{name}": score for name, score in checkpoint.epoch.selection.items()})
    try:
        version, message = registry.register(
            tracker.run_id,
            checkpoint.folder,
            task,
            name=f"{task.name}-{alias}",
            alias=alias,
            metric=options.selection_metric,
            value=value,
            digest=selection.digest(),
        )
    except Exception as error:  # that of safetensors is no OSError
        if not (isinstance(error, OSError) or is_full(error)):
            raise
        raise TrackingError(
            f"the trained model cannot be stored ({redacted(str(error))}); {remedy(error)} and start again with "
            "resume=true: it need not be trained again"
        ) from error
    log.info("%s", message)
    return version
