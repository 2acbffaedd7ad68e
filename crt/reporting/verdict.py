"""A comparison in words: what a reader should take home, and how to read the numbers behind it."""

from collections.abc import Collection, Iterator

import numpy as np
import pandas as pd

from crt.scoring.evidence import Evidence
from crt.scoring.stacked import ALL
from crt.scoring.statistics import ALPHA, LEVEL, POWER, detectable_difference
from crt.scoring.summary import NO_EFFECT, Comparison, no_effect
from crt.scoring.weak_spots import SMALLEST


def verdict(comparison: Comparison, evidence: Evidence) -> tuple[str, ...]:
    """Return what a comparison found: the largest drop, then a paragraph for each model on each data set, then their ranks.

    Args:
        comparison: what is compared.
        evidence: where it is empty, nothing is called significant and no interval is given.
    """
    idle = no_effect(comparison.summary["changed_rate_mean"])
    summary = comparison.summary[~idle]
    found, paragraphs = [], []
    for (dataset, model), whole in comparison.summary.groupby(["dataset", "model"], sort=False):
        rows = whole[~idle[whole.index]]
        drops = rows["acc_drop_mean"].to_numpy(dtype=float)
        before = comparison.clean.get((dataset, model))
        sentences = [*_without_effect(whole, rows)]
        if before is not None and not np.isnan(drops).all():
            worst = rows.iloc[int(np.nanargmax(drops))]
            found.append((float(np.nanmax(drops)), f"{model} on {dataset}", worst))
            sentences = [*_of_model(str(dataset), str(model), worst, set(rows["perturbation"]), evidence), *sentences]
        if sentences:
            paragraphs.append(" ".join(sentences))
    ranks = [
        s for name, rows in summary.groupby("dataset", sort=False) for s in _ranked(rows, evidence.duels, str(name))
    ]
    if len(found) < 2:
        return (*paragraphs, *ranks)
    drop, who, worst = max(found, key=lambda one: one[0])
    if drop <= 0:
        return ("No perturbation lowers the accuracy of any model.", *paragraphs, *ranks)
    where = f"{who}, under {worst['perturbation']} at prob {worst['prob']:g}"
    return (f"The largest drop is {100 * drop:.1f} points: {where}.", *paragraphs, *ranks)


def _of_model(
    dataset: str, model: str, worst: pd.Series, effective: Collection[str], evidence: Evidence
) -> Iterator[str]:
    before, after = float(worst["clean_acc_mean"]), float(worst["perturbed_acc_mean"])
    if after >= before:
        yield f"No perturbation lowers the accuracy of {model} on {dataset} ({100 * before:.1f} %)."
        return
    span = _span(evidence.intervals, dataset, model, str(worst["perturbation"]), float(worst["prob"]))
    yield (
        f"{model} on {dataset} falls from {100 * before:.1f} to {100 * after:.1f} % under {worst['perturbation']} at prob "
        f"{worst['prob']:g}: by {100 * worst['acc_drop_mean']:.1f} points{span}."
    )
    yield from _harmless(evidence.tests, dataset, model, effective)
    yield from _weakest(evidence.slices, dataset, model)


def _without_effect(whole: pd.DataFrame, effective: pd.DataFrame) -> Iterator[str]:
    """Yield which perturbations changed no text, from all rows of a model on a data set and those that had an effect."""
    names = []
    for perturbation, rows in whole.groupby("perturbation", sort=False):
        probs = sorted(set(rows["prob"]) - set(effective.loc[effective["perturbation"] == perturbation, "prob"]))
        if probs:
            every = len(probs) == rows["prob"].nunique()
            names.append(str(perturbation) if every else f"{perturbation} at prob {', '.join(f'{p:g}' for p in probs)}")
    if names:
        model, dataset = whole.iloc[0][["model", "dataset"]]
        yield f"{'; '.join(names)}: {NO_EFFECT} for {model} on {dataset}, no text was changed."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _span(intervals: pd.DataFrame, dataset: str, model: str, perturbation: str, prob: float) -> str:
    if intervals.empty:
        return ""
    rows = intervals[(intervals["dataset"] == dataset) & (intervals["model"] == model) & (intervals["prob"] == prob)]
    row = rows[(rows["perturbation"] == perturbation) & (rows["metric"] == "acc_drop")].iloc[0]
    return f" ({_percent(LEVEL)} interval {100 * row['low']:.1f} to {100 * row['high']:.1f})"


def _harmless(tests: pd.DataFrame, dataset: str, model: str, effective: Collection[str]) -> Iterator[str]:
    if tests.empty:
        return
    rows = tests[(tests["dataset"] == dataset) & (tests["model"] == model)]
    found = rows.groupby("perturbation", sort=False)["significant"].any()
    names = [str(name) for name, significant in found.items() if not significant and name in effective]
    if names:
        yield f"No drop that can be told from chance: {', '.join(names)}."


def _weakest(slices: pd.DataFrame, dataset: str, model: str) -> Iterator[str]:
    if slices.empty:
        return
    rows = slices[(slices["dataset"] == dataset) & (slices["model"] == model) & slices["significant"]]
    rows = rows[(rows["difference"] > 0) & (rows["drop"] > 0)]
    if rows.empty:
        return
    first = rows.iloc[0]
    under = "all perturbations together" if first["perturbation"] == ALL else first["perturbation"]
    yield (
        f"It breaks most clearly where {first['slice']} is “{first['group']}” (under {under}): {100 * first['drop']:.1f} "
        f"points are lost there, {_lost(first['rest'])} elsewhere."
    )


def _lost(points: float) -> str:
    return f"{100 * points:.1f}" if points >= 0 else f"{-100 * points:.1f} gained"


def _ranked(summary: pd.DataFrame, duels: pd.DataFrame, dataset: str) -> Iterator[str]:
    models = summary["model"].nunique()
    shared = summary[summary.groupby(["perturbation", "prob"])["model"].transform("nunique") == models]
    drops = shared.groupby("model", sort=False)["acc_drop_mean"].mean().sort_values()
    if len(drops) < 2:
        return
    which = "all perturbations and probs" if len(shared) == len(summary) else "what all models were measured at"
    listed = ", ".join(f"{model} {100 * drop:.1f}" for model, drop in drops.items())
    yield f"Mean drop on {dataset} over {which}, in points: {listed}."
    here = duels[duels["dataset"] == dataset] if not duels.empty else duels
    if not here.empty:
        ties = int((here["outcome"] == "tie").sum())
        yield f"Of {len(here)} comparisons of two models on {dataset}, {len(here) - ties} tell them apart."


def notes(tests: pd.DataFrame, counts: dict[str, int]) -> tuple[str, ...]:
    """Return how the statistics of a comparison are to be read.

    Args:
        tests: clean against perturbed.
        counts: examples of each data set.
    """
    if tests.empty:
        return ("Intervals and tests were not asked for: significance=true computes them from the stored outcomes.",)
    bootstrap = (
        f"Intervals are {_percent(LEVEL)} bootstrap intervals over texts: examples with the same text (for pairs: the same "
        "premise) are drawn together, each with all its seeds."
    )
    spread = (
        "The ± of a table is over seeds and says how much the draws of the edits, or the trainings, matter; an interval is "
        "over texts and says how much the choice of the test set matters."
    )
    significant = (
        "A row is called significant if the exact McNemar test finds it in every one of its seeds (the largest p counts) "
        f"and p < {ALPHA} after Holm's correction for all tests of the table."
    )
    slices = (
        f"Slices have a table for each model and data set; those with fewer than {SMALLEST} texts inside or outside are not "
        "tested. Slices overlap: one may show what another causes."
    )
    found = [bootstrap, spread, significant, slices]
    for dataset, rows in tests.groupby("dataset", sort=False):
        count = counts[str(dataset)]
        differing = float(((rows["lost"] + rows["gained"]) / count).median())
        least = detectable_difference(count, differing)
        finds = f"finds a drop of {100 * least:.1f} points" if least is not None else "could not find any drop"
        found.append(
            f"On {dataset} ({count} texts) the median perturbation changes whether {100 * differing:.1f} % of the answers are "
            f"right; at that rate a single test {finds} with {_percent(POWER)} power."
        )
    return tuple(found)
