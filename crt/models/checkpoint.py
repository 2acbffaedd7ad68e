"""Checkpoint folders, and those of the hub: model and tokenizer of one."""

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from crt.errors import CrtError, ModelError, is_full, no_room
from crt.files import is_folder
from crt.models import BASELINES
from crt.records import RULE

WIDTH = 8
"""Inputs are padded to a multiple of this many tokens."""

_POSITIONS = ("position_embeddings", "embed_positions", "wpe")
"""Ends of the names of tables of positions; a model without one reads texts of any length."""


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
