"""Models that turn inputs into label probabilities."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from crt.catalogue import Task
from crt.errors import ModelError, one_of
from crt.files import exists
from crt.labels import label_map_for, same_label
from crt.outside import load_offered, offered
from crt.records import LOGGED, REGISTERED, RULE, TFIDF, TINY, Input, Prediction
from crt.tasks import Source, slug

if TYPE_CHECKING:
    from accelerate import Accelerator

BASELINES = ("bert-base-chinese", "hfl/chinese-roberta-wwm-ext", "hfl/chinese-macbert-base")
"""The encoders that the baselines matrix trains by default."""


EMBEDDING, ZEROSHOT, PYTHON = "embedding", "zeroshot", "python"
"""What stands before the colon of a spec: a sentence encoder with class means, a language model with a prompt, a function."""


class Predictor(Protocol):
    """A model that is ready to classify."""

    @property
    def name(self) -> str:
        """Id of the base model: what the tables call it."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """Label names, in the order of the columns of `probabilities`: that of the task."""
        ...

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits over all that its predictions depend on."""
        ...

    @property
    def train_seed(self) -> int | None:
        """Seed that it was trained with, where that is known."""
        ...

    @property
    def settings(self) -> Mapping[str, str]:
        """How it predicts: max_length, precision and the like."""
        ...

    def predict(self, inputs: Sequence[Input]) -> Prediction:
        """Return float32[n, C] probabilities that sum to 1; row i belongs to `inputs[i]`.

        Every process gets the whole result. The inputs should be distinct. A row of NaN is an input for which the
        model gave no answer; `predict_all` refuses those.
        """
        ...


@dataclass(frozen=True, slots=True)
class Named:
    """A predictor that the tables call otherwise."""

    predictor: Predictor
    """The model."""
    name: str
    """What it is called."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Those of the model."""
        return self.predictor.labels

    @property
    def fingerprint(self) -> str:
        """That of the model."""
        return self.predictor.fingerprint

    @property
    def train_seed(self) -> int | None:
        """That of the model."""
        return self.predictor.train_seed

    @property
    def settings(self) -> Mapping[str, str]:
        """Those of the model."""
        return self.predictor.settings

    def predict(self, inputs: Sequence[Input]) -> Prediction:
        """Return what the model says."""
        return self.predictor.predict(inputs)


@dataclass(frozen=True, slots=True)
class PredictOptions:
    """How a transformer predicts."""

    max_length: int | None = None
    """Longest input in tokens; more is cut off, clean and perturbed alike. None: as the model was trained, else 128."""
    eval_batch_size: int = 32
    """Inputs of full length that fit into a batch; shorter inputs make larger batches of the same tokens."""
    precision: str = "auto"
    """auto, fp32, bf16 or fp16."""
    label_map: Mapping[str, str] = field(default_factory=dict)
    """Model label to task label, for models whose labels are named otherwise."""


@dataclass(frozen=True, slots=True)
class ModelKind:
    """A kind of model that a spec may ask for."""

    name: str
    """Key of MODELS."""
    summary: str
    """One line for the reference page."""
    start: str
    """What its specs begin with, up to a colon or slash; without one it is the whole spec; empty: any other spec."""
    load: Callable[[str, Task, "Accelerator", PredictOptions, Source], Predictor]
    """Loads a model, given what follows `start`."""
    own_labels: bool
    """Its labels are its own; the others need those of a task, its rules, its prompt or its training examples."""
    on_hub: bool
    """What follows `start` may be a hub id."""

    def fits(self, spec: str) -> bool:
        """Tell whether a spec asks for this kind."""
        return spec.startswith(self.start) if self.start[-1:] in ("", ":", "/") else spec == self.start


def _load_rule(_: str, task: Task, *__: object) -> Predictor:
    from crt.models.rule import load_rule

    return load_rule(task)


def _load_tiny(*_: object) -> Predictor:
    raise ModelError(f"'{TINY}' has random weights and is for training only: train it first, then evaluate it")


def _load_tfidf(_: str, task: Task, __: "Accelerator", options: PredictOptions, source: Source) -> Predictor:
    from crt.models.tfidf import load_tfidf

    return load_tfidf(task, options, source)


def _load_python(spec: str, task: Task, _: "Accelerator", options: PredictOptions, source: Source) -> Predictor:
    from crt.models.function import load_python

    return load_python(spec, task, options, source)


def _load_registered(
    start: str, rest: str, task: Task, _: "Accelerator", options: PredictOptions, source: Source
) -> Predictor:
    from crt.models.registered import load_registered

    return load_registered(start + rest, task, options, source)


def _load_embedding(
    spec: str, task: Task, accelerator: "Accelerator", options: PredictOptions, source: Source
) -> Predictor:
    from crt.models.embedding import load_embedding

    return load_embedding(spec, task, accelerator, options, source)


def _load_zeroshot(spec: str, task: Task, accelerator: "Accelerator", options: PredictOptions, _: Source) -> Predictor:
    from crt.models.zeroshot import load_zeroshot

    return load_zeroshot(spec, task, accelerator, options)


def _load_checkpoint(
    spec: str, task: Task, accelerator: "Accelerator", options: PredictOptions, _: Source
) -> Predictor:
    from crt.models.transformer import load_transformer

    return load_transformer(spec, task, accelerator, options)


MODELS: Mapping[str, ModelKind] = {
    kind.name: kind
    for kind in (
        ModelKind(
            "rule", "keyword rules, a floor: `rule`", RULE, _load_rule, own_labels=False, on_hub=False
        ),
        ModelKind(
            "tiny", "a small BERT with random weights, for training only: `tiny`", TINY, _load_tiny, own_labels=False, on_hub=False
        ),
        ModelKind(
            "tfidf", "character n-grams and logistic regression, fitted to the training split in seconds, a floor: `tfidf`", TFIDF,
            _load_tfidf, own_labels=False, on_hub=False,
        ),
        ModelKind(
            "python", "a function from a list of texts to labels or probabilities: `python:PACKAGE.MODULE:FUNCTION`",
            f"{PYTHON}:", _load_python, own_labels=False, on_hub=False,
        ),
        ModelKind(
            "registered", "a model of any other flavour in MLflow's registry, whose code is run: `models:/NAME/VERSION`, `models:/NAME@ALIAS`",
            REGISTERED, partial(_load_registered, REGISTERED), own_labels=True, on_hub=False,
        ),
        ModelKind(
            "logged", "the same, as a run has logged it: `runs:/RUN/PATH`",
            LOGGED, partial(_load_registered, LOGGED), own_labels=True, on_hub=False,
        ),
        ModelKind(
            "embedding", "a sentence encoder and the mean of each class of the training split: `embedding:ID`",
            f"{EMBEDDING}:", _load_embedding, own_labels=False, on_hub=True,
        ),
        ModelKind(
            "zeroshot", "a language model that reads a prompt: `zeroshot:ID`, or `zeroshot:URL#MODEL` on a server",
            f"{ZEROSHOT}:", _load_zeroshot, own_labels=False, on_hub=True,
        ),
        ModelKind(
            "checkpoint", "a sequence classifier of transformers: a folder, a hub id, or as MLflow holds it, `models:/NAME@ALIAS`, `models:/NAME/VERSION`",
            "", _load_checkpoint, own_labels=True, on_hub=True,
        ),
    )
}  # fmt: skip
"""The kinds of models by name; the last one fits every spec that none before it does."""


GROUP = "crt.models"
"""The entry points by which an installed package offers a kind: its name, and a `ModelKind` or a function like its `load`."""


def kind_of(spec: str) -> tuple[ModelKind, str]:
    """Return the kind of model that a spec asks for, and what follows the start of the spec.

    A spec `NAME:REST` may be of a kind that an installed package offers.
    """
    kind = next(kind for kind in MODELS.values() if kind.fits(spec))
    name, colon, _ = spec.partition(":")
    if not kind.start and colon and (point := offered(GROUP, name)):
        found = load_offered(point)
        kind = (
            found
            if isinstance(found, ModelKind)
            else ModelKind(name, "", f"{name}:", found, own_labels=False, on_hub=False)
        )
    return kind, spec.removeprefix(kind.start)


def needs_hub(spec: str) -> bool:
    """Tell whether a model must be looked for on the hub; an empty spec is a model of the registry, or the rules."""
    kind, rest = kind_of(spec)
    return kind.on_hub and rest != "" and ":" not in rest and not exists(rest)


def load_predictor(
    spec: str, task: Task, accelerator: "Accelerator", options: PredictOptions, source: Source | None = None
) -> Predictor:
    """Load a model for a task; the labels of both must agree by name.

    Args:
        spec: as MODELS describes it, a model of the registry as the folder of its checkpoint.
        task: the task; without labels it takes those of the model.
        accelerator: device and processes.
        options: how to predict.
        source: where the training examples of `embedding:` are read from.

    Raises:
        ModelError: the model cannot be loaded, has no classification head or other labels than the task.
    """
    kind, rest = kind_of(spec)
    return kind.load(rest, task, accelerator, options, source or Source())


def renamed(name: str | None) -> Callable[[str, Task, "Accelerator", PredictOptions, Source], Predictor]:
    """Return what loads a model as `load_predictor` does, under another name; None: under its own."""

    def load(spec: str, task: Task, accelerator: "Accelerator", options: PredictOptions, source: Source) -> Predictor:
        return Named(load_predictor(spec, task, accelerator, options, source), str(name))

    return load if name else load_predictor


def predict_all(predictor: Predictor, inputs: Sequence[Input]) -> Prediction:
    """Predict inputs, every one of which must get an answer.

    Raises:
        ModelError: the model gave none for some of them; the message shows the first.
    """
    prediction = predictor.predict(inputs)
    failed = np.flatnonzero(prediction.failed)
    if len(failed):
        raise ModelError(
            f"model {predictor.name} gives no answer (NaN or infinity, or a text that is no label) for {len(failed):,} of "
            f"{len(inputs):,} inputs, the first of them {inputs[failed[0]]!r}; of NaN, precision=fp32 may rid you"
        )
    return prediction


def match_labels(
    model: str, found: Sequence[str], task: Task, label_map: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the labels, in the order of the task, and for each the index of the model's output that stands for it.

    Names that differ in case alone are one, unless that leaves a doubt. Names are never guessed from positions. A task
    without labels takes those of the model.

    Raises:
        ModelError: the two sets of names differ, or the map names a label that the model has not.
    """
    meant = {name: same_label(name, found) for name in label_map}
    stray = [name for name in label_map if meant[name] is None]
    if stray:
        raise ModelError(one_of(f"label_map names '{stray[0]}', no label of model {model}", stray[0], found, "It has"))
    new = {meant[name]: label for name, label in label_map.items()}
    named = [new.get(name, name) for name in found]
    if len(set(named)) < len(named):
        raise ModelError(f"two labels of model {model} have one name: {_some(named)}; give each its own in label_map")
    if not task.labels:
        return tuple(named), tuple(range(len(named)))
    outputs = [same_label(label, named) for label in task.labels]
    missing = [
        label
        for label, output in zip(task.labels, outputs, strict=True)
        if output is None or (output != label and outputs.count(output) > 1)
    ]
    extra = [name for name in named if name not in outputs]
    if not missing and not extra:
        return task.labels, tuple(named.index(str(output)) for output in outputs)
    generic = all(name.upper().startswith("LABEL_") for name in found)
    advice = (
        f"name them with {label_map_for(found, task.labels)}"
        if generic or len(found) == len(task.labels)
        else "was it trained on another data set?"
    )
    raise ModelError(
        f"model {model} has {len(found)} labels ({_some(found)}), {task.name} has {len(task.labels)} "
        f"({_some(task.labels)}); missing: {_some(missing) or 'none'}; unknown: {_some(extra) or 'none'}; {advice}"
    )


def checkpoint_alias(base_model: str, seed: int) -> str:
    """Return the alias of the newest version that was trained from this model with this seed."""
    return f"{slug(Path(base_model).name)}-s{seed}"


def augmented_name(base_model: str, augment: Sequence[str]) -> str:
    """Return what the tables call a model that was trained on perturbed texts, so that its plain twin has another name."""
    return "+".join([base_model, *augment])


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
