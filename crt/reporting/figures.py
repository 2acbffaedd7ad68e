"""Figures: how a metric moves with the dose or the degree, which model breaks where, and how groups compare.

They are drawn at the size at which they stand in a paper: a column of 3.3 inches or a page of 6.9, no letter under 7 pt.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from crt.perturbations import PAIRS, PERTURBATIONS
from crt.reporting.drawing import COLOURS, GRID, ZERO, canvas, check_fonts, style
from crt.scoring.metrics import METRICS

MARKERS = "osD^vPX"

FIGURES = {"acc_drop": "accuracy_drop_by_prob", "attack_success_rate": "attack_success_rate_by_prob"}
"""File stem of the dose curves of a metric."""
HEAT_MAP = "accuracy_drop_heat_map"
"""File stem of the heat map."""

AXIS = {"acc_drop": "accuracy drop (points)", "attack_success_rate": "attack success rate (%)"}
"""Title of the axis of a metric."""

COLUMN, PAGE = 3.3, 6.9
"""Width in inches of a column and of both columns of a paper."""
ABREAST = 3
"""Panels side by side on a page."""
CURVES = {
    "average_case": "average case",
    "worst_case": "worst case",
    "worst_case_surviving": "worst case, surviving\nall smaller degrees",
}
"""The curves over the degree, and what they are called."""

_DODGE = 0.004
"""Distance of neighbouring lines along prob, so that their bars can be told apart."""
_SHADES = LinearSegmentedColormap.from_list("drop", colormaps["magma_r"](np.linspace(0.0, 0.8, 256)))
"""Perceptually uniform, and light enough at its end for numbers in the cells."""


@style()
def dose_curves(summary: pd.DataFrame, metric: str, intervals: pd.DataFrame | None = None) -> Figure:
    """Draw the metric over prob: a panel for each data set and model, a line for each perturbation.

    Args:
        summary: from `summary_table`.
        metric: key of METRICS, a fraction 0..1.
        intervals: columns of KEYS, metric, low and high; drawn as bands. Where there are none, bars show the std.
    """
    models = {str(d): sorted(set(rows["model"])) for d, rows in summary.groupby("dataset", sort=False)}
    rows = [(d, names[at : at + ABREAST]) for d, names in models.items() for at in range(0, len(names), ABREAST)]
    width = max(len(names) for _, names in rows)
    names = _perturbations(summary)
    columns = 3 if width == 1 else 6
    height = 1.9 * len(rows) + 0.16 * -(-len(names) // columns) + 0.4
    figure = canvas(COLUMN if width == 1 else PAGE, height)
    panels = figure.subplots(len(rows), width, squeeze=False, sharex=True)
    for row, (dataset, shown) in enumerate(rows):
        here = summary[summary["dataset"] == dataset]
        for column, axes in enumerate(panels[row]):
            if column >= len(shown):
                axes.set_axis_off()
                continue
            _draw(axes, _of(here, shown[column]), metric, names, _of(_of_dataset(intervals, dataset), shown[column]))
            axes.set_title(_wrapped(f"{dataset}: {shown[column]}", 30 if width < ABREAST else 24), parse_math=False)
            axes.set_ylim(*_limits(here, metric, _of_dataset(intervals, dataset)))
            axes.set_xticks(sorted(summary["prob"].unique()))
            axes.tick_params(labelbottom=True)
            if row == len(rows) - 1:
                axes.set_xlabel("prob (share of sites edited)")
            if column == 0:
                axes.set_ylabel(AXIS.get(metric, f"{metric} (%)"))
    handles, labels = next((a.get_legend_handles_labels() for a in panels.flat if a.lines), ([], []))
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, fontsize=7, frameon=False, columnspacing=1.2,
        title=f"{METRICS[metric].better} is better", title_fontsize=7,
    )  # fmt: skip
    return figure


@style()
def dose_panels(
    summary: pd.DataFrame, metric: str, intervals: pd.DataFrame | None = None
) -> list[tuple[str, str, Figure]]:
    """Draw the panels of `dose_curves` as figures of their own, for a page: data set, model and figure of each."""
    names = _perturbations(summary)
    figures = []
    for (dataset, model), rows in summary.groupby(["dataset", "model"], sort=False):
        figure = canvas(COLUMN, 2.2, None)
        axes = figure.add_axes((0.13, 0.16, 0.85, 0.81))  # the same place in each, so that they can be compared
        bands = _of_dataset(intervals, str(dataset))
        _draw(axes, rows, metric, names, _of(bands, str(model)))
        axes.set_ylim(*_limits(summary[summary["dataset"] == dataset], metric, bands))
        axes.set_ylabel(AXIS.get(metric, f"{metric} (%)"))
        axes.set_xlabel("prob")
        axes.set_xticks(sorted(summary["prob"].unique()))
        figures.append((str(dataset), str(model), figure))
    return figures


@style()
def swatches(summary: pd.DataFrame) -> list[tuple[str, Figure]]:
    """Draw the line and the marker of each perturbation, for the legend of a page."""
    figures = []
    for number, name in enumerate(_perturbations(summary)):
        figure = canvas(0.4, 0.18, None)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.plot([0, 1, 2], [0, 0, 0], markevery=[1], **_line(number))
        figures.append((name, figure))
    return figures


def _perturbations(summary: pd.DataFrame) -> list[str]:
    return [name for name in (*PERTURBATIONS, PAIRS.name) if name in set(summary["perturbation"])]


def _of_dataset(intervals: pd.DataFrame | None, dataset: str) -> pd.DataFrame:
    none = pd.DataFrame(columns=["dataset", "model", "perturbation", "prob", "metric", "low", "high"])
    return none if intervals is None or intervals.empty else intervals[intervals["dataset"] == dataset]


def _of(rows: pd.DataFrame, model: str) -> pd.DataFrame:
    return rows[rows["model"] == model]


def _line(number: int) -> dict[str, Any]:
    """Return how the line of a perturbation looks: colours come round before markers, and no pair comes twice."""
    marker = MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]
    return {"color": COLOURS[number % len(COLOURS)], "marker": marker, "markersize": 3.5, "linewidth": 1.2}


def _draw(axes: Axes, rows: pd.DataFrame, metric: str, names: Sequence[str], intervals: pd.DataFrame) -> None:
    """Draw the lines of one model on one data set."""
    axes.axhline(0, color=ZERO, linewidth=0.8)
    bands = intervals[intervals["metric"] == metric]
    for number, name in enumerate(names):
        line = rows[rows["perturbation"] == name].sort_values("prob")
        means, band = 100 * line[f"{metric}_mean"].astype(float), bands[bands["perturbation"] == name]
        if bands.empty:
            axes.errorbar(
                line["prob"] + _DODGE * (number - (len(names) - 1) / 2),
                means,
                yerr=100 * line[f"{metric}_std"].astype(float).fillna(0.0),
                label=name,
                capsize=2,
                **_line(number),
            )
            continue
        band = band.sort_values("prob")
        axes.plot(line["prob"], means, label=name, **_line(number))
        axes.fill_between(
            band["prob"].astype(float), 100 * band["low"].astype(float), 100 * band["high"].astype(float),
            color=COLOURS[number % len(COLOURS)], alpha=0.1, linewidth=0,
        )  # fmt: skip
    axes.tick_params(labelsize=7)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _limits(rows: pd.DataFrame, metric: str, intervals: pd.DataFrame) -> tuple[float, float]:
    """Return the range of the values axis in percent: the same for all models on a data set."""
    means, spread = (rows[f"{metric}_{part}"].astype(float) for part in ("mean", "std"))
    bands = intervals.loc[intervals["metric"] == metric, ["low", "high"]].astype(float)
    spread = spread.fillna(0.0)
    ends = pd.concat([means - spread, means + spread, bands["low"], bands["high"], pd.Series([0.0, 0.01])])
    low, high = 100 * ends.min(), 100 * ends.max()
    return low - 0.05 * (high - low), high + 0.05 * (high - low)


def _wrapped(name: str, width: int) -> str:
    return "\n".join(textwrap.wrap(name, width)) or name


@style()
def heat_map(summary: pd.DataFrame, metric: str = "acc_drop") -> Figure:
    """Draw the metric at the largest prob: a row for each model, a column for each perturbation, a block for each data set.

    Args:
        summary: from `summary_table`.
        metric: key of METRICS, a fraction 0..1.
    """
    names = _perturbations(summary)
    blocks = [
        (str(d), at_largest_prob(rows, f"{metric}_mean", names)) for d, rows in summary.groupby("dataset", sort=False)
    ]
    longest = max(len(line) for _, block in blocks for m in block.index for line in _wrapped(m, 22).split("\n"))
    width = 0.36 * len(names) + 0.07 * longest + 0.3
    heights = [len(block) for _, block in blocks]
    figure = canvas(max(COLUMN, width), 0.3 * sum(heights) + 0.32 * len(blocks) + 0.8)
    top = max(float(np.nanmax([block.max(axis=None), 0.001])) for _, block in blocks)
    panels = figure.subplots(len(blocks), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for axes, (dataset, block) in zip(panels, blocks, strict=True):
        values = block.to_numpy(dtype=float)
        axes.imshow(values, cmap=_SHADES.with_extremes(bad="0.93"), vmin=0, vmax=top, aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            ink = "white" if value > 0.55 * top else "black"
            text = "–" if np.isnan(value) else f"{100 * value:z.1f}".replace("-", "−")
            axes.text(column, row, text, ha="center", va="center", fontsize=7, color=ink)
        axes.set_title(dataset, loc="left", fontsize=8, parse_math=False)
        axes.set_yticks(range(len(block)), [_wrapped(m, 22) for m in block.index], fontsize=7, parse_math=False)
        last = axes is panels[-1]
        axes.set_xticks(
            range(len(names)), names if last else [], rotation=40, ha="right", rotation_mode="anchor", fontsize=7
        )
        axes.set_xticks(np.arange(0.5, len(names) - 1), minor=True)
        axes.set_yticks(np.arange(0.5, len(block) - 1), minor=True)
        axes.grid(which="minor", color="white", linewidth=1)
        axes.tick_params(which="both", length=0)
        axes.spines[:].set_visible(False)
    probs = sorted({f"{rows['prob'].max():g}" for _, rows in summary.groupby("dataset")})
    panels[-1].set_xlabel(f"{AXIS.get(metric, metric)} at prob {' or '.join(probs)}", fontsize=7)
    return figure


def at_largest_prob(rows: pd.DataFrame, column: str, names: Sequence[str]) -> pd.DataFrame:
    """Return a column of the summary of a data set at its largest prob: a row for each model, a column for each of `names`."""
    rows = rows[rows["prob"] == rows["prob"].max()]
    # pivot, not pivot_table: a repeated key must be an error
    table = rows.pivot(index="model", columns="perturbation", values=column)  # noqa: PD010
    return table.reindex(columns=list(names)).astype(float)


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


def write_figures(
    summary: pd.DataFrame, folder: Path, *suffixes: str, intervals: pd.DataFrame | None = None, mark: str = ""
) -> None:
    """Draw the dose curves of FIGURES, and a heat map of several models.

    Args:
        summary: of a `Comparison`.
        folder: that they are written to.
        suffixes: each is written once for each of these, like `.svg`.
        intervals: of the accuracies, where there are some.
        mark: stands at the end of each stem.
    """
    for metric, stem in FIGURES.items():
        save_as(dose_curves(summary, metric, intervals), folder / f"{stem}{mark}", *suffixes)
    if len(set(summary["model"])) > 1:
        save_as(heat_map(summary), folder / f"{HEAT_MAP}{mark}", *suffixes)


def save_as(figure: Figure, stem: Path, *suffixes: str) -> None:
    """Write a figure once for each suffix, like `.svg`."""
    for suffix in suffixes:
        save(figure, stem.with_suffix(suffix))


_UNDATED = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
"""Metadata without which two files of the same figure would differ."""


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the same numbers give the same bytes."""
    check_fonts(figure)
    with style(), rc_context({"svg.hashsalt": "crt", "svg.fonttype": "path"}):
        figure.savefig(path, metadata=_UNDATED.get(path.suffix, {}), dpi=300)
