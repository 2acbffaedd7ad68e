"""Sequence classifiers of the transformers library.

Inputs are tokenised once and predicted in batches of about equal length: padding every title to 128 tokens would cost
several times the work. An input is always padded to the same width, the next multiple of `WIDTH`; a batch holds inputs
of one width, and a multiple of `ROWS` of them, the last one repeated: on a CPU its probabilities then do not depend, to
the last bit, on what else is in the batch, so that a grid that was interrupted, cut down or dealt to several processes
gives the same cells.
"""

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from crt.catalogue import Task
from crt.errors import ModelError
from crt.invocation import next_command
from crt.models import PredictOptions, match_labels
from crt.models.checkpoint import (
    WIDTH,
    check_head,
    check_length,
    check_tokenizer,
    load_model,
    load_tokenizer,
    model_name,
    weights_of,
)
from crt.models.processes import gather, precision_of
from crt.records import Input, Prediction

log = logging.getLogger(__name__)

REPORT_SECONDS = 30.0
"""A pass that takes longer than this says how far it is."""

MAX_LENGTH = 128
"""Tokens that a model reads where nothing else is said."""

ROWS = 4
"""Batches are filled up to a multiple of this many rows: the remainder of a matrix product is summed in another order."""

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a pair, which no tokenizer takes."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Tokenised inputs; element i of each field belongs to input i."""

    features: tuple[dict[str, list[int]], ...]
    """What the model takes, unpadded."""
    lengths: NDArray[np.int64]
    """int64[n]: tokens with the special ones."""
    tokens: NDArray[np.int64]
    """int64[n]: tokens without the special ones."""
    unknown: NDArray[np.int64]
    """int64[n]: unknown tokens."""
    truncated: NDArray[np.bool_]
    """bool[n]: tokens were cut off."""


class TransformerClassifier:
    """A predictor around a sequence-classification model."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        accelerator: Accelerator,
        options: PredictOptions,
        *,
        name: str,
        max_length: int,
        labels: tuple[str, ...],
        columns: tuple[int, ...],
        fingerprint: str = "",
    ) -> None:
        """Take a model that stands on the device of the accelerator.

        Args:
            model: the model.
            tokenizer: its fast tokenizer.
            accelerator: device, precision and processes.
            options: how to predict.
            name: id of the base model.
            max_length: longest input in tokens.
            labels: of the task.
            columns: for each label the index of the model's output.
            fingerprint: over all that the predictions depend on.
        """
        self.model, self.tokenizer, self.accelerator, self.options = model, tokenizer, accelerator, options
        self.name, self.labels, self.columns, self.fingerprint = name, labels, list(columns), fingerprint
        self.max_length = max_length
        seed = getattr(model.config, "crt_train_seed", None)
        self.train_seed: int | None = None if seed is None else int(seed)
        self.precision = precision_of(accelerator)
        self.settings = settings_of(max_length, options, self.precision)

    def predict(self, inputs: Sequence[Input]) -> Prediction:
        """Predict every input; see `Predictor.predict`."""
        encoded = encode(self.tokenizer, inputs, self.max_length)
        budget = self.max_length * self.options.eval_batch_size
        probabilities = in_batches(self.accelerator, encoded, budget, len(self.labels), self._forward)
        return Prediction(probabilities, encoded.tokens, encoded.unknown, encoded.truncated)

    @torch.inference_mode()
    def _forward(self, features: list[dict[str, list[int]]]) -> NDArray[np.float32]:
        self.model.eval()  # type: ignore[no-untyped-call]
        count = len(features)
        features += features[-1:] * (-count % ROWS)
        with autocast(self.accelerator.device, self.precision):
            logits = self.model(**collate(self.tokenizer, features, self.accelerator.device)).logits
        probabilities: NDArray[np.float32] = logits[:count, self.columns].float().softmax(dim=-1).cpu().numpy()
        return probabilities


def in_batches(
    accelerator: Accelerator,
    encoded: Encoded,
    budget: int,
    width: int,
    forward: Callable[[list[dict[str, list[int]]]], NDArray[np.float32]],
) -> NDArray[np.float32]:
    """Return float32[n, width]: the rows that `forward` gives for batches of features, shared out among the processes.

    A row with a NaN or an infinity becomes all NaN: there is no answer for this input.
    """
    found = np.full((len(encoded.lengths), width), np.nan, dtype=np.float32)
    batches = plan_batches(encoded.lengths, budget)
    rank, world = accelerator.process_index, accelerator.num_processes
    mine, said = [], time.monotonic()
    for number, rows in enumerate(own := batches[rank::world], start=1):
        mine.append((rows, forward([encoded.features[row] for row in rows])))
        if time.monotonic() - said > REPORT_SECONDS:
            log.info("predicted %.0f %% of %d inputs", 100 * number / len(own), len(found))
            said = time.monotonic()
    for rows, values in gather(mine) if world > 1 else mine:
        found[rows] = values
    found[~np.isfinite(found).all(axis=1)] = np.nan
    return found


def settings_of(max_length: int, options: PredictOptions, precision: str) -> Mapping[str, str]:
    """Return how a model predicts, as `Predictor.settings` says it."""
    return {
        "max_length": str(max_length),
        "eval_batch_size": str(options.eval_batch_size),
        "precision": precision,
    }


def autocast(device: torch.device, precision: str) -> Any:
    """Return the context in which a forward pass runs at the given precision."""
    if precision not in AUTOCAST:
        return nullcontext()
    return torch.autocast(device.type, dtype=AUTOCAST[precision])


def encode(tokenizer: PreTrainedTokenizerBase, inputs: Sequence[Input], max_length: int) -> Encoded:
    """Tokenise inputs; those longer than `max_length` are cut, the longer text of a pair first."""
    if not inputs:
        empty = np.zeros(0, dtype=np.int64)
        return Encoded((), empty, empty, empty, empty.astype(np.bool_))
    fields = [[_SURROGATE.sub("\ufffd", text) for text in texts] for texts in zip(*inputs, strict=True)]
    batch = tokenizer(*fields, truncation=True, max_length=max_length)
    ids: list[list[int]] = batch["input_ids"]
    special = tokenizer.num_special_tokens_to_add(pair=len(inputs[0]) == 2)
    lengths = np.array([len(row) for row in ids], dtype=np.int64)
    unknown = tokenizer.unk_token_id
    return Encoded(
        features=tuple(dict(zip(batch, row, strict=True)) for row in zip(*batch.values(), strict=True)),
        lengths=lengths,
        tokens=lengths - special,
        unknown=np.array([row.count(unknown) for row in ids], dtype=np.int64),
        truncated=np.array([bool(encoding.overflowing) for encoding in batch.encodings], dtype=np.bool_),
    )


def collate(
    tokenizer: PreTrainedTokenizerBase, features: list[dict[str, list[int]]], device: torch.device
) -> dict[str, torch.Tensor]:
    """Pad features to a multiple of `WIDTH` and move them to the device."""
    padded: Mapping[str, torch.Tensor] = tokenizer.pad(features, pad_to_multiple_of=WIDTH, return_tensors="pt")
    return {key: value.to(device, non_blocking=True) for key, value in padded.items()}


def plan_batches(lengths: NDArray[np.int64], budget: int) -> list[list[int]]:
    """Group rows of one width into batches of at most `budget` tokens, padding included, or of `ROWS`; widest first."""
    widths = -(-lengths // WIDTH) * WIDTH
    batches: list[list[int]] = []
    for width in sorted(set(widths.tolist()), reverse=True):
        rows = np.flatnonzero(widths == width).tolist()
        size = max(ROWS, budget // width // ROWS * ROWS)
        batches += [rows[at : at + size] for at in range(0, len(rows), size)]
    return batches


def load_transformer(spec: str, task: Task, accelerator: Accelerator, options: PredictOptions) -> TransformerClassifier:
    """Load a checkpoint that has a classification head; see `load_predictor`."""
    model, missing = load_model(spec)
    if missing:
        raise ModelError(
            f"model {spec} has no trained classification head (missing: {', '.join(missing[:3])}); "
            f"train it first: {next_command('train', {'dataset': task.name, 'model': spec})}"
        )
    check_head(spec, model.config)
    length = options.max_length or int(getattr(model.config, "crt_max_length", MAX_LENGTH))
    tokenizer = load_tokenizer(spec, length, len(task.fields))
    check_tokenizer(spec, model, tokenizer)
    check_length(spec, model, length)
    names = {int(index): str(name) for index, name in (model.config.id2label or {}).items()}
    labels, columns = match_labels(spec, [names[index] for index in sorted(names)], task, options.label_map)
    digest = sha256(f"{length}|{precision_of(accelerator)}|{labels}|{columns}".encode())
    digest.update(tokenizer.backend_tokenizer.to_str().encode("utf-8", "surrogatepass"))
    for chunk in weights_of(model):
        digest.update(chunk)
    model.to(accelerator.device)
    return TransformerClassifier(
        model,
        tokenizer,
        accelerator,
        options,
        name=model_name(spec, model),
        max_length=length,
        labels=labels,
        columns=columns,
        fingerprint=digest.hexdigest()[:16],
    )
