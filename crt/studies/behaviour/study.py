"""Behaviour tests: does a model do what hand-written cases expect, and did a new version break or mend some?"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from crt.catalogue import Task
from crt.errors import DataError, TrackingError
from crt.models import PredictOptions, load_predictor
from crt.perturbations import Loaded
from crt.perturbations.engine import find_sites, perturb_all
from crt.records import Example, Input
from crt.reporting.markdown import Markdown, line
from crt.reporting.markdown import table as markdown
from crt.reporting.spreadsheet import bare, write_sheet
from crt.scoring.summary import DASH
from crt.studies.answers import model_params, resolved
from crt.studies.behaviour.scoring import (
    FAILED,
    NO_ANSWER,
    as_answers,
    changes,
    given_answers,
    judge,
    pass_rates,
    report,
)
from crt.studies.outputs import Files, formats
from crt.studies.results import staged
from crt.suites import Case, Suite
from crt.tasks import Source, seen_in_training

if TYPE_CHECKING:
    from accelerate import Accelerator

    from crt.tracking.runs import MlflowTracker

log = logging.getLogger(__name__)

REPORT = "behavior_report.csv"
"""The report, a row for each case."""

FILES = Files(
    "behaviour",
    {
        REPORT: "what the model said of each case",
        "behaviour.csv": "pass rates by capability",
        "behaviour.md": "pass rates by type and capability, and the first failed cases",
        **formats("behaviour", "pass rates by capability", ".svg", ".png"),
    },
)
CHANGES = Files(
    "behaviour compare",
    {
        "behaviour_changes.csv": "the cases that one run passes and another fails, or that both fail",
        "behaviour_changes.md": "how many of them there are, by capability",
    },
)

SHOWN = 20
"""Failed cases that are shown in the summary."""


@dataclass(frozen=True, slots=True)
class BehaviourResult:
    """How a model did on a suite."""

    report: pd.DataFrame
    """Columns of `scoring.REPORT`, a row for each case."""
    params: dict[str, str]
    """What was tested, and how."""
    seen: int | None
    """Texts of the suite that also stand in the training split; None where that is unknown."""

    @property
    def metrics(self) -> dict[str, float]:
        """Passed and total by type, pass rates by capability, what does not count, and the number of cases; an undefined rate is absent."""
        types = pass_rates(self.report, "type").set_index("type")
        capabilities = pass_rates(self.report, "capability").set_index("capability")["pass_rate"]
        found = {"num_examples": float(len(self.report))}
        for column in ("passed", "total", "pass_rate"):
            found |= {f"{str(name).lower()}_{column}": float(v) for name, v in types[column].dropna().items()}
        found |= {f"pass_rate_{name}": float(value) for name, value in capabilities.dropna().items()}
        found["execution_failures"] = float((self.report["status"] == NO_ANSWER).sum())
        return found if self.seen is None else {**found, "seen_in_training": float(self.seen)}


def with_perturbations(suite: Suite, loaded: Sequence[Loaded], *, prob: float, seed: int) -> Suite:
    """Add, for each perturbation, an INV case for each MFT and INV case whose original it changes."""
    if loaded and suite.scored:
        raise DataError(f"{suite.name} gives scores; the texts that perturbations make have none: give a model")
    sources = [case for case in suite.cases if case.type != "DIR" and not case.scores]
    examples = [Example(f"{suite.name}/suite/{case.id}", case.original, 0) for case in sources]
    added = []
    for perturbation in loaded:
        name = perturbation.perturbation.name
        inputs = perturb_all(find_sites(examples, perturbation.find), name=name, prob=prob, seed=seed).inputs
        added += [
            Case(
                f"{case.id}~{name}", "INV", name, case.original, (changed,),
                disputed=case.disputed, reason=f"{name} at {prob:g} does not change what is meant",
            )
            for case, changed in zip(sources, inputs, strict=True)
            if changed != case.original
        ]  # fmt: skip
    return replace(suite, cases=(*suite.cases, *added))


def run(
    suite: Suite,
    task: Task,
    source: Source,
    spec: str,
    options: PredictOptions,
    accelerator: "Accelerator",
    tracker: "MlflowTracker | None",
) -> BehaviourResult:
    """Test a model, or the scores that the suite gives.

    Args:
        suite: the cases.
        task: its labels are those of the suite.
        source: where the training split is looked for.
        spec: of the model; empty: the best that is registered for the task.
        options: how to predict.
        accelerator: device and processes; every process must call this.
        tracker: None on all processes but the main one.
    """
    params = {
        "dataset": task.name,
        "suite_name": suite.name,
        "suite_version": suite.version,
        "suite_digest": suite.digest,
    }
    if suite.scored:
        given = [given_answers(case, task.labels) for case in suite.cases]
        rows = [judge(case, before, after) for case, (before, *after) in zip(suite.cases, given, strict=True)]
        return BehaviourResult(report(rows), params | {"model": f"scores of {suite.name}"}, None)
    model = resolved(spec, task, accelerator, tracker)
    predictor = load_predictor(model.spec, task, accelerator, options, source)
    inputs = list(dict.fromkeys(value for case in suite.cases for value in (case.original, *case.changed)))
    answers = as_answers(inputs, task.labels, predictor.predict(inputs).probabilities.tolist())
    rows = [judge(case, answers[case.original], [answers[value] for value in case.changed]) for case in suite.cases]
    seen = _seen(inputs, task, source)
    params |= {"model": predictor.name} | model_params(predictor, model.source)
    return BehaviourResult(report(rows), params, seen)


def _seen(inputs: Sequence[Input], task: Task, source: Source) -> int | None:
    """Return how many texts of the suite stand in the training split; the suite needs no data, so it may be out of reach."""
    try:
        known = seen_in_training(task, source)
    except DataError as error:
        log.info("whether texts of the suite stand in the training split is not known: %s", error)
        return None
    return None if known is None else sum(value in known for value in inputs)


def publish(tracker: "MlflowTracker", findings: BehaviourResult, folder: Path, *, figures: bool) -> str:
    """Write report, tables and figure into a folder and to the run; return the summary in Markdown."""
    text = summary(findings)
    capabilities = pass_rates(findings.report, "capability")
    with staged(tracker, folder, FILES) as staging:
        write_sheet(findings.report, staging / REPORT)
        write_sheet(capabilities, staging / "behaviour.csv")
        (staging / "behaviour.md").write_text(text, encoding="utf-8")
        if figures:
            from crt.reporting.drawing import save_as
            from crt.reporting.study_figures import pass_bars

            figure = pass_bars(capabilities, f"{findings.params['model']} on the {findings.params['suite_name']} suite")
            save_as(figure, staging / "behaviour", ".svg", ".png")
    tracker.log_study(findings.params, findings.metrics, text)
    return text


def summary(findings: BehaviourResult) -> str:
    """Return pass rates by type and capability, and the first failed cases, in Markdown."""
    parts = [_rates(pass_rates(findings.report, by), by) for by in ("type", "capability")]
    failed = findings.report[findings.report["status"] == FAILED]
    if findings.seen is not None:
        parts.append(f"{findings.seen} texts of the suite also stand in the training split.\n")
    if len(failed):
        names = ", ".join(failed["id"].iloc[:SHOWN]) + (
            f" and {len(failed) - SHOWN} more" if len(failed) > SHOWN else ""
        )
        rows = [
            [
                str(row.id),
                _line(row.original),
                _line(row.changed),
                _p(row.before_p),
                _p(row.after_p),
                str(row.expected),
            ]
            for row in failed.iloc[:SHOWN].itertuples()
        ]
        header = tuple(map(Markdown, ("id", "original", "changed", "before_p", "after_p", "expected")))
        parts += [f"{line(f'failed: {names}')}\n", markdown(header, rows, texts=3)]
    return "\n".join(parts)


def _rates(rates: pd.DataFrame, by: str) -> str:
    rows = [
        [str(name), f"{passed}/{total}", DASH if pd.isna(rate) else f"{100 * rate:.0f} %", *map(str, others)]
        for name, passed, total, rate, *others in rates.itertuples(index=False)
    ]
    return markdown((by, "passed", "pass rate", *rates.columns[4:]), rows)


def _line(text: Any) -> str:
    return "" if pd.isna(text) else str(text).replace("\n", " / ")


def _p(value: Any) -> str:
    return "" if pd.isna(value) else f"{value:.3f}"


def compared(tracker: "MlflowTracker", runs: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what changed from one run to another: counts by capability, and the cases.

    Raises:
        TrackingError: a run is no behaviour run, or they tested different suites.
    """
    stored = {run: tracker.stored(run, "behaviour") for run in runs}
    marks = {
        run: f"{p.get('suite_name', '?')} {p.get('suite_version', '')} ({p.get('suite_digest', '')})"
        for run, p in stored.items()
    }
    if len({p.get("suite_digest") for p in stored.values()}) > 1:
        named = "; ".join(f"{run}: {mark}" for run, mark in marks.items())
        raise TrackingError(f"the runs tested different suites ({named}); run the older model on the newer suite")
    old, new = (tracker.table(run, REPORT).map(bare) for run in runs)
    cases = changes(old, new)
    counts = pd.crosstab(cases["capability"], cases["change"])
    counts = counts.reindex(columns=["fixed", "newly broken", "still failing"], fill_value=0)
    return counts.reset_index(), cases


def publish_comparison(tracker: "MlflowTracker", counts: pd.DataFrame, cases: pd.DataFrame, folder: Path) -> str:
    """Write a comparison into a folder and to the run; return it in Markdown."""
    total = ["all", *(str(int(counts[name].sum())) for name in counts.columns[1:])]
    text: str = markdown(
        list(counts.columns), [*(list(map(str, row)) for row in counts.itertuples(index=False)), total]
    )
    broken = cases[cases["change"] == "newly broken"]
    if len(broken):
        text += f"\n{line('newly broken: ' + ', '.join(broken['id']))}\n"
    with staged(tracker, folder, CHANGES) as staging:
        write_sheet(cases, staging / "behaviour_changes.csv")
        (staging / "behaviour_changes.md").write_text(text, encoding="utf-8")
    tracker.log_metrics({name.replace(" ", "_"): float(counts[name].sum()) for name in counts.columns[1:]})
    tracker.log_note(text)
    return text
