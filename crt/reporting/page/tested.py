"""The sections of a page that need statistics: tests, groups of texts, and model against model."""

from collections.abc import Hashable, Iterator
from typing import Any

import pandas as pd

from crt.reporting.page.markup import (
    DASH,
    MINUS,
    Axis,
    Html,
    between,
    breakable,
    family,
    folded,
    joined,
    missing,
    name,
    note,
    p_value,
    percent,
    scroll,
    table,
    tag,
)
from crt.reporting.pairs import TITLES, both_ways, won
from crt.reporting.table import correction

NO_STATISTICS = "No tests were computed for this comparison."
FIRST = 12
"""Rows of a long list that are shown before the reader asks for more."""

Row = dict[Hashable, Any]


def tests_table(tests: pd.DataFrame) -> Html:
    """Return every test of clean against perturbed."""
    if tests.empty:
        return note(NO_STATISTICS)
    axis = Axis(tests["low"], tests["drop"], tests["high"])
    header = ["data set", "model", "perturbation", "", "prob", "n", "drop", "95 %", "lost", "gained", "g", "p (Holm)"]
    rows = [
        [
            row["dataset"], name(row["model"]), family(row["perturbation"]),
            tag("td", axis.draw(row["low"], row["drop"], row["high"])),
            f"{row['prob']:g}", f"{row['n']:,}", percent(row["drop"]), between(row["low"], row["high"]), *_counts(row), _effect(row),
            _p(row),
        ]
        for row in tests.to_dict("records")
    ]  # fmt: skip
    return folded(
        f"All {len(tests)} tests of clean against perturbed",
        table("Clean against perturbed", header, rows, texts=3),
        note(
            "lost: right when clean, now wrong; gained: the other way; means over the seeds. g: Cohen's g, the share of lost "
            f"among both less 0.5. p: sign-flip test of the mean over the seeds, {correction(tests, 'tests of a model on a data set')}."
        ),
    )


def _counts(row: Row) -> list[str]:
    return [DASH if missing(row[key]) else f"{row[key]:.1f}" for key in ("lost", "gained")]


def _effect(row: Row) -> str:
    return DASH if missing(row["effect"]) else f"{row['effect']:z.2f}".replace("-", MINUS)


def _p(row: Row) -> Html:
    significant = not missing(row["significant"]) and bool(row["significant"])
    return tag("td", p_value(row["p_holm"]), tag("span", "*" * significant, class_="star"), class_="num")


def slices(found: pd.DataFrame) -> Html:
    """Return where a model loses more than elsewhere: significant groups first, smallest corrected p first."""
    if found.empty:
        return note("The comparison was made without slices.")
    small = found["small"].astype(bool)
    tested = found[~small].sort_values(
        ["significant", "p_holm"], ascending=[False, True], kind="stable", na_position="last"
    )
    axis = Axis(*(found[column] for column in ("low", "difference", "high")))
    header = ["", "group", "where", "", "n", "drop", "elsewhere", "difference", "95 %", "p (Holm)"]
    rows = [_slice(row, axis, also) for row, also in _alike(tested)]
    sure = int(tested["significant"].astype(bool).sum())
    parts: list[object] = [
        tag(
            "p",
            "Groups of texts, and how much more accuracy they lose than the other texts do, in points; each once, where it differs "
            "most clearly.",
            class_="lead",
        ),
        tag(
            "p",
            f"{sure} of {len(tested)} tested groups differ significantly from the rest."
            if sure
            else f"None of {len(tested)} tested groups differs significantly from the rest.",
        ),
    ]
    if rows:
        parts.append(table("Groups of texts", header, rows[:FIRST], texts=3))
    if len(rows) > FIRST:
        parts.append(folded(f"{len(rows) - FIRST:,} more groups", table("More groups", header, rows[FIRST:], texts=3)))
    if small.any():
        few = [_slice(row, axis, "") for row in found[small].to_dict("records")]
        parts.append(
            folded(
                f"{len(few):,} groups are too small for a test (fewer than 30 texts)",
                table("Small groups", header, few, texts=3),
            )
        )
    return joined(parts)


def _alike(tested: pd.DataFrame) -> Iterator[tuple[Row, str]]:
    """Yield a group of texts of a model once, where it differs most clearly, and where else it does significantly."""
    for _, rows in tested.groupby(["dataset", "model", "slice", "group"], sort=False):
        first, *others = rows.to_dict("records")
        yield first, ", ".join(f"{row['perturbation']} {row['prob']:g}" for row in others if row["significant"])


def _slice(row: Row, axis: Axis, also: str) -> list[object]:
    """Return the cells of a group; one that is too small says so in place of its test."""
    parts = tag("span", f"{row['slice']}: ", class_="pm"), tag("span", row["group"], class_="strong")
    place = tag("span", breakable(row["model"]), f" on {row['dataset']}", class_="place")
    start = [
        None,
        tag("th", *parts, scope="row", class_="name"),
        joined(
            [
                family(row["perturbation"]),
                f" {row['prob']:g} ",
                place,
                also and tag("span", f"also {also}", class_="pm"),
            ]
        ),
        tag("td", axis.draw(row["low"], row["difference"], row["high"])),
        f"{row['n']:,}",
    ]
    if row["small"]:
        return [
            *start,
            percent(row["drop"]),
            percent(row["rest"]),
            tag("td", "too small", colspan=3, class_="num faint"),
        ]
    numbers = [percent(row[key]) for key in ("drop", "rest", "difference")]
    return [*start, *numbers, between(row["low"], row["high"]), _p(row)]


def duels(found: pd.DataFrame, pairs: pd.DataFrame, models: int) -> Html:
    """Return for each data set and metric a matrix of the pairs, with the wins behind each number, and every duel."""
    if found.empty or pairs.empty:
        return note("There is one model, so there is nobody to compare it with." if models < 2 else NO_STATISTICS)
    parts: list[object] = [
        tag("p", "How much the model of the row has more than that of the column, in points: mean over what both were measured at, "
            "with its 95 % interval; a star: significant after Holm's correction. Below it, the single duels over perturbations "
            "and doses, which depend on each other; one that is not significant is a tie.", class_="lead")
    ]  # fmt: skip
    for (dataset, metric), rows in pairs.groupby(["dataset", "metric"], sort=False):
        if metric not in TITLES:
            continue
        counts = won(found[found["dataset"] == dataset], str(metric)).set_index(["model", "other"]).to_dict("index")
        seen = both_ways(rows).set_index(["model", "other"]).to_dict("index")
        names = list(dict.fromkeys([*rows["model"], *rows["other"]]))
        head = tag("tr", tag("th", "against"), *(tag("th", breakable(other), scope="col") for other in names))
        lines = [tag("tr", name(m), *(_pair(seen.get((m, o)), counts.get((m, o))) for o in names)) for m in names]
        grid = tag("table", tag("thead", head), tag("tbody", *lines), class_="duels")
        title = f"{dataset}, {TITLES[str(metric)]}, n = {rows['n'].iloc[0]:,}"
        parts += [tag("h3", title), scroll(f"Duels on {title}", grid)]
    return joined([*parts, _every_duel(found)])


def _pair(row: Row | None, count: Row | None) -> Html:
    if row is None or count is None:
        return tag("td", DASH, class_="cell faint")
    said = {"win": "won", "tie": "tied", "loss": "lost"}
    words = [
        tag("span", f"{count[kind]} {word}", class_=kind if count[kind] else "faint") for kind, word in said.items()
    ]
    number = [percent(row["difference"]), tag("span", "*" * bool(row["significant"]), class_="star"), " "]
    return tag("td", *number, between(row["low"], row["high"]), Html("<br>"), joined(words, " · "), class_="cell")


def _every_duel(found: pd.DataFrame) -> Html:
    axis = Axis(*(found[column] for column in ("low", "difference", "high")))
    header = [
        "data set", "model", "other", "metric", "perturbation", "", "outcome", "prob", "n", "difference", "95 %", "p (Holm)",
    ]  # fmt: skip
    rows = [
        [
            row["dataset"], name(row["model"]), breakable(row["other"]), row["metric"], family(row["perturbation"]),
            tag("td", axis.draw(row["low"], row["difference"], row["high"])), tag("td", row["outcome"], class_=row["outcome"]),
            f"{row['prob']:g}", f"{row['n']:,}", percent(row["difference"]), between(row["low"], row["high"]),
            p_value(row["p_holm"]),
        ]
        for row in found.to_dict("records")
    ]  # fmt: skip
    return folded(f"All {len(found)} duels", table("Model against model", header, rows, texts=6))
