"""What one step of training needs and changes: model, optimizer, schedule, and the plan of the batches."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel, PreTrainedTokenizerBase, get_linear_schedule_with_warmup

from crt.catalogue import Task
from crt.models.augmentation import Augmenter
from crt.models.recipe import TrainOptions
from crt.models.resuming import State
from crt.models.transformer import TransformerClassifier, collate, encode
from crt.tasks import Split

_WINDOW = 50
"""Batches that are sorted by length together: little padding, still random steps."""


class Loop:
    """A model in training."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        split: Split,
        accelerator: Accelerator,
        options: TrainOptions,
    ) -> None:
        """Take a model on its way to the device, and all that it is trained on.

        Args:
            model: with its head.
            tokenizer: of the model.
            split: to train on.
            accelerator: device, precision and processes.
            options: how to train.
        """
        self.tokenizer, self.accelerator, self.options = tokenizer, accelerator, options
        self.max_length = int(model.config.crt_max_length)
        self.encoded = encode(tokenizer, [example.input for example in split.examples], self.max_length)
        self.augmenter = Augmenter(
            split.examples, options.augment, prob=options.augment_prob, share=options.augment_share, seed=options.seed
        )
        self.gold = torch.tensor([example.label for example in split.examples])
        per_step = options.train_batch_size * options.gradient_accumulation_steps
        self.steps = options.num_train_epochs * -(-len(self.gold) // per_step)
        # fused: over the rows of a large vocabulary, a step on a CPU takes a sixth of the time
        optimizer = torch.optim.AdamW(_groups(model, options.weight_decay), lr=options.learning_rate, fused=True)
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

    def state(self) -> State:
        """Return what steps change beside the weights."""
        scaler = self.accelerator.scaler
        return {
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "scaler": scaler.state_dict() if scaler else None,
        }

    def restore(self, state: State) -> None:
        """Put the weights, and all else that steps change, back to where they stood."""
        self.accelerator.unwrap_model(self.model).load_state_dict(state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        if self.accelerator.scaler:
            self.accelerator.scaler.load_state_dict(state["scaler"])

    def weights(self) -> dict[str, torch.Tensor]:
        """Return a copy of the weights in main memory."""
        state = self.accelerator.unwrap_model(self.model).state_dict()
        return {name: weight.detach().cpu().clone() for name, weight in state.items()}


def _groups(model: PreTrainedModel, weight_decay: float) -> list[dict[str, Any]]:
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.ndim <= 1]
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
