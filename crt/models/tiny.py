"""A small BERT with random weights and a vocabulary of single characters: trains in seconds, for the demonstration."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

from crt.models.checkpoint import WIDTH
from crt.records import Input

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def build_tiny(
    inputs: Sequence[Input], id2label: Mapping[int, str], max_length: int
) -> tuple[BertForSequenceClassification, BertTokenizer]:
    """Return a model of 2 layers x 128 and a tokenizer that knows the characters of `inputs`."""
    characters = sorted({character for value in inputs for text in value for character in text.lower()})
    characters = [character for character in characters if not character.isspace()]
    pieces = [f"##{character}" for character in characters if character.isascii()]
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = Path(folder) / "vocab.txt"
        vocabulary.write_text("\n".join([*SPECIAL, *characters, *pieces]) + "\n", encoding="utf-8")
        tokenizer = BertTokenizer(str(vocabulary), model_max_length=max_length)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        max_position_embeddings=-(-max_length // WIDTH) * WIDTH,  # inputs are padded to it
        id2label=dict(id2label),
        label2id={label: index for index, label in id2label.items()},
    )
    return BertForSequenceClassification(config), tokenizer
