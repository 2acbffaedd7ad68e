"""`embedding:ID`: a sentence encoder that was never trained on the task; the nearest class mean decides.

The embedding of an input is the mean of its token vectors, scaled to length 1. A class mean is that of training examples;
the probabilities are the softmax of the cosines.
"""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from crt.catalogue import Task
from crt.errors import ModelError
from crt.models import EMBEDDING, PredictOptions
from crt.models.checkpoint import check_length, check_tokenizer, load_model, load_tokenizer, model_name, weights_of
from crt.models.processes import precision_of
from crt.models.transformer import MAX_LENGTH, ROWS, Encoded, autocast, collate, encode, in_batches, settings_of
from crt.records import Input, Prediction
from crt.tasks import Source, load_training

EXAMPLES = 500
"""Training examples of a class that its mean is taken over, at most."""

POOLER = "pooler."
"""Weights that are not used, and random where a checkpoint has none."""

TEMPERATURE = 0.05
"""Cosines are divided by it before the softmax: those of one encoder lie close together."""


class EmbeddingClassifier:
    """A predictor around an encoder and class means."""

    train_seed: int | None = None

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        accelerator: Accelerator,
        options: PredictOptions,
        *,
        name: str,
        labels: tuple[str, ...],
        max_length: int,
    ) -> None:
        """Take an encoder that stands on the device of the accelerator."""
        self.model, self.tokenizer, self.accelerator, self.options = model, tokenizer, accelerator, options
        self.name, self.labels, self.max_length = name, labels, max_length
        self.fingerprint = ""
        self.precision = precision_of(accelerator)
        self.settings = settings_of(max_length, options, self.precision)
        self._means: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)

    def fit(self, inputs: Sequence[Input], labels: Sequence[int]) -> None:
        """Take the class means of some examples.

        Raises:
            ModelError: a class has no example.
        """
        vectors, gold = self.embed(self._encode(inputs)), np.array(labels)
        empty = [label for k, label in enumerate(self.labels) if not (gold == k).any()]
        if empty:
            raise ModelError(f"none of the {len(gold):,} training examples is '{empty[0]}': it has no class mean")
        self._means = _unit(np.stack([vectors[gold == k].mean(axis=0) for k in range(len(self.labels))]))
        weights = sha256()
        for chunk in weights_of(self.model, leave_out=POOLER):
            weights.update(chunk)
        for part in (self._means.tobytes(), f"{self.max_length}|{self.precision}|{self.labels}".encode()):
            weights.update(part)
        weights.update(self.tokenizer.backend_tokenizer.to_str().encode("utf-8", "surrogatepass"))
        self.fingerprint = weights.hexdigest()[:16]

    def predict(self, inputs: Sequence[Input]) -> Prediction:
        """Predict every input; see `Predictor.predict`."""
        encoded = self._encode(inputs)
        # einsum and not @: the sums of a matrix product hang on the number of rows
        scores = np.einsum("nd,cd->nc", self.embed(encoded), self._means) / TEMPERATURE
        scores = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
        probabilities = (scores / scores.sum(axis=1, keepdims=True)).astype(np.float32)
        return Prediction(probabilities, encoded.tokens, encoded.unknown, encoded.truncated)

    def embed(self, encoded: Encoded) -> NDArray[np.float32]:
        """Return float32[n, hidden], rows of length 1."""
        budget = self.max_length * self.options.eval_batch_size
        size = int(self.model.config.hidden_size)
        return in_batches(self.accelerator, encoded, budget, size, self._forward)

    def _encode(self, inputs: Sequence[Input]) -> Encoded:
        return encode(self.tokenizer, inputs, self.max_length)

    @torch.inference_mode()
    def _forward(self, features: list[dict[str, list[int]]]) -> NDArray[np.float32]:
        self.model.eval()  # type: ignore[no-untyped-call]
        count = len(features)
        batch = collate(self.tokenizer, features + features[-1:] * (-count % ROWS), self.accelerator.device)
        with autocast(self.accelerator.device, self.precision):
            hidden = self.model(**batch).last_hidden_state.float()
        mask = batch["attention_mask"][:, :, None].float()
        vectors: NDArray[np.float32] = ((hidden * mask).sum(1) / mask.sum(1))[:count].cpu().numpy()
        return _unit(vectors)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), dtype=np.float32)


def load_embedding(
    spec: str, task: Task, accelerator: Accelerator, options: PredictOptions, source: Source
) -> EmbeddingClassifier:
    """Load an encoder and take the class means of the training examples of a task.

    Raises:
        ModelError: the encoder cannot be loaded, or the task has no labels.
        DataError: the training split cannot be read.
    """
    if not task.labels:
        raise ModelError(
            f"{EMBEDDING}:{spec} has no labels of its own, and {task.name} has no training file to learn them from"
        )
    model, missing = load_model(spec, AutoModel)
    missing = [name for name in missing if not name.startswith(POOLER)]
    if missing:
        raise ModelError(f"model {spec} is no encoder (missing: {', '.join(missing[:3])})")
    length = options.max_length or int(getattr(model.config, "crt_max_length", MAX_LENGTH))
    tokenizer = load_tokenizer(spec, length, len(task.fields))
    check_tokenizer(spec, model, tokenizer)
    check_length(spec, model, length)
    model.to(accelerator.device)
    name = f"{EMBEDDING}:{model_name(spec, model)}"
    found = EmbeddingClassifier(
        model, tokenizer, accelerator, options, name=name, labels=task.labels, max_length=length
    )
    train, _ = load_training(task, source)
    classes = [train.where(lambda example, k=k: example.label == k).limited(EXAMPLES) for k in range(len(task.labels))]  # type: ignore[misc]
    examples = [example for one in classes for example in one.examples]
    found.fit([example.input for example in examples], [example.label for example in examples])
    return found
