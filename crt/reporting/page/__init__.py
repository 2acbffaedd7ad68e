"""The page: one comparison as one HTML file that asks nothing of a network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

import pandas as pd

from crt.reporting.page import sections, tested
from crt.reporting.page.examples import browser
from crt.reporting.page.markup import Html, escaped, joined, tag
from crt.reporting.table import PaperTable
from crt.reporting.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Report:
    """What a page is made from; a frame that is empty was not asked for, and its section says so."""

    title: str
    """Data sets and models."""
    verdict: Verdict
    """What was found."""
    tables: tuple[PaperTable, ...]
    """A value that ends in * is significant."""
    summary: pd.DataFrame
    """From `summary_table`."""
    intervals: pd.DataFrame
    """model, dataset, perturbation, prob, metric, value, low, high: 95 % bootstrap intervals over texts."""
    tests: pd.DataFrame
    """Clean against perturbed: the columns of `Evidence.tests`."""
    duels: pd.DataFrame
    """Model against model: the columns of `Evidence.duels`."""
    pairs: pd.DataFrame
    """Means over perturbations and probs: the columns of `Evidence.pairs`."""
    slices: pd.DataFrame
    """model, dataset, perturbation, prob, slice, group, n, drop, rest, difference, low, high, p, p_holm, significant, small."""
    examples: Sequence[Mapping[str, object]]
    """model, dataset, perturbation, prob, seed, and what `example_pairs` gives."""
    leakage: pd.DataFrame
    """dataset, model, num_examples, seen_in_training_rate, trained_on_rate."""
    notes: tuple[str, ...]
    """How to read the statistics, in sentences."""
    measured: Mapping[str, str]
    """How it was measured: signature, versions, command, date."""


def page(report: Report) -> str:
    """Return a report as one HTML page; the same report gives the same page."""
    summary, tests = report.summary, report.tests
    parts = {
        "glance": ("At a glance", joined([sections.glance(summary), sections.found(report.verdict.table)])),
        "tables": ("Results", joined([sections.paper_tables(report.tables), tested.tests_table(tests)])),
        "heat": ("Which model, which perturbation", sections.heat(summary, tests)),
        "curves": ("Dose and damage", sections.curves(summary, report.intervals)),
        "slices": ("Where it breaks", tested.slices(report.slices)),
        "duels": ("Model against model", tested.duels(report.duels, report.pairs, len(set(summary["model"])))),
        "browser": ("Examples", browser(report.examples)),
        "doses": ("Doses and coverage", sections.doses(summary)),
        "shift": ("Shift and calibration", sections.shift(summary)),
        "leakage": ("Leakage", sections.leakage(report.leakage)),
        "notes": ("How to read the statistics", tag("ul", *(tag("li", text) for text in report.notes))),
        "measured": ("How it was measured", sections.measured(report.measured)),
    }
    if not report.notes:
        del parts["notes"]
    first, *others = report.verdict.sentences or ("",)
    header = [
        tag("h1", report.title),
        tag("p", first, class_="verdict"),
        tag("ul", *(tag("li", text) for text in others), class_="findings"),
        sections.tiles(summary, tests, report.pairs),
    ]
    links = (tag("li", tag("a", title, href=f"#{key}")) for key, (title, _) in parts.items())
    main = (tag("section", tag("h2", title), body, id=key) for key, (title, body) in parts.items())
    return Template(_file("page.html")).substitute(
        title=escaped(report.title),
        css=Html(_file("page.css")),
        js=Html(_file("page.js")),
        header=joined(header, "\n"),
        contents=tag("ol", *links),
        main=joined(main, "\n"),
    )


def _file(name: str) -> str:
    return files("crt.reporting.page").joinpath(name).read_text(encoding="utf-8")
