"""Training as an experiment: data, loop, log, registry."""

import logging
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from crt.catalogue import Task
from crt.errors import ModelError, TrackingError, is_full, remedy
from crt.files import scratch
from crt.models import checkpoint_alias, predict_all
from crt.models.processes import from_main
from crt.models.recipe import SELECTION_METRICS, TrainOptions
from crt.models.training import Checkpoint, EpochRecord, StepRecord, train
from crt.records import LOGGED, REGISTERED, TFIDF, ResolvedModel
from crt.redaction import redacted
from crt.scoring.doubts import not_learnt
from crt.studies import cards
from crt.studies.answers import at_hand
from crt.tasks import Source, Split, input_digest, load_training, with_labels

if TYPE_CHECKING:
    from accelerate import Accelerator

    from crt.tracking.runs import MlflowTracker

log = logging.getLogger(__name__)

STATES = Path(".crt", "training")
"""Where a training keeps its state, beside `outputs` and the store: in the folder that the command is run in."""


FEW = 50
"""Examples to choose the best epoch on: with fewer, one of them is worth more than epochs differ."""


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
    task = with_labels(task, source)
    train_split, selection = load_training(task, source)
    train_split, selection = train_split.limited(train_subset), selection.limited(eval_subset)
    log.info(
        "%s: training on %d examples of '%s'; the best epoch is chosen on %d (%s)", task.name,
        len(train_split.examples), train_split.name, len(selection.examples), selection.name,
    )  # fmt: skip
    _warn_of_few(task, selection)
    if options.model.startswith((REGISTERED, LOGGED)):
        chosen = from_main(accelerator, lambda: _registered(options.model))
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
        _log_inputs(train_split, tracker)
    reference = ""
    if options.model == TFIDF:
        return from_main(accelerator, lambda: _fit(task, train_split, selection, options, tracker))
    with tempfile.TemporaryDirectory(prefix="train-", dir=scratch()) as temporary:
        records = train(
            task, train_split, selection, accelerator, options, Path(temporary), states=STATES, resume=resume
        )
        for record in records:
            if isinstance(record, Checkpoint):
                reference = from_main(accelerator, partial(_register, record, task, selection, options, tracker))
            elif tracker is not None:
                _log(record, tracker)
    return reference


def _log_inputs(split: Split, tracker: "MlflowTracker") -> None:
    """Keep which inputs the model is trained on, as digests: an evaluation then knows which of its own those are."""
    from crt.tracking.registry import TRAINED_ON

    digests = sorted({input_digest(example.input) for example in split.examples})
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / TRAINED_ON).write_text("\n".join(["input", *digests, ""]), encoding="ascii")
        tracker.log_folder(Path(folder))


def _warn_of_few(task: Task, selection: Split) -> None:
    """Say so where the best epoch is chosen by chance, or without looking at a label."""
    count, found = len(selection.examples), {example.label for example in selection.examples}
    if count < FEW:
        log.warning(
            "%s: only %d examples choose the best epoch; with fewer than %d chance does: give more texts, best in a file "
            "of their own, named validation", task.name, count, FEW,
        )  # fmt: skip
    missing = [label for number, label in enumerate(task.labels) if number not in found]
    if missing:
        log.warning("%s: no example that chooses the best epoch is %s", task.name, ", ".join(missing[:20]))


def _registered(spec: str) -> ResolvedModel:
    from crt.tracking import registry

    found = registry.resolve(spec)
    if found.spec == found.source:
        raise ModelError(f"{spec} is no checkpoint of transformers, so there is nothing to train on; evaluate it")
    return found


def _fit(
    task: Task, train_split: Split, selection: Split, options: TrainOptions, tracker: "MlflowTracker | None"
) -> str:
    """Fit the floor, log what it reaches and register it; return the registered `name/version`."""
    from crt.models import tfidf
    from crt.tracking import registry

    assert tracker is not None
    if options.augment:
        raise ModelError(f"augment is for models that are trained in epochs; leave it out for {TFIDF}")
    pipeline = tfidf.fitted(task, train_split)
    inputs = [example.input for example in selection.examples]
    predicted = predict_all(tfidf.classifier(pipeline, task, options.predict), inputs).probabilities.argmax(axis=1)
    gold = np.array([example.label for example in selection.examples])
    scores = {name: metric(gold=gold, predicted=predicted) or 0.0 for name, metric in SELECTION_METRICS.items()}
    tracker.log_metrics({f"best_{name}": score for name, score in scores.items()})
    version, message = registry.register_floor(
        tracker.run_id,
        pipeline,
        tfidf.table(task, inputs[:1]),
        task,
        metric=options.selection_metric,
        value=scores[options.selection_metric],
        digest=selection.digest(),
    )
    log.info("%s", message)
    return version


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
    gold = np.array([example.label for example in selection.examples])
    doubt = not_learnt(gold, task.labels, SELECTION_METRICS[options.selection_metric], value)
    if doubt:
        doubt = f"{options.selection_metric} on {selection.name}: {doubt}"
        log.warning("%s: %s", checkpoint.base_model, doubt)
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
            warning=doubt,
            training=checkpoint.training,
        )
    except Exception as error:  # that of safetensors is no OSError
        if not (isinstance(error, OSError) or is_full(error)):
            raise
        raise TrackingError(
            f"the trained model cannot be stored ({redacted(str(error))}); {remedy(error)} and start again with "
            "resume=true: it need not be trained again"
        ) from error
    log.info("%s", message)
    cards.update(tracker, task, f"models:/{version}")  # here: the state of the training is kept until all is done
    return version
