"""The encoders that are measured: a folder that is given, or a BERT with random weights."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import transformers

from crt.catalogue import TASKS
from crt.models import PredictOptions
from crt.models.checkpoint import load_model, load_tokenizer
from crt.models.processes import start
from crt.models.tiny import build_tiny
from crt.models.transformer import TransformerClassifier
from crt.records import Input

MAX_LENGTH, BATCH = 128, 32
"""Tokens of the longest input, and inputs of that length in a batch."""

SIZES = {
    "tiny": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128},
    "small": {"hidden_size": 384, "num_hidden_layers": 4, "num_attention_heads": 12, "intermediate_size": 1536},
    "base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072},
}
"""Shapes by name; base is that of BERT-base."""


def random_bert(
    task: str, inputs: Sequence[Input], size: str, vocabulary: int = 0
) -> tuple[transformers.BertForSequenceClassification, transformers.BertTokenizer]:
    """Return a BERT with random weights and a tokenizer that knows the characters of `inputs`, and more where it must.

    Args:
        task: gives the labels.
        inputs: texts.
        size: key of SIZES.
        vocabulary: tokens, if that is more than `inputs` need.
    """
    torch.manual_seed(0)
    labels = TASKS[task].labels
    others = ("".join(map(chr, range(0x4E00, 0x4E00 + vocabulary))),)
    _, tokenizer = build_tiny([*inputs, others], dict(enumerate(labels)), MAX_LENGTH)
    config = transformers.BertConfig(
        vocab_size=max(len(tokenizer), vocabulary),
        max_position_embeddings=MAX_LENGTH,
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
        **dict[str, Any](SIZES[size]),
    )
    return transformers.BertForSequenceClassification(config), tokenizer


def save_bert(task: str, inputs: Sequence[Input], size: str, folder: Path, vocabulary: int = 0) -> str:
    """Save such a BERT as a checkpoint and return its spec."""
    model, tokenizer = random_bert(task, inputs, size, vocabulary)
    return save(model, tokenizer, folder)


def save(model: Any, tokenizer: Any, folder: Path) -> str:
    """Save a checkpoint and return its spec."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def predictor(folder: str | None, task: str, inputs: Sequence[Input], size: str) -> TransformerClassifier:
    """Return the model of a folder, or a BERT of a size with random weights, ready to predict in fp32."""
    labels = TASKS[task].labels
    if folder:
        tokenizer = load_tokenizer(folder, MAX_LENGTH)
        model, _ = load_model(folder, num_labels=len(labels), id2label=dict(enumerate(labels)))
    else:
        model, tokenizer = random_bert(task, inputs, size)
    accelerator = start("fp32")
    return TransformerClassifier(
        model.to(accelerator.device), tokenizer, accelerator, PredictOptions(MAX_LENGTH, BATCH), name="bench",
        max_length=MAX_LENGTH, labels=labels, columns=tuple(range(len(labels))),
    )  # fmt: skip


def multiply_adds(config: Any, rows: int, width: int) -> int:
    """Return how many multiply-adds the matrix products of the layers make for a batch, padding included."""
    hidden, inner = config.hidden_size, config.intermediate_size
    return int(
        config.num_hidden_layers * rows * width * (4 * hidden * hidden + 2 * width * hidden + 2 * hidden * inner)
    )


@dataclass
class Measured:
    """What went through a model in some time."""

    seconds: float = 0.0
    tokens: int = 0
    """Without padding."""
    padded: int = 0
    """With it."""
    adds: int = 0
    """Multiply-adds of the forward passes."""

    @property
    def speed(self) -> float:
        """Tokens without padding in a second."""
        return self.tokens / self.seconds


@contextmanager
def counted(spec: str, *, training: bool) -> Iterator[Measured]:
    """Count what goes through models of the class of a checkpoint, while they train or while they predict, whoever calls them."""
    config = transformers.AutoConfig.from_pretrained(spec, trust_remote_code=False)
    kind: Any = transformers.AutoModelForSequenceClassification._model_mapping[type(config)]  # noqa: SLF001
    measured, forward, tokens = Measured(), kind.forward, []

    @wraps(forward)
    def counting(self: Any, *values: Any, **named: Any) -> Any:
        if self.training == training:
            rows, width = named["attention_mask"].shape
            tokens.append(named["attention_mask"].sum())  # read at the end: a GPU would be waited for here
            measured.padded += rows * width
            measured.adds += multiply_adds(config, rows, width)
        return forward(self, *values, **named)

    with patch.object(kind, "forward", counting):
        yield measured
    measured.tokens = int(sum(tokens))
