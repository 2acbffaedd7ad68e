"""The encoders that are measured: a folder that is given, or a BERT with random weights."""

from collections.abc import Sequence
from pathlib import Path

import torch
import transformers

from crt.catalogue import TASKS
from crt.models import PredictOptions
from crt.models.processes import start
from crt.models.tiny import build_tiny
from crt.models.transformer import TransformerClassifier, load_model, load_tokenizer
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
    """Return a BERT with random weights and a tokenizer that knows the characters of `inputs`.

    Args:
        task: gives the labels.
        inputs: texts.
        size: key of SIZES.
        vocabulary: rows of the embedding, if that is more than the tokenizer needs.
    """
    torch.manual_seed(0)
    labels = TASKS[task].labels
    _, tokenizer = build_tiny(inputs, dict(enumerate(labels)), MAX_LENGTH)
    config = transformers.BertConfig(
        vocab_size=max(len(tokenizer), vocabulary),
        max_position_embeddings=MAX_LENGTH,
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
        **SIZES[size],
    )
    return transformers.BertForSequenceClassification(config), tokenizer


def save_bert(task: str, inputs: Sequence[Input], size: str, folder: Path, vocabulary: int = 0) -> str:
    """Save such a BERT as a checkpoint and return its spec."""
    model, tokenizer = random_bert(task, inputs, size, vocabulary)
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
