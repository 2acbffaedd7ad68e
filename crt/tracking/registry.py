"""MLflow as a registry of checkpoints: which versions there are, and which is the best."""

import tempfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.metadata import version as installed
from pathlib import Path
from urllib.parse import urlsplit

import mlflow
import pandas as pd
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from crt.catalogue import Task
from crt.errors import TrackingError, is_full, no_room, one_of
from crt.files import scratch
from crt.records import LOGGED, REGISTERED, TFIDF, TINY, ResolvedModel
from crt.redaction import redacted
from crt.tasks import slug
from crt.tracking.history import stored_table
from crt.tracking.waiting import MOVED

_ABSENT = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")
"""Error codes of a model or an alias that is not there; any other code is a failure, not an answer."""


_Rank = tuple[bool, float]
"""Any model stands above the demonstration model; then the higher value is better."""

_TOGETHER = 600_000
"""Milliseconds: a version that was registered so shortly before another may be moving the alias at the same moment."""

TRAINED_ON = "trained_on.csv"
"""Artifact of a training: a digest of each input that it was made on, in the column `input`."""

MOST_ROBUST = "most_robust"
"""Alias of the version with the highest mean accuracy over the default grid, on the selection split."""


def best_version(name: str, alias: str = "best") -> ModelVersion | None:
    """Return the version that an alias of a registered model points to, or None if there is none.

    Raises:
        MlflowException: the registry could not be asked.
    """
    try:
        return mlflow.MlflowClient().get_model_version_by_alias(name, alias)
    except MlflowException as error:
        if error.error_code in _ABSENT:
            return None
        raise


def resolve(spec: str) -> ResolvedModel:
    """Turn `models:/name@alias`, `models:/name/version` or `runs:/run/path` into a model that can be loaded.

    A checkpoint becomes its folder; a model of another flavour stays a spec, that of its version. The version is looked
    up once: an alias may move while an experiment runs.

    Raises:
        CrtError: there is no room for its files.
        TrackingError: there is no such model, or its files are not there; the message says what there is, or what to do.
    """
    source, place = (spec, spec) if spec.startswith(LOGGED) else _version_of(spec)
    try:
        if "transformers" not in mlflow.models.get_model_info(source).flavors:
            return ResolvedModel(source, source)
        return ResolvedModel(_fetched(source, place), source)
    except (MlflowException, OSError) as error:
        if is_full(error):
            raise no_room(error) from error
        cause = redacted(" ".join(str(error).split()))
        raise TrackingError(
            f"the files of model {spec}{'' if spec == source else f' ({source})'} cannot be read from {place}, where the store "
            f"says they are ({cause}); {MOVED}train it again"
        ) from error


def _version_of(spec: str) -> tuple[str, str]:
    """Return the spec of a version and where its files are."""
    client = mlflow.MlflowClient()
    reference = spec.removeprefix(REGISTERED)
    try:
        if "@" in reference:
            name, alias = reference.split("@", 1)
            version = client.get_model_version_by_alias(name, alias).version
        else:
            name, _, version = reference.partition("/")
            client.get_model_version(name, version)
        return f"{REGISTERED}{name}/{version}", redacted(client.get_model_version_download_uri(name, version))
    except MlflowException as error:
        raise TrackingError(f"model {spec} is not available: {_registry_hint(client, reference)} ({error})") from error


def _fetched(uri: str, place: str) -> str:
    """Return the folder of a model: the one of the store where that is on this machine, else a copy, deleted at exit."""
    if len(urlsplit(place).scheme) < 2 or place.startswith("file:"):  # one letter: the drive of a Windows path
        return str(mlflow.artifacts.download_artifacts(uri))
    return str(mlflow.artifacts.download_artifacts(uri, dst_path=tempfile.mkdtemp(prefix="model-", dir=scratch())))


def register(
    run_id: str,
    folder: Path,
    task: Task,
    *,
    name: str,
    alias: str,
    metric: str,
    value: float,
    digest: str,
    warning: str = "",
    training: str = "",
) -> tuple[str, str]:
    """Log a checkpoint as an MLflow model and register it; move the alias `best` only to a better one.

    Better means: a higher value of the same metric on the same selection data. The demonstration model `tiny` gives way
    to any other. What a process that was killed has begun is completed: a training has one version.

    Args:
        run_id: of the run that trained it, kept as a tag.
        folder: the checkpoint.
        task: the task that it was trained on.
        name: of the logged model.
        alias: always moves to the new version.
        metric: that the best epoch was chosen by.
        value: of the metric on the selection data.
        digest: of the selection data.
        warning: what speaks against the version; kept as the tag `crt.warning`.
        training: what the training is known by; empty: nothing.

    Returns:
        `name/version`, and a sentence that says what happened to the alias `best`.
    """
    registered = task.registered_name
    tags = {"metric": metric, "value": repr(value), "selection_digest": digest, "run_id": run_id}
    tags |= {"training": training} if training else {}
    tags |= {"crt.warning": warning} if warning else {}
    begun, others = _of_training(registered, training)
    made = begun or _store(folder, task, name, tags)
    mlflow.MlflowClient().set_registered_model_alias(registered, alias, made.version)
    said = _move_best(registered, made)
    if begun:
        said += f"; version {made.version} was registered before run {made.tags.get('run_id')} was broken off"
    if others:
        said += f"; the same training gave version {', '.join(others)} before"
    return f"{registered}/{made.version}", said


def _of_training(name: str, training: str) -> tuple[ModelVersion | None, list[str]]:
    """Return the version of a training, if it was registered already, and the numbers of those with the same fingerprint."""
    if not training:
        return None, []
    key = f"{training.partition('-')[0]}-"
    found = mlflow.MlflowClient().search_model_versions(f"name = '{name}'")
    alike = sorted((v for v in found if v.tags.get("training", "").startswith(key)), key=lambda v: int(v.version))
    begun = next((version for version in alike if version.tags["training"] == training), None)
    return begun, [str(version.version) for version in alike if version is not begun]


def _store(folder: Path, task: Task, name: str, tags: Mapping[str, str]) -> ModelVersion:
    """Log a checkpoint as an MLflow model and register it as a version with some tags."""
    from mlflow.models import infer_signature
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=False)
    model.name_or_path = ""  # a hub id here would cost minutes of look-ups where there is no hub
    texts = {"text": ["文本"], "text_pair": ["文本"]} if len(task.fields) == 2 else {"text": ["文本"]}
    signature = infer_signature(pd.DataFrame(texts), pd.DataFrame({"label": [task.labels[0]], "score": [0.5]}))
    info = mlflow.transformers.log_model(
        {"model": model, "tokenizer": AutoTokenizer.from_pretrained(folder, trust_remote_code=False)},
        task="text-classification",
        name=slug(name),
        signature=signature,
        model_config={"truncation": True},  # served texts may be longer than the model reads
        pip_requirements=[f"{package}=={installed(package).split('+')[0]}" for package in ("transformers", "torch")],
    )
    base_model = {"base_model": redacted(str(model.config.crt_base_model))}
    _hide(info.model_id)
    made = mlflow.register_model(info.model_uri, task.registered_name, tags={**tags, **base_model})
    return mlflow.MlflowClient().get_model_version(task.registered_name, str(made.version))


def register_floor(
    run_id: str, pipeline: object, texts: pd.DataFrame, task: Task, *, metric: str, value: float, digest: str
) -> tuple[str, str]:
    """Log a fitted pipeline of scikit-learn as an MLflow model and register it apart from the checkpoints of its task.

    Args:
        run_id: of the run that fitted it, kept as a tag.
        pipeline: to store.
        texts: a row of what it takes.
        task: the task that it was fitted to.
        metric: see `register`; so are `value` and `digest`.
        value: of the metric.
        digest: of the selection data.

    Returns:
        As `register`; the aliases of the checkpoints stay as they are.
    """
    from mlflow.models import infer_signature

    registered = f"{task.registered_name}-{TFIDF}"
    info = mlflow.sklearn.log_model(
        pipeline,
        name=slug(f"{task.name}-{TFIDF}"),
        signature=infer_signature(texts, pd.DataFrame({"label": [task.labels[0]]})),
        metadata={"crt_base_model": TFIDF},
        pip_requirements=[f"{package}=={installed(package)}" for package in ("scikit-learn", "pandas")],
    )
    _hide(info.model_id)
    tags = {"metric": metric, "value": repr(value), "selection_digest": digest, "run_id": run_id, "base_model": TFIDF}
    made = mlflow.register_model(info.model_uri, registered, tags=tags)
    made = mlflow.MlflowClient().get_model_version(registered, str(made.version))
    return f"{registered}/{made.version}", _move_best(registered, made)


def _move_best(registered: str, made: ModelVersion) -> str:
    """Move the alias `best` to a version if none is better that was measured alike; return what happened."""
    client, version = mlflow.MlflowClient(), str(made.version)
    metric, digest, value = made.tags["metric"], made.tags["selection_digest"], float(made.tags["value"])
    new, old = f"version {version} ({metric} {value:.4f})", best_version(registered)

    def told(found: ModelVersion) -> str:
        return f"version {found.version} ({found.tags.get('metric')} {float(found.tags.get('value', 'nan')):.4f})"

    def rank(found: ModelVersion) -> _Rank | None:
        alike = (found.tags.get("metric"), found.tags.get("selection_digest")) == (metric, digest)
        rival = alike and found.creation_timestamp >= made.creation_timestamp - _TOGETHER
        return (found.tags.get("base_model") != TINY, float(found.tags["value"])) if rival else None

    if old is None or str(old.version) == version:
        best = _award(registered, "best", version, rank)
        which = "the first" if old is None else "as it was"
        return f"{registered}@best is {told(best)}, {which if str(best.version) == version else f'this is {new}'}"
    before = told(old)
    client.set_model_version_tag(registered, version, "best_before", before)
    if not _gives_way(old, made.tags.get("base_model")):
        if (old.tags.get("metric"), old.tags.get("selection_digest")) != (metric, digest):
            return (
                f"{registered}@best stays {before}: it was chosen by another metric or on other selection data, so it "
                f"cannot be compared with {new}; evaluate the new one with model=models:/{registered}/{version}"
            )
        if value <= float(old.tags["value"]):
            return f"{registered}@best stays {before}; this is {new}"
    best = _award(registered, "best", version, rank)
    client.set_model_version_tag(registered, old.version, "best_after", told(best))
    better = "" if str(best.version) == version else f"; this is {new}"
    return f"{registered}@best moves from {before} to {told(best)}{better}"


def _hide(model_id: str) -> None:
    """Hide the secrets in the tags that MLflow gave a logged model: the address of a repository may hold a token."""
    client = mlflow.MlflowClient()
    tags = {key: str(value) for key, value in client.get_logged_model(model_id).tags.items()}
    secret = {key: redacted(value) for key, value in tags.items() if redacted(value) != value}
    if secret:
        client.set_logged_model_tags(model_id, secret)


def _award(name: str, alias: str, version: str, rank: Callable[[ModelVersion], _Rank | None]) -> ModelVersion:
    """Point an alias to a version, or to a better one; return which.

    The registry has no lock, and another process may move the alias at the same moment: so whoever moves it looks again
    afterwards, and the last one to look has seen all that were registered before.

    Args:
        name: of the registered model.
        alias: to move.
        version: the one that is better than what the alias points to.
        rank: of a version; None if it cannot be compared. Of two that are equal the older one is better.
    """
    client = mlflow.MlflowClient()
    while True:
        client.set_registered_model_alias(name, alias, version)
        found = client.search_model_versions(f"name = '{name}'")
        rivals = [(value, -int(rival.version), rival) for rival in found if (value := rank(rival)) is not None]
        best = max(rivals, key=lambda rival: rival[:2])[2]
        if str(best.version) == str(version):
            return best
        version = best.version


def _gives_way(old: ModelVersion, base_model: str | None) -> bool:
    """Tell whether a version is the demonstration model, which gives way to a version of any other base model."""
    return bool(old.tags.get("base_model") == TINY != base_model)


def trained_on(reference: str) -> frozenset[str] | None:
    """Return the digests of the inputs that `name/version` was trained on; None where its run is gone or did not store them."""
    client = mlflow.MlflowClient()
    name, _, number = reference.partition("/")
    try:
        run = client.get_run(client.get_model_version(name, number).tags["run_id"])
    except (KeyError, MlflowException):
        return None
    if TRAINED_ON not in [file.path for file in client.list_artifacts(run.info.run_id)]:
        return None
    return frozenset(stored_table(run.info.artifact_uri, TRAINED_ON)["input"])


RECIPE = (
    "num_train_epochs", "train_batch_size", "gradient_accumulation_steps", "learning_rate", "weight_decay", "warmup_ratio",
    "max_grad_norm", "selection_metric", "augment", "augment_prob", "augment_share", "max_length", "train_digest",
)  # fmt: skip
"""The params of a training by which its versions may be averaged: all but the seed."""


def recipe(reference: str) -> str:
    """Return 8 hexadecimal digits over how `name/version` was trained, whatever its seed; empty where that is not stored."""
    stored = training_of(reference)
    facts = [f"{name}={stored[name]}" for name in RECIPE if name in stored]
    return sha256("\n".join(facts).encode()).hexdigest()[:8] if facts else ""


def training_of(reference: str) -> dict[str, str]:
    """Return what is stored of the training of `name/version`: the params of its run, where that is there, and its tags."""
    client = mlflow.MlflowClient()
    name, _, number = reference.partition("/")
    tags = dict(client.get_model_version(name, number).tags)
    try:
        params = dict(client.get_run(tags["run_id"]).data.params)
    except (KeyError, MlflowException):
        params = {}
    return {name.removeprefix("cfg."): value for name, value in params.items()} | tags


def describe(reference: str, card: str, tags: Mapping[str, str]) -> None:
    """Set the description and some tags of `name/version`."""
    client = mlflow.MlflowClient()
    name, _, number = reference.partition("/")
    client.update_model_version(name, number, redacted(card))
    for key, value in tags.items():
        client.set_model_version_tag(name, number, key, redacted(value))


def crown(reference: str, value: float, signature: str) -> str:
    """Move the alias `most_robust` to `name/version` if no other version is better; return what happened, if anything did.

    Args:
        reference: `name/version`.
        value: mean accuracy over the default grid, on the selection split.
        signature: how it was measured; what was measured otherwise is not compared, and the old version stays.
    """
    client = mlflow.MlflowClient()
    name, _, number = reference.partition("/")
    tag = f"mean_perturbed_acc {sha256(signature.encode()).hexdigest()[:8]}"
    client.set_model_version_tag(name, number, tag, repr(value))
    old, new = best_version(name, MOST_ROBUST), f"version {number} (mean perturbed accuracy {value:.4f})"
    if old is not None and str(old.version) == number:
        return ""
    base_model = client.get_model_version(name, number).tags.get("base_model")
    if old is not None and not _gives_way(old, base_model):
        if tag not in old.tags:
            return (
                f"{name}@{MOST_ROBUST} stays version {old.version}: it was measured otherwise, so it cannot be compared with "
                f"{new}; evaluate models:/{name}/{old.version} in the same way"
            )
        if float(old.tags[tag]) >= value:
            return f"{name}@{MOST_ROBUST} stays version {old.version} ({float(old.tags[tag]):.4f}); this is {new}"

    def rank(found: ModelVersion) -> _Rank | None:
        return (found.tags.get("base_model") != TINY, float(found.tags[tag])) if tag in found.tags else None

    best = _award(name, MOST_ROBUST, number, rank)
    if str(best.version) == number:
        return f"{name}@{MOST_ROBUST} is {new}"
    return f"{name}@{MOST_ROBUST} is version {best.version} ({float(best.tags[tag]):.4f}); this is {new}"


def _registry_hint(client: mlflow.MlflowClient, reference: str) -> str:
    name = reference.replace("@", "/").split("/")[0]
    versions = sorted(int(v.version) for v in client.search_model_versions(f"name = '{name}'"))
    if versions:
        return f"{name} has the versions {', '.join(map(str, versions))}"
    known = sorted(model.name for model in client.search_registered_models())
    return one_of(f"there is no model '{name}'", name, known or ["no model at all"], "The registry has")
