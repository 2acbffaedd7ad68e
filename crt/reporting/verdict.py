"""A comparison in words: what a reader should take home, and how to read the numbers behind it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from crt.reporting.markdown import Markdown, bullets
from crt.reporting.table import WEAK, PaperTable, correction, count_of
from crt.scoring.contrasts import PERTURBED_ACC
from crt.scoring.evidence import Evidence
from crt.scoring.stacked import ALL
from crt.scoring.statistics import ALPHA, LEVEL, POWER, detectable_difference
from crt.scoring.summary import DASH, NO_EFFECT, Comparison, no_effect
from crt.scoring.weak_spots import SMALLEST

NAMED = 3
"""Of a longer list so many are named, and the others counted."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a comparison found."""

    sentences: tuple[str, ...]
    """The largest drop, which models are weak, and for each data set who is better; most important first."""
    table: PaperTable
    """A row for each model on each data set."""

    def markdown(self) -> Markdown:
        """Return sentences and table in Markdown."""
        return Markdown(f"{bullets(self.sentences)}\n{self.table.markdown()}")


def verdict(comparison: Comparison, evidence: Evidence) -> Verdict:
    """Return what a comparison found.

    Args:
        comparison: what is compared.
        evidence: where it is empty, nothing is called significant and no interval is given.
    """
    summary = comparison.summary
    idle = no_effect(summary["changed_rate_mean"])
    effective = replace(comparison, summary=summary[~idle])
    told = (*_largest(effective, evidence), *_weak(evidence), *_ranked(evidence), *_without_effect(summary, idle))
    return Verdict(told, _table(effective, evidence))


def interval(low: float, high: float) -> str:
    """Return an interval of fractions in points."""
    return f"{100 * low:z.1f} to {100 * high:z.1f}"


def _without_effect(summary: pd.DataFrame, idle: "pd.Series[bool]") -> Iterator[str]:
    """Say for each data set which perturbations changed no text."""
    for dataset, rows in summary.groupby("dataset", sort=False):
        names = []
        for perturbation, doses in rows.groupby("perturbation", sort=False):
            probs = sorted(set(doses.loc[idle[doses.index], "prob"]))
            every = len(probs) == doses["prob"].nunique()
            if probs:
                names.append(str(perturbation) + ("" if every else f" at prob {', '.join(f'{p:g}' for p in probs)}"))
        if names:
            yield f"On {dataset}, {'; '.join(names)}: {NO_EFFECT}, no text was changed."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def p_said(p: float) -> str:
    """Return a p-value in words; below .001 the resamples support no number."""
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".")


def _largest(comparison: Comparison, evidence: Evidence) -> Iterator[str]:
    rows = comparison.summary
    weak = [key in evidence.weak for key in zip(rows["dataset"], rows["model"], strict=True)]
    drops = rows.loc[[not one for one in weak], "acc_drop_mean"].astype(float).dropna()
    if drops.empty:
        return
    worst = rows.loc[drops.index].to_dict("records")[int(drops.to_numpy().argmax())]
    if drops.max() <= 0:
        yield "No perturbation lowers the accuracy of any model."
        return
    span = _span(evidence, worst["dataset"], worst["model"], worst["perturbation"], worst["prob"])
    before, after = (100 * float(worst[f"{name}_mean"]) for name in ("clean_acc", "perturbed_acc"))
    yield (
        f"The largest drop is {100 * drops.max():.1f} points{span and f' ({_percent(LEVEL)} interval {span})'}: {worst['model']} on "
        f"{worst['dataset']}, from {before:.1f} to {after:.1f} %, under {worst['perturbation']} at prob {worst['prob']:g}."
    )


def _weak(evidence: Evidence) -> Iterator[str]:
    if evidence.weak:
        said = [f"{model} on {dataset} ({why})" for (dataset, model), why in evidence.weak.items()]
        yield f"Weak, and outside all tests, since a model that knows little has little to lose: {_listed(said)}."


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _ranked(evidence: Evidence) -> Iterator[str]:
    """Say for each data set which models differ in accuracy, over all that both were measured at."""
    if evidence.pairs.empty:
        return
    pairs = evidence.pairs[evidence.pairs["metric"] == PERTURBED_ACC]
    for dataset, rows in pairs.groupby("dataset", sort=False):
        widest = rows.iloc[int(rows["difference"].abs().to_numpy().argmax())]
        if len(rows) == 1:
            yield f"On {dataset}, {_pair(widest, evidence.margin)}."
            continue
        alike = int((rows["alike"] & ~rows["significant"]).sum())
        yield (
            f"On {dataset}, {int(rows['significant'].sum())} of {len(rows)} pairs of models differ significantly in mean "
            f"accuracy, {alike} are alike within {_points(evidence.margin)}. The widest apart: {_pair(widest, evidence.margin)}."
        )


def _pair(row: pd.Series, margin: float) -> str:
    """Say how two models differ in mean accuracy over perturbations and probs."""
    first, second = (row["model"], row["other"]) if row["difference"] > 0 else (row["other"], row["model"])
    size = abs(row["difference"])
    span = interval(*((row["low"], row["high"]) if row["difference"] > 0 else (-row["high"], -row["low"])))
    if row["significant"]:
        return f"{first} is {100 * size:.1f} points above {second} (interval {span}, {p_said(row['p_holm'])})"
    same = f", alike within {_points(margin)}" if row["alike"] else ""
    return f"no significant difference between {first} and {second} ({100 * size:.1f} points, interval {span}{same})"


def _points(margin: float) -> str:
    return f"{100 * margin:g} point{'s' * (margin != 0.01)}"


def _span(evidence: Evidence, dataset: object, model: object, perturbation: object, prob: object) -> str:
    """Return the interval of a drop; nothing without one."""
    rows = evidence.intervals
    if rows.empty:
        return ""
    rows = rows[(rows["dataset"] == dataset) & (rows["model"] == model) & (rows["metric"] == "acc_drop")]
    rows = rows[(rows["perturbation"] == perturbation) & (rows["prob"] == prob)]
    return "" if rows.empty else interval(*rows.iloc[0][["low", "high"]])


TOLD: Mapping[str, str] = {
    "significant/open/none": "drops that are significant, that only the interval keeps above 0, and the others",
    "no significant drop": "at no prob, with the interval at the largest; ≈: it lies within the margin on both sides of 0",
    "breaks most": "the slice that differs most clearly from the rest, and the drop outside it",
}
"""The columns of the table of a verdict that need tests, and what stands there."""


def _table(comparison: Comparison, evidence: Evidence) -> PaperTable:
    summary, models = comparison.summary, comparison.summary.groupby("dataset")["model"].transform("nunique")
    where = summary.groupby(["dataset", "perturbation", "prob"])["model"]
    shared = summary[where.transform("nunique") == models]
    means = shared.groupby(["dataset", "model"])["acc_drop_mean"].mean()
    whole = len(shared) == len(summary)
    groups = list(summary.groupby(["dataset", "model"], sort=False))
    lines = [
        _row(str(d), str(m), rows, comparison, evidence, means.get((d, m)), whole=whole) for (d, m), rows in groups
    ]
    header = [title for title in lines[0] if any(line[title] != DASH for line in lines)] if lines else []
    over = "all perturbations and probs" if whole else "what all models were measured at"
    said = [f"Drops in points of accuracy, with {_percent(LEVEL)} intervals; the mean is over {over}."]
    said += [f"{title}: {text}." for title, text in TOLD.items() if title in header]
    if not evidence.tests.empty:
        said.append(
            f"p < {ALPHA} {correction(evidence.tests, 'tests of a model on a data set')}, margin {_points(evidence.margin)}."
        )
    if evidence.weak:
        said.append(f"{WEAK.strip()}: weak, outside all tests.")
    rows = tuple(tuple(line[title] for title in header) for line in lines)
    return PaperTable("verdict", tuple(header), rows, frozenset(), " ".join(said), comparison.signature)


def _row(
    dataset: str,
    model: str,
    rows: pd.DataFrame,
    found: Comparison,
    evidence: Evidence,
    mean: float | None,
    *,
    whole: bool,
) -> dict[str, str]:
    """Return what is said of a model on a data set, by column."""

    def of(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[(frame["dataset"] == dataset) & (frame["model"] == model)] if not frame.empty else frame

    drops = rows["acc_drop_mean"].astype(float).dropna()
    worst = rows.loc[drops.index].to_dict("records")[int(drops.to_numpy().argmax())] if len(drops) else None
    span = "" if worst is None else _span(evidence, dataset, model, worst["perturbation"], worst["prob"])
    majority, tests = of(evidence.models), of(evidence.tests)
    if not tests.empty:
        tests = tests.merge(rows[["perturbation", "prob"]])
    return {
        "data set": dataset,
        "model": f"{model}{WEAK}" if (dataset, model) in evidence.weak else model,
        "n": count_of(rows),
        "clean acc": _number(found.clean.get((dataset, model))),
        "majority class": _number(majority["majority"].iloc[0]) if len(majority) else DASH,
        "mean drop": _number(mean, _span(evidence, dataset, model, ALL, 0.0) if whole else ""),
        "largest drop": DASH if worst is None else _number(float(drops.max()), span),
        "under": f"{worst['perturbation']} {worst['prob']:g}" if worst is not None and drops.max() > 0 else DASH,
        **dict(zip(TOLD, (*_tested(tests), _weakest(of(evidence.slices))), strict=True)),
    }


def _number(value: float | None, span: str = "") -> str:
    if value is None or pd.isna(value):
        return DASH
    return f"{100 * value:z.1f}{span and f' ({span})'}"


def _tested(tests: pd.DataFrame) -> tuple[str, str]:
    """Return how many drops are significant, open and neither, and the perturbations under which there is none."""
    if tests.empty:
        return DASH, DASH
    sure = tests["significant"] & (tests["drop"] > 0)
    open_ = ~tests["significant"] & (tests["low"] > 0)
    counts = f"{sure.sum()}/{open_.sum()}/{(~sure & ~open_).sum()}"
    none = ~(sure | open_).groupby(tests["perturbation"]).transform("any")
    at_most = tests[none].sort_values("prob", kind="stable").drop_duplicates("perturbation", keep="last").sort_index()
    names = [
        f"{row['perturbation']} ({interval(row['low'], row['high'])}{' ≈' * row['alike']})"
        for _, row in at_most.iterrows()
    ]
    return counts, _listed(names) or DASH


def _weakest(slices: pd.DataFrame) -> str:
    if slices.empty:
        return DASH
    rows = slices[slices["significant"] & (slices["difference"] > 0) & (slices["drop"] > 0)]
    if rows.empty:
        return DASH
    first = rows.iloc[0]
    under = "all perturbations" if first["perturbation"] == ALL else first["perturbation"]
    return f"{first['slice']}: {first['group']}, {100 * first['drop']:.1f} against {100 * first['rest']:z.1f} under {under}"


def notes(evidence: Evidence) -> tuple[str, ...]:
    """Return how the statistics of a comparison are to be read."""
    tests = evidence.tests
    if evidence.intervals.empty:
        return ("Intervals and tests were not asked for: significance=true computes them from the stored outcomes.",)
    bootstrap = (
        f"Intervals are {_percent(LEVEL)} bootstrap intervals over texts: examples with the same text (for pairs: the same "
        "premise) are drawn together, each with all its seeds. They are not corrected for their number: where one excludes 0 and the "
        "test is not significant, a drop is open."
    )
    spread = (
        "The ± of a table is over seeds and says how much the draws of the edits, or the trainings, matter; an interval is "
        "over texts and says how much the choice of the test set matters."
    )
    slices = (
        f"Slices have a table for each model and data set; those with fewer than {SMALLEST} texts inside or outside are not "
        "tested. Slices overlap: one may show what another causes."
    )
    alike = (
        f"Alike, or ≈, is what an interval within {_points(evidence.margin)} of 0 on both sides shows (margin=). A drop that is "
        "neither significant nor alike is not shown to be absent."
    )
    if tests.empty:
        return (bootstrap, spread, slices)
    significant = (
        "A row is called significant if the sign-flip test of the mean over seeds, summed within texts (for pairs: premises), "
        f"gives p < {ALPHA} {correction(tests, 'tests of a model on a data set')}"
        + (
            ""
            if evidence.duels.empty
            else f", or {correction(evidence.duels, 'duels of a data set, means at a prob among them')}"
        )
        + "."
    )
    return (bootstrap, spread, significant, alike, slices, *_detectable(tests))


def _detectable(tests: pd.DataFrame) -> Iterator[str]:
    """Say for each data set which drop its tests can find."""
    for dataset, rows in tests.groupby("dataset", sort=False):
        errors, family = rows.loc[rows["error"] > 0, "error"], int(rows["family"].max())
        if errors.empty:
            continue
        least = detectable_difference(float(errors.median()), family)
        yield (
            f"On {dataset} ({rows['n'].max():,} texts) the test of the median perturbation finds a drop of {100 * least:.1f} points "
            f"with {_percent(POWER)} power, if the others of the {family} tests of a model find nothing."
        )
