"""Measurements that are kept in memory: a tracker that stores nothing, and what it holds in the form of stored cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from crt.catalogue import Task
from crt.errors import ModelError
from crt.grid import measurement_params
from crt.records import LOGGED, REGISTERED, MeasurementRecord, ResolvedModel
from crt.tracking.history import NUMBERS, OUTCOME_NAMES


@dataclass(frozen=True, slots=True)
class Kept:
    """What was measured, by the key of each cell; a `Tracker` of `cells.run`."""

    records: dict[str, MeasurementRecord] = field(default_factory=dict)
    """The measurements."""

    def resolve(self, spec: str, task: Task) -> ResolvedModel:
        """Return the model of a spec; the registry is asked for one of its own, and nothing else is."""
        if not spec:
            raise ModelError(
                f"name a model for {task.name}: rule, tfidf, a folder, a hub id, models:/NAME@ALIAS, or a function"
            )
        if not spec.startswith((REGISTERED, LOGGED)):
            return ResolvedModel(spec, spec)
        from crt.tracking import registry

        return registry.resolve(spec)

    def trained_on(self, source: str) -> frozenset[str] | None:
        """Return the digests of the inputs that a resolved model was trained on; see `Tracker`."""
        if not source.startswith(REGISTERED):
            return None
        from crt.tracking import registry

        return registry.trained_on(source.removeprefix(REGISTERED))

    def recipe(self, source: str) -> str:
        """Return what tells how a registered model was trained; see `Tracker`."""
        if not source.startswith(REGISTERED):
            return ""
        from crt.tracking import registry

        return registry.recipe(source.removeprefix(REGISTERED))

    def finished(self, kind: str, **params: str) -> frozenset[str]:  # noqa: ARG002
        """Return nothing: all is measured."""
        return frozenset()

    def log_measurement(self, record: MeasurementRecord) -> None:
        """Keep a measurement."""
        self.records[record.key] = record

    def cells(self) -> pd.DataFrame:
        """Return the cells as `history.cell_frame` does; they have no run, so `run_id` is their key."""
        rows = []
        for key, record in self.records.items():
            params = {**measurement_params(record.measurement), **record.params}
            numbers = {name: read(params[name]) for name, read in NUMBERS.items() if name in params}
            rows.append({"key": key, "run_id": key, **params, **numbers, **record.metrics})
        return pd.DataFrame(rows)

    def outcomes(self, cells: pd.DataFrame) -> list[pd.DataFrame]:
        """Return the outcomes of cells as `history.stored_outcomes` does."""
        return [_frame(self.records[key].outcomes) for key in cells["key"]]

    def examples(self, cells: pd.DataFrame) -> list[Sequence[Mapping[str, object]]]:
        """Return the example pairs of cells as `history.stored_examples` does."""
        return [self.records[key].examples for key in cells["key"]]


def _frame(columns: Mapping[str, Sequence[object]]) -> pd.DataFrame:
    frame = pd.DataFrame(columns)
    names = [name for name in OUTCOME_NAMES if name in frame]
    return frame.assign(**{name: frame[name].astype(object).replace("", None) for name in names})
