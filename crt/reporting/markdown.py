"""Markdown of notes, cards and tables: every text is escaped unless it is Markdown already, so that no name becomes a link.

The MLflow UI renders it, and would fetch an image from an address that a stranger chose.
"""

import re
from collections.abc import Iterable, Sequence

from crt.redaction import printable

_MARKS = str.maketrans({**{mark: f"\\{mark}" for mark in "\\|*_`~["}, "&": "&amp;", "<": "&lt;", "\n": " ", "\t": " "})
_BLOCK = re.compile(r"^(\d*)(?=[#>+=-]|[.)](\s|$))")
"""The start of a line that would make it a heading, a quotation or an item of a list."""


class Markdown(str):
    """Markup: it is not escaped again."""

    __slots__ = ()


def in_markdown(text: object) -> Markdown:
    """Return a text as Markdown that reads as the text, in one line; Markdown stays as it is."""
    return text if isinstance(text, Markdown) else Markdown(printable(str(text)).translate(_MARKS))


def line(text: object) -> Markdown:
    """Return a text that stands at the start of a line."""
    return text if isinstance(text, Markdown) else Markdown(_BLOCK.sub(r"\1\\", in_markdown(text)))


def bold(text: object) -> Markdown:
    """Return a text in bold."""
    return Markdown(f"**{in_markdown(text)}**")


def code(text: str) -> Markdown:
    """Return a text in the letters of a program; the backticks around it are more than stand together in it."""
    one = " ".join(printable(text).split())
    fence = "`" * (1 + max(map(len, re.findall("`+", one)), default=0))
    space = " " if "`" in one else ""
    return Markdown(f"{fence}{space}{one}{space}{fence}")


def bullets(texts: Iterable[object]) -> Markdown:
    """Return a list, an item each."""
    return Markdown("".join(f"- {line(text)}\n" for text in texts))


def table(header: Sequence[object], rows: Iterable[Sequence[object]], *, texts: int = 1) -> Markdown:
    """Return a table, whose first `texts` columns are set flush left and the others flush right."""
    align = [Markdown("---")] * texts + [Markdown("---:")] * (len(header) - texts)
    return Markdown("".join(f"| {' | '.join(map(in_markdown, cells))} |\n" for cells in [header, align, *rows]))
