"""Figures: how a metric moves with the dose or the degree, and how groups compare."""

from pathlib import Path

import pandas as pd
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from crt.perturbations import PERTURBATIONS
from crt.scoring.metrics import METRICS

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, told apart by colour-blind readers."""
MARKERS = "osD^vPX"

FIGURES = {"acc_drop": "accuracy_drop_by_prob", "attack_success_rate": "attack_success_rate_by_prob"}
"""File stem of the figure of a metric."""

AXIS = {"acc_drop": "accuracy drop (points)", "attack_success_rate": "attack success rate (%)"}
"""Title of the axis of a metric."""

CURVES = {
    "average_case": "average case",
    "worst_case": "worst case",
    "worst_case_surviving": "worst case, surviving\nall smaller degrees",
}
"""The curves over the degree, and what they are called."""

_DODGE = 0.004
"""Distance of neighbouring lines along prob, so that their bars can be told apart."""


def dose_curves(summary: pd.DataFrame, metric: str) -> Figure:
    """Draw the metric over prob: a panel for each data set and model, a line for each perturbation, bars for the std.

    Args:
        summary: from `summary_table`.
        metric: key of METRICS, a fraction 0..1.
    """
    models = {str(d): sorted(set(rows["model"])) for d, rows in summary.groupby("dataset", sort=False)}
    width = max(len(names) for names in models.values())
    figure = Figure(figsize=(3.2 * width + 1.5, 2.5 * len(models) + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(models), width, squeeze=False, sharex=True, sharey="row")
    names = [name for name in PERTURBATIONS if name in set(summary["perturbation"])]
    for row, dataset in enumerate(models):
        for column, axes in enumerate(panels[row]):
            if column >= len(models[dataset]):
                axes.set_axis_off()
                continue
            model = models[dataset][column]
            here = summary[(summary["dataset"] == dataset) & (summary["model"] == model)]
            axes.set_title(f"{dataset}: {model}", fontsize=9, parse_math=False)
            axes.axhline(0, color="0.6", linewidth=0.8)
            for number, name in enumerate(names):
                line = here[here["perturbation"] == name].sort_values("prob")
                axes.errorbar(
                    line["prob"] + _DODGE * (number - (len(names) - 1) / 2),
                    100 * line[f"{metric}_mean"].astype(float),
                    yerr=100 * line[f"{metric}_std"].astype(float).fillna(0.0),
                    label=name,
                    color=COLOURS[number % len(COLOURS)],
                    marker=MARKERS[number % len(MARKERS)],
                    markersize=4,
                    linewidth=1.3,
                    capsize=2,
                )
            axes.set_xticks(sorted(summary["prob"].unique()))
            axes.grid(axis="y", color="0.9", linewidth=0.6)
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(labelsize=8, labelbottom=True)
            if row == len(models) - 1:
                axes.set_xlabel("prob (share of sites edited)", fontsize=8)
            if column == 0:
                axes.set_ylabel(AXIS.get(metric, f"{metric} (%)"), fontsize=8)
    handles, labels = next((a.get_legend_handles_labels() for a in panels.flat if a.lines), ([], []))
    title = f"{METRICS[metric].better} is better"
    figure.legend(handles, labels, loc="outside right center", fontsize=8, frameon=False, title=title, title_fontsize=8)
    return figure


def degree_curves(table: pd.DataFrame, title: str) -> Figure:
    """Draw the average and the worst case over the degree as it was reached: a panel for each perturbation.

    Args:
        table: columns perturbation, realised_degree, clean_acc and those of CURVES, a row for each degree, ascending.
        title: what was measured.
    """
    names = list(dict.fromkeys(table["perturbation"]))
    across = min(3, len(names))
    down = -(-len(names) // across)
    figure = Figure(figsize=(2.5 * across + 1.6, 2.1 * down + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for axes, name in zip(panels.flat, names, strict=False):
        rows = table[table["perturbation"] == name]
        places = [0.0, *(100 * rows["realised_degree"])]
        for number, (column, label) in enumerate(CURVES.items()):
            values = [100 * rows["clean_acc"].iloc[0], *(100 * rows[column])]
            style = {"color": COLOURS[number], "marker": MARKERS[number], "markersize": 3.5, "linewidth": 1.2}
            axes.plot(places, values, label=label, linestyle=("-", "-", ":")[number], **style)
        axes.set_title(name, fontsize=9)
        axes.set_ylim(0, 100)
        axes.grid(color="0.9", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8, labelbottom=True)
    for axes in panels.flat[len(names) :]:
        axes.set_axis_off()
    figure.suptitle(title, fontsize=9, parse_math=False)
    figure.supxlabel("edits for 100 characters, as made; 0: the clean texts", fontsize=8)
    figure.supylabel("accuracy (%)", fontsize=8)
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", fontsize=8, frameon=False)
    return figure


def group_bars(table: pd.DataFrame, title: str) -> Figure:
    """Draw the accuracy within the coarsest groups, a bar for each gold label, collapsed to two, and the chance line.

    Args:
        table: columns level, group, rule, gold and accuracy, coarsest level first.
        title: what was measured.
    """
    rows = table[(table["rule"] == "collapsed") & (table["level"] == table["level"].iloc[0])]
    groups, golds = list(dict.fromkeys(rows["group"])), list(dict.fromkeys(rows["gold"]))
    figure = Figure(figsize=(1.6 * len(groups) + 2.2, 2.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for number, gold in enumerate(golds):
        values = rows[rows["gold"] == gold].set_index("group")["accuracy"].reindex(groups)
        places = [place + 0.36 * (number - (len(golds) - 1) / 2) for place in range(len(groups))]
        bars = axes.bar(places, 100 * values, 0.34, label=f"gold: {gold}", color=COLOURS[number])
        axes.bar_label(
            bars, ["" if pd.isna(value) else f"{100 * value:.0f}" for value in values], fontsize=8, padding=1
        )
    axes.axhline(50, color="0.4", linewidth=0.8, linestyle="--", label="chance")
    axes.set_xticks(range(len(groups)), [name.replace("_", " ") for name in groups], fontsize=8)
    axes.set_ylim(0, 108)
    axes.set_ylabel("accuracy (%)", fontsize=8)
    axes.tick_params(axis="y", labelsize=8)
    axes.set_title(title, fontsize=9, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)
    return figure


def pass_bars(rates: pd.DataFrame, title: str, axis: str = "passed (%)") -> Figure:
    """Draw the pass rate of each capability of a behaviour suite, or another share, with passed/total beside the bar.

    Args:
        rates: a column of names, then passed, total and pass_rate, as `pass_rates` gives them.
        title: what was tested.
        axis: title of the axis.
    """
    rows = rates[rates["total"] > 0].iloc[::-1]
    figure = Figure(figsize=(5.2, 0.27 * len(rows) + 0.9), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    bars = axes.barh(
        [str(name).replace("_", " ") for name in rows.iloc[:, 0]], 100 * rows["pass_rate"], 0.7, color=COLOURS[0]
    )
    axes.bar_label(
        bars, [f"{p}/{t}" for p, t in zip(rows["passed"], rows["total"], strict=True)], fontsize=8, padding=3
    )
    axes.set_xlim(0, 112)
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel(axis, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, fontsize=9, parse_math=False)
    return figure


def write_figures(summary: pd.DataFrame, folder: Path, *suffixes: str) -> None:
    """Draw each of FIGURES and write it once for each suffix, like `.svg`."""
    for metric, stem in FIGURES.items():
        save_as(dose_curves(summary, metric), folder / stem, *suffixes)


def save_as(figure: Figure, stem: Path, *suffixes: str) -> None:
    """Write a figure once for each suffix, like `.svg`."""
    for suffix in suffixes:
        save(figure, stem.with_suffix(suffix))


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the same numbers give the same bytes."""
    with rc_context({"svg.hashsalt": "crt", "svg.fonttype": "path"}):
        metadata = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, metadata=metadata, dpi=200)
