"""MLflow as a store of runs; with `registry` and `store` the only module that imports it.

A cell is created late, filled by one batch, and marked FINISHED last; only FINISHED cells count. So a killed process
leaves at most one cell that does not count, and a rerun does what is missing.
"""

import json
import logging
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import mlflow
import pandas as pd
from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking.context.registry import resolve_tags

from crt import registry
from crt.catalogue import Task
from crt.errors import CrtError, TrackingError
from crt.records import RULE, CellRecord, ResolvedModel
from crt.store import HOST, close_dead, first_contact, process_tags, store_error, twice, without_password
from crt.studies.grid import format_prob

log = logging.getLogger(__name__)

KIND, KEY = "crt.kind", "crt.cell_key"
CELLS = f"tags.`{KIND}` = 'cell' and attributes.status = 'FINISHED'"
"""The cells that count."""
RUNNING = f"tags.`{HOST}` = '{platform.node()}' and attributes.status = 'RUNNING'"
"""Runs that a process of this host works on, or worked on when it died."""
PAGE = 5000
"""Runs asked for in one call."""
NOTE = 7900
"""Characters of a note: MLflow cuts longer ones in the middle of a line."""
EXAMPLES, OUTCOMES = "examples.jsonl", "outcomes.csv"


@contextmanager
def open_run(kind: str, name: str, settings: Mapping[str, object]) -> Iterator["MlflowTracker"]:
    """Open the run that an entry point works in: the project run under `mlflow run`, else a new one.

    Args:
        kind: the tag `crt.kind`: train, grid, compare, heuristics, behaviour, detect …
        name: of a new run.
        settings: logged as params `cfg.<name>`; the project parameters themselves are logged by `mlflow run`.

    Raises:
        TrackingError: the tracking store cannot be used; the message says what to use.
    """
    run_id = os.environ.get("MLFLOW_RUN_ID")
    try:
        with first_contact():
            if run_id is None and "MLFLOW_EXPERIMENT_ID" not in os.environ:
                mlflow.set_experiment(os.environ.get("MLFLOW_EXPERIMENT_NAME") or "Default")
            run = mlflow.start_run(run_name=None if run_id else name, tags={KIND: kind, **_host_tags()})
    except Exception as error:  # the stores raise whatever their drivers raise
        raise store_error(error) from error
    tracker = MlflowTracker(run.info.run_id, run.info.experiment_id)
    status = "FAILED"
    try:
        # the UI then opens the experiment on its runs, not on the pages for language model applications
        tracker.client.set_experiment_tag(tracker.experiment_id, "mlflow.experimentKind", "custom_model_development")
        left = close_dead(tracker.client, _search(tracker.client, [tracker.experiment_id], RUNNING))
        if left:
            log.info("%d runs of processes that died are closed as KILLED", left)
        if run_id:
            mlflow.set_tag("mlflow.runName", name)
        tracker.log_params({f"cfg.{key}": value for key, value in settings.items()})
        yield tracker
        status = "FINISHED"
    except MlflowException as error:
        raise TrackingError(f"the tracking store refused: {error.message}") from error
    finally:
        mlflow.end_run(status)


class MlflowTracker:
    """Logs to one run and, as runs of their own that point to it, cells."""

    def __init__(self, run_id: str, experiment_id: str) -> None:
        """Take the run that everything belongs to."""
        self.run_id, self.experiment_id = run_id, experiment_id
        self.client = mlflow.MlflowClient()
        self._tags = {key: str(value) for key, value in resolve_tags().items()} | process_tags()

    def finished(self) -> frozenset[str]:
        """Return the keys of the cells of this experiment that ended FINISHED."""
        return frozenset(run.data.tags[KEY] for run in _search(self.client, [self.experiment_id], CELLS))

    def log_cell(self, record: CellRecord) -> None:
        """Log one cell as a child run: params, metrics, examples and outcomes."""
        cell = record.cell
        bad = {name: value for name, value in record.metrics.items() if not abs(value) < float("inf")}
        if bad:
            raise TrackingError(f"metrics of {cell} are no finite numbers: {bad}; nothing was logged")
        twice(partial(self._log_cell, record))

    def _log_cell(self, record: CellRecord) -> None:
        cell, now = record.cell, _now()
        name = f"{cell.model} {cell.dataset} {cell.perturbation}"
        if cell.prob or cell.seed:
            name += f" {format_prob(cell.prob)} seed {cell.seed}"
        keys = {
            "model": cell.model,
            "dataset": cell.dataset,
            "perturbation": cell.perturbation,
            "prob": format_prob(cell.prob),
            "seed": str(cell.seed),
        }
        tags = {**self._tags, KIND: "cell", KEY: record.key, "mlflow.parentRunId": self.run_id}
        tags |= {f"crt.{key}": value for key, value in keys.items()}
        if record.modified:
            tags["crt.table"] = "modified"
        run_id = self.client.create_run(self.experiment_id, run_name=name, start_time=now, tags=tags).info.run_id
        try:
            self.client.log_batch(
                run_id,
                params=[Param(key, value) for key, value in {**keys, **record.params}.items()],
                metrics=[Metric(key, value, now, 0) for key, value in record.metrics.items()],
            )
            with tempfile.TemporaryDirectory() as folder:
                lines = [json.dumps(example, ensure_ascii=False) + "\n" for example in record.examples]
                (Path(folder) / EXAMPLES).write_text("".join(lines), encoding="utf-8", errors="surrogatepass")
                pd.DataFrame(record.outcomes).to_csv(Path(folder) / OUTCOMES, index=False, lineterminator="\n")
                self.client.log_artifacts(run_id, folder)
        except BaseException as error:
            with suppress(MlflowException):  # if the store is away, the next command closes the run
                self.client.set_terminated(run_id, "FAILED")
            if isinstance(error, OSError):
                raise TrackingError(
                    f"the files of {name} cannot be stored ({error}); make room and start again: finished cells are kept"
                ) from error
            raise
        self.client.set_terminated(run_id, "FINISHED")

    def cells(self, keys: Sequence[str]) -> pd.DataFrame:
        """Return the stored cells with these keys, the last of each; see `cell_frame`.

        Raises:
            TrackingError: one of them is not stored.
        """
        frame = cell_frame(_search(self.client, [self.experiment_id], CELLS))
        frame = frame[frame["key"].isin(keys)].drop_duplicates("key", keep="last")
        missing = set(keys) - set(frame["key"])
        if missing:
            raise TrackingError(f"{len(missing)} of {len(keys)} cells are not in the store although they were logged")
        return frame

    def examples(self, run_id: str) -> list[dict[str, Any]]:
        """Return the example pairs of a stored cell."""
        with tempfile.TemporaryDirectory() as folder:
            text = self._artifact(run_id, EXAMPLES, folder).read_text(encoding="utf-8", errors="surrogatepass")
        return [json.loads(line) for line in text.split("\n") if line]

    def stored(self, run_id: str, kind: str) -> dict[str, str]:
        """Return the params of a finished run of a kind.

        Raises:
            TrackingError: there is no such run, or it is of another kind.
        """
        try:
            run = self.client.get_run(run_id)
        except MlflowException as error:
            raise TrackingError(
                f"there is no run '{run_id}' in {without_password(mlflow.get_tracking_uri())}"
            ) from error
        if run.data.tags.get(KIND) != kind or run.info.status != "FINISHED":
            found = f"{run.data.tags.get(KIND) or 'foreign'}, {run.info.status}"
            raise TrackingError(f"run {run_id} is no finished run of {kind} ({found})")
        return dict(run.data.params)

    def table(self, run_id: str, name: str) -> pd.DataFrame:
        """Return a CSV artifact of a run; every cell is a text, as it stands there."""
        with tempfile.TemporaryDirectory() as folder:
            return pd.read_csv(
                self._artifact(run_id, name, folder), dtype=str, keep_default_na=False, encoding="utf-8-sig"
            )

    def _artifact(self, run_id: str, name: str, folder: str) -> Path:
        """Fetch an artifact of a run into a folder.

        Raises:
            TrackingError: it is not where the store says.
        """
        try:
            return Path(self.client.download_artifacts(run_id, name, folder))
        except (MlflowException, OSError) as error:
            where = without_password(self.client.get_run(run_id).info.artifact_uri)
            raise TrackingError(
                f"{name} of run {run_id} is not in {where}, where the store says it is ({error}); if that folder was moved, "
                "move it back or put a link to it there (ln -s NEW OLD); if it is lost, measure again with force=true"
            ) from error

    def resolve(self, spec: str, task: Task) -> ResolvedModel:
        """Return the model that a spec stands for; an empty one is the best that is registered for the task, else `rule`.

        Raises:
            TrackingError: the registry has no such model; the message says what there is.
        """
        if not spec:
            spec = f"models:/{task.registered_name}@best" if registry.best_version(task.registered_name) else RULE
            if spec == RULE:
                log.info(
                    "no model is registered for %s: evaluating the rule classifier; train one with "
                    "mlflow run . -e train -P dataset=%s", task.name, task.name,
                )  # fmt: skip
                self.log_tags({"mlflow.runName": f"rule on {task.name} (no model registered)"})
        if not spec.startswith("models:/"):
            return ResolvedModel(spec, spec)
        folder, version = registry.resolve(spec)
        log.info("model %s is version %s", spec, version)
        return ResolvedModel(folder, f"models:/{version}")

    def log_params(self, params: Mapping[str, object]) -> None:
        """Log params of the run; a value that was logged before stays."""
        present = self.client.get_run(self.run_id).data.params
        rows = [Param(key, str(value)) for key, value in params.items() if key not in present]
        twice(partial(self.client.log_batch, self.run_id, params=rows))

    def log_metrics(self, metrics: Mapping[str, float], step: int = 0) -> None:
        """Log metrics of the run."""
        now = _now()
        rows = [Metric(key, value, now, step) for key, value in metrics.items()]
        twice(partial(self.client.log_batch, self.run_id, metrics=rows))

    def log_tags(self, tags: Mapping[str, str]) -> None:
        """Set tags of the run."""
        rows = [RunTag(key, value) for key, value in tags.items()]
        twice(partial(self.client.log_batch, self.run_id, tags=rows))

    def log_study(self, params: Mapping[str, str], metrics: Mapping[str, float], note: str) -> None:
        """Log what a study beside the grid found; model and data set are tags too, since `mlflow run` logs its own params."""
        self.log_params({name: value for name, value in params.items() if value})
        self.log_tags({f"crt.{name}": params[name] for name in ("model", "dataset")})
        self.log_metrics({re.sub(r"[^\w./ -]+", "_", name): value for name, value in metrics.items()})
        self.log_note(note)

    def log_folder(self, folder: Path) -> None:
        """Log every file of a folder as an artifact of the run."""
        self.client.log_artifacts(self.run_id, str(folder))

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
        run = self.client.create_run(self.experiment_id, run_name=name, tags=tags)
        tracker = MlflowTracker(run.info.run_id, self.experiment_id)
        status = "FAILED"
        try:
            tracker.log_params({f"cfg.{key}": value for key, value in settings.items()})
            yield tracker
            status = "FINISHED"
        finally:
            self.client.set_terminated(tracker.run_id, status)

    def replace_summary(self, name: str, params: Mapping[str, str], metrics: Mapping[str, float], note: str) -> None:
        """Log the summary run of a model on a data set in place of the one of that name that stood before.

        It has no parent: the UI would fold it away under the comparison.
        """
        old = _search(self.client, [self.experiment_id], f"tags.`{KIND}` = 'summary'")
        tags = {**self._tags, KIND: "summary", **{f"crt.{key}": value for key, value in params.items()}}
        summary = MlflowTracker(
            self.client.create_run(self.experiment_id, run_name=name, tags=tags).info.run_id, self.experiment_id
        )
        summary.log_params(params)
        summary.log_metrics(metrics)
        summary.log_note(note)
        self.client.set_terminated(summary.run_id)
        for run in old:
            if run.info.run_name == name:
                self.client.delete_run(run.info.run_id)


class Stored(NamedTuple):
    """What some experiments hold that is finished."""

    cells: pd.DataFrame
    """From `cell_frame`."""
    studies: pd.DataFrame
    """From `study_frame`."""
    experiments: tuple[str, ...]
    """Their names."""


def read_stored(experiments: Sequence[str], kinds: Sequence[str]) -> Stored:
    """Return every finished cell of some experiments, and every finished run of other kinds.

    Args:
        experiments: names; none: the experiment that `mlflow run` would use.
        kinds: of the other runs.

    Raises:
        TrackingError: an experiment does not exist; the message lists those that do.
    """
    client = mlflow.MlflowClient()
    try:
        with first_contact():
            client.search_experiments(max_results=1)
        if experiments:
            found = {name: client.get_experiment_by_name(name) for name in experiments}
        else:
            current = os.environ.get("MLFLOW_EXPERIMENT_ID")
            name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or "Default"
            experiment = client.get_experiment(current) if current else client.get_experiment_by_name(name)
            found = {experiment.name if experiment else name: experiment}
        missing = [name for name, experiment in found.items() if experiment is None]
        if missing:
            known = ", ".join(sorted(e.name for e in client.search_experiments()))
            raise TrackingError(f"there is no experiment '{missing[0]}'; the store has {known}")
        ids = [experiment.experiment_id for experiment in found.values() if experiment is not None]
        runs = _search(client, ids, CELLS)
        others = [run for kind in kinds for run in _search(client, ids, f"tags.`{KIND}` = '{kind}'")]
    except CrtError:
        raise
    except Exception as error:  # the stores raise whatever their drivers raise
        raise store_error(error) from error
    return Stored(cell_frame(runs), study_frame(others), tuple(found))


def cell_frame(runs: Sequence[Any]) -> pd.DataFrame:
    """Return finished cell runs as a table, oldest first: key, run_id, params and metrics by name."""
    rows = []
    for run in sorted(runs, key=lambda run: run.info.start_time):
        if run.info.status != "FINISHED":
            continue
        params = dict(run.data.params)
        params |= {"prob": float(params["prob"]), "seed": int(params["seed"])}
        rows.append({"key": run.data.tags[KEY], "run_id": run.info.run_id, **params, **run.data.metrics})
    return pd.DataFrame(rows, columns=None if rows else ["key", "run_id"])


def study_frame(runs: Sequence[Any]) -> pd.DataFrame:
    """Return finished runs of other kinds as a table, oldest first: kind, run_id, params, and metrics as `metric.<name>`."""
    rows = [
        {"kind": run.data.tags[KIND], "run_id": run.info.run_id}
        | dict(run.data.params)
        | {name: run.data.tags.get(f"crt.{name}") for name in ("model", "dataset")}
        | {f"metric.{name}": value for name, value in run.data.metrics.items()}
        for run in sorted(runs, key=lambda run: run.info.start_time)
        if run.info.status == "FINISHED"
    ]
    return pd.DataFrame(rows, columns=None if rows else ["kind", "run_id"])


def _search(client: mlflow.MlflowClient, experiments: list[str], query: str) -> list[Any]:
    """Return every run that matches: a single call is cut at 1,000 without a word."""
    runs: list[Any] = []
    token = None
    while True:
        page = client.search_runs(experiments, query, max_results=PAGE, page_token=token)
        runs += page
        token = page.token
        if not token:
            return runs


def _host_tags() -> dict[str, str]:
    tags = process_tags()
    if shutil.which("git"):
        status = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=False)
        if status.returncode == 0:
            tags["crt.git_dirty"] = str(bool(status.stdout.strip())).lower()
    return tags


def _now() -> int:
    return int(time.time() * 1000)
