"""Checkpoint folders, and those of the hub: model and tokenizer of one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch.nn.modules.module import register_module_parameter_registration_hook
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils.hub import cached_file

from crt.errors import CrtError, ModelError, is_full, no_room
from crt.files import is_file, is_folder
from crt.models import BASELINES
from crt.records import RULE

WIDTH = 8
"""Inputs are padded to a multiple of this many tokens."""

_ADAPTER = "adapter_config.json"

_OURS = {
    "_attn_implementation": None,
    "_experts_implementation": None,
    "distributed_config": None,
    "fusion_config": None,
    "output_attentions": False,
    "output_hidden_states": False,
    "return_dict": True,
}
"""What the configuration of a checkpoint has no say in: kernels that are not there, or would be fetched, and other outputs."""

_NEW, _LEAST = 2**26, 2**14
"""Weights that a model may have beyond its files, and how many a tensor counts at least: very many take long to build."""

_HEAD = 1 / 4
"""Share of the weights that a new head may be: a checkpoint that lacks more of them is another model's."""

_VOCABULARIES = (".model", ".spm", ".tiktoken")
"""Ends of the names of vocabularies that go by many names."""

_ROUNDED = 1000
"""A table of embeddings that is rounded up has fewer rows than this without a token."""

_POSITIONS = ("position_embeddings", "embed_positions", "wpe")
"""Ends of the names of tables of positions; a model without one reads texts of any length."""


def load_model(
    spec: str, kind: Any = AutoModelForSequenceClassification, **config: object
) -> tuple[PreTrainedModel, list[str]]:
    """Load float32 weights; also return the names of the weights that the checkpoint lacks.

    Pickled weights (pytorch_model.bin), where there are no others, are read by an unpickler that makes tensors and runs
    nothing.

    Args:
        spec: folder or hub id.
        kind: the auto class of the model.
        config: changes of the configuration; a new head may then have another size.

    Raises:
        ModelError: there are none that can be used.
    """
    folder = _parts(spec)[0]
    if is_folder(folder) and _holds_adapter(folder):
        raise _adapter(spec)
    try:
        # where nothing is said of remote code, the library asks on stdin whether to run that of the checkpoint
        found = AutoConfig.from_pretrained(folder, trust_remote_code=False, **config)
        _check_config(spec, found)
        with _no_larger_than_its_files(spec, folder):
            model, info = kind.from_pretrained(
                folder,
                config=found,
                dtype=torch.float32,
                weights_only=True,
                trust_remote_code=False,
                ignore_mismatched_sizes=True,  # looked at below
                output_loading_info=True,
            )
    except CrtError:
        raise
    except Exception as error:  # the readers of files and the builders of models raise whatever they meet
        raise _load_error(spec, "weights", error) from error
    _check_weights(spec, model, info, new_head=bool(config))
    return model, sorted(info["missing_keys"])


def _check_config(spec: str, config: PreTrainedConfig) -> None:
    """Take from a configuration what is for whoever runs the model to decide, and refuse what crt cannot run."""
    if quantization := getattr(config, "quantization_config", None):
        method = quantization.get("quant_method") if isinstance(quantization, dict) else quantization.quant_method
        raise ModelError(
            f"the weights of model {spec} are quantized ({method or 'quantization_config in config.json'}); give the "
            "checkpoint that they were made from"
        )
    for name, value in _OURS.items():
        if hasattr(config, name):
            setattr(config, name, value)


@contextmanager
def _no_larger_than_its_files(spec: str, folder: str) -> Iterator[None]:
    """Stop the building of a model that has more weights than its files can hold, at a byte each, and a new head."""
    room: int | None = None

    def count(_: torch.nn.Module, __: str, weight: torch.nn.Parameter | None) -> None:
        nonlocal room
        if weight is None or not weight.is_meta:  # what is loaded has been counted when it was built
            return
        if room is None:
            room = _NEW + _bytes_of(folder)
        room -= max(weight.numel(), _LEAST)
        if room < 0:
            raise ModelError(
                f"{spec}: config.json describes a model that is too large for the weights beside it; is it that of another "
                "model?"
            )

    handle = register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        handle.remove()


def _bytes_of(folder: str) -> int:
    """Return how large the files of weights of a checkpoint are, those of the hub in the cache that they were loaded to."""
    place = Path(folder)
    if not is_folder(folder):
        place = Path(str(cached_file(folder, "config.json", local_files_only=True))).parent
    return sum(file.stat().st_size for end in ("safetensors", "bin") for file in place.rglob(f"*.{end}"))


def _holds_adapter(folder: str) -> bool:
    if is_folder(folder):
        return is_file(Path(folder) / _ADAPTER)
    try:
        return cached_file(folder, _ADAPTER) is not None
    except Exception:  # noqa: BLE001  there is none, or no such model, or no hub
        return False


def _adapter(spec: str) -> ModelError:
    return ModelError(
        f"{spec} is an adapter (PEFT), not a whole model; merge it into its base model and give the folder of that: "
        f"model.merge_and_unload().save_pretrained(FOLDER); if it is merged already, take {_ADAPTER} away"
    )


def _check_weights(spec: str, model: PreTrainedModel, info: Mapping[str, Any], *, new_head: bool) -> None:
    """Make sure that a model is not left with random weights, but for a new head."""
    weights, missing = model.state_dict(), sorted(info["missing_keys"])
    head = (model.config.num_labels,) if new_head else None
    others = [row for row in sorted(info["mismatched_keys"]) if tuple(row[2])[:1] != head]
    if not others and len(missing) <= len(weights) * _HEAD:
        return
    wrong = f"{len(missing)} of {len(weights)} are missing, like {missing[0]}" if missing else ""
    for name, theirs, ours in others[:1]:
        wrong = f"{name} has the shape {list(theirs)}, not {list(ours)}"
    raise ModelError(f"{spec}: the weights are not those of a {type(model).__name__} of this config.json: {wrong}")


def load_tokenizer(spec: str, max_length: int, texts: int = 1) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a checkpoint.

    Args:
        spec: folder or hub id.
        max_length: see `check_room`.
        texts: see `check_room`.

    Raises:
        ModelError: there is none, it is no fast one, or `max_length` does not suit it.
    """
    folder = _parts(spec)[1]
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # as above
        raise _load_error(spec, "tokenizer", error) from error
    if is_folder(folder) and not _holds_vocabulary(Path(folder), tokenizer):
        raise ModelError(
            f"{spec}: the folder holds no tokenizer, and without one every text is unknown; put the tokenizer.json or "
            "vocab.txt there that the model was trained with: tokenizer.save_pretrained(FOLDER)"
        )
    if not tokenizer.is_fast:
        raise ModelError(f"model {spec} has no fast tokenizer (tokenizer.json); save it again with one")
    check_room(spec, tokenizer, max_length, texts)
    tokenizer.backend_tokenizer.no_truncation()  # what the last use left behind is no part of the tokenizer
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.deprecation_warnings["Asking-to-pad-a-fast-tokenizer"] = True
    return tokenizer


def check_head(spec: str, config: PreTrainedConfig) -> None:
    """Make sure that the outputs of a model stand for labels one of which is right.

    Raises:
        ModelError: it answers with a number, or with several labels at a time.
    """
    if config.num_labels == 1 or config.problem_type == "regression":
        raise ModelError(
            f"model {spec} has {'one output' if config.num_labels == 1 else 'outputs that are numbers'}, a regression model; "
            "crt needs a classifier with an output for each label: train one from it, or give another"
        )
    if config.problem_type == "multi_label_classification":
        raise ModelError(
            f"model {spec} gives several labels at a time (problem_type multi_label_classification), so its outputs are no "
            "probabilities of one of them; train a classifier from it, or give another"
        )


def _holds_vocabulary(folder: Path, tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether a folder holds a vocabulary: where it does not, the library makes one of special tokens only."""
    names = {"tokenizer.json", "tekken.json", *tokenizer.vocab_files_names.values()}
    return any(file.name in names or file.suffix in _VOCABULARIES for file in folder.iterdir())


def check_room(spec: str, tokenizer: PreTrainedTokenizerBase, max_length: int, texts: int) -> None:
    """Make sure that an input of `max_length` tokens has room for text, and is no longer than the tokenizer says.

    Args:
        spec: what the model was asked for as.
        tokenizer: of the model.
        max_length: longest input in tokens.
        texts: of an input; 0: each text is cut by itself, without special tokens.

    Raises:
        ModelError: it is too short or too long; the message says what works.
    """
    special = tokenizer.num_special_tokens_to_add(pair=texts == 2) if texts else 0
    least = special + max(texts, 1)
    if max_length < least:
        raise ModelError(
            f"max_length {max_length} leaves model {spec} no room for text beside {special} special tokens; "
            f"give max_length={least} or more"
        )
    if max_length > tokenizer.model_max_length:
        raise ModelError(
            f"max_length {max_length} is more than model {spec} reads; give max_length={tokenizer.model_max_length}"
        )


def check_tokenizer(
    spec: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, *, pads: bool = True
) -> None:
    """Make sure that model and tokenizer belong together: each token has an embedding, and most embeddings have a token.

    A table of embeddings may have some rows more than there are tokens: it is rounded up, to 1,000 at most.

    Args:
        spec: what the model was asked for as.
        model: on its own, or with a head; it learns here which token fills up a batch, if it does not know.
        tokenizer: the one to be used with it.
        pads: batches are filled up.

    Raises:
        ModelError: they do not.
    """
    vocabulary, table = tokenizer.get_vocab(), model.get_input_embeddings()
    known = len(vocabulary)
    rows = table.num_embeddings if isinstance(table, torch.nn.Embedding) else known
    marked = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    special = marked | set(tokenizer.all_special_tokens)
    if not vocabulary.keys() - special or (2 * known < rows and rows - known >= _ROUNDED):
        raise ModelError(
            f"the tokenizer of model {spec} knows {known:,} tokens, the model {rows:,}: it is another model's; put the "
            "tokenizer.json or vocab.txt there that the model was trained with"
        )
    if pads and tokenizer.pad_token_id is None:
        raise ModelError(
            f"the tokenizer of model {spec} has no pad token, and batches need one; give it one that the model knows, "
            "like tokenizer.pad_token = tokenizer.eos_token, and save it again"
        )
    # special tokens that no input holds may lack an embedding: many a model to generate text has such a pad token
    used = {tokenizer.cls_token, tokenizer.sep_token, tokenizer.bos_token, tokenizer.eos_token, tokenizer.unk_token}
    idle = special - used - ({tokenizer.pad_token} if pads else set())
    beyond = [token for token in sorted(vocabulary, key=vocabulary.__getitem__) if vocabulary[token] >= rows]
    beyond = [token for token in beyond if token not in idle]
    if beyond:
        raise ModelError(
            f"the tokenizer of model {spec} has {len(beyond):,} tokens ({', '.join(beyond[:3])}) beyond the {rows:,} that the "
            "model has embeddings for: they were added without model.resize_token_embeddings(len(tokenizer)); do that, "
            "train, and save both"
        )
    config = model.config.get_text_config()
    if pads and getattr(config, "pad_token_id", None) is None:
        config.pad_token_id = tokenizer.pad_token_id  # a decoder with a head looks for the last token before it


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
    if _holds_adapter(_parts(spec)[0]):
        return _adapter(spec)
    cause = " ".join(str(error).split())[:200] or type(error).__name__
    if isinstance(error, UnpicklingError):  # torch's own message tells how to run the code
        cause = "pytorch_model.bin is damaged, or holds more than tensors: that is code, and it is not run"
    if is_folder(spec):
        files = ", ".join(sorted(file.name for file in Path(spec).iterdir())[:8]) or "nothing"
        return ModelError(
            f"{spec}: no usable {part} ({cause}); the folder holds {files}; it needs config.json, model.safetensors "
            "or pytorch_model.bin, and tokenizer.json or vocab.txt"
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
