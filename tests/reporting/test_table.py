"""Tables: the detail table, mean and standard deviation over seeds, and the paper table with its markup."""

import html
import re
import shutil
import subprocess
from dataclasses import replace
from statistics import mean, stdev

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import PROPERTY

from crt.errors import CrtError
from crt.records import CLEAN
from crt.reporting.table import (
    at_dose,
    detail_table,
    dose_of_paper,
    dose_tables,
    paper_table,
    with_edited,
    with_majority,
)
from crt.scoring.evidence import Evidence
from crt.scoring.metrics import METRICS
from crt.scoring.summary import (
    DASH,
    SEEDS,
    TRAIN_SEEDS,
    Comparison,
    dose_area,
    headline,
    mean_std,
    summary_table,
)

COLUMNS = (
    "model", "dataset", "perturbation", "prob", "seed", "clean_acc", "perturbed_acc", "acc_drop", "robustness_score",
    "clean_macro_f1", "perturbed_macro_f1", "macro_f1_drop", "num_examples", "num_changed", "changed_rate",
    "mean_char_change_ratio", "num_resource_hits", "resource_coverage_rate", "mean_resource_hits_per_example",
    "num_clean_correct", "num_attack_eval", "attack_success_rate",
)  # fmt: skip
AWKWARD = "a_b|c*&%$#{}~^\\"


def cell(perturbation: str = "space", prob: float = 0.1, seed: int = 13, **values: object) -> dict[str, object]:
    """Return one stored cell."""
    keys = {"model": "m", "dataset": "d", "perturbation": perturbation, "prob": prob, "seed": seed}
    return {"key": "k", "run_id": "r", **keys, "clean_acc": 0.9, "num_examples": 100.0, **values}


def clean_cell(**values: object) -> dict[str, object]:
    """Return one stored clean cell."""
    return cell(CLEAN, 0.0, 0, **values)


def frame(*cells: dict[str, object]) -> pd.DataFrame:
    """Return stored cells as a table."""
    return pd.DataFrame(cells)


def only_row(cells: pd.DataFrame) -> dict[str, object]:
    """Return the one row of the summary of the cells."""
    (row,) = summary_table(cells).to_dict("records")
    return row


def printed(cells: pd.DataFrame, metric: str, signature: str):
    """Return the paper table of cells, under a signature."""
    return paper_table(replace(Comparison.of(cells), signature=signature), metric)


# the detail table


def test_detail_table_is_the_reference_table():
    """The detail table has the 22 reference columns in order, no clean rows, and nothing where a metric is undefined."""
    cells = frame(
        cell("synonym", seed=42, acc_drop=0.1, edit_rate=0.5, train_seed="1"),
        clean_cell(clean_acc=0.9),
        cell("homophone", 0.3, acc_drop=0.3, attack_success_rate=0.25),
        cell("homophone", 0.05, acc_drop=0.2, attack_success_rate=0.5),
    )
    table = detail_table(cells)
    assert tuple(table.columns) == COLUMNS
    assert list(table["perturbation"]) == ["homophone", "homophone", "synonym"]
    assert list(table["prob"]) == [0.05, 0.3, 0.1]
    lines = table.to_csv(index=False).splitlines()
    assert lines[1] == "m,d,homophone,0.05,13,0.9,,0.2,,,,,100,,,,,,,,,0.5"
    assert lines[3] == "m,d,synonym,0.1,42,0.9,,0.1,,,,,100,,,,,,,,,"


# mean and standard deviation


def test_summary_by_hand():
    """Over perturbation seeds: mean, standard deviation with n - 1, n, and the two as text."""
    row = only_row(frame(*(cell(seed=seed, acc_drop=drop) for seed, drop in ((13, 0.10), (42, 0.20), (100, 0.60)))))
    assert (row["over"], row["n"], row["acc_drop_n"]) == (SEEDS, 3, 3)
    assert row["acc_drop_mean"] == pytest.approx(0.3)
    assert row["acc_drop_std"] == pytest.approx(0.07**0.5)  # (0.04 + 0.01 + 0.09) / 2
    assert row["acc_drop_mean_std"] == "0.3000±0.2646"


def test_summary_of_one_seed_has_no_std():
    """With one seed there is a mean and no standard deviation: it is absent, not 0."""
    row = only_row(frame(cell(acc_drop=0.25)))
    assert (row["n"], row["acc_drop_mean"], row["acc_drop_n"]) == (1, 0.25, 1)
    assert pd.isna(row["acc_drop_std"])
    assert row["acc_drop_mean_std"] == "0.2500"


def test_summary_leaves_undefined_values_out():
    """An undefined metric is left out of the mean and counted in its own n; one that is nowhere defined is empty."""
    row = only_row(
        frame(
            cell(seed=1, acc_drop=0.1, attack_success_rate=0.2),
            cell(seed=2, acc_drop=0.1, attack_success_rate=None),
            cell(seed=3, acc_drop=0.1, attack_success_rate=0.4),
        )
    )
    assert (row["n"], row["attack_success_rate_n"]) == (3, 2)
    assert row["attack_success_rate_mean"] == pytest.approx(0.3)
    assert all(pd.isna(row[f"changed_rate_{part}"]) for part in ("mean", "std", "n", "mean_std"))


def test_summary_columns():
    """Every metric has its four columns, measured or not, and clean cells have no row."""
    table = summary_table(frame(cell(acc_drop=0.1), clean_cell(clean_acc=0.9)))
    parts = [f"{name}_{part}" for name in METRICS for part in ("mean", "std", "n", "mean_std")]
    assert list(table.columns) == ["model", "dataset", "perturbation", "prob", "over", "n", *parts]
    assert len(table) == 1
    assert summary_table(frame(clean_cell(clean_acc=0.9))).empty


def test_summary_over_training_seeds():
    """Perturbation seeds are averaged within each training seed; the standard deviation is over training seeds."""
    drops = {"1": (0.10, 0.30), "2": (0.30, 0.50), "3": (0.50, 1.00, 0.30)}
    cells = frame(
        *(cell(seed=s, train_seed=t, acc_drop=drop) for t, values in drops.items() for s, drop in enumerate(values))
    )
    row = only_row(cells)
    within = [mean(values) for values in drops.values()]
    assert within == pytest.approx([0.2, 0.4, 0.6])
    assert (row["over"], row["n"]) == (TRAIN_SEEDS, 3)
    assert row["acc_drop_mean"] == pytest.approx(0.4)
    assert row["acc_drop_std"] == pytest.approx(stdev(within)) == pytest.approx(0.2)


@pytest.mark.parametrize("train_seed", ["42", None])
def test_one_training_seed_is_not_several(train_seed):
    """With one training seed, known or not, the standard deviation is over perturbation seeds."""
    row = only_row(frame(*(cell(seed=s, train_seed=train_seed, acc_drop=d) for s, d in ((1, 0.1), (2, 0.3)))))
    assert (row["over"], row["n"]) == (SEEDS, 2)
    assert row["acc_drop_std"] == pytest.approx(stdev([0.1, 0.3]))


def test_models_with_and_without_training_seeds():
    """Each model is summarised by its own kind of seed, and the caption says which model by which, with n."""
    cells = frame(
        *(cell(seed=s, train_seed=t, acc_drop=0.1, model="bert") for s in (1, 2) for t in ("5", "6", "7")),
        *(cell(seed=s, acc_drop=0.2, model="rule") for s in (1, 2)),
    )
    table = summary_table(cells).set_index("model")
    assert table["over"].to_dict() == {"bert": TRAIN_SEEDS, "rule": SEEDS}
    assert table["n"].to_dict() == {"bert": 3, "rule": 2}
    assert "over n=3 training seeds (bert); n=2 perturbation seeds (rule)." in printed(cells, "acc_drop", "").caption


@pytest.mark.parametrize(
    ("mean_", "std", "text"),
    [
        (0.5, 0.25, "0.5000±0.2500"),
        (0.5, None, "0.5000"),
        (0.5, float("nan"), "0.5000"),
        (None, None, DASH),
        (float("nan"), 0.1, DASH),
        (0.0, 0.0, "0.0000±0.0000"),
        (-0.00001, None, "0.0000"),
    ],
)
def test_mean_std(mean_, std, text):
    """A missing mean is a dash, a missing standard deviation is left out, and 0 is a value, without a minus."""
    assert mean_std(mean_, std) == text


# the paper table


def two_models(metric: str, **values: tuple[tuple[float | None, ...], tuple[float | None, ...]]) -> pd.DataFrame:
    """Return cells of models a and b; each perturbation has its values by seed, for both models."""
    return frame(
        clean_cell(model="a", clean_acc=0.9),
        clean_cell(model="b", clean_acc=0.8),
        *(
            cell(name, seed=seed, model=model, **{metric: value})
            for name, both in values.items()
            for model, by_seed in zip("ab", both, strict=True)
            for seed, value in enumerate(by_seed)
        ),
    )


def best_texts(cells: pd.DataFrame, metric: str) -> list[tuple[str, str]]:
    """Return the column titles and texts of the best values, sorted."""
    table = printed(cells, metric, "")
    return sorted((table.header[column], table.rows[row][column]) for row, column in table.best)


def test_paper_table_by_hand():
    """A row for each model: percent with one digit, std over seeds, clean accuracy, and the mean over perturbations."""
    cells = two_models("acc_drop", space=((0.1, 0.3), (0.05,)), homophone=((0.4, 0.4), (0.25,)))
    table = printed(cells, "acc_drop", "crt:1")
    assert table.header == ("data set", "model", "prob", "n", "clean acc", "homophone", "space", "mean")
    assert table.rows == (
        ("d", "a", "0.1", "100", "90.0", "40.0±0.0", "20.0±14.1", "30.0"),
        ("d", "b", "0.1", "100", "80.0", "25.0", "5.0", "15.0"),
    )
    assert list(table.csv().columns) == list(table.header)
    assert table.csv().to_numpy().tolist() == [list(row) for row in table.rows]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("acc_drop", [("clean acc", "90.0"), ("homophone", "10.0"), ("mean", "25.0"), ("space", "30.0")]),
        ("perturbed_acc", [("clean acc", "90.0"), ("homophone", "60.0"), ("mean", "45.0"), ("space", "40.0")]),
        ("changed_rate", [("clean acc", "90.0")]),
    ],
)
def test_best_is_bold_in_the_better_direction(metric, expected):
    """The best value of a column is the lowest drop or the highest accuracy; a metric without a direction has none."""
    cells = two_models(metric, homophone=((0.6,), (0.1,)), space=((0.3,), (0.4,)))
    assert best_texts(cells, metric) == expected


@PROPERTY
@given(st.lists(st.integers(0, 2000), min_size=2, max_size=2), st.sampled_from(["acc_drop", "perturbed_acc"]))
@example([2, 3], "acc_drop")
def test_best_ties(thousandths, metric):
    """All values that are printed like the best one are bold, and no others."""
    both = [count / 2000 for count in thousandths]
    table = printed(two_models(metric, space=((both[0],), (both[1],))), metric, "")
    column = table.header.index("space")
    winner = both.index(min(both) if metric == "acc_drop" else max(both))
    bold = {row for row, c in table.best if c == column}
    assert bold == {row for row in (0, 1) if table.rows[row][column] == table.rows[winner][column]}


def duels(**outcomes: str) -> Evidence:
    """Return the evidence of duels of a and b in accuracy at prob 0.1, an outcome of a for each perturbation."""
    keys = {"dataset": "d", "model": "a", "other": "b", "metric": "perturbed_acc", "prob": 0.1, "family": 9}
    return Evidence(duels=pd.DataFrame([keys | {"perturbation": p, "outcome": o} for p, o in outcomes.items()]))


def test_bold_is_what_no_test_tells_from_the_best():
    """A model that is not significantly worse is bold too, in each column by its own duel; the caption names the family."""
    cells = two_models("perturbed_acc", space=((0.8,), (0.7,)), shape=((0.8,), (0.7,)))
    table = paper_table(Comparison.of(cells), "perturbed_acc", duels(space="tie", shape="win", all="tie"))
    bold = {(table.header[column], row) for row, column in table.best}
    assert bold == {("clean acc", 0), ("shape", 0), ("space", 0), ("space", 1), ("mean", 0), ("mean", 1)}
    assert "p < 0.05 after Holm's correction for the 9 duels of a data set" in table.caption


def test_a_weak_model_is_marked_and_never_bold():
    """Its name has a dagger, and a model that loses nothing since it knows nothing is not the best; below stands the majority."""
    cells = two_models("acc_drop", space=((0.1,), (0.0,)))
    models = pd.DataFrame({"dataset": "d", "model": ["a", "b"], "majority": 0.55, "weak": ["", "gives one label only"]})
    table = with_majority(paper_table(Comparison.of(cells), "acc_drop", Evidence(models=models)), models)
    assert [row[1] for row in table.rows] == ["a", "b †", "majority class"]
    assert table.rows[2] == ("d", "majority class", DASH, "100", "55.0", "0.0", "0.0")
    assert not table.best
    assert "†: gives one label only; it stands outside all tests." in table.caption
    assert r"b $\dagger$" in table.latex()


def test_best_is_chosen_within_a_data_set_and_prob():
    """Models compete on the same data set at the same prob only; where there is one model, nothing is bold."""
    drops = {("d", 0.1, "a"): 0.10, ("d", 0.1, "b"): 0.11, ("d", 0.3, "a"): 0.50, ("d", 0.3, "b"): 0.40}
    drops |= {("e", 0.1, "a"): 0.01}
    cells = frame(*(cell(prob=p, dataset=d, model=m, acc_drop=drop) for (d, p, m), drop in drops.items()))
    table = printed(cells, "acc_drop", "")
    assert [row[:3] for row in table.rows] == [
        ("d", "a", "0.1"), ("d", "b", "0.1"), ("d", "a", "0.3"), ("d", "b", "0.3"), ("e", "a", "0.1"),
    ]  # fmt: skip
    space = table.header.index("space")
    assert {row for row, column in table.best if column == space} == {0, 3}
    assert "bold" in table.caption
    assert not printed(cells[cells["model"] == "a"], "acc_drop", "").best
    assert "bold" not in printed(cells[cells["model"] == "a"], "acc_drop", "").caption


def test_missing_perturbation():
    """A model that lacks a perturbation has a dash there and no mean: a mean over fewer would not be comparable."""
    cells = two_models("acc_drop", space=((0.1,), (0.2,)), shape=((0.3,), ()))
    table = printed(cells, "acc_drop", "")
    assert table.header[5:] == ("shape", "space", "mean")
    assert table.rows[0][5:] == ("30.0", "10.0", "20.0")
    assert table.rows[1][5:] == (DASH, "20.0", DASH)
    assert best_texts(cells, "acc_drop") == [("clean acc", "90.0"), ("space", "10.0")]


def test_undefined_metric_and_missing_clean_cell():
    """An undefined metric and a clean accuracy that was not measured are dashes, and never the best."""
    cells = two_models("attack_success_rate", space=((None,), (0.2,)))
    cells = cells[(cells["model"] == "b") | (cells["perturbation"] != CLEAN)]
    table = printed(cells, "attack_success_rate", "")
    assert table.rows == (("d", "a", "0.1", "100", DASH, DASH, DASH), ("d", "b", "0.1", "100", "80.0", "20.0", "20.0"))
    assert not table.best


def test_paper_table_without_perturbed_cells():
    """A model with a clean cell alone gives a table without rows, in every format."""
    table = printed(frame(clean_cell(clean_acc=0.9)), "acc_drop", "s")
    assert table.rows == ()
    assert table.csv().empty
    assert table.markdown()
    assert table.latex()


# the area under the curve


def test_dose_area_by_hand():
    """From 0.9 at prob 0: (0.9 + 0.7) / 2 * 0.1 + (0.7 + 0.5) / 2 * 0.2 = 0.2, divided by 0.3."""
    cells = frame(cell(prob=0.3, perturbed_acc=0.5), cell(prob=0.1, perturbed_acc=0.7), clean_cell(perturbed_acc=None))
    (row,) = dose_area(cells).to_dict("records")
    keys = ("model", "dataset", "perturbation", "probs", "over", "n", "area_n")
    assert [row[key] for key in keys] == ["m", "d", "space", "0.1,0.3", SEEDS, 1, 1]
    assert row["area_mean"] == pytest.approx(0.2 / 0.3)
    assert row["area_mean_std"] == "0.6667"
    assert pd.isna(row["area_std"])


def test_dose_area_of_a_flat_curve():
    """A model that loses nothing has its clean accuracy as its area, whatever the probs; a prob of 0 changes nothing."""
    cells = frame(*(cell(prob=prob, perturbed_acc=0.9) for prob in (0.0, 0.05, 0.3, 1.0)))
    assert dose_area(cells)["area_mean"].tolist() == pytest.approx([0.9])


def test_dose_area_over_seeds():
    """Over training seeds with the perturbation seeds averaged within each; each has a clean accuracy of its own."""
    drops = {"1": (0.8, (0.6, 0.8)), "2": (0.4, (0.4, 0.4))}
    cells = frame(
        *(
            cell(seed=seed, train_seed=train, clean_acc=clean, perturbed_acc=value)
            for train, (clean, values) in drops.items()
            for seed, value in enumerate(values)
        )
    )
    (row,) = dose_area(cells).to_dict("records")
    assert (row["over"], row["n"], row["area_n"]) == (TRAIN_SEEDS, 2, 2)
    assert row["area_mean"] == pytest.approx((0.75 + 0.4) / 2)
    assert row["area_std"] == pytest.approx(stdev([0.75, 0.4]))


def test_dose_area_of_a_seed_that_lacks_a_prob():
    """A curve with a hole has no area: the seed counts in n and not in area_n."""
    cells = frame(*(cell(prob=p, seed=s, perturbed_acc=0.5) for p, s in ((0.1, 1), (0.3, 1), (0.3, 2))))
    (row,) = dose_area(cells).to_dict("records")
    assert (row["n"], row["area_n"]) == (2, 1)
    assert row["area_mean"] == pytest.approx((0.07 + 0.1) / 0.3)


def test_dose_area_without_a_dose():
    """Clean cells, and cells at prob 0 alone, have no area and no row."""
    assert dose_area(frame(clean_cell(), cell(prob=0.0, perturbed_acc=0.9))).empty


# markup


def unescape_markdown(text: str) -> str:
    """Return what Markdown shows for escaped text."""
    return html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text))


def markdown_cells(line: str) -> list[str]:
    """Split a line of a Markdown table at the bars that are not escaped."""
    return [part.strip() for part in re.findall(r"((?:\\.|[^|\\])*)\|", line.removeprefix("|"))]


@pytest.mark.parametrize("name", [AWKWARD, r"a\|b", r"\*x\*", "~x~", "&lt;b&gt;", "<b>", "`x`", "_x_", "[x](y)"])
def test_markdown_escapes_names(name):
    """Any model name stays in its column, and nothing in it reads as markup."""
    text = printed(frame(cell(model=name, acc_drop=0.1)), "acc_drop", "s").markdown()
    header, rule, row = text.splitlines()[:3]
    assert len(markdown_cells(header)) == len(markdown_cells(rule)) == len(markdown_cells(row)) == 7
    shown = markdown_cells(row)[1]
    assert unescape_markdown(shown) == name
    assert not re.search(r"(?<!\\)[*_`~<[]", re.sub(r"\\\\", "", shown))


def test_markdown_marks_the_best_and_carries_caption_and_signature():
    """Best values stand between double asterisks; caption and signature follow the table."""
    cells = two_models("acc_drop", space=((0.1,), (0.2,)))
    lines = printed(cells, "acc_drop", "crt:1|seeds:0").markdown().splitlines()
    assert lines[0] == "| data set | model | prob | n | clean acc | space | mean |"
    assert lines[1] == "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    assert lines[2] == "| d | a | 0.1 | 100 | **90.0** | **10.0** | **10.0** |"
    assert lines[3] == "| d | b | 0.1 | 100 | 80.0 | 20.0 | 20.0 |"
    assert "mean±std (n-1) over n=1 perturbation seeds" in lines[5]
    assert lines[7] == "`crt:1|seeds:0`"


def test_markdown_caption_escapes_names():
    """A caption that names models shows the names as they are."""
    cells = frame(cell(model="*x*", acc_drop=0.1), *(cell(model="y", seed=seed, acc_drop=0.1) for seed in (1, 2)))
    table = printed(cells, "acc_drop", "s")
    assert "(*x*)" in table.caption
    (caption,) = [line for line in table.markdown().splitlines() if "std" in line]
    assert r"(\*x\*)" in caption
    assert unescape_markdown(caption) == table.caption


def test_latex_structure():
    """The LaTeX table is one table environment with the rules of booktabs, a line for each row, best values bold."""
    drops = {"d": (0.1, 0.2), "e": (0.4, 0.3)}
    cells = frame(
        *(cell(model=m, dataset=d, acc_drop=v) for d, pair in drops.items() for m, v in zip("ab", pair, strict=True))
    )
    needs, *lines = at_dose(printed(cells, "acc_drop", "crt:1"), 0.1).latex().splitlines()
    assert needs == r"% preamble: \usepackage{booktabs,multirow}"
    assert lines[:2] == [r"\begin{table}[t]", r"\centering\small\setlength{\tabcolsep}{2.5pt}"]
    assert lines[2].startswith(r"\caption{acc\_drop in percent")
    assert lines[2].endswith(r"\label{tab:crt-acc_drop}")
    assert lines[3:-3] == [
        r"\begin{tabular}{llr@{}lr@{}lr@{}l}",
        r"\toprule",
        r"data set & model & \multicolumn{2}{c}{clean acc} & \multicolumn{2}{c}{space} & \multicolumn{2}{c}{mean} \\",
        r"\midrule",
        r"\multirow{2}{*}{d} & a & \multicolumn{2}{c}{--} & \textbf{10.0} & & \textbf{10.0} & \\",
        r" & b & \multicolumn{2}{c}{--} & 20.0 & & 20.0 & \\",
        r"\midrule",
        r"\multirow{2}{*}{e} & a & \multicolumn{2}{c}{--} & 40.0 & & 40.0 & \\",
        r" & b & \multicolumn{2}{c}{--} & \textbf{30.0} & & \textbf{30.0} & \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert "10 \\% of the sites are edited (prob 0.1). d: 100 texts; e: 100 texts." in lines[-3]
    assert lines[-2:] == ["% crt:1", r"\end{table}"]


def test_the_dose_of_a_paper():
    """The largest prob that every data set was measured at, unless another is asked for, which must be one of them."""
    summary = summary_table(
        frame(cell(prob=0.1), cell(prob=0.3), cell(prob=0.1, dataset="e"), cell(prob=0.2, dataset="e"))
    )
    assert dose_of_paper(summary) == 0.1
    assert dose_of_paper(summary, 0.3) == 0.3
    with pytest.raises(CrtError, match=r"table_prob=0.15 was not measured; measured: 0.1, 0.2, 0.3"):
        dose_of_paper(summary, 0.15)


def test_latex_escapes_names():
    """A name keeps all its characters in LaTeX: each special one is replaced once, by what prints it."""
    escaped = r"a\_b$|$c{*}\&\%\$\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}"
    lines = printed(frame(cell(model=AWKWARD, dataset="x%", acc_drop=0.1)), "acc_drop", "s").latex().splitlines()
    assert any(line.startswith(f"{escaped} & ") for line in lines)


# the headline


def test_headline_by_hand():
    """The headline is the clean value and the means over the perturbed cells; the worst drop is a mean over seeds."""
    cells = frame(
        clean_cell(clean_acc=0.9, clean_macro_f1=0.8),
        cell("space", seed=1, perturbed_acc=0.8, acc_drop=0.1, robustness_score=8 / 9, changed_rate=0.5),
        cell("space", seed=2, perturbed_acc=0.3, acc_drop=0.6, robustness_score=3 / 9, changed_rate=0.7),
        cell("shape", seed=1, perturbed_acc=0.7, acc_drop=0.2, robustness_score=7 / 9, changed_rate=0.6),
        cell("shape", 0.3, seed=1, perturbed_acc=0.4, acc_drop=0.5, attack_success_rate=0.6),
    )
    assert headline(Comparison.of(cells)) == pytest.approx(
        {
            "clean_acc": 0.9,
            "clean_macro_f1": 0.8,
            "mean_perturbed_acc": (0.55 + 0.7 + 0.4) / 3,
            "mean_acc_drop": (0.35 + 0.2 + 0.5) / 3,
            "worst_acc_drop": 0.5,
            "mean_robustness_score": (5.5 / 9 + 7 / 9) / 2,
            "mean_attack_success_rate": 0.6,
            "mean_changed_rate": 0.6,
            "num_examples": 100.0,
        }
    )


def test_headline_leaves_undefined_values_out():
    """What was not measured or is undefined is absent from the headline, and every value is a float."""
    values = headline(Comparison.of(frame(cell(acc_drop=0.1))))
    assert values == pytest.approx({"mean_acc_drop": 0.1, "worst_acc_drop": 0.1, "num_examples": 100.0})
    assert all(type(value) is float for value in values.values())


@pytest.mark.skipif(not shutil.which("xelatex"), reason="needs xelatex: install the package texlive-xetex")
@pytest.mark.parametrize("names", ["plain", "[a]*<>|\"'`?!", AWKWARD, "中文，模型（一）"])
def test_latex_compiles(tmp_path, names):
    """LaTeX sets the table with the preamble that its first line asks for, whatever the names are; no letter is lost."""
    cells = frame(
        cell(model=names, dataset=names, seed=1, acc_drop=0.1), cell(model=names, dataset=names, acc_drop=-0.3)
    )
    table = printed(cells, "acc_drop", f"data:{names}")
    starred = replace(table, rows=tuple((*row[:-1], row[-1] + "*") for row in table.rows))
    latex = starred.latex()
    packages = "".join(re.findall(r"\\usepackage\{[\w,]+\}", latex.splitlines()[0]))
    if "xeCJK" in packages and not shutil.which("kpsewhich"):
        pytest.skip("needs kpsewhich to look for xeCJK")
    if "xeCJK" in packages and subprocess.run(["kpsewhich", "xeCJK.sty"], capture_output=True, check=False).returncode:
        pytest.skip("needs the package xeCJK: install texlive-lang-chinese")
    document = f"\\documentclass{{article}}{packages}\\begin{{document}}\n{latex}\\end{{document}}\n"
    (tmp_path / "table.tex").write_text(document, encoding="utf-8")
    command = ["xelatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2000:]
    assert "Missing character" not in (tmp_path / "table.log").read_text(encoding="utf-8", errors="replace")


# doses


def test_texts_edited_stand_below_each_prob():
    """A row below the models of each data set and prob says how many texts were edited; bold values stay where they are."""
    cells = frame(
        clean_cell(), clean_cell(model="n"), cell(perturbed_acc=0.5), cell(perturbed_acc=0.6, model="n"),
        cell(prob=0.3, perturbed_acc=0.4), cell(prob=0.3, perturbed_acc=0.3, model="n"),
    )  # fmt: skip
    doses = pd.DataFrame(
        {
            "dataset": "d",
            "perturbation": "space",
            "prob": [0.1, 0.3],
            "edited": [0.16, 0.5],
            "edited_by_any": [0.4, None],
        }
    )
    table = with_edited(printed(cells, "perturbed_acc", "s"), doses)
    assert [row[1:3] for row in table.rows] == [
        ("m", "0.1"), ("n", "0.1"), ("texts edited", "0.1"), ("m", "0.3"), ("n", "0.3"), ("texts edited", "0.3"),
    ]  # fmt: skip
    assert table.rows[2][3:] == ("100", DASH, "16.0 (40.0)", DASH)
    assert table.rows[5][3:] == ("100", DASH, "50.0", DASH)
    bold = {(row, column) for row, column in table.best if table.header[column] == "space"}
    assert bold == {(1, 5), (3, 5)}
    assert "texts edited: share" in table.caption


def test_doses_and_what_they_cost():
    """Characters and texts changed, and for each model the drop beside the points per percent."""
    cells = frame(
        clean_cell(), cell(acc_drop=0.045, drop_per_char_change=0.214), clean_cell(model="n"), cell(model="n")
    )
    doses = pd.DataFrame(
        {
            "dataset": ["d"],
            "perturbation": "space",
            "prob": 0.1,
            "char_change": 0.21,
            "edited": 0.9,
            "edited_by_any": 1.0,
        }
    )
    (table,) = dose_tables(Comparison.of(cells), doses)
    assert table.metric == "doses_d"
    assert table.rows == (("space", "0.1", "21.0", "90.0 (100.0)", "4.5 / 0.21", f"{DASH} / {DASH}"),)
