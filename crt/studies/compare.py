"""The comparison: stored cells of many runs become the paper table."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from crt.catalogue import TASKS
from crt.errors import TrackingError, one_of
from crt.invocation import next_command
from crt.provenance import agreeing, of_perturbation
from crt.records import CLEAN
from crt.reporting.page import page
from crt.reporting.pairs import pair_tables
from crt.reporting.spreadsheet import write_csv
from crt.reporting.table import (
    PaperTable,
    at_dose,
    detail_table,
    dose_of_paper,
    dose_tables,
    paper_table,
    study_tables,
    with_edited,
    with_majority,
)
from crt.reporting.verdict import Verdict
from crt.scoring.doses import doses
from crt.scoring.evidence import Evidence, weigh
from crt.scoring.statistics import MARGIN
from crt.scoring.summary import Comparison, dose_area, headline
from crt.studies import STUDIES
from crt.studies.choice import CALLED, by_version, counted, named
from crt.studies.evidence import beside_evidence, read_stacked
from crt.studies.outputs import Files, formats
from crt.studies.report import report
from crt.studies.results import staged
from crt.tasks import slug

if TYPE_CHECKING:
    from crt.tracking.runs import MlflowTracker

log = logging.getLogger(__name__)

TABLES = ("perturbed_acc", "acc_drop", "attack_success_rate")
"""The metrics that get a paper table; the first one goes into the notes."""

TEXTS, DRAWN = (".csv", ".md", ".tex"), (".svg", ".png", ".pdf")
"""What tables and figures are written as."""

_RENAME = "if these are two data sets, measure one of them under another name with name="
EVIDENCE: Mapping[str, str] = {
    "models": "accuracy of each model beside that of the most frequent label",
    "intervals": "bootstrap intervals over texts",
    "tests": "tests of clean against perturbed answers, over the seeds and in each",
    "duels": "tests of model against model",
    "pairs": "the same, means over perturbations and probs",
    "slices": "the drop in groups of texts",
}
"""The tables of the evidence that are written, and what each is."""

FILES = Files(
    "compare",
    {
        "report.html": "the comparison as a page",
        "cells.csv": "the metrics of each perturbed cell",
        "summary.csv": "mean and standard deviation of each metric over the seeds",
        "dose_area.csv": "the area under the accuracy over prob",
        **{f"{name}.csv": what for name, what in EVIDENCE.items()},
        **{
            name: text
            for metric in TABLES
            for name, text in (
                *formats(f"paper_table_{metric}", f"{metric} of each model at one prob", *TEXTS).items(),
                *formats(f"table_{metric}", f"{metric} of each model at every prob", *TEXTS).items(),
            )
        },
        "classes.csv": "recall and frequency of each label, clean and perturbed",
        "rank_stability.csv": "how often other texts give the same order of the models",
        **formats("verdict", "what was found of each model", *TEXTS),
        **formats("table_doses_*", "what each perturbation changes, and what a percent of it costs", *TEXTS),
        **formats("table_wins_*", "which model is ahead of which, and wins against it", *TEXTS),
        **{
            name: text
            for kind in STUDIES
            for name, text in formats(f"table_{kind}_*", f"{kind} of each model", *TEXTS).items()
        },
        **formats("*_by_prob", "a metric over prob", *DRAWN),
        **formats("accuracy_drop_intervals", "the accuracy drop with its interval, at the largest prob", *DRAWN),
        **formats("accuracy_drop_heat_map", "the accuracy drop of each model under each perturbation", *DRAWN),
    },
)


@dataclass(frozen=True, slots=True)
class Published:
    """What `compare` wrote."""

    tables: tuple[PaperTable, ...]
    """One for each of TABLES; none where there are no cells."""
    studies: tuple[PaperTable, ...]
    """One for each study beside the grid, over all models that were measured."""
    cells: pd.DataFrame
    """The cells that they are made of."""
    verdict: Verdict | None
    """What was found; None where there are no cells."""


def select(
    cells: pd.DataFrame, *, models: Sequence[str] = (), datasets: Sequence[str] = (), split: str = ""
) -> pd.DataFrame:
    """Return the finished cell of each measurement that counts.

    Args:
        cells: oldest first.
        models: only these, see `choice.CALLED`; none: all.
        datasets: only these; none: all.
        split: only this one; empty: where a data set was measured on several, the one that is reported.

    Raises:
        TrackingError: nothing is left, or what is left was not measured in the same way.
    """
    for column, wanted, called in (("model", models, CALLED), ("dataset", datasets, ("dataset",))):
        if wanted and not cells.empty:
            there = {name for among in called if among in cells for name in cells[among]}
            stray = [name for name in wanted if name not in there]
            if stray:
                fault = f"no finished cell has the {column} '{stray[0]}'"
                raise TrackingError(one_of(fault, stray[0], sorted(set(cells[column])), "There are"))
    cells = _asked(cells, models, datasets)
    if not cells.empty:
        cells = _of_split(cells, split)
    if cells.empty or (cells["perturbation"] == CLEAN).all():
        raise TrackingError(
            f"there is no finished cell to compare; run: {next_command('evaluate', {'dataset': 'tnews'})}"
        )
    cells = _latest(_of_training(cells))
    faults = [
        fault
        for fact in agreeing()
        if fact.name in cells
        for fault in _disagreements(cells, fact.name, fact.within or ())
    ]
    if faults:
        raise TrackingError(
            "these cells were not measured in the same way:\n"
            + "\n".join(f"  - {fault}" for fault in faults)
            + "\nredo the odd ones, or compare only some with models=… or datasets=…"
        )
    return cells


def _asked(cells: pd.DataFrame, models: Sequence[str], datasets: Sequence[str]) -> pd.DataFrame:
    cells = named(cells, models)
    return cells[cells["dataset"].isin(datasets)] if datasets and not cells.empty else cells


def _of_split(cells: pd.DataFrame, split: str) -> pd.DataFrame:
    """Return the cells of one split of each data set: numbers on the split that models are chosen on are not results."""
    if "split" not in cells:
        return cells
    known = sorted(set(cells["split"].dropna()))
    if split and split not in known:
        raise TrackingError(one_of(f"no finished cell has the split '{split}'", split, known, "There are"))
    wanted = {}
    for dataset, rows in cells.groupby("dataset"):
        there = list(dict.fromkeys(rows["split"]))
        reported = TASKS[str(dataset)].eval_split if dataset in TASKS else "test"
        wanted[dataset] = split or (reported if reported in there else there[-1])
        for other in there:
            if other != wanted[dataset] and not split:
                log.info(
                    "%s: %d cells on '%s' are left out; split='%s' shows them", dataset, int((rows["split"] == other).sum()),
                    other, other,
                )  # fmt: skip
    return cells[cells["split"] == cells["dataset"].map(wanted)]


def _of_training(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells whose training seed is known, where a model has such: one that is not known is another checkpoint."""
    if "train_seed" not in cells:
        return cells
    known = cells["train_seed"].fillna("") != ""
    stray = ~known & known.groupby([cells["model"], cells["dataset"]]).transform("any")
    for (model, dataset), rows in cells[stray].groupby(["model", "dataset"], sort=False):
        log.info(
            "%s on %s: %d cells of a checkpoint whose training seed is not known are left out: they are another model", model,
            dataset, len(rows),
        )  # fmt: skip
    return cells[~stray]


def _latest(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cell of each measurement that counts, and say so where those left out were measured on other texts."""
    kept = counted(by_version(cells))
    if "data_digest" not in cells:
        return kept
    for dataset, rows in cells.groupby("dataset"):
        gone = rows[~rows["data_digest"].isin(kept.loc[kept["dataset"] == dataset, "data_digest"])]
        if len(gone):
            names = ", ".join([str(dataset), *_sources(gone)])
            log.info("%s: older cells (%d) on other texts are left out; %s", names, len(gone), _RENAME)
    return kept


def _sources(rows: pd.DataFrame) -> list[str]:
    """Return the files or folders of own data that cells were measured on."""
    if "data_source" not in rows:
        return []
    return sorted(set(rows.loc[rows["data_source"] != rows["dataset"], "data_source"].dropna()))


def _disagreements(cells: pd.DataFrame, param: str, within: tuple[str, ...]) -> list[str]:
    faults = []
    groups = cells.groupby(list(within), sort=True, dropna=False) if within else [((), cells)]
    for key, group in groups:
        values = _told(group, param)
        if len(set(values[param])) < 2:
            continue
        place = " ".join(str(part) for part in key if part == part)  # noqa: PLR0124  NaN: no training seed
        newest = values.iloc[-1][param]
        odd = values[values[param] != newest]
        found = [(str(value), rows) for value, rows in values.groupby(param, sort=False)]
        sources = [_sources(rows) if param == "data_digest" else [] for _, rows in found]
        seen = "; ".join(
            f"{value} ({', '.join(sorted(set(rows['model'])))}, {int(rows['num_examples'].max())} examples"
            f"{''.join(f', {file}' for file in files)})"
            for (value, rows), files in zip(found, sources, strict=True)
        )
        if any(files != sources[0] for files in sources):
            seen += f"; {_RENAME}"
        redo = list(dict.fromkeys(_redo(row, values.iloc[-1]) for _, row in odd.iterrows()))
        more = f" and {len(redo) - 3} more" if len(redo) > 3 else ""
        faults.append(
            f"{param}{f' of {place}' if place else ''} differs: {seen}; to measure the older ones like the newest: "
            + "; ".join(redo[:3])
            + more
        )
    return faults


def _told(cells: pd.DataFrame, param: str) -> pd.DataFrame:
    """Return the cells that say something of a param; a perturbation without a table, or without parts, says that."""
    if param in of_perturbation():
        return cells[cells["perturbation"] != CLEAN].fillna({param: "none"})
    return cells.dropna(subset=[param])


def _redo(row: pd.Series, newest: pd.Series) -> str:
    """Return the command that measures a cell's model again with the settings of the newest cell."""

    def value(of: pd.Series, name: str) -> str:
        found = of.get(name)
        return "" if found is None or pd.isna(found) else str(found)

    options = {
        "dataset": value(row, "data_source") or value(row, "dataset"),
        "model": value(row, "model_source") or value(row, "model"),
        "split": value(newest, "split"),
        "max_samples": value(newest, "max_samples"),
        "max_length": value(newest, "max_length"),
        "precision": value(newest, "precision"),
        "exclude_seen": value(newest, "exclude_seen").replace("false", ""),
        "fields": value(newest, "fields").replace("text", "").replace("both", ""),
        "force": "true",
    }
    return next_command("evaluate", options)


def any_cell(cells: pd.DataFrame, *, models: Sequence[str] = (), datasets: Sequence[str] = ()) -> bool:
    """Tell whether there is a perturbed cell of the models and data sets, or of any where none are named."""
    cells = _asked(cells, models, datasets)
    return not cells.empty and bool((cells["perturbation"] != CLEAN).any())


def select_studies(runs: pd.DataFrame, *, models: Sequence[str] = (), datasets: Sequence[str] = ()) -> pd.DataFrame:
    """Return the runs of the other studies to compare: for each data set those that were measured like the newest one.

    What must agree, where it is there, is said by the record of the study.

    Raises:
        TrackingError: it cannot be told which of two models of one name counts.
    """
    runs = _asked(runs, models, datasets)
    for param in map(str, runs.columns):
        kinds = [kind for kind, study in STUDIES.items() if any(fnmatchcase(param, one) for one in study.agree)]
        asked = runs["kind"].isin(kinds) & runs[param].notna()
        if not asked.any():
            continue
        odd = asked & (runs[param] != runs.groupby(["kind", "dataset"])[param].transform("last"))
        for row in runs[odd].itertuples():
            log.info(
                "%s of %s on %s was measured on other texts than the newest, or in another way (%s), and is left out",
                row.kind,
                row.model,
                row.dataset,
                param,
            )
        runs = runs[~odd]
    return by_version(runs, "kind")


def write_comparison(
    tracker: "MlflowTracker",
    cells: pd.DataFrame,
    folder: Path,
    command: str,
    *,
    significance: bool,
    figures: bool,
    margin: float = MARGIN,
    table_prob: float | None = None,
    studies: pd.DataFrame | None = None,
) -> Published:
    """Write tables, figures and the page into a folder and to the run, and a summary run for each model and data set.

    Args:
        tracker: of the run of the comparison.
        cells: from `select`; there may be none.
        folder: made if it does not exist.
        command: that makes the comparison again.
        significance: compute intervals, tests and weak spots from the stored outcomes.
        figures: draw them.
        margin: accuracies that differ by less are called alike.
        table_prob: of the tables of one dose; None: the largest.
        studies: from `select_studies`.
    """
    beside = () if studies is None else study_tables(studies, STUDIES)
    if cells.empty:
        with staged(tracker, folder, FILES) as staging:
            _write_studies(beside, staging)
        return Published((), beside, cells, None)
    found = Comparison.of(cells)
    dose = dose_of_paper(found.summary, table_prob)
    stacked = read_stacked(cells) if significance else {}
    evidence, edited = weigh(stacked, margin=margin), doses(found.summary, stacked)
    tables = tuple(
        with_majority(with_edited(paper_table(found, metric, evidence), edited), evidence.models) for metric in TABLES
    )
    told = report(found, evidence, tables, command)
    with staged(tracker, folder, FILES) as staging:
        (staging / "report.html").write_text(page(told), encoding="utf-8")
        write_csv(detail_table(cells), staging / "cells.csv")
        write_csv(found.summary, staging / "summary.csv")
        write_csv(dose_area(cells), staging / "dose_area.csv")
        for table in tables:
            _write(table, staging, f"table_{table.metric}")
            _write(at_dose(table, dose), staging, f"paper_table_{table.metric}")
        _write(told.verdict.table, staging, "verdict")
        for table in (*dose_tables(found, edited), *pair_tables(evidence, found.signature)):
            _write(table, staging, f"table_{slug(table.metric)}")
        _write_studies(beside, staging)
        frames = {name: getattr(evidence, name) for name in EVIDENCE} | {"tests": _tests(evidence)}
        frames |= beside_evidence(stacked)
        for name, frame in frames.items():
            if not frame.empty:
                write_csv(frame, staging / f"{name}.csv")
        if figures:
            from crt.reporting.figures import write_figures

            write_figures(found.summary, staging, *DRAWN, intervals=evidence.intervals)
    tracker.log_tags({"crt.signature": found.signature})
    tracker.log_note(f"{told.verdict.markdown()}\n{tables[0].markdown()}")
    for (model, dataset, split), group in cells.groupby(["model", "dataset", "split"]):
        one = Comparison.of(group)
        note = paper_table(one, TABLES[0]).markdown()
        keys = {"model": str(model), "dataset": str(dataset), "split": str(split)}
        tracker.replace_summary(f"{model} on {dataset} ({split})", keys, headline(one), note)
    return Published(tables, beside, cells, told.verdict)


def _tests(evidence: Evidence) -> pd.DataFrame:
    """Return the tests over the seeds, then those of each seed."""
    if evidence.tests.empty:
        return evidence.tests
    both = {"sign flips, mean over the seeds": evidence.tests, "McNemar, one seed": evidence.seeds}
    table = pd.concat([rows.assign(test=test) for test, rows in both.items()], ignore_index=True)
    return table.astype(dict.fromkeys(("seed", "seeds", "family"), "Int64"))


def _write_studies(tables: Sequence[PaperTable], folder: Path) -> None:
    for table in tables:
        _write(table, folder, f"table_{slug(table.metric)}")


def _write(table: PaperTable, folder: Path, stem: str) -> None:
    write_csv(table.csv(), folder / f"{stem}.csv")
    (folder / f"{stem}.md").write_text(table.markdown(), encoding="utf-8")
    (folder / f"{stem}.tex").write_text(table.latex(), encoding="utf-8")
