"""Figures of the studies: curves over the degree, accuracy within groups, and pass rates."""

import pandas as pd
from matplotlib.figure import Figure

from crt.reporting.drawing import COLOURS, MARKERS, PAGE, canvas, style

CURVES = {
    "average_case": "average case",
    "worst_case": "worst case",
    "worst_case_surviving": "worst case, surviving\nall smaller degrees",
}
"""The curves over the degree, and what they are called."""


@style()
def degree_curves(table: pd.DataFrame, title: str) -> Figure:
    """Draw the average and the worst case over the degree as it was reached: a panel for each perturbation.

    Args:
        table: columns perturbation, realised_degree, clean_acc and those of CURVES, a row for each degree, ascending.
        title: what was measured.
    """
    names = list(dict.fromkeys(table["perturbation"]))
    across = min(3, len(names))
    down = -(-len(names) // across)
    figure = canvas(PAGE, 1.9 * down + 0.6)
    panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for axes, name in zip(panels.flat, names, strict=False):
        rows = table[table["perturbation"] == name]
        places = [0.0, *(100 * rows["realised_degree"])]
        for number, (column, label) in enumerate(CURVES.items()):
            values = [100 * rows["clean_acc"].iloc[0], *(100 * rows[column])]
            axes.plot(
                places,
                values,
                label=label,
                linestyle=("-", "-", ":")[number],
                color=COLOURS[number],
                marker=MARKERS[number],
                markersize=3,
                linewidth=1.2,
            )
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


@style()
def group_bars(table: pd.DataFrame, title: str) -> Figure:
    """Draw the accuracy within the coarsest groups, a bar for each gold label, collapsed to two, and the chance line.

    Args:
        table: columns level, group, rule, gold and accuracy, coarsest level first.
        title: what was measured.
    """
    rows = table[(table["rule"] == "collapsed") & (table["level"] == table["level"].iloc[0])]
    groups, golds = list(dict.fromkeys(rows["group"])), list(dict.fromkeys(rows["gold"]))
    figure = canvas(1.6 * len(groups) + 2.2, 2.8)
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


@style()
def pass_bars(rates: pd.DataFrame, title: str, axis: str = "passed (%)") -> Figure:
    """Draw the pass rate of each capability of a behaviour suite, or another share, with passed/total beside the bar.

    Args:
        rates: a column of names, then passed, total and pass_rate, as `pass_rates` gives them.
        title: what was tested.
        axis: title of the axis.
    """
    rows = rates[rates["total"] > 0].iloc[::-1]
    figure = canvas(5.2, 0.27 * len(rows) + 0.9)
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
