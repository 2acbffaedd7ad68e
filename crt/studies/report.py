"""What the page of a comparison is made from: its tables, its evidence, its examples, and how all of it was measured."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import pandas as pd

from crt.records import CLEAN
from crt.reporting.page import Report
from crt.reporting.table import PaperTable
from crt.reporting.verdict import notes, verdict
from crt.scoring.evidence import Evidence
from crt.scoring.summary import KEYS, Comparison, in_order
from crt.tracking.history import stored_examples

LEAKAGE = ("dataset", "model", "num_examples", "seen_in_training_rate", "trained_on_rate")
"""What is told of the texts that a model may have seen."""


Examples = Callable[[pd.DataFrame], Sequence[Sequence[Mapping[str, object]]]]
"""Gives the example pairs of cells, a list for each, as `stored_examples` does."""


def report(
    found: Comparison,
    evidence: Evidence,
    tables: tuple[PaperTable, ...],
    command: str,
    examples: Examples = stored_examples,
) -> Report:
    """Put together what the page shows.

    Args:
        found: what is compared.
        evidence: of its cells.
        tables: of its cells.
        command: that makes the comparison again.
        examples: reads the example pairs of cells; the default is the store.
    """
    cells = found.cells
    datasets, models = (list(dict.fromkeys(found.summary[key])) for key in ("dataset", "model"))
    named = models[0] if len(models) == 1 else f"{len(models)} models"
    clean = in_order(cells[cells["perturbation"] == CLEAN])
    return Report(
        title=f"{named} on {', '.join(map(str, datasets))}",
        verdict=verdict(found, evidence),
        tables=tables,
        summary=found.summary,
        intervals=evidence.intervals,
        tests=evidence.tests,
        duels=evidence.duels,
        pairs=evidence.pairs,
        slices=evidence.slices,
        examples=_examples(cells, examples),
        leakage=clean.reindex(columns=list(LEAKAGE)).drop_duplicates(),
        notes=notes(evidence),
        measured=_measured(found, command),
    )


def _examples(cells: pd.DataFrame, examples: Examples) -> list[Mapping[str, object]]:
    """Return the example pairs of the first seed of each model, data set, perturbation and prob, with those keys."""
    rows = in_order(cells[cells["perturbation"] != CLEAN]).drop_duplicates(["model", "dataset", "perturbation", "prob"])
    keys = rows[list(KEYS)].to_dict("records")
    return [
        {**{str(name): value for name, value in key.items()}, **pair}
        for key, pairs in zip(keys, examples(rows), strict=True)
        for pair in pairs
    ]


def _measured(found: Comparison, command: str) -> dict[str, str]:
    cells = found.cells
    sources = cells[["model", "dataset", "model_source"]].drop_duplicates() if "model_source" in cells else cells[:0]
    facts = {
        "models": "; ".join(
            f"{row.model} on {row.dataset}: {row.model_source}" for row in sources.itertuples(index=False)
        ),
        "cells": f"{len(cells)}",
        "signature": found.signature,
        "versions": "; ".join(sorted(cells["versions"].dropna().unique())) if "versions" in cells else "",
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "again": command,
    }
    return {name: fact for name, fact in facts.items() if fact}
