"""The sections of a page: each is a function of frames that returns what stands below its title."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from crt.reporting.drawing import inline
from crt.reporting.figures import FIGURES, MOST_WITH_BARS, by_perturbation, dose_panels, swatches
from crt.reporting.page.markup import (
    DASH,
    MINUS,
    Html,
    escaped,
    family,
    folded,
    joined,
    missing,
    name,
    note,
    percent,
    scroll,
    table,
    tag,
)
from crt.reporting.table import PaperTable, count_of
from crt.scoring.contrasts import PERTURBED_ACC
from crt.scoring.summary import NO_EFFECT, UNTOUCHED, no_effect

Row = dict[Hashable, Any]

TITLES = {
    "perturbed_acc": "accuracy on the perturbed texts",
    "acc_drop": "drop in accuracy",
    "attack_success_rate": "attack success rate",
}
"""The metrics of tables and curves in words."""


def titled(metric: str) -> str:
    """Return the name of a metric, or of a study and its data set, in words."""
    return TITLES.get(metric) or metric.replace("_", " ")


NOTHING = "Nothing was measured."

# what was found


def tiles(summary: pd.DataFrame, tests: pd.DataFrame, pairs: pd.DataFrame) -> Html:
    """Return the headline numbers."""
    facts = []
    drops = summary[~no_effect(summary["changed_rate_mean"])].dropna(subset=["acc_drop_mean"])
    if len(drops):
        worst = _largest(drops, "acc_drop_mean")
        where = f"points: {worst['perturbation']} at prob {worst['prob']:g}, {worst['model']} on {worst['dataset']}"
        facts.append(("Largest drop in accuracy", percent(worst["acc_drop_mean"]), where))
    turned = summary.dropna(subset=["attack_success_rate_mean"])
    if len(turned):
        worst = _largest(turned, "attack_success_rate_mean")
        where = (
            f"of the right answers to changed texts: {worst['perturbation']}, {worst['model']} on {worst['dataset']}"
        )
        facts.append(("Turned wrong at worst", f"{percent(worst['attack_success_rate_mean'], 0)} %", where))
    if len(tests):
        sure = int((tests["significant"].astype(bool) & (tests["drop"] > 0)).sum())
        facts.append(
            ("Significant drops", f"{sure} of {len(tests)}", "clean against perturbed, after Holm's correction")
        )
    if len(pairs):
        rows = pairs[pairs["metric"] == PERTURBED_ACC]
        sure = int(rows["significant"].sum())
        where = "with a significant difference in mean accuracy"
        facts.append(("Pairs of models", f"{sure} of {len(rows)}", where))
    sizes = {key: summary[key].nunique() for key in ("model", "dataset", "perturbation", "prob")}
    scope = f"{sizes['dataset']} data set{'s' * (sizes['dataset'] > 1)}, {sizes['perturbation']} perturbations at {sizes['prob']} dose{'s' * (sizes['prob'] > 1)}"
    facts.append(("Measured", f"{sizes['model']} model{'s' * (sizes['model'] > 1)}", scope))
    return tag(
        "dl", *(tag("div", tag("dt", t), tag("dd", tag("strong", n), where)) for t, n, where in facts), class_="tiles"
    )


def _largest(rows: pd.DataFrame, column: str) -> Row:
    return rows.nlargest(1, column).to_dict("records")[0]


def glance(summary: pd.DataFrame) -> Html:
    """Return a row for each data set and model, the most accurate one first: accuracy before and after, and what costs most."""
    ranked: list[tuple[float, list[object]]] = []
    largest = summary.groupby("dataset")["prob"].transform("max")
    for (dataset, model), group in summary.groupby(["dataset", "model"], sort=False):
        top = group[group["prob"] == largest[group.index]]
        if top.empty:
            continue
        clean = top["clean_acc_mean"].iloc[0]
        idle = no_effect(top["changed_rate_mean"])
        if idle.all():
            nothing = [tag("td", NO_EFFECT), DASH, tag("td"), tag("td", DASH)]
            ranked.append((0.0, [dataset, name(model), count_of(top), percent(clean), *nothing]))
            continue
        top = top[~idle]
        after, drop = top["perturbed_acc_mean"].mean(), top["acc_drop_mean"].mean()
        if missing(after) or missing(drop):
            continue
        worst = _largest(top, "acc_drop_mean")
        style = f"--kept:{100 * after:.1f}%;--lost:{100 * max(drop, 0):.1f}%"
        bar = tag("td", tag("span", style=style, class_="bar", aria_hidden="true"))
        costs = tag(
            "td", family(worst["perturbation"]), " ", tag("span", f"{percent(-worst['acc_drop_mean'])}", class_="pm")
        )
        row = [dataset, name(model), count_of(top), percent(clean), percent(after), percent(-drop), bar, costs]
        ranked.append((after, row))
    datasets = list(dict.fromkeys(summary["dataset"]))
    rows = [row for _, row in sorted(ranked, key=lambda one: (datasets.index(one[1][0]), -one[0]))]
    header = [
        "data set",
        "model",
        "n",
        "clean",
        "perturbed",
        "points",
        tag("th", "kept, lost", scope="col"),
        tag("th", "costs most", scope="col"),
    ]
    probs = joined(sorted({f"{p:g}" for p in summary.groupby("dataset")["prob"].max()}), " or ")
    lead = tag(
        "p",
        f"Accuracy in percent on clean texts, and mean over the perturbations at prob {probs}, by which the models are ranked.",
        class_="lead",
    )
    untouched = no_effect(summary.loc[summary["prob"] == largest, "changed_rate_mean"]).any()
    foot = note(f"{UNTOUCHED}; such perturbations have no part in the means.") if untouched else ""
    return joined([lead, table("Accuracy of each model", header, rows, texts=1), foot])


def found(verdict: PaperTable) -> Html:
    """Return the table of the verdict."""
    lines = [[row[0], name(row[1]), *row[2:]] for row in verdict.rows]
    return (
        joined([table("What was found", verdict.header, lines, texts=1), note(verdict.caption)])
        if lines
        else note(NOTHING)
    )


def paper_tables(tables: Sequence[PaperTable]) -> Html:
    """Return the tables of the paper, the first one open."""
    parts: list[object] = []
    for number, found in enumerate(tables):
        body = joined([_paper_table(found), note(found.caption)])
        parts.append(body if number == 0 else folded(f"Table: {titled(found.metric)}", body))
    return joined(parts) if parts else note("There are no tables.")


def _paper_table(found: PaperTable) -> Html:
    rows = [
        [row[0], name(row[1]), *(_number(v, best=(r, c) in found.best) for c, v in enumerate(row[2:], 2))]
        for r, row in enumerate(found.rows)
    ]
    return table(found.caption, [family(title) for title in found.header], rows, texts=1)


def _number(text: str, *, best: bool) -> Html:
    """Return a cell: the mean bold where it is best, its spread and its star beside it."""
    value, star = text.removesuffix("*"), "*" * text.endswith("*")
    mean, sign, spread = value.partition("±")
    return tag(
        "td",
        tag("b", mean) if best else mean.replace("-", MINUS),
        tag("span", sign + spread, class_="pm") if sign else "",
        tag("span", star, class_="star"),
        class_="num",
    )


# how it breaks


def curves(summary: pd.DataFrame, intervals: pd.DataFrame) -> Html:
    """Return the dose curves of each metric of FIGURES, those of the first one open, with one legend."""
    items = [
        tag("li", Html(inline(figure, f"legend-{number}", "")), label)
        for number, (label, figure) in enumerate(swatches(summary))
    ]
    parts: list[object] = [tag("ul", *items, class_="legend")]
    for metric in FIGURES:
        blocks: dict[str, list[Html]] = {}
        if summary[f"{metric}_mean"].isna().all():
            continue
        for number, (dataset, perturbation, figure) in enumerate(dose_panels(summary, metric, intervals)):
            label = escaped(f"{titled(metric)} over prob, {perturbation} on {dataset}")
            drawing = Html(inline(figure, f"{metric}-{number}", label))
            blocks.setdefault(dataset, []).append(tag("figure", tag("figcaption", perturbation), drawing))
        drawn = [joined([tag("h3", d), tag("div", *panels, class_="panels")]) for d, panels in blocks.items()]
        parts.append(joined(drawn) if metric == next(iter(FIGURES)) else folded(f"Curves: {titled(metric)}", *drawn))
    given = "; bars: 95 % bootstrap interval over texts" if len(intervals) else "; bars: standard deviation over seeds"
    told = given if summary["model"].nunique() <= MOST_WITH_BARS else ""
    return joined([tag("p", f"How the numbers move as more of a text is edited{told}.", class_="lead"), *parts])


def heat(summary: pd.DataFrame, tests: pd.DataFrame) -> Html:
    """Return the drop at the largest prob by model and perturbation, a block for each data set, stars from the tests."""
    names = list(summary["perturbation"].drop_duplicates())
    sure = set()
    if len(tests):
        rows = tests[tests["significant"].astype(bool)]
        sure = set(zip(rows["dataset"], rows["model"], rows["perturbation"], rows["prob"], strict=True))
    untouched = {
        str(d): no_effect(by_perturbation(rows, "changed_rate_mean", names))
        for d, rows in summary.groupby("dataset", sort=False)
    }
    blocks = {
        str(d): (rows["prob"].max(), by_perturbation(rows, "acc_drop_mean", names).mask(untouched[str(d)]))
        for d, rows in summary.groupby("dataset", sort=False)
    }
    top = max([0.001, *(float(value) for _, block in blocks.values() for value in block.max().dropna())])
    head = tag("tr", tag("td"), *(tag("th", family(perturbation), scope="col") for perturbation in names))
    parts: list[object] = []
    for dataset, (prob, block) in blocks.items():
        lines = []
        for model, values in block.to_dict("index").items():
            cells = [
                tag(
                    "td",
                    NO_EFFECT if untouched[dataset].loc[model, p] else percent(value),
                    tag("span", "*", class_="star") if (dataset, model, p, prob) in sure else "",
                    class_="cell",
                    style=f"--share:{0 if missing(value) else 100 * max(value, 0) / top:.0f}",
                )
                for p, value in values.items()
            ]
            lines.append(tag("tr", name(model), *cells))
        grid = tag("table", tag("thead", head), tag("tbody", *lines), class_="heat")
        texts = count_of(summary[summary["dataset"] == dataset])
        parts += [tag("h3", f"{dataset}, prob {prob:g}, n = {texts}"), scroll(f"Accuracy drop on {dataset}", grid)]
    star = " A star: significant after Holm's correction." if sure else ""
    foot = f" {UNTOUCHED}." if any(block.any(axis=None) for block in untouched.values()) else ""
    return joined([tag("p", f"Points of accuracy lost at the largest dose.{star}{foot}", class_="lead"), *parts])


# how far to trust it

RATES = {
    "site_rate": "texts with a place",
    "changed_rate": "texts changed",
    "mean_char_change_ratio": "characters changed",
    "edit_rate": "realised prob",
    "unk_rate_increase": "unknown tokens",
    "truncated_rate": "cut off",
}
"""What the table of doses shows, and its column titles."""


def doses(summary: pd.DataFrame) -> Html:
    """Return how much of the texts each perturbation really reached, at the largest prob, and at every other one."""
    columns = [f"{rate}_mean" for rate in RATES]
    values = summary.assign(**{column: summary[column].astype(float) for column in columns})
    worst = dict.fromkeys(columns[:4], "mean") | dict.fromkeys(columns[4:], "max")
    by = values.groupby(["dataset", "perturbation", "prob"], sort=False).agg(worst).reset_index()
    top = by[by["prob"] == by.groupby("dataset")["prob"].transform("max")]
    header = ["data set", "perturbation", "prob", *RATES.values()]
    every = [
        [row["dataset"], name(row["model"]), family(row["perturbation"]), *_rates(row)]
        for row in values.to_dict("records")
    ]
    return joined(
        [
            tag("p", "How much of the texts was really reached. A perturbation that finds few places costs little, "
                "and one that only makes tokens unknown measures masking. In percent.", class_="lead"),
            table("Doses", header, [[r["dataset"], tag("th", family(r["perturbation"]), scope="row", class_="name"), *_rates(r)] for r in top.to_dict("records")], texts=1),
            note("texts with a place: share with at least one site; realised prob: edits per site; unknown tokens: rise of their share, "
                 "in points; cut off: texts that were not read to the end. The last two are those of the model with the highest."),
            folded("Every model and dose", table("Doses of each model", ["data set", "model", *header[1:]], every, texts=2)),
        ]
    )  # fmt: skip


def _rates(row: Row) -> list[str]:
    return [f"{row['prob']:g}", *(percent(row[f"{rate}_mean"]) for rate in RATES)]


WORTH = {
    "chance_corrected_retention": "kept above chance",
    "prediction_shift": "labels shifted",
    "perturbed_ece": "calibration error",
    "perturbed_aurc": "risk-coverage area",
}
"""What the table of shift and calibration shows in percent, and its column titles."""


def shift(summary: pd.DataFrame) -> Html:
    """Return how the answers shift at the largest prob, and what the probabilities are worth there, beside the clean ones."""
    columns = [*(f"{metric}_mean" for metric in WORTH), "clean_ece_mean", "clean_aurc_mean"]
    values = summary.assign(**{column: summary[column].astype(float) for column in columns})
    top = values[values["prob"] == values.groupby("dataset")["prob"].transform("max")]
    header = ["data set", "model", "perturbation", "prob", *WORTH.values()]
    rows = [
        [row["dataset"], name(row["model"]), row["perturbation"], f"{row['prob']:g}", *(_worth(row, metric) for metric in WORTH)]
        for row in top.to_dict("records")
    ]  # fmt: skip
    lead = (
        "A model may keep its accuracy and still give other labels, or be surer than it should. In percent; in brackets on the "
        "clean texts."
    )
    told = (
        "kept above chance: of the accuracy above always giving the commonest label; labels shifted: total variation distance between "
        "the labels given before and after; calibration error: ECE, 15 bins; risk-coverage area: mean error of the surest answers, "
        "over all shares of them. Each label: classes.csv."
    )
    return joined([tag("p", lead, class_="lead"), table("Shift and calibration", header, rows, texts=2), note(told)])


def _worth(row: Row, metric: str) -> str:
    clean = row.get(f"{metric.replace('perturbed_', 'clean_')}_mean") if metric.startswith("perturbed_") else None
    return percent(row[f"{metric}_mean"]) + ("" if missing(clean) else f" ({percent(clean)})")


def leakage(found: pd.DataFrame) -> Html:
    """Return how many of the texts each model saw in training."""
    if found.empty:
        return note("It was not recorded which texts the models saw in training.")
    header = ["data set", "model", "texts", "in the training split (%)", "trained on (%)"]
    rows = [
        [row["dataset"], name(row["model"]), DASH if missing(row["num_examples"]) else f"{row['num_examples']:,.0f}",
         *("unknown" if missing(row[rate]) else percent(row[rate]) for rate in ("seen_in_training_rate", "trained_on_rate"))]
        for row in found.to_dict("records")
    ]  # fmt: skip
    lead = (
        "Share of the evaluated texts that also stand in the training split of the data set, whatever the model was trained on, and "
        "share of them that the model itself was trained on. unknown: no such split was at hand, or the training did not say."
    )
    return joined([tag("p", lead, class_="lead"), table("Leakage", header, rows, texts=1)])


def measured(facts: Mapping[str, str]) -> Html:
    """Return how the comparison was measured; what is long, like a signature, may break after its parts."""
    pairs = []
    for title, text in facts.items():
        value = joined(text.split("|"), "|<wbr>") if "|" in text else escaped(text)
        pairs += [tag("dt", title), tag("dd", tag("code", value))]
    return tag("dl", *pairs, class_="measured") if pairs else note("Nothing was recorded.")
