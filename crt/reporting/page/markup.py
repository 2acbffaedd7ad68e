"""Markup: elements whose texts are escaped by construction, and numbers as the page prints them."""

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence

import pandas as pd

from crt.perturbations import PERTURBATIONS

MINUS, DASH = "−", "–"
ROWS = 250
"""Rows of one table of a page; the CSV files beside it hold the others."""

_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Format characters that would reorder the text around them."""


class Html(str):
    """Markup: it is not escaped again."""

    __slots__ = ()


def name_of(char: str) -> str:
    """Return the code point of a character as Unicode writes it: U+200B."""
    return f"U+{ord(char):04X}"


def visible(text: str) -> str:
    """Return a text that a page can hold: controls, lone surrogates and changes of direction by their code points."""
    if text.isprintable():
        return text
    return "".join(
        name_of(char) if char in _BIDI or (char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cs")) else char
        for char in text
    )


def escaped(value: object) -> Html:
    """Return a value as markup that reads as its text; markup stays as it is."""
    return value if isinstance(value, Html) else Html(html.escape(visible(str(value))))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """Return an element.

    Args:
        name: of the element.
        children: texts, which are escaped, and markup, which is not.
        attributes: `class_` stands for class, `aria_label` for aria-label; True is written without a value, and what is
            None or False is left out.
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escaped(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{written}>{joined(children)}</{name}>")


def joined(parts: Iterable[object], between: str = "") -> Html:
    """Return parts one after the other, texts among them escaped."""
    return Html(between.join(map(escaped, parts)))


def scroll(label: str, *children: object) -> Html:
    """Return a box that scrolls sideways where the page is narrow; it can be reached by keyboard."""
    return tag("div", *children, class_="scroll", tabindex=0, role="region", aria_label=label)


def breakable(name: object) -> Html:
    """Return a name that may go on in a new line after a mark that joins its parts."""
    return Html(re.sub(r"(?<=[+/:_@-])(?=[^\s;&])", "<wbr>", escaped(name)))


def family(perturbation: object) -> Html:
    """Return the name of a perturbation, which says what it does, with an example, where the pointer rests on it."""
    known = PERTURBATIONS.get(str(perturbation))
    return tag("abbr", perturbation, title=known.summary) if known else escaped(perturbation)


def name(text: object) -> Html:
    """Return the cell that says what a row is about; it stays in sight while the others scroll."""
    return tag("th", breakable(text), scope="row", class_="name")


def table(label: str, header: Sequence[object], rows: Sequence[Sequence[object]], *, texts: int) -> Html:
    """Return a table in a box that scrolls; of more than `ROWS` rows it tells how many are left out.

    Args:
        label: what the table shows, for screen readers.
        header: column titles.
        rows: cells, the first one the group of the row: it becomes a heading above the rows that share it, None no heading. A cell
            that is an element `td` or `th` stays as it is.
        texts: so many columns from the left, the group not counted, are set flush left, the others as numbers.
    """
    columns = header[1:]
    kinds = [None if column < texts else "num" for column in range(len(columns))]
    head = tag("tr", *(_cell(title, kind, "th") for title, kind in zip(columns, kinds, strict=True)))
    body, before = [], None
    for group, *cells in rows[:ROWS]:
        if group != before:
            before = group
            body.append(tag("tr", tag("th", group, scope="rowgroup", colspan=len(columns)), class_="group"))
        body.append(tag("tr", *map(_cell, cells, kinds)))
    grid = scroll(label, tag("table", tag("thead", head), tag("tbody", *body)))
    if len(rows) <= ROWS:
        return grid
    left = f"{len(rows) - ROWS:,} more rows are left out here; the CSV files beside this page hold all of them."
    return joined([grid, note(left)])


def _cell(value: object, kind: str | None, element: str = "td") -> Html:
    if isinstance(value, Html) and value.startswith(("<td", "<th")):
        return value
    return tag(element, value, class_=kind, scope="col" if element == "th" else None)


def folded(title: str, *children: object) -> Html:
    """Return what is shown on request, and in print."""
    return tag("details", tag("summary", title), *children)


def note(text: object) -> Html:
    """Return a line in small print."""
    return tag("p", text, class_="note")


def missing(value: object) -> bool:
    """Tell whether a value of a frame is absent."""
    return bool(pd.isna(value))  # type: ignore[call-overload]


def percent(value: object, digits: int = 1) -> str:
    """Return a fraction in percent, or a difference of fractions in points; a dash where there is none."""
    return DASH if missing(value) else f"{100 * float(str(value)):z.{digits}f}".replace("-", MINUS)


def p_value(value: object) -> str:
    """Return a p-value to three digits; the resamples support no smaller one."""
    if missing(value):
        return DASH
    return "< .001" if float(str(value)) < 0.001 else f"{float(str(value)):.3f}"


def between(low: object, high: object) -> str:
    """Return the ends of an interval in points; nothing where there is none."""
    return "" if missing(low) or missing(high) else f"[{percent(low)}, {percent(high)}]"


class Axis:
    """The common scale of the intervals of a table: each is drawn as a bar with a dot, and zero as a line."""

    def __init__(self, *columns: "pd.Series[float]") -> None:
        """Take the columns whose values must fit."""
        values = pd.concat([pd.Series([0.0]), *(column.astype(float) for column in columns)])
        self.low, self.high = float(values.min()), float(values.max())

    def _at(self, value: object) -> str:
        width = self.high - self.low or 1.0
        return f"{100 * (float(str(value)) - self.low) / width:.1f}%"

    def draw(self, low: object, value: object, high: object) -> Html:
        """Return the drawing of an interval; nothing where the value is missing."""
        if missing(value):
            return Html("")
        low, high = (value if missing(low) else low), (value if missing(high) else high)
        places = {"low": low, "at": value, "high": high, "zero": 0}
        style = ";".join(f"--{name}:{self._at(place)}" for name, place in places.items())
        return tag("span", style=style, class_="interval", aria_hidden="true")
