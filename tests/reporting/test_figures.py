"""Figures: they are repeatable, survive what a summary may lack, and name every line."""

import re
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from crt.perturbations import PERTURBATIONS
from crt.reporting import drawing
from crt.reporting.drawing import COLUMN, PAGE, inline, save
from crt.reporting.figures import (
    FIGURES,
    HEAT_MAP,
    dose_curves,
    dose_panels,
    forest,
    heat_map,
    write_figures,
)
from crt.reporting.study_figures import CURVES, degree_curves, group_bars, pass_bars
from crt.scoring.metrics import METRICS
from crt.scoring.summary import summary_table


def summary(
    *, models: tuple[str, ...] = ("m",), datasets: tuple[str, ...] = ("d",), seeds: int = 2, **metrics: float
) -> pd.DataFrame:
    """Return the summary of a grid over all perturbations in which each metric has one value."""
    keys = product(models, datasets, PERTURBATIONS, (0.05, 0.3), range(seeds))
    columns = ("model", "dataset", "perturbation", "prob", "seed")
    return summary_table(pd.DataFrame([dict(zip(columns, key, strict=True)) | metrics for key in keys]))


def panels(figure):
    """Return the panels that show something."""
    return [axes for axes in figure.axes if axes.axison]


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_same_numbers_give_the_same_bytes(tmp_path, suffix):
    """The figure of a summary is the same file each time: nothing of the clock or of chance is in it."""
    table = summary(models=("a", "b"), datasets=("d", "e"), acc_drop=0.2)
    files = [tmp_path / f"{number}{suffix}" for number in range(2)]
    for file in files:
        save(dose_curves(table, "acc_drop"), file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].stat().st_size > 1000


@pytest.mark.parametrize("metric", FIGURES)
def test_every_line_has_its_label(metric):
    """The legend names each model once, a panel each perturbation, in their order, and it says which direction is good."""
    figure = dose_curves(summary(models=("a", "b"), **{metric: 0.2}), metric)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    assert legend.get_title().get_text() == f"{METRICS[metric].better} is better; bars: standard deviation"
    assert [axes.get_title() for axes in panels(figure)] == list(PERTURBATIONS)


DROPS = pd.DataFrame(
    {"model": "m", "dataset": "d", "perturbation": "space", "prob": p, "seed": s, "acc_drop": drop}
    for p, s, drop in ((0.3, 1, 0.5), (0.3, 2, 0.7), (0.1, 1, 0.2), (0.1, 2, 0.2))
)
ENDS = pd.DataFrame(
    {"model": "m", "dataset": "d", "perturbation": "space", "prob": p, "metric": "acc_drop", "low": low, "high": high}
    for p, low, high in ((0.1, 0.15, 0.3), (0.3, 0.5, 0.65))
)


@pytest.mark.parametrize(
    ("intervals", "bars"), [(None, [(20, 20), (60 - 2**0.5 * 10, 60 + 2**0.5 * 10)]), (ENDS, [(15, 30), (50, 65)])]
)
def test_lines_show_percent_over_prob(intervals, bars):
    """A line runs from the clean point through the means at the probs, with the interval, or else the std, as bars."""
    (axes,) = dose_curves(summary_table(DROPS), "acc_drop", intervals).axes
    line = next(line for line in axes.lines if line.get_label() == "m")
    assert line.get_xydata() == pytest.approx(np.array([[0, 0], [10, 20.0], [30, 60.0]]))
    (drawn,) = axes.collections
    assert [tuple(bar[:, 1]) for bar in drawn.get_segments()] == [pytest.approx(bar) for bar in bars]


def test_a_rate_without_a_clean_point_begins_at_the_first_prob():
    """Where nothing is edited there is no attack, so the success rate has no point there."""
    (axes, *_) = dose_curves(summary(attack_success_rate=0.2), "attack_success_rate").axes
    assert next(line for line in axes.lines if line.get_label() == "m").get_xdata().tolist() == [5, 30]


def test_many_models_have_no_bars():
    """More bars than a reader can tell apart are left to the forest plot."""
    figure = dose_curves(summary(models=tuple("abcde"), acc_drop=0.2), "acc_drop")
    assert not any(axes.collections for axes in panels(figure))


def test_forest():
    """Each perturbation has a row, its points and intervals at the largest prob alone, in percent."""
    figure = forest(summary_table(DROPS), ENDS)
    (axes,) = panels(figure)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["space"]
    ((point, _, (bar,)),) = axes.containers
    assert point.get_xdata() == pytest.approx([60])
    assert bar.get_segments()[0][:, 0] == pytest.approx([50, 65])


def test_texts_stay_texts(tmp_path):
    """A reader can search a figure, and an editor change its words."""
    save(dose_curves(summary(acc_drop=0.2), "acc_drop"), tmp_path / "figure.svg")
    assert ">homophone</text>" in (tmp_path / "figure.svg").read_text(encoding="utf-8")


LACKING = {
    "one seed: no bars": summary(seeds=1, acc_drop=0.2),
    "a metric that was never defined": summary(attack_success_rate=0.2),
    "a model that lacks a data set": summary(models=("a", "b"), datasets=("d", "e"), acc_drop=0.2).query(
        "not (model == 'a' and dataset == 'd')"
    ),
    "a model that lacks a perturbation": summary(models=("a", "b"), acc_drop=0.2).query(
        "not (model == 'a' and perturbation == 'shape')"
    ),
    "a name that looks like a formula": summary(models=(r"$\frac$",), acc_drop=0.2),
}


@pytest.mark.parametrize("table", LACKING.values(), ids=LACKING)
def test_draws_what_there_is(tmp_path, table):
    """Whatever a summary lacks, the rest is drawn, with every model in the legend and a panel for every perturbation."""
    figure = dose_curves(table, "acc_drop")
    save(figure, tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(dict.fromkeys(table["model"]))
    assert len(panels(figure)) == len(PERTURBATIONS) * table["dataset"].nunique()


def test_curves_over_the_degree():
    """Each perturbation has a panel; its curves begin at the clean accuracy and stand where the edits were made."""
    rows = [
        {"perturbation": name, "degree": degree, "realised_degree": reached, "clean_acc": 0.9}
        | {"average_case": 0.8, "worst_case": 0.5 - degree, "worst_case_surviving": 0.4 - degree}
        for name, made in (("space", (0.1, 0.3)), ("synonym", (0.05, 0.06)))
        for degree, reached in zip((0.1, 0.3), made, strict=True)
    ]
    figure = degree_curves(pd.DataFrame(rows), "t")
    space, synonym = panels(figure)
    assert [axes.get_title() for axes in (space, synonym)] == ["space", "synonym"]
    average, worst, survived = space.lines
    assert average.get_xydata() == pytest.approx(np.array([[0, 90], [10, 80], [30, 80]]))
    assert worst.get_ydata() == pytest.approx(np.array([90, 40, 20]))
    assert survived.get_ydata() == pytest.approx(np.array([90, 30, 10]))
    assert synonym.lines[0].get_xdata() == pytest.approx(np.array([0, 5, 6]))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(CURVES.values())


def test_bars_of_groups():
    """Each gold label has a bar in each coarse group, as high as its accuracy; an absent one has none; chance is drawn."""
    columns = ["level", "group", "rule", "gold", "n", "accuracy"]
    rows = [
        ["heuristic", "a_b", "collapsed", "entailment", 3, 0.9],
        ["heuristic", "a_b", "collapsed", "non-entailment", 3, 0.2],
        ["heuristic", "c", "collapsed", "entailment", 3, 0.5],
        ["subcase", "x", "collapsed", "entailment", 3, 0.1],
        ["heuristic", "a_b", "three-way", "neutral", 3, 0.7],
    ]
    (axes,) = group_bars(pd.DataFrame(rows, columns=columns), "t").axes
    heights = [[bar.get_height() for bar in container] for container in axes.containers]
    assert heights == [[90, 50], [20, pytest.approx(np.nan, nan_ok=True)]]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a b", "c"]
    assert axes.lines[0].get_ydata()[0] == 50


def test_bars_of_capabilities():
    """Each capability that counts has a bar, in the order of the suite from the top, with passed/total beside it."""
    rates = pd.DataFrame(
        {"capability": ["x_y", "z", "none"], "passed": [1, 2, 0], "total": [2, 2, 0], "pass_rate": [0.5, 1.0, np.nan]}
    )
    (axes,) = pass_bars(rates, "t").axes
    assert [bar.get_width() for bar in axes.containers[0]] == [100, 50]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["z", "x y"]
    assert [text.get_text() for text in axes.texts] == ["2/2", "1/2"]


@pytest.mark.parametrize("models", [1, 2, 5])
def test_size_in_a_paper(models):
    """The panels fit a page, a forest of one data set a column, and no letter is smaller than 7 pt."""
    table = summary(models=tuple(f"model-{n}" for n in range(models)), acc_drop=0.2)
    figure = dose_curves(table, "acc_drop")
    points = forest(table, ENDS)
    assert (figure.get_figwidth(), points.get_figwidth()) == (PAGE, COLUMN)
    for drawn in (figure, points, heat_map(table)):
        assert min(text.get_fontsize() for text in drawn.findobj(Text) if text.get_text()) >= 7


def test_no_two_lines_look_the_same():
    """Colour and marker together tell twenty models apart."""
    names = [f"model-{n:02}" for n in range(20)]
    axes, *_ = dose_curves(summary(models=tuple(names), acc_drop=0.2), "acc_drop").axes
    looks = {(line.get_color(), line.get_marker()) for line in axes.lines if line.get_label() in names}
    assert len(looks) == 20


def test_heat_map_prints_the_largest_dose():
    """Each cell has the mean drop at the largest prob of its data set in points; one that was not measured has a dash."""
    keys = [
        ("a", "space", 0.05, 0.1),
        ("a", "space", 0.3, 0.25),
        ("a", "shape", 0.3, -0.004),
        ("b", "space", 0.3, 0.125),
    ]
    columns = ("model", "perturbation", "prob", "acc_drop")
    cells = pd.DataFrame([dict(zip(columns, key, strict=True)) for key in keys]).assign(dataset="d", seed=1)
    (axes,) = heat_map(summary_table(cells)).axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["shape", "space"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]
    assert [text.get_text() for text in axes.texts] == ["−0.4", "25.0", "–", "12.5"]


def test_heat_map_of_several_models_only(tmp_path):
    """One model has nothing to be compared with."""
    write_figures(summary(acc_drop=0.2, attack_success_rate=0.1), tmp_path / "", ".svg")
    assert not (tmp_path / f"{HEAT_MAP}.svg").exists()
    write_figures(summary(models=("a", "b"), acc_drop=0.2, attack_success_rate=0.1), tmp_path, ".svg")
    assert {path.stem for path in tmp_path.iterdir()} == {*FIGURES.values(), HEAT_MAP}


def test_chinese_names_need_a_font(tmp_path, monkeypatch, caplog):
    """Without a Chinese font one warning says what to install; a figure without Chinese never warns."""
    monkeypatch.setattr(drawing, "chinese", tuple)
    drawing._warn.cache_clear()
    for model in ("m", "模型", "模型"):
        save(dose_curves(summary(models=(model,), acc_drop=0.2), "acc_drop"), tmp_path / "figure.png")
    assert [record.message.count("fonts-noto-cjk") for record in caplog.records if record.name == drawing.__name__] == [
        1
    ]


@pytest.mark.skipif(not drawing.chinese(), reason="needs a Chinese font, like the package fonts-noto-cjk")
def test_chinese_names_are_drawn(tmp_path):
    """With a Chinese font no glyph is missing."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Glyph")
        save(dose_curves(summary(models=("模型一",), acc_drop=0.2), "acc_drop"), tmp_path / "figure.pdf")


def test_inline_figures_do_not_meet():
    """Figures of a page share no id, their texts stay texts, and their colours follow the page."""
    (_, _, one), (_, _, two), *_ = dose_panels(summary(models=("a", "b"), acc_drop=0.2), "acc_drop")
    texts = inline(one, "one", "A"), inline(two, "two", "B")
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in texts]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', texts[0])) <= ids[0]
    assert "accuracy drop (points)" in texts[0]
    assert "var(--s1)" in texts[0]
    assert "#0072b2" not in texts[0].lower()
