"""A perturbation that changed no text says nothing of robustness: every place that shows it says that it had no effect."""

import pandas as pd
import pytest

from crt.records import CLEAN
from crt.reporting.figures import dose_curves, heat_map
from crt.reporting.page.sections import glance, heat, tiles
from crt.reporting.table import detail_table, paper_table
from crt.reporting.verdict import verdict
from crt.scoring.evidence import Evidence
from crt.scoring.summary import UNTOUCHED, Comparison, no_effect
from crt.studies import benchmark
from crt.studies.worst_case import study

SPACE = [("space", 0.1, 0.8), ("space", 0.3, 0.6)]
NONE = pd.DataFrame()


def comparison(*rows, models=("m",)):
    """Return what is compared: perturbation, prob and accuracy of cells; one that is as before (0.9) changed no text."""
    cells = [
        {"key": "k", "run_id": "r", "model": model, "dataset": "d", "perturbation": CLEAN, "prob": 0.0, "seed": 0, "clean_acc": 0.9}
        for model in models
    ] + [
        {
            "key": "k", "run_id": "r", "model": model, "dataset": "d", "perturbation": name, "prob": prob, "seed": seed,
            "clean_acc": 0.9, "perturbed_acc": after, "acc_drop": 0.9 - after, "robustness_score": after / 0.9,
            "num_examples": 100, "changed_rate": float(after != 0.9), "num_changed": 100.0 * (after != 0.9),
        }
        for model in models for name, prob, after in rows for seed in (1, 2)
    ]  # fmt: skip
    return Comparison.of(pd.DataFrame(cells))


def test_only_a_share_of_zero_is_no_effect():
    """A share that is not known, as in cells of an old version, may have had an effect."""
    assert [bool(no_effect(share)) for share in (0.0, 0.001, float("nan"), None)] == [True, False, False, False]


def test_the_table_says_so():
    """The cell has words in place of its number, which has no part in the mean and is never the best; a footnote tells why."""
    found = comparison(*SPACE, ("emoji", 0.1, 0.9), ("emoji", 0.3, 0.9), models=("m", "n"))
    table = paper_table(found, "perturbed_acc")
    assert table.header[5:] == ("space", "emoji", "mean")
    assert table.rows[0] == ("d", "m", "0.1", "100", "90.0", "80.0±0.0", "no effect", "80.0")
    assert all(column != 6 for _, column in table.best)
    assert f"{UNTOUCHED}; it has no part in the mean." in table.caption
    assert "no effect" not in paper_table(comparison(*SPACE), "perturbed_acc").markdown()


def test_a_metric_that_is_not_known_leaves_no_mean():
    """A perturbation that was not measured is a dash, and then so is the mean; one without effect is not."""
    rows = paper_table(comparison(("space", 0.1, 0.8), ("emoji", 0.1, 0.9), ("space", 0.3, 0.6)), "perturbed_acc").rows
    assert [row[5:] for row in rows] == [("80.0±0.0", "no effect", "80.0"), ("60.0±0.0", "–", "–")]


def test_the_numbers_of_the_reference_protocol_stay():
    """In the CSV of the cells nothing is replaced: there the score is 1, as the protocol defines it."""
    rows = detail_table(comparison(("emoji", 0.1, 0.9)).cells)
    assert rows[["perturbed_acc", "robustness_score", "changed_rate"]].to_numpy().tolist() == [[0.9, 1.0, 0.0]] * 2


def test_the_verdict_says_so():
    """It is no drop that is absent, has no part in the means, and is named, with its probs if not all are meant."""
    rows = (*SPACE, ("emoji", 0.1, 0.9), ("emoji", 0.3, 0.9), ("shape", 0.1, 0.9), ("shape", 0.3, 0.7))
    values = {"significant": False, "alike": True, "low": -0.001, "high": 0.001, "n": 100, "error": 0.01, "family": 6}
    tests = [
        {"model": m, "dataset": "d", "perturbation": name, "prob": prob, "drop": 0.9 - after, **values}
        for m in ("m", "n")
        for name, prob, after in rows
    ]
    told = verdict(comparison(*rows, models=("m", "n")), Evidence(tests=pd.DataFrame(tests)))
    assert told.sentences[-1] == "On d, shape at prob 0.1; emoji: no effect, no text was changed."
    row = dict(zip(told.table.header, told.table.rows[0], strict=True))
    assert row["significant/open/none"] == "0/0/3"
    assert "emoji" not in row["no significant drop"]
    assert row["mean drop"] == "20.0"


def test_nothing_was_tested():
    """Where no perturbation changed a text, nothing is said of what lowers the accuracy."""
    found = comparison(("emoji", 0.1, 0.9))
    assert verdict(found, Evidence()).sentences == ("On d, emoji: no effect, no text was changed.",)
    assert paper_table(found, "perturbed_acc").rows == (("d", "m", "0.1", "100", "90.0", "no effect", "–"),)


def test_the_page_says_so():
    """Headline numbers, the glance and the heat map leave it out of their means, and name it with the footnote."""
    summary = comparison(("space", 0.3, 0.6), ("emoji", 0.3, 0.9)).summary
    assert "60.0" in glance(summary)
    assert UNTOUCHED in glance(summary)
    assert "no effect" in heat(summary, NONE)
    assert UNTOUCHED in heat(summary, NONE)
    alone = comparison(("emoji", 0.3, 0.9)).summary
    assert "no effect" in glance(alone)
    assert "Largest drop" not in tiles(alone, NONE, NONE)
    assert "no effect" not in glance(comparison(*SPACE).summary) + heat(comparison(*SPACE).summary, NONE)


def test_the_figures_draw_no_line():
    """A flat line at no drop would read as robustness; the heat map has words in place of the number."""
    found = comparison(*SPACE, ("emoji", 0.1, 0.9), ("emoji", 0.3, 0.9), models=("m", "n"))
    space, emoji = dose_curves(found.summary, "acc_drop").axes[:2]
    drawn = [[len(line.get_xdata()) for line in axes.lines[1:]] for axes in (space, emoji)]
    assert drawn == [[3, 3], [0, 0]]
    assert [text.get_text() for text in heat_map(found.summary).axes[0].texts] == ["30.0", "no\neffect"] * 2


@pytest.mark.parametrize(
    ("told", "metrics"),
    [
        (benchmark._told, {"clean_acc": 0.5, "perturbed_acc": 0.5, "changed_rate": 0.0}),
        (study._told, {"clean_acc": 0.5, "average_case": 0.5, "worst_case": 0.5, "realised_degree": 0.0}),
    ],
)
def test_the_console_says_so(told, metrics):
    """The line of a cell, or of a degree, in which nothing changed has no second accuracy."""
    assert told(metrics) == "accuracy 0.5000, no effect: no text was changed"
    assert "->" in told(metrics | {"changed_rate": 0.1, "realised_degree": 0.1})
