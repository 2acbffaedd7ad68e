"""One training loop for a CPU, a GPU, several GPUs and several machines.

A step is planned globally: the same examples make a step for any number of processes, and the loss of a step is the
mean over its examples however they were dealt. Training yields records; it does not know who logs them.
"""

import math
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel, PreTrainedTokenizerBase, get_linear_schedule_with_warmup

from crt.catalogue import Task
from crt.errors import ModelError
from crt.models import PredictOptions, augmented_name, predict_all
from crt.models.augmentation import Augmenter
from crt.models.tiny import build_tiny
from crt.models.transformer import (
    MAX_LENGTH,
    TransformerClassifier,
    collate,
    encode,
    load_model,
    load_tokenizer,
    model_name,
)
from crt.records import RULE, TINY
from crt.scoring.metrics import accuracy, macro_f1
from crt.tasks import Split

SELECTION_METRICS = {"accuracy": accuracy, "macro_f1": macro_f1}
"""What the best epoch may be chosen by."""

_WINDOW = 50
"""Batches that are sorted by length together: little padding, still random steps."""


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """How a model is trained."""

    model: str = "hfl/chinese-roberta-wwm-ext"
    """Hub id or folder of an encoder or classifier, or `tiny`."""
    num_train_epochs: int = 1
    """Passes over the training examples."""
    train_batch_size: int = 8
    """Examples in a forward pass, over all processes."""
    gradient_accumulation_steps: int = 1
    """Forward passes that make one step of the optimizer."""
    learning_rate: float = 2e-5
    """Peak of the linear schedule."""
    weight_decay: float = 0.01
    """Not applied to biases and layer norms."""
    warmup_ratio: float = 0.1
    """Share of the steps over which the learning rate rises."""
    max_grad_norm: float = 1.0
    """Gradients are clipped to this norm."""
    seed: int = 42
    """Of the weights of a new head, of dropout and of the order of the examples."""
    selection_metric: str = "accuracy"
    """Key of SELECTION_METRICS."""
    predict: PredictOptions = field(default_factory=PredictOptions)
    """Input length and precision."""
    augment: tuple[str, ...] = ()
    """Perturbations of training examples; the selection split stays as it is."""
    augment_prob: float = 0.15
    """Share of the sites that these edit."""
    augment_share: float = 0.5
    """Share of the examples that are perturbed in an epoch."""


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
    """The best epoch, saved."""

    folder: Path
    """Holds config.json, model.safetensors and the tokenizer."""
    base_model: str
    """What the tables call it."""
    epoch: EpochRecord
    """The epoch that it comes from."""


def train(
    task: Task, train_split: Split, selection: Split, accelerator: Accelerator, options: TrainOptions, folder: Path
) -> Iterator[StepRecord | EpochRecord | Checkpoint]:
    """Train a classifier and save the epoch that is best on the selection split.

    Args:
        task: gives the labels.
        train_split: to train on.
        selection: to choose the best epoch on.
        accelerator: device, precision and processes.
        options: how to train.
        folder: where the main process saves the checkpoint.

    Yields:
        A record about every 1 % of the steps, one after each epoch, and last the checkpoint.

    Raises:
        ModelError: the model cannot be loaded, or the loss is no number.
    """
    set_seed(options.seed)
    model, tokenizer = _new_model(task, train_split, options)
    base_model = str(model.config.crt_base_model)
    loop = _Loop(model, tokenizer, train_split, accelerator, options)
    every = max(1, loop.steps // 100)
    best: EpochRecord | None = None
    best_weights: dict[str, torch.Tensor] = {}
    step, seconds, tokens = 0, 0.0, 0
    losses: list[float] = []
    for epoch in range(1, options.num_train_epochs + 1):
        for batches in loop.plan(epoch):
            started = time.perf_counter()
            loss, rate = loop.step(batches)
            seconds += time.perf_counter() - started
            step += 1
            if not math.isfinite(loss):
                raise ModelError(
                    f"the loss of {base_model} is {loss} at step {step} of {loop.steps}; lower the learning rate "
                    f"({options.learning_rate:g}) or use precision=fp32"
                )
            tokens += int(sum(loop.encoded.lengths[rows].sum() for rows in batches))
            losses.append(loss)
            if step % every == 0 or step == loop.steps:
                yield StepRecord(step, loop.steps, float(np.mean(losses)), rate)
                losses = []
        scores = _select(loop.predictor(task, base_model), selection)
        better = best is None or scores[options.selection_metric] > best.selection[options.selection_metric]
        record = EpochRecord(epoch, step, scores, better, seconds, tokens / seconds)
        if better:
            best, best_weights = record, loop.weights()
        yield record
    assert best is not None
    if accelerator.is_main_process:
        final = accelerator.unwrap_model(loop.model, keep_fp32_wrapper=False)
        final.load_state_dict(best_weights)
        final.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    accelerator.wait_for_everyone()
    yield Checkpoint(folder, base_model, best)


class _Loop:
    """A model in training: what a step needs and changes."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        split: Split,
        accelerator: Accelerator,
        options: TrainOptions,
    ) -> None:
        self.tokenizer, self.accelerator, self.options = tokenizer, accelerator, options
        self.max_length = int(model.config.crt_max_length)
        self.encoded = encode(tokenizer, [example.input for example in split.examples], self.max_length)
        self.augmenter = Augmenter(
            split.examples, options.augment, prob=options.augment_prob, share=options.augment_share, seed=options.seed
        )
        self.gold = torch.tensor([example.label for example in split.examples])
        per_step = options.train_batch_size * options.gradient_accumulation_steps
        self.steps = options.num_train_epochs * -(-len(self.gold) // per_step)
        optimizer = torch.optim.AdamW(_groups(model, options.weight_decay), lr=options.learning_rate)
        self.model, self.optimizer = accelerator.prepare(model, optimizer)
        warmup = int(self.steps * options.warmup_ratio)
        self.schedule = get_linear_schedule_with_warmup(optimizer, warmup, self.steps)  # type: ignore[no-untyped-call]

    def plan(self, epoch: int) -> Iterator[list[list[int]]]:
        """Yield the batches of each step: every row once, batches of about equal length, in random order."""
        if self.options.augment:
            self.encoded = encode(self.tokenizer, self.augmenter.inputs(epoch), self.max_length)
        generator = np.random.default_rng([self.options.seed, epoch])
        size, lengths = self.options.train_batch_size, self.encoded.lengths
        order = generator.permutation(len(lengths))
        batches: list[list[int]] = []
        for at in range(0, len(order), size * _WINDOW):
            window = order[at : at + size * _WINDOW]
            window = window[np.argsort(-lengths[window], kind="stable")]
            batches += [window[k : k + size].tolist() for k in range(0, len(window), size)]
        shuffled = [batches[k] for k in generator.permutation(len(batches))]
        several = self.options.gradient_accumulation_steps
        for at in range(0, len(shuffled), several):
            yield shuffled[at : at + several]

    def step(self, batches: list[list[int]]) -> tuple[float, float]:
        """Make one step of the optimizer; return the mean loss of its examples and the learning rate."""
        self.model.train()
        size = sum(len(rows) for rows in batches)
        loss = 0.0
        for number, rows in enumerate(batches, start=1):
            with nullcontext() if number == len(batches) else self.accelerator.no_sync(self.model):
                loss += self._backward(rows, size)
        if self.accelerator.num_processes > 1:
            loss = float(self.accelerator.reduce(torch.tensor(loss, device=self.accelerator.device), "mean"))
        self.accelerator.clip_grad_norm_(self.model.parameters(), self.options.max_grad_norm)
        rate = float(self.schedule.get_last_lr()[0])
        self.optimizer.step()
        self.schedule.step()
        self.optimizer.zero_grad()
        return loss, rate

    def _backward(self, rows: list[int], size: int) -> float:
        """Add the gradient of this process's share of a batch of a step of `size` examples; return its loss.

        DDP averages gradients over the processes, so the sum over the share is scaled by processes / size. A process
        without a row takes one at weight 0, to be there when the gradients are exchanged.
        """
        mine = rows[self.accelerator.process_index :: self.accelerator.num_processes]
        weight = self.accelerator.num_processes / size if mine else 0.0
        mine = mine or rows[:1]
        device = self.accelerator.device
        with self.accelerator.autocast():
            logits = self.model(**collate(self.tokenizer, [self.encoded.features[row] for row in mine], device)).logits
        loss = cross_entropy(logits.float(), self.gold[mine].to(device), reduction="sum") * weight
        self.accelerator.backward(loss)
        return float(loss.detach())

    def predictor(self, task: Task, name: str) -> TransformerClassifier:
        """Return the model as it stands, ready to predict."""
        return TransformerClassifier(
            self.accelerator.unwrap_model(self.model),
            self.tokenizer,
            self.accelerator,
            self.options.predict,
            name=name,
            max_length=self.max_length,
            labels=task.labels,
            columns=tuple(range(len(task.labels))),
        )

    def weights(self) -> dict[str, torch.Tensor]:
        """Return a copy of the weights in main memory."""
        state = self.accelerator.unwrap_model(self.model).state_dict()
        return {name: weight.detach().cpu().clone() for name, weight in state.items()}


def _new_model(task: Task, split: Split, options: TrainOptions) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    if options.model == RULE:
        raise ModelError("the rule classifier needs no training: evaluate it with model=rule")
    id2label = dict(enumerate(task.labels))
    length = options.predict.max_length or MAX_LENGTH
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    if options.model == TINY:
        model, tokenizer = build_tiny([example.input for example in split.examples], id2label, length)
        name = TINY
    else:
        tokenizer = load_tokenizer(options.model, length)
        label2id = {label: index for index, label in id2label.items()}
        model, _ = load_model(options.model, num_labels=len(id2label), id2label=id2label, label2id=label2id)
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


def _groups(model: PreTrainedModel, weight_decay: float) -> list[dict[str, Any]]:
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.ndim <= 1]
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]


def _select(predictor: TransformerClassifier, selection: Split) -> dict[str, float]:
    gold = np.array([example.label for example in selection.examples], dtype=np.int64)
    unique = list(dict.fromkeys(example.input for example in selection.examples))
    row = {value: index for index, value in enumerate(unique)}
    labels = predict_all(predictor, unique).probabilities.argmax(axis=1)
    predicted = labels[[row[example.input] for example in selection.examples]].astype(np.int64)
    scores = {name: metric(gold=gold, predicted=predicted) for name, metric in SELECTION_METRICS.items()}
    return {name: value for name, value in scores.items() if value is not None}
