"""One training loop for a CPU, a GPU, several GPUs and several machines.

A step is planned globally: the same examples make a step for any number of processes, and the loss of a step is the
mean over its examples however they were dealt. Training yields records; it does not know who logs them. After each epoch
its state can be kept; a training that goes on from one yields the records of an unbroken one, those before it included.
"""

import logging
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from safetensors import SafetensorError
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from crt.catalogue import Task
from crt.errors import ModelError, remedy
from crt.models import augmented_name, kind_of, predict_all
from crt.models.checkpoint import check_length, check_room, check_tokenizer, load_model, load_tokenizer, model_name
from crt.models.loop import Loop
from crt.models.processes import from_main, precision_of
from crt.models.recipe import SELECTION_METRICS, TrainOptions
from crt.models.resuming import State, StateFile, fingerprint
from crt.models.tiny import build_tiny
from crt.models.transformer import MAX_LENGTH, TransformerClassifier
from crt.records import TINY
from crt.resources import rows_digest
from crt.scoring.doubts import unread
from crt.tasks import Split

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What is known after some steps of the optimizer."""

    step: int
    """Steps done."""
    steps: int
    """Steps to do."""
    loss: float
    """Mean cross-entropy of the examples since the record before."""
    learning_rate: float
    """Of the last step."""


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """What is known after an epoch."""

    epoch: int
    """Epochs done."""
    step: int
    """Steps done."""
    selection: dict[str, float]
    """Each of SELECTION_METRICS on the selection split."""
    best: bool
    """No epoch before was as good."""
    seconds: float
    """Spent in training steps since the start."""
    tokens_per_second: float
    """Tokens without padding that went through the model in a second of training."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The best epoch."""

    folder: Path | None
    """Holds config.json, model.safetensors and the tokenizer, if it was to be saved."""
    base_model: str
    """What the tables call it."""
    epoch: EpochRecord
    """The epoch that it comes from."""
    predictor: TransformerClassifier
    """The model, ready to predict on every process."""
    training: str = ""
    """What the training is known by whose state is kept: a fingerprint, "-", and an id of its own that it keeps when it goes on."""


@dataclass(slots=True)
class _Progress:
    """How far a training is."""

    epoch: int = 0
    """Epochs done."""
    step: int = 0
    """Steps done."""
    seconds: float = 0.0
    """Spent in steps."""
    tokens: int = 0
    """Without padding, that went through the model in them."""
    losses: list[float] = field(default_factory=list)
    """Of the steps since the last record."""
    records: list[StepRecord | EpochRecord] = field(default_factory=list)
    """All that were yielded."""
    id: str = field(default_factory=lambda: uuid4().hex)
    """Of this training, and of no other with the same settings."""

    @property
    def best(self) -> EpochRecord:
        """The best epoch."""
        return next(r for r in reversed(self.records) if isinstance(r, EpochRecord) and r.best)

    @classmethod
    def of(cls, state: State) -> "_Progress":
        """Return the progress that `asdict` has made plain."""
        records = [EpochRecord(**r) if "epoch" in r else StepRecord(**r) for r in state["records"]]
        return cls(**{**state, "records": records})


def train(
    task: Task,
    train_split: Split,
    selection: Split,
    accelerator: Accelerator,
    options: TrainOptions,
    folder: Path | None,
    *,
    states: Path | None = None,
    resume: bool = False,
) -> Iterator[StepRecord | EpochRecord | Checkpoint]:
    """Train a classifier and keep the epoch that is best on the selection split.

    Args:
        task: gives the labels.
        train_split: to train on.
        selection: to choose the best epoch on.
        accelerator: device, precision and processes.
        options: how to train.
        folder: where the main process saves the checkpoint; None: nowhere.
        states: where the main process keeps the state after each epoch, until the records were taken to the end; None:
            nowhere.
        resume: go on from the state of the same training, if there is one.

    Yields:
        A record about every 1 % of the steps, one after each epoch, and last the checkpoint.

    Raises:
        ModelError: the model cannot be loaded or saved, the loss is no number, or the state cannot be read.
    """
    set_seed(options.seed)
    model, tokenizer = _new_model(task, train_split, options)
    base_model = str(model.config.crt_base_model)
    loop = Loop(model, tokenizer, train_split, accelerator, options)
    for doubt in unread(loop.encoded.tokens, loop.encoded.unknown):
        log.warning("%s on the training inputs: %s", base_model, doubt)
    file: StateFile | None = None
    if states is not None:
        key = fingerprint(_facts(task, train_split, selection, options, loop), model, tokenizer)
        file = StateFile(states, key, accelerator)
    progress, best_weights = _Progress(), dict[str, torch.Tensor]()
    if file is not None and (found := _found(file, resume=resume)):
        progress, best_weights = _Progress.of(found["progress"]), found["best_weights"]
        loop.restore(found)
        log.info("training goes on after epoch %d of %d", progress.epoch, options.num_train_epochs)
    yield from progress.records
    for epoch in range(progress.epoch + 1, options.num_train_epochs + 1):
        yield from _steps(loop, epoch, progress, base_model)
        scores = _select(loop.predictor(task, base_model), selection)
        better = epoch == 1 or scores[options.selection_metric] > progress.best.selection[options.selection_metric]
        speed = progress.tokens / progress.seconds
        progress.epoch = epoch
        progress.records.append(EpochRecord(epoch, progress.step, scores, better, progress.seconds, speed))
        weights = loop.weights() if better or file is not None else {}
        if better:
            best_weights = weights
        if file is not None:
            file.write({**loop.state(), "weights": weights, "best_weights": best_weights, "progress": asdict(progress)})
        yield progress.records[-1]
    final = accelerator.unwrap_model(loop.model, keep_fp32_wrapper=False)
    final.load_state_dict(best_weights)
    if folder is not None:
        from_main(accelerator, partial(_save, final, tokenizer, folder))
    training = f"{file.path.stem}-{progress.id}" if file is not None else ""
    yield Checkpoint(folder, base_model, progress.best, loop.predictor(task, base_model), training)
    if file is not None:
        file.remove()


def _save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    try:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"{folder}: the checkpoint cannot be written there ({error}); {remedy(error)}, or set TMPDIR to another folder, "
            "and start again with resume=true: it need not be trained again"
        ) from error


def _steps(loop: Loop, epoch: int, progress: _Progress, name: str) -> Iterator[StepRecord]:
    """Make the steps of an epoch; yield a record about every 1 % of all steps."""
    every = max(1, loop.steps // 100)
    for batches in loop.plan(epoch):
        started = time.perf_counter()
        loss, rate = loop.step(batches)
        progress.seconds += time.perf_counter() - started
        progress.step += 1
        if not math.isfinite(loss):
            raise ModelError(
                f"the loss of {name} is {loss} at step {progress.step} of {loop.steps}; lower the learning rate "
                f"({loop.options.learning_rate:g}) or use precision=fp32"
            )
        progress.tokens += int(sum(loop.encoded.lengths[rows].sum() for rows in batches))
        progress.losses.append(loss)
        if progress.step % every == 0 or progress.step == loop.steps:
            record = StepRecord(progress.step, loop.steps, float(np.mean(progress.losses)), rate)
            progress.records.append(record)
            progress.losses = []
            yield record


def _new_model(task: Task, split: Split, options: TrainOptions) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    kind, _ = kind_of(options.model)
    if not kind.own_labels and options.model != TINY:
        raise ModelError(f"a model of kind {kind.name} needs no training: evaluate it with model={options.model}")
    id2label = dict(enumerate(task.labels))
    length = options.predict.max_length or MAX_LENGTH
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    if options.model == TINY:
        model, tokenizer = build_tiny([example.input for example in split.examples], id2label, length)
        check_room(TINY, tokenizer, length, len(task.fields))
        name = TINY
    else:
        tokenizer = load_tokenizer(options.model, length, len(task.fields))
        label2id = {label: index for index, label in id2label.items()}
        head = {"num_labels": len(id2label), "id2label": id2label, "label2id": label2id, "problem_type": None}
        model, _ = load_model(options.model, **head)
        check_tokenizer(options.model, model, tokenizer)
        check_length(options.model, model, length)
        name = model_name(options.model, model)
        tokenizer.model_max_length = length
    # MLflow's model log looks up a hub id in this field, with many retries where there is no hub.
    model.name_or_path = ""
    model.config.crt_base_model, model.config.crt_train_seed = augmented_name(name, options.augment), options.seed
    if options.augment:
        model.config.crt_augment = (
            f"{','.join(options.augment)} at {options.augment_prob:g} of {options.augment_share:g}"
        )
    model.config.crt_dataset, model.config.crt_max_length = task.name, length
    return model, tokenizer


def _facts(task: Task, split: Split, selection: Split, options: TrainOptions, loop: Loop) -> dict[str, object]:
    """Return what the result of a training depends on, beside the weights that it starts from and the tokenizer.

    Those stand for `options.model`, which may be the path of a download.
    """
    return {
        "options": asdict(replace(options, model="")),
        "optimizer": repr(loop.optimizer.defaults),
        "labels": task.labels,
        "examples": split.digest(),
        "augmented": rows_digest(loop.augmenter.inputs(1)) if options.augment else "",
        "selection": selection.digest(),
        "processes": loop.accelerator.num_processes,
        "device": loop.accelerator.device.type,
        "precision": precision_of(loop.accelerator),
        "libraries": {name: version(name) for name in ("accelerate", "torch", "transformers")},
    }


def _found(file: StateFile, *, resume: bool) -> State | None:
    """Return the state to go on from, if there is one and it is wanted."""
    exists = file.exists()
    if exists and not resume:
        log.info("%s is the state of this training when it was broken off; resume=true would go on from it", file.path)
    elif resume and not exists:
        log.info("there is no state of this training in %s: it starts with the first epoch", file.path.parent)
    return file.read() if exists and resume else None


def _select(predictor: TransformerClassifier, selection: Split) -> dict[str, float]:
    gold = np.array([example.label for example in selection.examples], dtype=np.int64)
    unique = list(dict.fromkeys(example.input for example in selection.examples))
    row = {value: index for index, value in enumerate(unique)}
    labels = predict_all(predictor, unique).probabilities.argmax(axis=1)
    predicted = labels[[row[example.input] for example in selection.examples]].astype(np.int64)
    scores = {name: metric(gold=gold, predicted=predicted) for name, metric in SELECTION_METRICS.items()}
    return {name: value for name, value in scores.items() if value is not None}
