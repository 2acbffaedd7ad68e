"""What the tracking store holds, read back as tables: measurements, studies, and what was kept of each."""

import io
import json
import logging
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import mlflow
import pandas as pd
from mlflow.exceptions import MlflowException

from crt.errors import CrtError, TrackingError, is_full, no_room
from crt.records import Cell
from crt.redaction import redacted
from crt.scoring.slices import CLUSTER
from crt.tracking.waiting import MOVED, first_contact, store_error

log = logging.getLogger(__name__)

KIND, KEY = "crt.kind", "crt.cell_key"
DEFAULT, DEMO = "Default", "crt-demo"
"""The experiment of every command, that of `mlflow run` too, and the one of the demonstration, which no comparison wants."""
PAGE = 5000
"""Runs asked for in one call."""
IDS = 500
"""Runs asked for by their ids in one call."""
EXAMPLES, OUTCOMES = "examples.jsonl", "outcomes.csv"
CHECKSUMS: Mapping[str, str] = {EXAMPLES: "examples_sha256", OUTCOMES: "outcomes_sha256"}
"""The params of a cell that hold the SHA-256 of its files."""
NEEDED = ("id", "gold", "clean", "perturbed", "changed")
"""Columns that the outcomes of every cell have."""
OUTCOME_NAMES = ("id", "gold", "clean", "perturbed", "changed_fields", CLUSTER)
"""Columns of the outcomes that hold names."""
READERS = 8
"""Artifacts that are asked for at once."""
F = TypeVar("F")
NUMBERS: Mapping[str, type] = {"prob": float, "degree": float, "seed": int, "samples": int}
"""The params that name a measurement and are numbers."""


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
    try:
        with first_contact():
            client = mlflow.MlflowClient()  # which makes the tables of a fresh store
            client.search_experiments(max_results=1)
        if experiments:
            found = {name: client.get_experiment_by_name(name) for name in experiments}
        else:
            current = os.environ.get("MLFLOW_EXPERIMENT_ID")
            name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or DEFAULT
            experiment = client.get_experiment(current) if current else client.get_experiment_by_name(name)
            found = {experiment.name if experiment else name: experiment}
        missing = [name for name, experiment in found.items() if experiment is None]
        if missing:
            known = ", ".join(sorted(e.name for e in client.search_experiments()))
            raise TrackingError(f"there is no experiment '{missing[0]}'; the store has {known}")
        ids = [experiment.experiment_id for experiment in found.values() if experiment is not None]
        runs = finished(client, ids, Cell.kind)
        others = [run for kind in kinds for run in search(client, ids, f"tags.`{KIND}` = '{kind}'")]
    except CrtError:
        raise
    except Exception as error:  # the stores raise whatever their drivers raise
        raise store_error(error) from error
    return Stored(cell_frame(runs), study_frame(others), tuple(found))


def cell_frame(runs: Sequence[Any]) -> pd.DataFrame:
    """Return finished cell runs as a table: key, run_id, artifacts (where), params and metrics by name.

    They stand in the order in which they ended, by the clocks of those who measured them.
    """
    rows = []
    for run in sorted(runs, key=ended):
        if run.info.status != "FINISHED":
            continue
        params = dict(run.data.params)
        params |= {name: read(params[name]) for name, read in NUMBERS.items() if name in params}
        keys = {"key": run.data.tags[KEY], "run_id": run.info.run_id, "artifacts": run.info.artifact_uri}
        rows.append(keys | params | run.data.metrics)
    return pd.DataFrame(rows, columns=None if rows else ["key", "run_id", "artifacts"])


def stored_examples(cells: pd.DataFrame) -> list[list[dict[str, Any]]]:
    """Return for each stored cell its example pairs.

    Raises:
        TrackingError: the file of a cell is not there, or not as it was stored.
    """
    return _read(cells, EXAMPLES, lambda text, _: [json.loads(line) for line in text.split("\n") if line])


def stored_outcomes(cells: pd.DataFrame) -> list[pd.DataFrame]:
    """Return for each stored cell its outcomes, a row an example; names are text, an empty one is missing.

    Raises:
        TrackingError: the file of a cell is not there, or not as it was stored.
    """
    return _read(cells, OUTCOMES, _outcomes)


def _outcomes(text: str, cell: Mapping[str, Any]) -> pd.DataFrame:
    """Return the table of a cell's outcomes; cells of older versions have no checksum, so their shape is looked at."""
    frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    if missing := [name for name in NEEDED if name not in frame]:
        raise ValueError(f"no column '{missing[0]}'")
    if pd.notna(cell["num_examples"]) and len(frame) != cell["num_examples"]:
        raise ValueError(f"{len(frame)} rows for {cell['num_examples']:.0f} examples")
    if frame.isna().any(axis=None):
        raise ValueError("a row that ends too early")
    columns = [frame[c].replace("", None) if c in OUTCOME_NAMES else pd.to_numeric(frame[c]) for c in frame]
    return pd.concat(columns, axis=1)


def stored_table(artifacts: str, name: str) -> pd.DataFrame:
    """Return a CSV artifact of a run; every cell is a text, as it stands there.

    Args:
        artifacts: where the artifacts of the run are.
        name: of the file.

    Raises:
        TrackingError: it is not where the store says.
    """
    text = _artifact(artifacts, name).decode("utf-8", "surrogatepass")
    return pd.read_csv(io.StringIO(text.removeprefix("\ufeff")), dtype=str, keep_default_na=False)


def _read(cells: pd.DataFrame, name: str, parse: Callable[[str, Mapping[str, Any]], F]) -> list[F]:
    """Return what an artifact of each cell holds; several at once, since a server takes its time for each."""

    def read(cell: Mapping[str, Any]) -> F:
        content, kept = _artifact(cell["artifacts"], name), cell[CHECKSUMS[name]]
        try:
            if isinstance(kept, str) and (found := sha256(content).hexdigest()) != kept:
                raise ValueError(f"SHA-256 {found[:16]}…, stored was {kept[:16]}…")
            if content and not content.endswith(b"\n"):
                raise ValueError("its last line is cut off")
            return parse(content.decode("utf-8", "surrogatepass"), cell)
        except ValueError as error:  # those of json, pandas and the decoder too
            raise TrackingError(
                f"{name} of run {cell['run_id']} is not as it was stored ({' '.join(str(error).split())}), in "
                f"{redacted(cell['artifacts'])}; measure {cell['model']} on {cell['dataset']} again with force=true"
            ) from error

    with ThreadPoolExecutor(READERS) as pool:
        columns = ["run_id", "artifacts", "model", "dataset", "num_examples", CHECKSUMS[name]]
        return list(pool.map(read, cells.reindex(columns=columns).to_dict("records")))


def _artifact(artifacts: str, name: str) -> bytes:
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = mlflow.artifacts.download_artifacts(artifact_uri=f"{artifacts}/{name}", dst_path=folder)
            return Path(path).read_bytes()
    except (MlflowException, OSError) as error:
        if is_full(error):
            raise no_room(error) from error
        cause = redacted(" ".join(str(error).split()))
        raise TrackingError(
            f"{name} is not in {redacted(artifacts)}, where the store says it is ({cause}); {MOVED}"
            "measure again with force=true"
        ) from error


def study_frame(runs: Sequence[Any]) -> pd.DataFrame:
    """Return finished runs of other kinds as a table, in the same order: kind, run_id, params, and metrics as `metric.<name>`."""
    rows = [
        {"kind": run.data.tags[KIND], "run_id": run.info.run_id}
        | dict(run.data.params)
        | {name: run.data.tags.get(f"crt.{name}") for name in ("model", "dataset")}
        | {f"metric.{name}": value for name, value in run.data.metrics.items()}
        for run in sorted(runs, key=ended)
        if run.info.status == "FINISHED"
    ]
    return pd.DataFrame(rows, columns=None if rows else ["kind", "run_id"])


def ended(run: Any) -> tuple[int, int]:
    """Return what orders runs by when they ended, by the clocks of those who measured."""
    return run.info.end_time or 0, run.info.start_time


def finished(client: mlflow.MlflowClient, experiments: list[str], kind: str, **params: str) -> list[Any]:
    """Return the measurements of a kind that count and have these params; the store looks for them, in the params alone."""
    query = [f"tags.`{KIND}` = '{kind}'", "attributes.status = 'FINISHED'"]
    query += [f"params.`{name}` = {_quoted(value)}" for name, value in params.items() if not {"'", '"'} <= set(value)]
    runs = search(client, experiments, " and ".join(query))
    keyed = [run for run in runs if KEY in run.data.tags]
    if len(keyed) < len(runs):
        log.info(
            "%d runs are tagged %s = %s but have no %s: no version of crt logged them",
            len(runs) - len(keyed),
            KIND,
            kind,
            KEY,
        )
    return [run for run in keyed if all(run.data.params.get(name) == value for name, value in params.items())]


def _quoted(value: str) -> str:
    return f'"{value}"' if "'" in value else f"'{value}'"


def by_id(client: mlflow.MlflowClient, experiments: list[str], run_ids: Sequence[str]) -> list[Any]:
    """Return runs by their ids, some hundred in a call."""
    parts = [run_ids[at : at + IDS] for at in range(0, len(run_ids), IDS)]
    return [
        run
        for part in parts
        for run in search(client, experiments, f"attributes.run_id IN ({', '.join(map(_quoted, part))})")
    ]


def search(client: mlflow.MlflowClient, experiments: list[str], query: str) -> list[Any]:
    """Return every run that matches: a single call is cut at 1,000 without a word."""
    runs: list[Any] = []
    token = None
    while True:
        page = client.search_runs(experiments, query, max_results=PAGE, page_token=token)
        runs += page
        token = page.token
        if not token:
            return runs
