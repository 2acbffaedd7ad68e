"""`zeroshot:ID`: a causal language model that reads a prompt; its answer is the label word that it finds most likely.

The prompts and label words are in `resources/prompts.json`. The probability of a label is the likelihood of its word after
the prompt, normalised over the labels. `zeroshot:URL#MODEL` asks a server with the completions interface of OpenAI: for
the likelihoods where it gives them, else for an answer, which counts only if it begins with exactly one label word.
"""

import logging
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from inspect import signature
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import requests
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerBase

from crt.catalogue import Task
from crt.errors import ModelError
from crt.models import ZEROSHOT, PredictOptions
from crt.models.checkpoint import check_tokenizer, load_model, load_tokenizer, model_name, weights_of
from crt.models.processes import from_main, gather, precision_of
from crt.models.transformer import MAX_LENGTH, ROWS, autocast, settings_of
from crt.records import Input, Prediction
from crt.redaction import redacted, secrets_of, split_login
from crt.resources import read_json, resource_dir

log = logging.getLogger(__name__)

WORKERS = 8
"""Requests that a server gets at a time."""

TIMEOUT = 120
"""Seconds that a request may take."""

ANSWER = 8
"""Tokens of an answer that is parsed."""


FIELD = re.compile(r"\{([01])\}")
"""Where a prompt takes a field of the input."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """How a task is put to a language model."""

    template: str
    """The fields stand for {0} and {1}."""
    words: tuple[str, ...]
    """The word of each label, in the order of the labels of the task."""

    def of(self, value: Input) -> str:
        """Return the prompt of an input."""
        return FIELD.sub(lambda match: value[int(match[1])], self.template)


def prompt_of(task: Task) -> Prompt:
    """Return the prompt of a task; the user's own data get a plain one with their labels as words."""
    known = read_json(resource_dir() / "prompts.json")["tasks"]
    if not task.labels:
        raise ModelError(f"{ZEROSHOT} needs the labels of {task.name}: give a folder with a training file")
    if task.name in known:
        return Prompt(known[task.name]["prompt"], tuple(known[task.name]["labels"][label] for label in task.labels))
    fields = "".join(f"文本：{{{number}}}\n" for number in range(len(task.fields)))
    return Prompt(f"请从{'、'.join(task.labels)}中选出文本的类别。\n{fields}类别：", task.labels)


class LanguageModel:
    """A predictor around a causal language model of this machine."""

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
        prompt: Prompt,
        max_length: int,
    ) -> None:
        """Take a model that stands on the device of the accelerator; `max_length` tokens of each text are read."""
        self.model, self.tokenizer, self.accelerator, self.options = model, tokenizer, accelerator, options
        self.name, self.labels, self.prompt, self.max_length = name, labels, prompt, max_length
        self.precision = precision_of(accelerator)
        # what was read is called past_key_values by older versions of transformers; 5.40 forgets that name
        self.cache = next(
            (name for name in ("cache", "past_key_values") if name in signature(model.forward).parameters), ""
        )
        if not self.cache:
            raise ModelError(f"{name} cannot be asked: {type(model).__name__} does not keep what it has read")
        self.words = [self._ids(word) for word in prompt.words]
        # what stands before a text, like [CLS] or <s>, but nothing that ends it: the label word comes next
        whole, plain = tokenizer("好")["input_ids"], self._ids("好")
        self.start: list[int] = whole[: next((k for k in range(len(whole)) if whole[k : k + len(plain)] == plain), 0)]
        if len({tuple(word) for word in self.words}) < len(self.words):
            raise ModelError(f"the tokenizer of {name} does not tell the label words {', '.join(prompt.words)} apart")
        self.settings = settings_of(max_length, options, self.precision)
        digest = sha256(f"{prompt}|{labels}|{max_length}|{self.precision}".encode())
        digest.update(tokenizer.backend_tokenizer.to_str().encode("utf-8", "surrogatepass"))
        for chunk in weights_of(model):
            digest.update(chunk)
        self.fingerprint = digest.hexdigest()[:16]

    def predict(self, inputs: Sequence[Input]) -> Prediction:
        """Predict every input; see `Predictor.predict`."""
        cut = [self._cut(value) for value in inputs]
        ids = [self.start + self._ids(self.prompt.of(value)) for value, *_ in cut]
        room = getattr(self.model.config, "max_position_embeddings", None)
        longest = max(map(len, ids), default=0) + max(map(len, self.words))
        if room is not None and longest > room:
            raise ModelError(
                f"model {self.name} reads {room} tokens, a prompt has {longest}; give a smaller max_length"
            )
        found = np.full((len(inputs), len(self.labels)), np.nan, dtype=np.float32)
        batches = _of_one_length(ids, self.options.eval_batch_size)
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        mine = [(rows, self._likelihoods([ids[row] for row in rows])) for rows in batches[rank::world]]
        for rows, values in gather(mine) if world > 1 else mine:
            found[rows] = values
        found[~np.isfinite(found).all(axis=1)] = np.nan
        _, tokens, unknown, truncated = zip(*cut, strict=True) if cut else ((), (), (), ())
        counts = np.array(tokens, dtype=np.int64), np.array(unknown, dtype=np.int64)
        return Prediction(found, *counts, np.array(truncated, dtype=np.bool_))

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _cut(self, value: Input) -> tuple[Input, int, int, bool]:
        """Return the input with each text cut to `max_length` tokens, its tokens, those unknown, and whether it was cut."""
        parts, tokens, unknown, truncated = [], 0, 0, False
        for text in value:
            clean = text.encode("utf-8", "replace").decode("utf-8")
            found = self.tokenizer(clean, add_special_tokens=False, return_offsets_mapping=True)
            ids, offsets = found["input_ids"], found["offset_mapping"]
            kept = ids[: self.max_length]
            parts.append(clean[: offsets[len(kept) - 1][1]] if len(kept) < len(ids) else clean)
            tokens, unknown = tokens + len(kept), unknown + kept.count(self.tokenizer.unk_token_id)
            truncated |= len(kept) < len(ids)
        return tuple(parts), tokens, unknown, truncated

    @torch.inference_mode()
    def _likelihoods(self, ids: list[list[int]]) -> NDArray[np.float32]:
        """Return float32[rows, labels] of prompts of one length; the prompt is read once for all label words."""
        self.model.eval()  # type: ignore[no-untyped-call]
        rows = ids + ids[-1:] * (-len(ids) % ROWS)
        batch = torch.tensor(rows, device=self.accelerator.device)
        with autocast(self.accelerator.device, self.precision):
            start = self.model(batch, use_cache=True)
            cache = getattr(start, self.cache)
            first = start.logits[:, -1].float().log_softmax(-1)
            scores = []
            for word in self.words:
                score = first[:, word[0]]
                if len(word) > 1:
                    rest = torch.tensor([word[:-1]] * len(rows), device=batch.device)
                    logits = self.model(rest, **{self.cache: cache}, use_cache=True).logits.float().log_softmax(-1)
                    cache.crop(1 - len(word))
                    score = score + sum(logits[:, place, token] for place, token in enumerate(word[1:]))
                scores.append(score)
        probabilities: NDArray[np.float32] = torch.stack(scores, dim=1).softmax(-1)[: len(ids)].cpu().numpy()
        return probabilities


def _of_one_length(ids: Sequence[Sequence[int]], size: int) -> list[list[int]]:
    """Group prompts of equal length, longest first: without padding no prompt depends on its batch."""
    by_length: dict[int, list[int]] = {}
    for row, prompt in enumerate(ids):
        by_length.setdefault(len(prompt), []).append(row)
    rows = (by_length[length] for length in sorted(by_length, reverse=True))
    return [group[at : at + size] for group in rows for at in range(0, len(group), size)]


class Refused(ModelError):
    """A server answered, but not with a choice."""

    def __init__(self, message: str, status: int) -> None:
        """Keep the status of the reply."""
        super().__init__(message)
        self.status = status


class Server:
    """A predictor that asks a server with OpenAI's completions interface; $OPENAI_API_KEY is its key."""

    train_seed: int | None = None

    def __init__(
        self, address: str, model: str, labels: tuple[str, ...], prompt: Prompt, accelerator: Accelerator
    ) -> None:
        """Ask the server once, to see whether it gives likelihoods.

        Raises:
            ModelError: it cannot be reached, or refuses.
        """
        self.model, self.labels, self.prompt, self.accelerator = model, labels, prompt, accelerator
        self.name, self.shown = redacted(f"{ZEROSHOT}:{model}"), redacted(address)
        self.session, self.secrets = requests.Session(), secrets_of(address)
        bare, self.session.auth = split_login(address)  # of a login without a password requests makes none
        place = urlsplit(bare)
        self.url = place._replace(path=f"{place.path.rstrip('/')}/completions").geturl()
        if key := os.environ.get("OPENAI_API_KEY"):
            self.session.headers["Authorization"] = f"Bearer {key}"
        self.likelihoods = from_main(accelerator, self._gives_likelihoods)
        if not self.likelihoods:
            log.info("%s gives no likelihoods of a prompt: its answers are parsed", self.shown)
        mode = "likelihoods" if self.likelihoods else "answers"
        self.settings: Mapping[str, str] = {"server": mode}
        # 2: since a token across the end of the prompt is no answer
        self.fingerprint = sha256(f"{self.shown}|{model}|{labels}|{prompt}|{mode}|2".encode()).hexdigest()[:16]

    def predict(self, inputs: Sequence[Input]) -> Prediction:
        """Predict every input; see `Predictor.predict`. An answer that is no label is no answer."""
        ask = self._by_likelihood if self.likelihoods else self._by_answer

        def asked() -> list[list[float]]:
            with ThreadPoolExecutor(WORKERS) as pool:
                return list(pool.map(ask, inputs))

        rows = from_main(self.accelerator, asked)
        zeros = np.zeros(len(inputs), dtype=np.int64)
        found = np.array(rows, dtype=np.float32).reshape(len(inputs), len(self.labels))
        # nothing is cut off: a server refuses a prompt that is too long
        return Prediction(found, zeros, zeros, zeros.astype(np.bool_))

    def _by_likelihood(self, value: Input) -> list[float]:
        prompt = self.prompt.of(value)
        scores = []
        for word in self.prompt.words:
            given = self._post(prompt=prompt + word, max_tokens=0, echo=True, logprobs=1, temperature=0).get("logprobs")
            if not given:
                raise ModelError(f"the server {self.shown} gave likelihoods before, and now gives none")
            places = zip(given["text_offset"], given["token_logprobs"], strict=True)
            of_word = [score for place, score in places if place >= len(prompt)]
            # a token that lies across the end of the prompt has no part to count
            if len(prompt) not in given["text_offset"] or None in of_word:
                return [float("nan")] * len(self.prompt.words)
            scores.append(sum(of_word))
        weights = np.exp(np.array(scores) - max(scores))
        return [float(weight) for weight in weights / weights.sum()]

    def _by_answer(self, value: Input) -> list[float]:
        answer = str(self._post(prompt=self.prompt.of(value), max_tokens=ANSWER, temperature=0)["text"]).strip()
        hits = [word for word in self.prompt.words if answer.startswith(word)]
        if not hits:
            return [float("nan")] * len(self.prompt.words)
        return [float(word == max(hits, key=len)) for word in self.prompt.words]  # 10 and not 1

    def _gives_likelihoods(self) -> bool:
        try:
            given = self._post(prompt="你好", max_tokens=0, echo=True, logprobs=1, temperature=0).get("logprobs")
        except Refused as error:
            if error.status in (400, 422, 501):  # it does not know such a request
                return False
            raise
        return bool(given and given.get("token_logprobs") and given.get("text_offset"))

    def _post(self, **request: Any) -> dict[str, Any]:
        """Return the choice that the server gives.

        Raises:
            ModelError: it cannot be reached, or its reply is none.
        """
        try:
            reply = self.session.post(self.url, json={"model": self.model, **request}, timeout=TIMEOUT)
        except requests.RequestException as error:
            raise ModelError(f"the server {self.shown} cannot be reached ({type(error).__name__})") from error
        try:
            reply.raise_for_status()
            choice: dict[str, Any] = reply.json()["choices"][0]
        except (requests.RequestException, ValueError, LookupError, TypeError) as error:
            raise Refused(
                f"the server {self.shown} answers {reply.status_code}: {redacted(reply.text, *self.secrets)[:200]}",
                reply.status_code,
            ) from error
        return choice


def load_zeroshot(spec: str, task: Task, accelerator: Accelerator, options: PredictOptions) -> LanguageModel | Server:
    """Load a language model, or open a server, for a task.

    Raises:
        ModelError: the model cannot be loaded, the server not be reached, or the task has no labels.
    """
    prompt = prompt_of(task)
    if spec.startswith(("http://", "https://")):
        _, _, served = split_login(spec)[0].partition("#")  # a hash before that may be part of a password
        if not served:
            shown = redacted(f"{ZEROSHOT}:{spec}")
            raise ModelError(f"{shown} names no model; write {shown}#MODEL")
        return Server(spec.removesuffix(f"#{served}").rstrip("/"), served, task.labels, prompt, accelerator)
    length = options.max_length or MAX_LENGTH
    model, missing = load_model(spec, AutoModelForCausalLM)
    if missing:
        raise ModelError(f"model {spec} is no causal language model (missing: {', '.join(missing[:3])})")
    model.to(accelerator.device)
    name = f"{ZEROSHOT}:{model_name(spec, model)}"
    tokenizer = load_tokenizer(spec, length, texts=0)
    check_tokenizer(spec, model, tokenizer, pads=False)
    return LanguageModel(
        model, tokenizer, accelerator, options, name=name, labels=task.labels, prompt=prompt, max_length=length
    )
