"""Figures of the grid: how a metric moves with the dose, which model breaks where, and how sure that is.

They are drawn at the size at which they stand in a paper: a column of 3.3 inches or a page of 6.9, no letter under 7 pt.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from crt.perturbations import PAIRS, PERTURBATIONS
from crt.reporting.drawing import COLOURS, COLUMN, HEAT, MARKERS, PAGE, ZERO, canvas, plain, save_as, style
from crt.scoring.metrics import METRICS
from crt.scoring.summary import NO_EFFECT, no_effect

FIGURES = {"acc_drop": "accuracy_drop_by_prob", "attack_success_rate": "attack_success_rate_by_prob"}
"""File stem of the dose curves of a metric."""
HEAT_MAP = "accuracy_drop_heat_map"
"""File stem of the heat map."""

AXIS = {"acc_drop": "accuracy drop (points)", "attack_success_rate": "attack success rate (%)"}
"""Title of the axis of a metric."""

ABREAST = 3
"""Panels side by side on a page."""
CLEAN_POINT = {"acc_drop": 0.0}
"""Where the curve of a metric begins, in percent; others are undefined where nothing is edited."""
MOST_WITH_BARS = 4
"""Models whose bars can still be told apart in one panel; of more, the forest plot shows the intervals."""
FOREST = "accuracy_drop_intervals"
"""File stem of the forest plot."""

_DODGE = 0.55
"""Distance of neighbouring lines in percent of the sites, so that their bars can be told apart."""
_SHADES = LinearSegmentedColormap.from_list("drop", ("#f4f4f1", HEAT))
"""From the ground of a table to the palette's own colour for what is lost."""


@style()
def dose_curves(summary: pd.DataFrame, metric: str, intervals: pd.DataFrame | None = None) -> Figure:
    """Draw the metric over prob: rows of panels for each data set, a panel for each perturbation, a line for each model.

    Args:
        summary: from `summary_table`.
        metric: key of METRICS, a fraction 0..1.
        intervals: columns of KEYS, metric, low and high; drawn as bars. Where there are none, bars show the std.
    """
    names, models = _perturbations(summary), _models(summary)
    datasets = list(dict.fromkeys(summary["dataset"]))
    across = min(len(names), ABREAST if len(datasets) == 1 else 2 * ABREAST)
    down = -(-len(names) // across)
    legend = 0.16 * -(-len(models) // 4) + 0.2
    figure = canvas(PAGE, (1.75 if across <= ABREAST else 1.45) * down * len(datasets) + legend + 0.3)
    panels = figure.subplots(down * len(datasets), across, squeeze=False, sharex=True)
    for block, dataset in enumerate(datasets):
        here, bars = _of(summary, dataset=dataset), _of(intervals, dataset=dataset, metric=metric)
        limits = _limits(here, metric, bars)
        for place, axes in enumerate(panels[block * down : (block + 1) * down].flat):
            if place >= len(names):
                axes.set_axis_off()
                continue
            rows_, bars_ = _of(here, perturbation=names[place]), _of(bars, perturbation=names[place])
            _draw(axes, rows_, metric, models, bars_)
            if block == 0 or down > 1:
                axes.set_title(names[place], parse_math=False)
            axes.set_ylim(*limits)
            axes.tick_params(labelleft=place % across == 0, labelbottom=place + across >= len(names))
            if place % across == 0:
                axes.set_ylabel(_wrapped(str(dataset), 16) if len(datasets) > 1 else _axis(metric), parse_math=False)
    figure.supxlabel("share of the sites edited (%)", fontsize=8)
    if len(datasets) > 1:
        figure.supylabel(_axis(metric), fontsize=8)
    _legend(figure, ncols=4, title=f"{METRICS[metric].better} is better{_bars_told(models, intervals)}")
    return figure


@style()
def dose_panels(
    summary: pd.DataFrame, metric: str, intervals: pd.DataFrame | None = None
) -> list[tuple[str, str, Figure]]:
    """Draw the panels of `dose_curves` as figures of their own, for a page: data set, perturbation and figure of each."""
    models = _models(summary)
    figures = []
    for dataset, here in summary.groupby("dataset", sort=False):
        bars = _of(intervals, dataset=dataset, metric=metric)
        for name in _perturbations(here):
            figure = canvas(COLUMN, 2.2, None)
            axes = figure.add_axes((0.13, 0.16, 0.85, 0.81))  # the same place in each, so that they can be compared
            _draw(axes, _of(here, perturbation=name), metric, models, _of(bars, perturbation=name))
            axes.set_ylim(*_limits(here, metric, bars))
            axes.set_ylabel(_axis(metric))
            axes.set_xlabel("share of the sites edited (%)")
            figures.append((str(dataset), name, figure))
    return figures


@style()
def swatches(summary: pd.DataFrame) -> list[tuple[str, Figure]]:
    """Draw the line and the marker of each model, for the legend of a page."""
    figures = []
    for number, name in enumerate(_models(summary)):
        figure = canvas(0.4, 0.18, None)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.plot([0, 1, 2], [0, 0, 0], markevery=[1], **_line(number))
        figures.append((name, figure))
    return figures


@style()
def forest(summary: pd.DataFrame, intervals: pd.DataFrame, metric: str = "acc_drop") -> Figure:
    """Draw the metric at the largest prob as points with intervals: a panel for each data set, a row for each perturbation.

    Args:
        summary: from `summary_table`.
        intervals: columns of KEYS, metric, low and high.
        metric: key of METRICS, a fraction -1..1.
    """
    models = _models(summary)
    blocks = [(str(dataset), at_largest_prob(rows)) for dataset, rows in summary.groupby("dataset", sort=False)]
    across = min(len(blocks), ABREAST)
    down = -(-len(blocks) // across)
    names = _perturbations(summary)
    height = len(names) * (0.09 * len(models) + 0.14)
    figure = canvas(COLUMN if across == 1 else PAGE, down * (height + 0.4) + 0.16 * -(-len(models) // 2) + 0.4)
    panels = figure.subplots(down, across, squeeze=False, sharey=True)
    step = 0.7 / max(len(models), 2)
    for axes, (dataset, rows) in zip(panels.flat, blocks, strict=False):
        axes.axvline(0, color=ZERO, linewidth=0.8)
        for number, model in enumerate(models):
            points = _of(rows, model=model).set_index("perturbation").reindex(names)
            points = points.mask(no_effect(points["changed_rate_mean"]))
            ends = _of(intervals, dataset=dataset, model=model, metric=metric, prob=rows["prob"].max())
            ends = ends.set_index("perturbation").reindex(names)
            means = 100 * points[f"{metric}_mean"].astype(float)
            spread = np.abs([means - 100 * ends["low"].astype(float), 100 * ends["high"].astype(float) - means])
            places = np.arange(len(names)) + step * (number - (len(models) - 1) / 2)
            axes.errorbar(
                means, places, xerr=spread, label=model, elinewidth=0.9, **_line(number) | {"linestyle": "none"}
            )
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_title(f"{dataset}, prob {rows['prob'].max():g}", parse_math=False)
        axes.tick_params(axis="y", length=0)
        plain(axes, "x")
    for axes in panels.flat[len(blocks) :]:
        axes.set_axis_off()
    figure.supxlabel(f"{_axis(metric)}, 95 % interval", fontsize=8)
    _legend(figure, ncols=2 if across == 1 else 4)
    return figure


def _axis(metric: str) -> str:
    return AXIS.get(metric, f"{metric} (%)")


def _perturbations(summary: pd.DataFrame) -> list[str]:
    return [name for name in (*PERTURBATIONS, PAIRS.name) if name in set(summary["perturbation"])]


def _models(summary: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(map(str, summary["model"])))


def _of(rows: pd.DataFrame | None, **keys: object) -> pd.DataFrame:
    """Return the rows with these values."""
    if rows is None or rows.empty:
        return pd.DataFrame(columns=["dataset", "model", "perturbation", "prob", "metric", "low", "high"])
    for key, value in keys.items():
        rows = rows[rows[key] == value]
    return rows


def _legend(figure: Figure, *, ncols: int, title: str | None = None) -> None:
    """Name each line of the panels once, above them."""
    pairs = [pair for axes in figure.axes for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    found = {label: handle for handle, label in pairs}
    legend = figure.legend(
        list(found.values()), list(found), loc="outside upper center", ncols=ncols, fontsize=7, frameon=False,
        columnspacing=1.2, title=title, title_fontsize=7,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def _bars_told(models: Sequence[str], intervals: pd.DataFrame | None) -> str:
    if len(models) > MOST_WITH_BARS:
        return ""
    return "; bars: standard deviation" if intervals is None or intervals.empty else "; bars: 95 % interval"


def _line(number: int) -> dict[str, Any]:
    """Return how the line of a model looks: colours come round before markers, and no pair comes twice."""
    marker = MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]
    return {"color": COLOURS[number % len(COLOURS)], "marker": marker, "markersize": 3, "linewidth": 1.1}


def _draw(axes: Axes, rows: pd.DataFrame, metric: str, models: Sequence[str], intervals: pd.DataFrame) -> None:
    """Draw the lines of the models on one data set under one perturbation."""
    axes.axhline(0, color=ZERO, linewidth=0.8)
    for number, model in enumerate(models):
        line = _of(rows, model=model).sort_values("prob")
        line = line[~no_effect(line["changed_rate_mean"])]
        places = 100 * line["prob"].to_numpy(dtype=float) + _DODGE * (number - (len(models) - 1) / 2)
        means = 100 * line[f"{metric}_mean"].to_numpy(dtype=float)
        clean = [CLEAN_POINT[metric]] if metric in CLEAN_POINT and len(line) else []
        axes.plot([0.0] * len(clean) + [*places], [*clean, *means], label=model, **_line(number))
        if len(models) <= MOST_WITH_BARS:
            low, high = _ends(line, metric, _of(intervals, model=model))
            axes.vlines(places, low, high, color=COLOURS[number % len(COLOURS)], linewidth=0.8)
    axes.set_xticks([0, *(100 * rows["prob"].drop_duplicates().sort_values())])
    axes.xaxis.set_major_formatter("{x:g}")
    plain(axes, "y")


def _ends(line: pd.DataFrame, metric: str, intervals: pd.DataFrame) -> list[NDArray[np.float64]]:
    """Return low and high in percent at each point of a line: of its interval, else mean minus and plus std."""
    means, std = (line[f"{metric}_{part}"].astype(float) for part in ("mean", "std"))
    low, high = means - std.fillna(0.0), means + std.fillna(0.0)
    if len(intervals):
        known = intervals.drop_duplicates("prob").set_index("prob")[["low", "high"]].astype(float).reindex(line["prob"])
        low, high = known["low"], known["high"]
    return [100 * np.asarray(end, dtype=np.float64) for end in (low, high)]


def _limits(rows: pd.DataFrame, metric: str, intervals: pd.DataFrame) -> tuple[float, float]:
    """Return the range of the values axis in percent: the same for all perturbations of a data set."""
    means, std = (rows[f"{metric}_{part}"].astype(float) for part in ("mean", "std"))
    std = std.fillna(0.0)
    bars = intervals[["low", "high"]].astype(float)
    ends = pd.concat([means - std, means + std, bars["low"], bars["high"], pd.Series([0.0, 0.01])])
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
    blocks = []
    for d, rows in summary.groupby("dataset", sort=False):
        idle = no_effect(by_perturbation(rows, "changed_rate_mean", names))
        blocks.append((str(d), by_perturbation(rows, f"{metric}_mean", names).mask(idle), idle.to_numpy()))
    longest = max(len(line) for _, block, _ in blocks for m in block.index for line in _wrapped(m, 22).split("\n"))
    width = 0.36 * len(names) + 0.07 * longest + 0.3
    heights = [len(block) for _, block, _ in blocks]
    figure = canvas(max(COLUMN, width), 0.3 * sum(heights) + 0.32 * len(blocks) + 0.8)
    top = max(float(np.nanmax([block.max(axis=None), 0.001])) for _, block, _ in blocks)
    panels = figure.subplots(len(blocks), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for axes, (dataset, block, idle) in zip(panels, blocks, strict=True):
        values = block.to_numpy(dtype=float)
        axes.imshow(values, cmap=_SHADES.with_extremes(bad="0.93"), vmin=0, vmax=top, aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            nothing = NO_EFFECT.replace(" ", "\n") if idle[row, column] else "–"
            text = nothing if np.isnan(value) else f"{100 * value:z.1f}".replace("-", "−")
            axes.text(column, row, text, ha="center", va="center", fontsize=7)
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


def at_largest_prob(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a data set at its largest prob."""
    largest: pd.DataFrame = rows[rows["prob"] == rows["prob"].max()]
    return largest


def by_perturbation(rows: pd.DataFrame, column: str, names: Sequence[str]) -> pd.DataFrame:
    """Return a column of the summary at the largest prob: a row for each model, a column for each of `names`."""
    # pivot, not pivot_table: a repeated key must be an error
    table = at_largest_prob(rows).pivot(index="model", columns="perturbation", values=column)  # noqa: PD010
    return table.reindex(columns=list(names)).astype(float)


def write_figures(
    summary: pd.DataFrame, folder: Path, *suffixes: str, intervals: pd.DataFrame | None = None, mark: str = ""
) -> None:
    """Draw the dose curves of FIGURES, a forest plot of the drops, and a heat map of several models.

    Args:
        summary: of a `Comparison`.
        folder: that they are written to.
        suffixes: each is written once for each of these, like `.svg`.
        intervals: of the accuracies, where there are some.
        mark: stands at the end of each stem.
    """
    for metric, stem in FIGURES.items():
        save_as(dose_curves(summary, metric, intervals), folder / f"{stem}{mark}", *suffixes)
    if intervals is not None and not intervals.empty:
        save_as(forest(summary, intervals), folder / f"{FOREST}{mark}", *suffixes)
    if len(set(summary["model"])) > 1:
        save_as(heat_map(summary), folder / f"{HEAT_MAP}{mark}", *suffixes)
