"""What the studies with runs of their own for each measurement share: what is stored is skipped, the rest is measured.

The studies bring a description, a `Scope`, and a function that measures what is missing of one model on one data set.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from crt import __version__, provenance
from crt.catalogue import Task
from crt.errors import DataError, ModelError
from crt.grid import M, Scope, measurement_title
from crt.models import PredictOptions, Predictor, load_predictor
from crt.models.processes import from_main
from crt.pairs import Pair, of_examples, read_pairs
from crt.perturbations import PAIRS, Loaded, load_pairs
from crt.perturbations.engine import find_sites, perturb_all
from crt.provenance import Setting, fingerprint
from crt.records import CLEAN, REGISTERED, Input, MeasurementRecord, ResolvedModel
from crt.scoring import slices
from crt.studies.answers import at_hand, model_params
from crt.studies.outcomes import distance_of
from crt.tasks import Source, Split, check_split, input_digest, load_split, seen_in_training, with_labels

if TYPE_CHECKING:
    from accelerate import Accelerator

log = logging.getLogger(__name__)

LIBRARIES = ("torch", "transformers", "mlflow")
"""What a measurement depends on beside the libraries of its perturbation."""


class Tracker(Protocol):
    """Where measurements are stored."""

    def resolve(self, spec: str, task: Task) -> ResolvedModel:
        """Turn a model spec into one that can be loaded; an empty spec is the best model of the task."""
        ...

    def trained_on(self, source: str) -> frozenset[str] | None:
        """Return the digests of the inputs that a resolved model was trained on; None where that is not known."""
        ...

    def recipe(self, source: str) -> str:
        """Return what tells how a resolved model was trained, whatever its seed; empty where that is not known."""
        ...

    def finished(self, kind: str, **params: str) -> frozenset[str]:
        """Return the keys of the measurements of a kind with these params that are stored whole."""
        ...

    def log_measurement(self, record: MeasurementRecord) -> None:
        """Store a measurement; it counts as finished only when all of it is stored."""
        ...


class Silent:
    """The tracker of the processes that do not log and are not asked."""

    def resolve(self, spec: str, task: Task) -> ResolvedModel:  # noqa: ARG002
        """Return the spec."""
        return ResolvedModel(spec, spec)

    def trained_on(self, source: str) -> None:
        """Return nothing."""

    def recipe(self, source: str) -> str:  # noqa: ARG002
        """Return nothing."""
        return ""

    def finished(self, kind: str, **params: str) -> frozenset[str]:  # noqa: ARG002
        """Return nothing."""
        return frozenset()

    def log_measurement(self, record: MeasurementRecord) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Group:
    """One model on one data set."""

    task: Task
    split: Split
    digest: str
    """Of the split."""
    seen: frozenset[Input] | None
    """Inputs of the training split; None where that is not at hand."""
    trained_on: frozenset[str] | None
    """Digests of the inputs that the model was really trained on; None where they are not known."""
    predictor: Predictor
    model: ResolvedModel
    dataset: str
    """The data set as it was asked for: a name or a path."""
    recipe: str = ""
    """What tells how the model was trained, whatever its seed; empty where that is not known."""

    @property
    def overlap(self) -> tuple[str | None, str | None]:
        """A digit for each example: 1 if its input also stands in the training split, and 1 if the model was trained on it.

        None where the one is not at hand, or the other is not known.
        """
        inputs = [example.input for example in self.split.examples]
        seen = None if self.seen is None else _digits(value in self.seen for value in inputs)
        known = self.trained_on
        return seen, None if known is None else _digits(input_digest(value) in known for value in inputs)

    @property
    def leaked(self) -> int | None:
        """Inputs of the split that also stand in the training split; None where that is not at hand."""
        return None if (seen := self.overlap[0]) is None else seen.count("1")

    @property
    def leakage(self) -> dict[str, float]:
        """The shares of the examples that stand in the training split, and that the model was trained on, where known."""
        names = ("seen_in_training_rate", "trained_on_rate")
        count = len(self.split.examples)
        return {name: d.count("1") / count for name, d in zip(names, self.overlap, strict=True) if d is not None}

    def setting(self, scope: Scope[M], loaded: Loaded | None, seen: str | None) -> Setting:
        """Return what a measurement of the model on the data set is made with.

        Args:
            scope: what is measured.
            loaded: the perturbation; None for the clean inputs.
            seen: the overlap, where it counts.
        """
        return Setting(
            examples=self.digest,
            split=self.split.name,
            pairs=len(self.task.fields) > 1,
            fields=scope.fields,
            predictor=self.predictor.fingerprint,
            loaded=loaded,
            seen=seen,
            fact_resources=slices.RESOURCES,
            fact_libraries=slices.LIBRARIES,
        )


Measure = Callable[[Group, Sequence[Loaded], dict[M, str]], Iterator[MeasurementRecord]]
"""Yields the record of each measurement that is missing, by its key, in the order in which they are to be stored."""

Load = Callable[[str, Task, "Accelerator", PredictOptions, Source], Predictor]
"""Loads the predictor of a spec, as `load_predictor` does."""

Tell = Callable[[Mapping[str, float]], str]
"""Says in a few words what the metrics of a measurement are."""


def run(
    scope: Scope[M],
    measure: Measure[M],
    tell: Tell,
    source: Source,
    options: PredictOptions,
    accelerator: "Accelerator",
    tracker: Tracker,
    *,
    load: Load = load_predictor,
    force: bool = False,
) -> dict[str, tuple[str, ...]]:
    """Measure everything in scope that is not stored yet; return the keys of all of it, each with its model as asked for.

    The same weights may be asked for twice, by a folder and by the registry, and may be stored under a third name.

    Args:
        scope: what to measure.
        measure: does it for one model on one data set; every process calls it.
        tell: for the line that the user is shown of each measurement.
        source: where the published data sets are read from.
        options: how transformers predict.
        accelerator: device and processes; every process must call this.
        tracker: where measurements are stored; only that of the main process is used.
        load: gives the predictor of a spec.
        force: measure again what is stored.
    """
    loaded = scope.loaded()
    pairs = [pair for pairs in read_pairs(scope.pairs).values() for pair in pairs] if scope.pairs else []
    finished: set[str] = set()
    keys: dict[str, tuple[str, ...]] = {}
    known: dict[tuple[str, str], list[Group]] = {}
    for group in _groups(scope, source, options, accelerator, tracker, load):
        predictor, dataset = group.predictor, group.task.name
        _check_name(known, group)
        here = [*loaded, *_real_pairs(pairs, group, scope.pairs)]
        plan = _plan(scope, group, here, from_main(accelerator, partial(getattr, group, "overlap")))
        if not force:  # of this model on this data set alone: an experiment may hold thousands of others
            params = {"model": predictor.name, "predictor": predictor.fingerprint, "dataset": dataset}
            finished |= from_main(accelerator, partial(tracker.finished, scope.kind, **params))
        pending = {cell: key for cell, key in plan.items() if key not in finished}
        keys |= {key: (*keys.get(key, ()), group.model.source) for key in plan.values()}
        finished |= set(pending.values())
        log.info(
            "%s on %s: %d %ss, %d of them stored already",
            predictor.name,
            dataset,
            len(plan),
            scope.kind,
            len(plan) - len(pending),
        )
        for number, record in enumerate(measure(group, here, pending) if pending else (), start=1):
            if accelerator.is_main_process:
                tracker.log_measurement(record)
                log.info(
                    "[%d/%d] %s: %s", number, len(pending), measurement_title(record.measurement), tell(record.metrics),
                )  # fmt: skip
    return keys


def _check_name(known: dict[tuple[str, str], list[Group]], group: Group) -> None:
    """Note a group; make sure that a table can tell it from those before it, by name, training seed or version.

    Raises:
        ModelError: it cannot.
    """
    name, dataset = group.predictor.name, group.task.name
    before = known.setdefault((name, dataset), [])
    for other in before:
        seeds = group.predictor.train_seed, other.predictor.train_seed
        sources = group.model.source, other.model.source
        registered = {source.rpartition("/")[0] for source in sources}
        versions = len(registered) == 1 and all(source.startswith(REGISTERED) for source in sources)
        apart = None not in seeds and len(set(seeds)) == 2
        if other.predictor.fingerprint != group.predictor.fingerprint and not (apart or versions):
            raise ModelError(
                f"two models on {dataset} are both called {name}, and neither training seeds nor versions tell them apart: a "
                "table could not either; evaluate them one by one, each with a model_name"
            )
    before.append(group)


def _real_pairs(pairs: Sequence[Pair], group: Group, path: Path | None) -> Iterator[Loaded]:
    """Yield the perturbation of the pairs that belong to a data set; say how many texts it reaches, and how much it changes."""
    if path is None:
        return
    examples = group.split.examples
    written, found = of_examples(pairs, examples)
    loaded = load_pairs(written, path)
    sites = find_sites(examples, loaded.find)
    texts = int((sites.count > 0).sum())
    if not texts:
        raise DataError(
            f"{path}: none of its {len(pairs):,} pairs changes a text of {group.task.name}, split '{group.split.name}'; its "
            "originals must be texts as they stand there, or its ids theirs"
        )
    everything = perturb_all(sites, name=PAIRS.name, prob=1.0, seed=0).inputs
    distance = sum(distance_of(e.input, after) for e, after in zip(examples, everything, strict=True))
    log.info(
        "%s: %d of %d pairs belong to %d of %d examples (of several pairs of a text the first counts); %d changed segments, at "
        "prob 1 an edit distance of %.1f %% of the characters of all examples",
        path, found, len(pairs), texts, len(examples), len(sites.sites), 100 * distance / max(1, int(sites.length.sum())),
    )  # fmt: skip
    yield loaded


def _digits(marks: Iterable[bool]) -> str:
    return "".join("1" if mark else "0" for mark in marks)


def _plan(
    scope: Scope[M], group: Group, loaded: Sequence[Loaded], overlap: tuple[str | None, str | None]
) -> dict[M, str]:
    """Return the cells of a group that are to be measured here, each with its key."""
    known = "/".join(digits for digits in overlap if digits is not None) or None

    def key(cell: M, perturbation: Loaded | None, seen: str | None) -> str:
        return fingerprint(cell, group.setting(scope, perturbation, seen))

    cells = [
        (cell, perturbation)
        for perturbation in (None, *loaded)
        for cell in scope.cells(
            group.predictor.name, group.task.name, perturbation.perturbation.name if perturbation else CLEAN
        )
    ]
    if scope.shard is not None:
        # without `seen`: a worker that has no training split shares the cells out as the others do
        whole, cells = len(cells), [pair for pair in cells if scope.shard.holds(key(*pair, None))]
        log.info("shard %s holds %d of %d %ss", scope.shard, len(cells), whole, scope.kind)
    return {cell: key(cell, perturbation, known) for cell, perturbation in cells}


def each(loaded: Sequence[Loaded], pending: Mapping[M, str]) -> Iterator[tuple[Loaded, dict[M, str]]]:
    """Yield each perturbation with what is pending of it, in the order of `loaded`; those with nothing are left out."""
    for perturbation in loaded:
        name = perturbation.perturbation.name
        here = {cell: key for cell, key in pending.items() if cell.perturbation == name}
        if here:
            yield perturbation, here


def _groups(
    scope: Scope[M],
    source: Source,
    options: PredictOptions,
    accelerator: "Accelerator",
    tracker: Tracker,
    load: Load,
) -> Iterator[Group]:
    """Yield every model on every data set; data and specs of all of them are looked at before the first is yielded."""
    tasks, seen_in, models = {}, {}, {}
    for dataset in scope.datasets:
        task = scope.task(dataset)
        if "train" in task.files:
            task = with_labels(task, source)
        check_split(task, scope.split or task.eval_split, source)
        tasks[dataset], seen_in[dataset] = task, seen_in_training(task, source, scope.split or task.eval_split)
        for spec in scope.models:
            resolve = partial(tracker.resolve, spec, task)
            models[dataset, spec] = at_hand(from_main(accelerator, resolve))
    for (dataset, _), model in models.items():
        task = tasks[dataset]
        predictor = load(model.spec, task, accelerator, options, source)
        task = replace(task, labels=predictor.labels)
        split, seen = load_split(task, scope.split or task.eval_split, source), seen_in[dataset]
        split = (_unseen(split, seen) if scope.exclude_seen else split).limited(scope.limit)
        known = from_main(accelerator, partial(tracker.trained_on, model.source))
        recipe = from_main(accelerator, partial(tracker.recipe, model.source))
        group = Group(task, split, split.digest(), seen, known, predictor, model, dataset, recipe)
        leaked = group.leaked
        if leaked:
            log.info(
                "%s: %d of %d evaluation inputs (%.1f %%) also stand in the training split (exclude_seen=true leaves "
                "them out)", task.name, leaked, len(split.examples), 100 * leaked / len(split.examples),
            )  # fmt: skip
        elif seen is None:
            log.info("%s: no training split at hand, so leakage from it is not known", task.name)
        yield group


def _unseen(split: Split, seen: frozenset[Input] | None) -> Split:
    if seen is None:
        raise DataError(f"exclude_seen needs a training split to compare with, and {split.task} has none")
    kept = split.where(lambda example: example.input not in seen)
    log.info(
        "%s: %d of %d evaluation inputs also stand in the training split and are left out", split.task,
        len(split.examples) - len(kept.examples), len(split.examples),
    )  # fmt: skip
    if not kept.examples:
        raise DataError(f"{split.task}: every input of '{split.name}' also stands in the training split")
    return kept


def params_of(group: Group, scope: Scope[M], loaded: Loaded | None) -> dict[str, str]:
    """Return the params of a measurement beside its keys: what was measured, and with what.

    Args:
        group: the model and the data set.
        scope: what is measured.
        loaded: the perturbation; None for the clean inputs.
    """
    params = {
        **provenance.params(group.setting(scope, loaded, None)),
        "unlabelled_rows": str(group.split.unlabelled),
        "versions": ", ".join([f"crt {__version__}", *(f"{name} {version(name)}" for name in LIBRARIES)]),
        "data_source": group.dataset,
        "max_samples": str(scope.limit or ""),
        "exclude_seen": str(scope.exclude_seen).lower(),
        "recipe": group.recipe,
        **model_params(group.predictor, group.model.source),
    }
    return {name: value for name, value in params.items() if value}
