"""MLflow as a store of runs: what is written; `history` reads it back.

A cell is created late, filled by one batch, and marked FINISHED last; only FINISHED cells count. So a killed process
leaves at most one cell that does not count, and a rerun does what is missing.
"""

import json
import logging
import os
import posixpath
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path

import mlflow
import pandas as pd
from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking.context.registry import resolve_tags
from requests import RequestException

from crt.catalogue import Task
from crt.errors import TrackingError, remedy
from crt.grid import measurement_params, measurement_title
from crt.invocation import next_command
from crt.records import LOGGED, REGISTERED, RULE, Cell, MeasurementRecord, ResolvedModel
from crt.redaction import redacted
from crt.tracking import registry
from crt.tracking.history import (
    CHECKSUMS,
    DEFAULT,
    EXAMPLES,
    KEY,
    KIND,
    OUTCOMES,
    by_id,
    cell_frame,
    ended,
    finished,
    search,
    stored_table,
)
from crt.tracking.processes import PID, beating, close_dead, process_tags
from crt.tracking.waiting import closing_time, first_contact, refusal, store_error, twice

log = logging.getLogger(__name__)

NOTE = 7900
"""Characters of a note: MLflow cuts longer ones in the middle of a line."""
LONGEST = 250
"""Characters of the name of a metric."""
RUNNING = f"tags.`{PID}` LIKE '%' and attributes.status = 'RUNNING'"
"""Runs that a process of crt works on, or worked on when it died."""


@contextmanager
def open_run(
    kind: str, name: str, settings: Mapping[str, object], experiment: str = DEFAULT
) -> Iterator["MlflowTracker"]:
    """Open the run that an entry point works in: the project run under `mlflow run`, else a new one.

    Args:
        kind: the tag `crt.kind`: train, grid, compare …, or that of a study.
        name: of a new run.
        settings: logged as params `cfg.<name>`; the project parameters themselves are logged by `mlflow run`.
        experiment: of a new run, where the environment names none.

    Raises:
        TrackingError: the tracking store cannot be used; the message says what to use.
    """
    run_id = os.environ.get("MLFLOW_RUN_ID")
    try:
        with first_contact():
            if run_id is None and "MLFLOW_EXPERIMENT_ID" not in os.environ:
                mlflow.set_experiment(os.environ.get("MLFLOW_EXPERIMENT_NAME") or experiment)
            tags = {KIND: kind, **_host_tags()} if run_id else {**_context_tags(), KIND: kind, **_host_tags()}
            run = mlflow.start_run(run_name=None if run_id else redacted(name), tags=tags)
    except Exception as error:  # the stores raise whatever their drivers raise
        raise store_error(error) from error
    tracker = MlflowTracker(run.info.run_id, run.info.experiment_id)
    try:
        with _closing(mlflow.end_run), beating(tracker.client, tracker.run_id):
            # the UI then opens the experiment on its runs, not on the pages for language model applications
            tracker.client.set_experiment_tag(
                tracker.experiment_id, "mlflow.experimentKind", "custom_model_development"
            )
            left = close_dead(tracker.client, search(tracker.client, [tracker.experiment_id], RUNNING))
            if left:
                log.info("%d runs of processes that died are closed as KILLED", left)
            if run_id:
                mlflow.set_tag("mlflow.runName", redacted(name))
                _hide(tracker.client, run)
            tracker.log_params({f"cfg.{key}": value for key, value in settings.items()})
            yield tracker
    except MlflowException as error:
        raise refusal(error) from error


@contextmanager
def current_run(kind: str, name: str, settings: Mapping[str, object]) -> Iterator["MlflowTracker"]:
    """Give the run that is active in this process, which stays open, else one of its own; see `open_run`."""
    run = mlflow.active_run()
    if run is None:
        with open_run(kind, name, settings) as tracker:
            yield tracker
        return
    try:
        yield MlflowTracker(run.info.run_id, run.info.experiment_id)
    except MlflowException as error:
        raise refusal(error) from error


@contextmanager
def _closing(end: Callable[[str], object]) -> Iterator[None]:
    """End a run as FINISHED, or as FAILED if something breaks: what broke is raised, also where the store is gone by then."""
    try:
        yield
    except BaseException:
        with suppress(Exception), closing_time():  # the next start closes what stays RUNNING
            end("FAILED")
        raise
    end("FINISHED")


class MlflowTracker:
    """Logs to one run and, as runs of their own that point to it, cells."""

    def __init__(self, run_id: str, experiment_id: str) -> None:
        """Take the run that everything belongs to."""
        self.run_id, self.experiment_id = run_id, experiment_id
        self.client = mlflow.MlflowClient()
        self._known: dict[tuple[str, str], str] = {}
        """The run of each measurement that was found or logged, by kind and key."""
        self._context = _context_tags()

    @property
    def _tags(self) -> dict[str, str]:
        """The tags of a run that is made now: the heartbeat among them ages."""
        return self._context | process_tags()

    def finished(self, kind: str = Cell.kind, **params: str) -> frozenset[str]:
        """Return the keys of the measurements of a kind in this experiment that ended FINISHED and have these params."""
        runs = finished(self.client, [self.experiment_id], kind, **params)
        found = {run.data.tags[KEY]: run.info.run_id for run in sorted(runs, key=ended)}
        self._known |= {(kind, key): run_id for key, run_id in found.items()}
        return frozenset(found)

    def log_measurement(self, record: MeasurementRecord) -> None:
        """Log one measurement as a child run: params, metrics, examples and outcomes."""
        cell = record.measurement
        bad = {name: value for name, value in record.metrics.items() if not abs(value) < float("inf")}
        if bad:
            raise TrackingError(f"metrics of {cell} are no finite numbers: {bad}; nothing was logged")
        twice(partial(self._log_measurement, record))

    def _log_measurement(self, record: MeasurementRecord) -> None:
        cell, now = record.measurement, _now()
        name, keys = redacted(f"{cell.model} {cell.dataset} {measurement_title(cell)}"), measurement_params(cell)
        tags = {**self._tags, KIND: cell.kind, KEY: record.key, "mlflow.parentRunId": self.run_id}
        tags |= {f"crt.{key}": value for key, value in keys.items()}
        if record.modified:
            tags["crt.table"] = "modified"
        run = self.client.create_run(self.experiment_id, run_name=name, start_time=now, tags=_redacted(tags))
        run_id = run.info.run_id
        try:
            with tempfile.TemporaryDirectory() as folder:
                params = {**keys, **record.params, **_written(record, Path(folder))}
                self.client.log_batch(
                    run_id,
                    params=[Param(key, value) for key, value in _redacted(params).items()],
                    metrics=[Metric(key, value, now, 0) for key, value in record.metrics.items()],
                )
                self.client.log_artifacts(run_id, folder)
        except BaseException as error:
            with suppress(MlflowException), closing_time():  # if the store is away, the next command closes the run
                self.client.set_terminated(run_id, "FAILED")
            if isinstance(error, OSError) and not isinstance(error, RequestException):
                raise TrackingError(
                    f"the files of {name} cannot be stored ({error}); {remedy(error)} and start again: finished cells are kept"
                ) from error
            raise
        self.client.set_terminated(run_id, "FINISHED")
        self._known[cell.kind, record.key] = run_id

    def cells(self, keys: Collection[str], kind: str = Cell.kind) -> pd.DataFrame:
        """Return the measurements of a kind with these keys that this tracker found or logged, the last of each; see `cell_frame`.

        Raises:
            TrackingError: one of them is not stored.
        """
        run_ids = [self._known[kind, key] for key in keys if (kind, key) in self._known]
        frame = cell_frame(by_id(self.client, [self.experiment_id], run_ids))
        missing = set(keys) - set(frame["key"])
        if missing:
            raise TrackingError(f"{len(missing)} of {len(keys)} cells are not in the store although they were logged")
        return frame

    def cells_of(self, source: str, dataset: str) -> pd.DataFrame:
        """Return the finished cells of a model, by its spec, on a data set in this experiment; see `cell_frame`."""
        return cell_frame(finished(self.client, [self.experiment_id], Cell.kind, model_source=source, dataset=dataset))

    def stored(self, run_id: str, kind: str) -> dict[str, str]:
        """Return the params of a finished run of a kind.

        Raises:
            TrackingError: there is no such run, or it is of another kind.
        """
        try:
            run = self.client.get_run(run_id)
        except MlflowException as error:
            raise TrackingError(f"there is no run '{run_id}' in {redacted(mlflow.get_tracking_uri())}") from error
        if run.data.tags.get(KIND) != kind or run.info.status != "FINISHED":
            found = f"{run.data.tags.get(KIND) or 'foreign'}, {run.info.status}"
            raise TrackingError(f"run {run_id} is no finished run of {kind} ({found})")
        return dict(run.data.params)

    def table(self, run_id: str, name: str) -> pd.DataFrame:
        """Return a CSV artifact of a run; see `stored_table`."""
        return stored_table(self.client.get_run(run_id).info.artifact_uri, name)

    def resolve(self, spec: str, task: Task) -> ResolvedModel:
        """Return the model that a spec stands for; an empty one is the best that is registered for the task, else `rule`.

        Raises:
            TrackingError: the registry has no such model; the message says what there is.
        """
        if not spec:
            spec = f"models:/{task.registered_name}@best" if registry.best_version(task.registered_name) else RULE
            if spec == RULE:
                log.info(
                    "no model is registered for %s: evaluating the rule classifier; train one with %s", task.name,
                    next_command("train", {"dataset": task.name}),
                )  # fmt: skip
                self.log_tags({"mlflow.runName": f"rule on {task.name} (no model registered)"})
        if not spec.startswith((REGISTERED, LOGGED)):
            return ResolvedModel(spec, spec)
        found = registry.resolve(spec)
        if found.source != spec:
            log.info("model %s is %s", spec, found.source)
        return found

    def trained_on(self, source: str) -> frozenset[str] | None:
        """Return the digests of the inputs that a model was trained on; None where that is not known, as for any but a registered one."""
        return registry.trained_on(source.removeprefix("models:/")) if source.startswith("models:/") else None

    def recipe(self, source: str) -> str:
        """Return what tells how a registered model was trained, see `registry.recipe`; of any other it is empty."""
        return registry.recipe(source.removeprefix(REGISTERED)) if source.startswith(REGISTERED) else ""

    def log_params(self, params: Mapping[str, object]) -> None:
        """Log params of the run; a value that was logged before stays."""
        present = self.client.get_run(self.run_id).data.params
        rows = [Param(key, value) for key, value in _redacted(params).items() if key not in present]
        twice(partial(self.client.log_batch, self.run_id, params=rows))

    def log_metrics(self, metrics: Mapping[str, float], step: int = 0) -> None:
        """Log metrics of the run."""
        now = _now()
        rows = [Metric(key, value, now, step) for key, value in metrics.items()]
        twice(partial(self.client.log_batch, self.run_id, metrics=rows))

    def log_tags(self, tags: Mapping[str, str]) -> None:
        """Set tags of the run."""
        rows = [RunTag(key, value) for key, value in _redacted(tags).items()]
        twice(partial(self.client.log_batch, self.run_id, tags=rows))

    def log_study(self, params: Mapping[str, str], metrics: Mapping[str, float], note: str) -> None:
        """Log what a study beside the grid found; model and data set are tags too, since `mlflow run` logs its own params."""
        self.log_params({name: value for name, value in params.items() if value})
        self.log_tags({f"crt.{name}": params[name] for name in ("model", "dataset")})
        self.log_metrics({_metric_name(name): value for name, value in metrics.items()})
        self.log_note(note)

    def log_folder(self, folder: Path) -> None:
        """Log every file of a folder as an artifact of the run."""
        twice(partial(self.client.log_artifacts, self.run_id, str(folder)))

    def log_note(self, markdown: str) -> None:
        """Show a text on the page of the run."""
        kept = markdown.split("\n")
        while len("\n".join(kept)) > NOTE:
            kept = [*kept[:-2], "\n… the rest is among the artifacts"]
        self.log_tags({"mlflow.note.content": "\n".join(kept)})

    @contextmanager
    def child(self, kind: str, name: str, settings: Mapping[str, object]) -> "Iterator[MlflowTracker]":
        """Open a run that points to this one."""
        tags = {**self._tags, KIND: kind, "mlflow.parentRunId": self.run_id}
        run = self.client.create_run(self.experiment_id, run_name=redacted(name), tags=_redacted(tags))
        tracker = MlflowTracker(run.info.run_id, self.experiment_id)
        with _closing(partial(self.client.set_terminated, tracker.run_id)), beating(self.client, tracker.run_id):
            tracker.log_params({f"cfg.{key}": value for key, value in settings.items()})
            yield tracker

    def replace_summary(self, name: str, params: Mapping[str, str], metrics: Mapping[str, float], note: str) -> None:
        """Log a summary run in place of those that stood before with the same params; one that lacks a param has any.

        It has no parent: the UI would fold it away under the comparison.
        """
        old = search(self.client, [self.experiment_id], f"tags.`{KIND}` = 'summary'")
        tags = {**self._tags, KIND: "summary", **{f"crt.{key}": value for key, value in params.items()}}
        run = self.client.create_run(self.experiment_id, run_name=redacted(name), tags=_redacted(tags))
        summary = MlflowTracker(run.info.run_id, self.experiment_id)
        summary.log_params(params)
        summary.log_metrics(metrics)
        summary.log_note(note)
        self.client.set_terminated(summary.run_id)
        for run in old:
            if all(run.data.tags.get(f"crt.{key}", value) == value for key, value in _redacted(params).items()):
                self.client.delete_run(run.info.run_id)


def _written(record: MeasurementRecord, folder: Path) -> dict[str, str]:
    """Write the files of a measurement into a folder; return their checksums, by the name of the param."""
    lines = [json.dumps(example, ensure_ascii=False) + "\n" for example in record.examples]
    (folder / EXAMPLES).write_text("".join(lines), encoding="utf-8", errors="surrogatepass")
    pd.DataFrame(record.outcomes).to_csv(folder / OUTCOMES, index=False, lineterminator="\n")
    return {param: sha256((folder / name).read_bytes()).hexdigest() for name, param in CHECKSUMS.items()}


def _metric_name(name: str) -> str:
    """Return the name of a metric as MLflow takes it: a label in it may hold what no path may hold."""
    safe = re.sub(r"[^\w./ -]+", "_", name)[:LONGEST]
    return safe if posixpath.normpath(f"/{safe}") == f"/{safe}" else re.sub(r"/|\.\.", "_", safe)


def _redacted(values: Mapping[str, object]) -> dict[str, str]:
    """Return params or tags as they may be stored."""
    return {key: redacted(str(value)) for key, value in values.items()}


def _context_tags() -> dict[str, str]:
    """Return what MLflow says of the process: the address of its repository may hold a token."""
    return _redacted(resolve_tags())


def _hide(client: mlflow.MlflowClient, run: Run) -> None:
    """Hide the secrets in the tags that `mlflow run` set; a param cannot be changed, so the user is told."""
    for key, value in run.data.tags.items():
        if redacted(value) != value:
            client.set_tag(run.info.run_id, key, redacted(value))
    for key, value in run.data.params.items():
        if redacted(value) != value:
            log.warning(
                "mlflow run stored the secret in the param %s of run %s; delete that run and change the secret: start the "
                "command as crt or python -m crt, which hide it, or give the key of a server as $OPENAI_API_KEY",
                key, run.info.run_id,
            )  # fmt: skip


def _host_tags() -> dict[str, str]:
    tags = process_tags()
    if shutil.which("git"):
        status = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=False)
        if status.returncode == 0:
            tags["crt.git_dirty"] = str(bool(status.stdout.strip())).lower()
    return tags


def _now() -> int:
    return int(time.time() * 1000)
