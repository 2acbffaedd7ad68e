"""Tables: every cell, the paper table, and those of the studies beside the grid."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from crt.errors import CrtError
from crt.records import CLEAN, Study
from crt.reporting.latex import in_latex
from crt.reporting.markdown import Markdown, bold, code, line
from crt.reporting.markdown import table as markdown
from crt.scoring.contrasts import CLEAN_ACC
from crt.scoring.evidence import Evidence
from crt.scoring.metrics import METRICS, REFERENCE_METRICS
from crt.scoring.stacked import ALL
from crt.scoring.statistics import ALPHA
from crt.scoring.summary import DASH, KEYS, NO_EFFECT, UNTOUCHED, Comparison, in_order, mean_std, no_effect

EDITED = "texts edited"
"""What stands in place of a model where a row is about the texts."""

SEEDS_EDIT = f" {EDITED}: share that a seed changes at all (in brackets: that any of the seeds changes)."
"""What a caption says of such a row."""

SHARE = "prob: share of the sites that are edited. n: texts."
"""What a caption says of the columns that a table of one dose does not have."""

STARRED = ("perturbed_acc", "acc_drop")
"""The metrics that the tests of clean against perturbed answers speak of."""

MAJORITY, WEAK = "majority class", " †"
"""What stands in place of a model in the row of the most frequent label, and behind the name of a weak model."""


def detail_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the 22 columns of the reference protocol, a row for each perturbed cell; undefined metrics are empty."""
    rows = cells[cells["perturbation"] != CLEAN]
    table = in_order(rows).reindex(columns=[*KEYS, *REFERENCE_METRICS]).reset_index(drop=True)
    return table.astype({name: "Int64" for name in REFERENCE_METRICS if name.startswith("num_")})


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table for a paper: the metric in percent, a row for each data set, model and prob."""

    metric: str
    """Key of METRICS, or study and data set."""
    header: tuple[str, ...]
    """Column titles: data set, model, then of a grid prob, texts, clean accuracy, the perturbations and their mean."""
    rows: tuple[tuple[str, ...], ...]
    """Formatted values; `best` says which are best."""
    best: frozenset[tuple[int, int]]
    """Row and column of the values that are bold."""
    caption: str
    """What the numbers are and what the ± is over."""
    signature: str
    """What must agree for two such tables to be comparable."""

    def csv(self) -> pd.DataFrame:
        """Return the table as a frame of text."""
        return pd.DataFrame(self.rows, columns=list(self.header))

    def markdown(self) -> Markdown:
        """Return the table in Markdown, the values of `best` bold, caption and signature below."""
        rows = [
            [bold(value) if (r, c) in self.best else value for c, value in enumerate(row)]
            for r, row in enumerate(self.rows)
        ]
        return Markdown(f"{markdown(self.header, rows, texts=2)}\n{line(self.caption)}\n\n{code(self.signature)}\n")

    def __str__(self) -> str:
        return self.markdown()

    def latex(self) -> str:
        """Return the table in LaTeX: the first sentence of the caption above it, the others below, values of `best` bold."""
        title, _, note = self.caption.partition(". ")
        label = re.sub(r"\W+", "-", self.metric)
        return in_latex(
            self.header, self.rows, self.best, caption=f"{title.removesuffix('.')}.", note=note, label=label,
            comment=self.signature,
        )  # fmt: skip


def paper_table(found: Comparison, metric: str, evidence: Evidence | None = None) -> PaperTable:
    """Return the paper table of a metric.

    Args:
        found: what is compared.
        metric: key of METRICS, a fraction 0..1.
        evidence: says which values get a star, which are bold, and which models are weak; None: nothing was tested.
    """
    evidence = evidence or Evidence()
    summary, tests, weak = found.summary, evidence.tests, evidence.weak
    means, stds = (_wide(summary, f"{metric}_{part}") for part in ("mean", "std"))
    untouched = no_effect(_wide(summary, "changed_rate_mean"))
    means = means.astype(float).mask(untouched)
    counts = {key: count_of(rows) for key, rows in summary.groupby(["dataset", "model"])}
    average = means.mean(axis=1).where((means.notna() | untouched).all(axis=1))
    pairs = [(dataset, model) for dataset, _, model in means.index]
    means.insert(0, "clean acc", [found.clean.get(pair, float("nan")) for pair in pairs])
    means["mean"] = average
    stds = stds.reindex(columns=means.columns)
    untouched = untouched.reindex(columns=means.columns, fill_value=False)
    starred = (
        set()
        if metric not in STARRED or tests.empty
        else set(
            tests[tests["significant"]][["dataset", "prob", "model", "perturbation"]].itertuples(index=False, name=None)
        )
    )
    rows = tuple(
        (
            str(dataset),
            f"{model}{WEAK}" if (dataset, model) in weak else str(model),
            f"{prob:g}",
            counts[dataset, model],
            *(
                NO_EFFECT
                if nothing
                else mean_std(mean, std, scale=100, digits=1) + ("*" if (dataset, prob, model, name) in starred else "")
                for name, mean, std, nothing in zip(means.columns, row, spread, idle, strict=True)
            ),
        )
        for (dataset, prob, model), row, spread, idle in zip(
            means.index, means.to_numpy().tolist(), stds.to_numpy().tolist(), untouched.to_numpy().tolist(), strict=True
        )
    )
    header = ("data set", "model", "prob", "n", *map(str, means.columns))
    best = _best(means, metric, evidence)
    caption = _caption(summary, metric, evidence, bold=bool(best))
    if untouched.any(axis=None):
        caption += f" {UNTOUCHED}; it has no part in the mean."
    return PaperTable(metric, header, rows, best, caption, found.signature)


def dose_of_paper(summary: pd.DataFrame, prob: float | None = None) -> float:
    """Return the prob of the tables of one dose: the one asked for, else the largest that every data set was measured at.

    Raises:
        CrtError: it was not measured.
    """
    probs = [set(rows["prob"]) for _, rows in summary.groupby("dataset")]
    measured = sorted(set().union(*probs))
    if prob is None:
        return max(set.intersection(*probs) or measured) if probs else 0.0
    if prob not in measured:
        raise CrtError(
            f"table_prob={prob:g} was not measured; measured: {', '.join(f'{p:g}' for p in measured) or 'none'}"
        )
    return prob


def at_dose(table: PaperTable, prob: float) -> PaperTable:
    """Return a paper table at one prob alone, as it stands in a paper: models by perturbations.

    Args:
        table: from `paper_table`, with other rows or without.
        prob: one of those in the table.
    """
    dose = f"{prob:g}"
    kept = [k for k, row in enumerate(table.rows) if row[2] in (dose, DASH) and row[1] != EDITED]
    rows = tuple((*table.rows[k][:2], *table.rows[k][4:]) for k in kept)
    best = frozenset((kept.index(r), c if c < 2 else c - 2) for r, c in table.best if r in kept)
    sizes = {f"{row[0]}: {row[3]} texts" for row in (table.rows[k] for k in kept)}
    caption = table.caption.replace(
        SHARE, f"{100 * prob:g} % of the sites are edited (prob {dose}). {'; '.join(sorted(sizes))}."
    )
    caption = caption.replace(SEEDS_EDIT, "")
    return replace(table, header=(*table.header[:2], *table.header[4:]), rows=rows, best=best, caption=caption)


def with_edited(table: PaperTable, doses: pd.DataFrame) -> PaperTable:
    """Return a paper table with a row below each data set and prob: how many of the texts were edited at all.

    Args:
        table: from `paper_table`.
        doses: from `doses.doses`.
    """
    shares = {
        (row["dataset"], f"{row['prob']:g}", row["perturbation"]): _share(row["edited"], row["edited_by_any"])
        for row in doses.to_dict("records")
    }
    rows: list[tuple[str, ...]] = []
    places = []
    for row, after in zip(table.rows, (*table.rows[1:], ("", "", "")), strict=True):
        places.append(len(rows))
        rows.append(row)
        if (row[0], row[2]) != (after[0], after[2]):
            told = (shares.get((row[0], row[2], name), DASH) for name in table.header[4:])
            rows.append((row[0], EDITED, *row[2:4], *told))
    best = frozenset((places[r], c) for r, c in table.best)
    return replace(table, rows=tuple(rows), best=best, caption=f"{table.caption}{SEEDS_EDIT}")


def _share(edited: float, by_any: float) -> str:
    """Return the share of texts that one seed edits in percent, and in brackets the share that any of them edits."""
    return mean_std(edited, None, scale=100, digits=1) + ("" if pd.isna(by_any) else f" ({100 * by_any:.1f})")


def dose_tables(found: Comparison, doses: pd.DataFrame) -> tuple[PaperTable, ...]:
    """Return for each data set what each perturbation changes at each prob, and what a percent of that costs each model.

    Args:
        found: what is compared.
        doses: from `doses.doses`.
    """
    tables = []
    for dataset, group in doses.groupby("dataset", sort=False):
        of = found.summary[found.summary["dataset"] == dataset]
        models = list(dict.fromkeys(of["model"]))
        costs = {
            (row["model"], row["perturbation"], row["prob"]): (row["acc_drop_mean"], row["drop_per_char_change_mean"])
            for row in of.to_dict("records")
        }
        rows = tuple(
            (
                str(row["perturbation"]), f"{row['prob']:g}", mean_std(row["char_change"], None, scale=100, digits=1),
                _share(row["edited"], row["edited_by_any"]),
                *(_cost(*costs.get((model, row["perturbation"], row["prob"]), (None, None))) for model in models),
            )
            for row in group.to_dict("records")
        )  # fmt: skip
        header = ("perturbation", "prob", "characters changed", EDITED, *map(str, models))
        caption = (
            f"Doses on {dataset}, in percent of the characters and of the texts (in brackets: those that any of the seeds "
            "edits), and for each model the drop in points of accuracy and, behind the stroke, points per percent of the "
            "characters changed. At one prob the doses of the perturbations are not alike; worst_case compares equal ones."
        )
        tables.append(PaperTable(f"doses_{dataset}", header, rows, frozenset(), caption, found.signature))
    return tuple(tables)


def _cost(drop: float | None, per_percent: float | None) -> str:
    return f"{mean_std(drop, None, scale=100, digits=1)} / {mean_std(per_percent, None, digits=2)}"


def with_majority(table: PaperTable, models: pd.DataFrame) -> PaperTable:
    """Return a paper table with a row below each data set: what a model has that always gives the most frequent label.

    Args:
        table: from `paper_table`.
        models: of an `Evidence`; where it is empty the table stays as it is.
    """
    if models.empty:
        return table
    share = models.groupby("dataset")["majority"].first()
    rows: list[tuple[str, ...]] = []
    places = []
    for row, after in zip(table.rows, (*table.rows[1:], ("",)), strict=True):
        places.append(len(rows))
        rows.append(row)
        if row[0] != after[0] and row[0] in share:
            clean = mean_std(share[row[0]], None, scale=100, digits=1)
            value = clean if table.metric == "perturbed_acc" else mean_std(0.0, None, digits=1)
            rows.append((row[0], MAJORITY, DASH, row[3], clean, *[value] * (len(row) - 5)))
    best = frozenset((places[r], c) for r, c in table.best)
    caption = f"{table.caption} {MAJORITY}: always the most frequent label of these texts."
    return replace(table, rows=tuple(rows), best=best, caption=caption)


def correction(tests: pd.DataFrame, of: str) -> str:
    """Return in words what the p-values of tests are corrected for.

    Args:
        tests: with a column family.
        of: what belongs to a family.
    """
    least, most = int(tests["family"].min()), int(tests["family"].max())
    size = f"{most}" if least == most else f"{least} to {most}"
    return f"after Holm's correction for the {size} {of}"


def study_tables(runs: pd.DataFrame, studies: Mapping[str, Study]) -> tuple[PaperTable, ...]:
    """Return a table for each study and data set: the metrics of each model in percent, the best ones bold.

    The last run of each training seed counts, one whose seed is not known only where the model has no other; of several
    training seeds the mean and the standard deviation (n - 1) are told.

    Args:
        runs: from `history.study_frame`.
        studies: what is shown of each kind, and what must agree.
    """
    if runs.empty:
        return ()
    tables = []
    for (kind, dataset), group in runs.groupby(["kind", "dataset"], sort=True):
        seeds = group["train_seed"].fillna("") if "train_seed" in group else ""
        rows = group.assign(train_seed=seeds).drop_duplicates(["model", "train_seed"], keep="last")
        named = rows["train_seed"] != ""
        rows = rows[named | ~named.groupby(rows["model"]).transform("any")]
        study = studies[str(kind)]
        wanted = re.compile(rf"metric\.(?:{study.shown})")
        columns = sorted(name for name in map(str, rows.columns) if wanted.fullmatch(name))
        models = rows[["model", *columns]].dropna(axis=1, how="all").groupby("model", sort=True)
        means, stds, count = models.mean(), models.std(ddof=1), models.size()
        cells = tuple(
            (str(dataset), str(model), *(mean_std(m, s, scale=100, digits=1) for m, s in zip(mean, std, strict=True)))
            for model, mean, std in zip(means.index, means.to_numpy(), stds.to_numpy(), strict=True)
        )
        printed = means.map(_printed)
        best = printed.eq(printed.max()) & (means.count() > 1)
        marks = frozenset((int(r), int(c) + 2) for r, c in zip(*best.to_numpy().nonzero(), strict=True))
        header = ("data set", "model", *(name[7:].replace("_", " ") for name in means.columns))
        digests = [str(d) for name in study.agree if name in rows for d in rows[name].dropna().unique()]
        spans = [f"up to {n} ({', '.join(map(str, c.index))})" for n, c in count[count > 1].groupby(count)]
        spread = f", mean±std (n-1) over training seeds: {'; '.join(spans)}" if spans else ""
        sizes = rows["metric.num_examples"].dropna().unique() if "metric.num_examples" in rows else ()
        counted = f", n = {' or '.join(f'{size:,.0f}' for size in sizes)}" if len(sizes) else ""
        caption = f"{kind} on {dataset}, in percent{counted}{spread}.{' Best of the models in bold.' if len(means) > 1 else ''}"
        tables.append(PaperTable(f"{kind}_{dataset}", header, cells, marks, caption, f"{kind}:{','.join(digests)}"))
    return tuple(tables)


def _wide(summary: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a column of the summary with a row for each data set, prob and model, a column for each perturbation."""
    names = list(summary["perturbation"].drop_duplicates())
    index = ["dataset", "prob", "model"]
    # pivot, not pivot_table: a repeated key must be an error, and a row without a value must stay
    return summary.pivot(index=index, columns="perturbation", values=column).reindex(columns=names)  # noqa: PD010


def count_of(rows: pd.DataFrame) -> str:
    """Return how many texts rows of the summary are about."""
    count = float(rows["num_examples_mean"].astype(float).max())
    return DASH if np.isnan(count) else f"{count:,.0f}"


def _best(means: pd.DataFrame, metric: str, evidence: Evidence) -> frozenset[tuple[int, int]]:
    """Return row and column of the best value among several models, and of those that no test tells from it.

    All that are printed like the best one are best. Where nothing was tested there are no others.
    """
    sign = {"higher": 1, "lower": -1, "neither": 0}[METRICS[metric].better]
    signs = [1 if column == "clean acc" else sign for column in means]
    printed = means.astype(float).map(_printed) * signs
    printed.loc[[(dataset, model) in evidence.weak for dataset, _, model in means.index]] = float("nan")
    groups = printed.groupby(level=["dataset", "prob"])
    best = printed.eq(groups.transform("max")) & groups.transform("count").gt(1) & (np.array(signs) != 0)
    ties = _ties(evidence.duels)
    marks = set()
    for row, column in zip(*(axis.tolist() for axis in best.to_numpy().nonzero()), strict=True):
        dataset, prob, model = means.index[row]
        name = means.columns[column]
        what = (CLEAN_ACC, CLEAN, 0.0) if name == "clean acc" else (metric, ALL if name == "mean" else name, prob)
        for other, (where, dose, rival) in enumerate(means.index):
            near = (dataset, *what, frozenset((model, rival))) in ties and printed.notna().iloc[other, column]
            if other == row or ((where, dose) == (dataset, prob) and near):
                marks.add((other, column + 4))
    return frozenset(marks)


def _ties(duels: pd.DataFrame) -> set[tuple[Any, ...]]:
    """Return data set, metric, perturbation, prob and both models of the duels that nobody won."""
    if duels.empty:
        return set()
    rows = duels[duels["outcome"] == "tie"]
    keys = rows[["dataset", "metric", "perturbation", "prob", "model", "other"]].itertuples(index=False, name=None)
    return {(*key[:4], frozenset(key[4:])) for key in keys}


def _printed(mean: float) -> float:
    """Return a fraction as the tables print it."""
    return float(f"{100 * mean:.1f}")


def _caption(summary: pd.DataFrame, metric: str, evidence: Evidence, *, bold: bool) -> str:
    over = summary[["model", "dataset", "over", "n"]].drop_duplicates()
    kinds = over.groupby(["over", "n"], sort=False)
    spans = [
        f"n={n} {kind}" + (f" ({', '.join(sorted(set(group['model'])))})" if len(kinds) > 1 else "")
        for (kind, n), group in kinds
    ]
    said = [
        f"{metric} in percent ({METRICS[metric].summary}), mean±std (n-1) over {'; '.join(spans)}.",
        SHARE,
    ]
    if not evidence.duels.empty:
        said.append(
            "Bold: not significantly worse than the best of the models (paired sign-flip test, p < "
            f"{ALPHA} {correction(evidence.duels, 'duels of a data set')})."
        )
    elif bold:
        said.append("Best of the models in bold.")
    if metric in STARRED and not evidence.tests.empty:
        said.append(
            f"*: differs from the clean accuracy (sign-flip test over texts of the mean over seeds, p < {ALPHA} "
            f"{correction(evidence.tests, 'tests of a model on a data set')})."
        )
    if evidence.weak:
        said.append(
            f"{WEAK.strip()}: {', or '.join(sorted(set(evidence.weak.values())))}; it stands outside all tests."
        )
    return " ".join(said)
