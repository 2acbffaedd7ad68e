"""Tables: every cell, mean and standard deviation over seeds, and the paper table.

All functions take stored cells as `history.cell_frame` gives them: one row a cell, keys, params and metrics as columns.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from crt.perturbations import PERTURBATIONS
from crt.perturbations.text import HAN
from crt.records import CLEAN
from crt.scoring.metrics import METRICS, REFERENCE_METRICS
from crt.scoring.statistics import ALPHA

KEYS = ("model", "dataset", "perturbation", "prob", "seed")
GROUP = ("model", "dataset", "perturbation", "prob")
ORDER = ("dataset", "model", "perturbation", "prob", "degree", "seed", "train_seed")
SPREAD = ("mean", "std", "n", "mean_std")
"""What is told of a number over seeds."""
DASH = "–"

CHINESE = r"\usepackage{xeCJK}"
"""What LaTeX needs to set Chinese names."""

TRAIN_SEEDS, SEEDS = "training seeds", "perturbation seeds"


def detail_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the 22 columns of the reference protocol, a row for each perturbed cell; undefined metrics are empty."""
    rows = cells[cells["perturbation"] != CLEAN]
    table = in_order(rows).reindex(columns=[*KEYS, *REFERENCE_METRICS]).reset_index(drop=True)
    return table.astype({name: "Int64" for name in REFERENCE_METRICS if name.startswith("num_")})


def in_order(cells: pd.DataFrame) -> pd.DataFrame:
    """Sort by the keys that are there; perturbations in the order of PERTURBATIONS."""
    order = {name: number for number, name in enumerate((CLEAN, *PERTURBATIONS))}
    keys = [key for key in ORDER if key in cells]
    return cells.sort_values(
        keys,
        key=lambda column: column.map(lambda p: order.get(p, len(order))) if column.name == "perturbation" else column,
    )


def summary_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return mean, std and n of each metric by model, data set, perturbation and prob.

    Perturbation seeds are averaged within a training seed. The standard deviation (n - 1) is over training seeds if
    there are several, else over perturbation seeds; column `over` says which. With one value there is no std.
    """
    rows = _perturbed(cells)
    names = [name for name in METRICS if name in rows]
    group = list(GROUP)
    several = rows.groupby(group)["train_seed"].transform("nunique") > 1
    trained = rows[several].groupby([*group, "train_seed"], sort=False, as_index=False)[names].mean()
    table = rows[group].drop_duplicates(ignore_index=True)
    values = pd.concat([rows[~several], trained])[[*group, *names]].groupby(group, sort=False)
    keys = pd.MultiIndex.from_frame(table)
    mean, std, count = (found.reindex(keys) for found in (values.mean(), values.std(ddof=1), values.count()))
    over = rows.assign(over=several.map({True: TRAIN_SEEDS, False: SEEDS})).groupby(group)["over"].first()
    columns: dict[str, Any] = {"over": over.reindex(keys), "n": values.size().reindex(keys)}
    for name in METRICS:
        parts = dict.fromkeys(("mean", "std", "n", "mean_std"))
        if name in names:
            texts = [mean_std(m, s) if m == m else None for m, s in zip(mean[name], std[name], strict=True)]  # noqa: PLR0124  NaN
            there = count[name].where(count[name] > 0)
            parts = {"mean": mean[name], "std": std[name], "n": there, "mean_std": texts}
        columns |= {f"{name}_{part}": value for part, value in parts.items()}
    return pd.concat([table, pd.DataFrame(columns, index=keys).reset_index(drop=True)], axis=1)


def dose_area(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the area under the accuracy over the prob, by model, data set and perturbation: a mean over the doses.

    The trapezoidal rule from prob 0, which is the clean accuracy, to the largest prob, divided by the largest prob. A seed
    that lacks one of the probs has no area. Mean, std and n are over seeds as in `summary_table`. Areas can be compared
    where column `probs` is the same.
    """
    parts = []
    rows = _perturbed(cells)
    for key, group in rows[rows["prob"] > 0].groupby(list(GROUP[:3]), sort=False):
        unit, over = _over(group)
        seeds = group.groupby(unit)
        curves = group.groupby([unit, "prob"])["perturbed_acc"].mean().unstack()  # noqa: PD010  seeds by probs
        curves.insert(0, 0.0, seeds["clean_acc"].mean())
        curves = curves.dropna()
        probs, heights = curves.columns.to_numpy(dtype=float), curves.to_numpy(dtype=float)
        areas = (heights[:, 1:] + heights[:, :-1]) / 2 @ (probs[1:] - probs[:-1]) / probs[-1]
        row: dict[str, Any] = dict(zip(GROUP, key, strict=False))
        row |= {"probs": ",".join(f"{prob:g}" for prob in probs[1:]), "over": over, "n": len(seeds)}
        parts.append(row | _spread("area", pd.Series(areas)))
    return pd.DataFrame(parts, columns=[*GROUP[:3], "probs", "over", "n", *(f"area_{part}" for part in SPREAD)])


def _perturbed(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the perturbed cells in order, an unknown training seed as an empty text."""
    rows = in_order(cells[cells["perturbation"] != CLEAN])
    return rows.assign(train_seed=rows["train_seed"].fillna("") if "train_seed" in rows else "")


def _over(group: pd.DataFrame) -> tuple[str, str]:
    """Return what a std is over: training seeds where there are several, else perturbation seeds; column and name."""
    return ("train_seed", TRAIN_SEEDS) if len(set(group["train_seed"])) > 1 else ("seed", SEEDS)


def _spread(name: str, values: pd.Series) -> dict[str, Any]:
    """Return mean, std (n - 1), n and both as a text, of the values that are defined; nothing where there is none."""
    defined = values.dropna()
    if defined.empty:
        return {}
    mean, std = defined.mean(), defined.std(ddof=1) if len(defined) > 1 else None
    return dict(zip([f"{name}_{part}" for part in SPREAD], (mean, std, len(defined), mean_std(mean, std)), strict=True))


def mean_std(mean: float | None, std: float | None, *, scale: float = 1.0, digits: int = 4) -> str:
    """Return `mean±std`; the mean alone where there is no std, a dash where there is no mean."""
    if mean is None or pd.isna(mean):
        return DASH
    text = f"{mean * scale:z.{digits}f}"  # z: no minus before a zero
    if std is None or pd.isna(std):
        return text
    return f"{text}±{std * scale:.{digits}f}"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> str:
    """Return a table in Markdown, whose first `texts` columns are set flush left and the others flush right."""
    align = ["---"] * texts + ["---:"] * (len(header) - texts)
    return "".join(f"| {' | '.join(line)} |\n" for line in [header, align, *rows])


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table for a paper: the metric in percent, a row for each data set, model and prob."""

    metric: str
    """Key of METRICS, or study and data set."""
    header: tuple[str, ...]
    """Column titles: data set, model, then of a grid prob, clean accuracy, the perturbations and their mean."""
    rows: tuple[tuple[str, ...], ...]
    """Formatted values; `best` says which are best."""
    best: frozenset[tuple[int, int]]
    """Row and column of the best value among the models, for each data set, prob and column."""
    caption: str
    """What the numbers are and what the ± is over."""
    signature: str
    """What must agree for two such tables to be comparable."""

    def csv(self) -> pd.DataFrame:
        """Return the table as a frame of text."""
        return pd.DataFrame(self.rows, columns=list(self.header))

    def markdown(self) -> str:
        """Return the table in Markdown, best values bold, caption and signature below."""
        rows = [
            [f"**{escaped(v)}**" if (r, c) in self.best else escaped(v) for c, v in enumerate(row)]
            for r, row in enumerate(self.rows)
        ]
        table = markdown([escaped(h) for h in self.header], rows, texts=2)
        return f"{table}\n{escaped(self.caption)}\n\n`{self.signature}`\n"

    def latex(self) -> str:
        """Return the table in LaTeX, best values bold; its first line says what the preamble must load."""
        chinese = any(re.search(f"[{HAN}]", text) for line in (self.header, *self.rows) for text in line)
        lines = [
            rf"% preamble: \usepackage{{booktabs}}{' and, for XeLaTeX, ' + CHINESE if chinese else ''}",
            r"\begin{table}[t]",
            r"\centering\small",
            rf"\caption{{{_tex(self.caption)}}}",
            r"\begin{tabular}{ll" + "r" * (len(self.header) - 2) + "}",
            r"\toprule",
            " & ".join(_tex(h) for h in self.header) + r" \\",
        ]
        previous = ""
        for r, row in enumerate(self.rows):
            if row[0] != previous:
                lines.append(r"\midrule")
                previous = row[0]
            values = [rf"\textbf{{{_tex(v)}}}" if (r, c) in self.best else _tex(v) for c, v in enumerate(row)]
            lines.append(" & ".join(values) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}", f"% {self.signature}", r"\end{table}"]
        return "\n".join(lines) + "\n"


def paper_table(cells: pd.DataFrame, metric: str, signature: str, tests: pd.DataFrame | None = None) -> PaperTable:
    """Return the paper table of a metric.

    Args:
        cells: stored cells, clean ones among them: they give the clean accuracy.
        metric: key of METRICS, a fraction 0..1.
        signature: see `PaperTable`.
        tests: of clean against perturbed accuracy, with a column significant; values that are get a star.
    """
    summary = summary_table(cells)
    means, stds = (_wide(summary, f"{metric}_{part}") for part in ("mean", "std"))
    average = means.mean(axis=1, skipna=False)
    clean = cells[cells["perturbation"] == CLEAN].groupby(["dataset", "model"])["clean_acc"].mean()
    pairs = [(dataset, model) for dataset, _, model in means.index]
    means.insert(0, "clean acc", [clean.get(pair, float("nan")) for pair in pairs])
    means["mean"] = average
    stds = stds.reindex(columns=means.columns)
    starred = (
        set()
        if tests is None or tests.empty
        else set(
            tests[tests["significant"]][["dataset", "prob", "model", "perturbation"]].itertuples(index=False, name=None)
        )
    )
    rows = tuple(
        (
            str(dataset),
            str(model),
            f"{prob:g}",
            *(
                mean_std(mean, std, scale=100, digits=1) + ("*" if (dataset, prob, model, name) in starred else "")
                for name, mean, std in zip(means.columns, row, spread, strict=True)
            ),
        )
        for (dataset, prob, model), row, spread in zip(
            means.index, means.to_numpy().tolist(), stds.to_numpy().tolist(), strict=True
        )
    )
    header = ("data set", "model", "prob", *map(str, means.columns))
    caption = _caption(summary, metric)
    if tests is not None and not tests.empty:
        caption += (
            f" *: differs from the clean accuracy (exact McNemar test, the largest p of the seeds, p < {ALPHA} after "
            f"Holm's correction for {len(tests)} tests)."
        )
    return PaperTable(metric, header, rows, _best(means, metric), caption, signature)


def win_tables(duels: pd.DataFrame, signature: str) -> tuple[PaperTable, ...]:
    """Return for each data set who wins against whom: wins, ties and losses of the row's model against the column's.

    Args:
        duels: dataset, model, other and outcome (of `model`: win, tie, loss), a row for each perturbation and prob.
        signature: see `PaperTable`.
    """
    if duels.empty:
        return ()
    turned = {"win": "loss", "loss": "win", "tie": "tie"}
    mirrored = duels.assign(model=duels["other"], other=duels["model"], outcome=duels["outcome"].map(turned))
    tables = []
    for dataset, group in pd.concat([duels, mirrored]).groupby("dataset", sort=False):
        models = list(dict.fromkeys([*duels[duels["dataset"] == dataset]["model"], *group["model"]]))
        counts = group.groupby(["model", "other"])["outcome"].value_counts()
        rows = tuple(
            (
                str(dataset),
                model,
                *(
                    "/".join(str(counts.get((model, other, outcome), 0)) for outcome in ("win", "tie", "loss"))
                    if model != other
                    else DASH
                    for other in models
                ),
            )
            for model in models
        )
        caption = (
            f"Wins/ties/losses of the model of the row against that of the column on {dataset}, over the clean texts and "
            f"every perturbation and prob (exact McNemar test, the largest p of the seeds, p < {ALPHA} after Holm's "
            f"correction for {len(duels)} tests)."
        )
        header = ("data set", "model", *models)
        tables.append(PaperTable(f"wins_{dataset}", header, rows, frozenset(), caption, signature))
    return tuple(tables)


STUDIES: Mapping[str, str] = {
    "heuristics": r"(.*)_(entailed|non_entailed)|nli_accuracy",
    "behaviour": r"(mft|inv|dir)_pass_rate",
    "detect": r"(encoder_)?(detection|labelling)_(balanced_accuracy|roc_auc)",
    "worst_case": r"(.*)_(average|worst)",
}
"""The metrics of the studies beside the grid that stand in a table over several models."""

DIGESTS = ("data_digest", "suite_digest", "protocol_digest")
"""The params of a study's run that say what was measured, and how."""


def study_tables(runs: pd.DataFrame) -> tuple[PaperTable, ...]:
    """Return a table for each study and data set: the metrics of each model in percent, the best ones bold.

    The last run of each training seed counts, one whose seed is not known only where the model has no other; of several
    training seeds the mean and the standard deviation (n - 1) are told.

    Args:
        runs: from `history.study_frame`.
    """
    if runs.empty:
        return ()
    tables = []
    for (kind, dataset), group in runs.groupby(["kind", "dataset"], sort=True):
        seeds = group["train_seed"].fillna("") if "train_seed" in group else ""
        rows = group.assign(train_seed=seeds).drop_duplicates(["model", "train_seed"], keep="last")
        named = rows["train_seed"] != ""
        rows = rows[named | ~named.groupby(rows["model"]).transform("any")]
        wanted = re.compile(rf"metric\.(?:{STUDIES[str(kind)]})")
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
        digests = [str(d) for c in DIGESTS if c in rows for d in rows[c].dropna().unique()]
        spans = [f"up to {n} ({', '.join(map(str, c.index))})" for n, c in count[count > 1].groupby(count)]
        spread = f", mean±std (n-1) over training seeds: {'; '.join(spans)}" if spans else ""
        caption = f"{kind} on {dataset}, in percent{spread}.{' Best of the models in bold.' if len(means) > 1 else ''}"
        tables.append(PaperTable(f"{kind}_{dataset}", header, cells, marks, caption, f"{kind}:{','.join(digests)}"))
    return tuple(tables)


def _wide(summary: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a column of the summary with a row for each data set, prob and model, a column for each perturbation."""
    names = list(summary["perturbation"].drop_duplicates())
    index = ["dataset", "prob", "model"]
    # pivot, not pivot_table: a repeated key must be an error, and a row without a value must stay
    return summary.pivot(index=index, columns="perturbation", values=column).reindex(columns=names)  # noqa: PD010


def _best(means: pd.DataFrame, metric: str) -> frozenset[tuple[int, int]]:
    """Return row and column of the best value among several models; all of them where they are equal as printed."""
    sign = {"higher": 1, "lower": -1, "neither": 0}[METRICS[metric].better]
    signs = [1 if column == "clean acc" else sign for column in means]
    printed = means.astype(float).map(_printed) * signs
    groups = printed.groupby(level=["dataset", "prob"])
    best = printed.eq(groups.transform("max")) & groups.transform("count").gt(1)
    rows, columns = best.to_numpy().nonzero()
    return frozenset(
        (row, column + 3) for row, column in zip(rows.tolist(), columns.tolist(), strict=True) if signs[column]
    )


def _printed(mean: float) -> float:
    """Return a fraction as the tables print it."""
    return float(f"{100 * mean:.1f}")


def _caption(summary: pd.DataFrame, metric: str) -> str:
    over = summary[["model", "dataset", "over", "n"]].drop_duplicates()
    kinds = over.groupby(["over", "n"], sort=False)
    spans = [
        f"n={n} {kind}" + (f" ({', '.join(sorted(set(group['model'])))})" if len(kinds) > 1 else "")
        for (kind, n), group in kinds
    ]
    best = " Best of the models in bold." if len(set(summary["model"])) > 1 else ""
    return (
        f"{metric} in percent ({METRICS[metric].summary}), mean±std (n-1) over {'; '.join(spans)}. "
        f"prob: share of the sites that are edited.{best}"
    )


_MD = str.maketrans({**{mark: f"\\{mark}" for mark in "\\|*_`~["}, "&": "&amp;", "<": "&lt;", "\n": " "})
_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "[": "{[}", "*": "{*}",  # bare, they would be arguments of the line end before them
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", DASH: "--", "\n": " ",
    }
)  # fmt: skip


def escaped(text: str) -> str:
    """Return a text as it stands in a cell of a Markdown table."""
    return text.translate(_MD)


def _tex(text: str) -> str:
    return text.translate(_TEX)


def headline(cells: pd.DataFrame) -> dict[str, float]:
    """Return the few numbers that describe one model on one data set: means over its perturbed cells.

    `worst_acc_drop` is the largest mean drop over seeds of a perturbation at a prob.
    """
    summary, clean = summary_table(cells), cells[cells["perturbation"] == CLEAN]
    values = {
        "clean_acc": clean["clean_acc"].mean() if len(clean) else None,
        "clean_macro_f1": clean["clean_macro_f1"].mean() if len(clean) else None,
        "mean_perturbed_acc": summary["perturbed_acc_mean"].mean(),
        "mean_acc_drop": summary["acc_drop_mean"].mean(),
        "worst_acc_drop": summary["acc_drop_mean"].max(),
        "mean_robustness_score": summary["robustness_score_mean"].mean(),
        "mean_macro_f1_drop": summary["macro_f1_drop_mean"].mean(),
        "mean_attack_success_rate": summary["attack_success_rate_mean"].mean(),
        "mean_changed_rate": summary["changed_rate_mean"].mean(),
        "num_examples": cells["num_examples"].max(),
    }
    return {name: float(value) for name, value in values.items() if value is not None and not pd.isna(value)}
