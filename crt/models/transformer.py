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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from safetensors import SafetensorError
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from crt.catalogue import Task
from crt.errors import CrtError, ModelError, is_full, no_room
from crt.files import is_folder
from crt.invocation import next_command
from crt.models import BASELINES, PredictOptions, match_labels
from crt.models.processes import gather, precision_of
from crt.records import RULE, Input, Prediction

log = logging.getLogger(__name__)

REPORT_SECONDS = 30.0
"""A pass that takes longer than this says how far it is."""

MAX_LENGTH = 128
"""Tokens that a model reads where nothing else is said."""

WIDTH = 8
"""Inputs are padded to a multiple of this many tokens."""

ROWS = 4
"""Batches are filled up to a multiple of this many rows: the remainder of a matrix product is summed in another order."""

_POSITIONS = ("position_embeddings", "embed_positions", "wpe")
"""Ends of the names of tables of positions; a model without one reads texts of any length."""

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

    A row that holds a number that is none (NaN or infinity) is all NaN: there is no answer for this input.
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
    length = options.max_length or int(getattr(model.config, "crt_max_length", MAX_LENGTH))
    tokenizer = load_tokenizer(spec, length)
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


def load_tokenizer(spec: str, max_length: int) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a checkpoint.

    Raises:
        ModelError: there is none, it is no fast one, or the model cannot read `max_length` tokens.
    """
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(_parts(spec)[1], trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise _load_error(spec, "tokenizer", error) from error
    if not tokenizer.is_fast:
        raise ModelError(f"model {spec} has no fast tokenizer (tokenizer.json); save it again with one")
    if max_length > tokenizer.model_max_length:
        raise ModelError(
            f"max_length {max_length} is more than model {spec} reads; give max_length={tokenizer.model_max_length}"
        )
    tokenizer.backend_tokenizer.no_truncation()  # what the last use left behind is no part of the tokenizer
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.deprecation_warnings["Asking-to-pad-a-fast-tokenizer"] = True
    return tokenizer


def check_length(spec: str, model: PreTrainedModel, max_length: int) -> None:
    """Make sure that a model has a position for every token: many tokenizers do not say what it reads.

    Raises:
        ModelError: it has not.
    """
    for name, module in model.named_modules():
        if name.endswith(_POSITIONS) and isinstance(module, torch.nn.Embedding):
            known = getattr(model.config, "max_position_embeddings", module.num_embeddings)
            if module.padding_idx is None:  # what fills a batch up has positions too
                room = min(module.num_embeddings, known) // WIDTH * WIDTH
            else:  # those of RoBERTa begin behind the one that all padding shares
                room = module.num_embeddings - module.padding_idx - 1
            if max_length > room:
                raise ModelError(f"max_length {max_length} is more than model {spec} reads; give max_length={room}")


def load_model(
    spec: str, kind: Any = AutoModelForSequenceClassification, **config: object
) -> tuple[PreTrainedModel, list[str]]:
    """Load float32 weights from safetensors; also return the names of the weights that the checkpoint lacks.

    Args:
        spec: folder or hub id.
        kind: the auto class of the model.
        config: changes of the configuration; a new head may then have another size.
    """
    try:
        model, info = kind.from_pretrained(
            _parts(spec)[0],
            dtype=torch.float32,
            use_safetensors=True,
            trust_remote_code=False,  # where nothing is said, the library asks on stdin whether to run code of the checkpoint
            ignore_mismatched_sizes=bool(config),
            output_loading_info=True,
            **config,
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise _load_error(spec, "weights", error) from error
    return model, sorted(info["missing_keys"])


def model_name(spec: str, model: PreTrainedModel) -> str:
    """Return what the tables call a model: the base model that crt stored with it, its folder's name or its hub id."""
    return str(getattr(model.config, "crt_base_model", "")) or (Path(spec).resolve().name if is_folder(spec) else spec)


def _parts(spec: str) -> tuple[str, str]:
    """Return where weights and tokenizer are: a model that MLflow has logged keeps them in two folders."""
    weights, tokenizer = Path(spec) / "model", Path(spec) / "components" / "tokenizer"
    return (str(weights), str(tokenizer)) if is_folder(weights) and is_folder(tokenizer) else (spec, spec)


def _load_error(spec: str, part: str, error: Exception) -> CrtError:
    if is_full(error):
        return no_room(error)
    cause = " ".join(str(error).split())[:200]
    if is_folder(spec):
        files = ", ".join(sorted(file.name for file in Path(spec).iterdir())[:8]) or "nothing"
        return ModelError(
            f"{spec}: no usable {part} ({cause}); the folder holds {files}; it needs config.json, model.safetensors "
            "(pickled weights are not loaded) and tokenizer.json"
        )
    near = get_close_matches(spec, (*BASELINES, RULE), n=1, cutoff=0.6)
    hint = f"did you mean '{near[0]}'? " if near and near[0] != spec else ""
    return ModelError(
        f"model '{spec}': no such folder, and the hub gives no {part} ({cause}); {hint}"
        "without the hub, give the folder of a checkpoint"
    )


def weights_of(model: PreTrainedModel, leave_out: str = "") -> Iterator[bytes]:
    """Yield name and bytes of every weight, for a digest; those whose name starts with `leave_out` have no part in it."""
    for name, tensor in sorted(model.state_dict().items()):
        if leave_out and name.startswith(leave_out):
            continue
        yield name.encode()
        yield tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()
