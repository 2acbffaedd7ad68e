"""Tables in LaTeX, as they stand in a two-column paper: the size and the width are chosen so that nothing sticks out."""

import re
from collections.abc import Sequence
from itertools import groupby

from crt.perturbations.text import HAN
from crt.redaction import printable
from crt.scoring.summary import DASH

COLUMN, PAGE = 219.0, 455.0
"""Width of a column and of both, in TeX points, in the style of the ACL."""

SIZES = ((r"\small", 10.0), (r"\footnotesize", 9.0), (r"\scriptsize", 8.0))
"""Sizes of a document of 11 points, the largest first, in points."""

_SEPARATION = 2.5
"""Points on each side of a column."""

_VALUE = re.compile(r"(?P<mean>-?[0-9.]+)(?:±(?P<std>[0-9.]+))?(?P<star>\*?)")


def in_latex(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    best: frozenset[tuple[int, int]],
    *,
    caption: str,
    note: str,
    label: str,
    comment: str,
) -> str:
    """Return a table in LaTeX: the first column once a group, a second of names, then values like `82.4±0.6*`.

    Args:
        header: titles of the columns; those of values are cut, and the note says what they stand for.
        rows: texts, as many as titles; rows of one group stand together.
        best: row and column of what is set in bold.
        caption: above the table.
        note: below it, in small print.
        label: what the paper refers to it by, after `tab:crt-`.
        comment: a line that is not printed.
    """
    short = _shortened(header[2:])
    legend = ", ".join(f"{cut} {name}" for cut, name in zip(short, header[2:], strict=True) if cut != name)
    grouped = len({row[0] for row in rows}) > 1
    size, wide, fits = _fitting([*header[:2], *short], rows, grouped=grouped)
    environment = "table*" if wide else "table"
    packages = ["booktabs", *(["multirow"] if grouped else []), *([] if fits else ["graphicx"])]
    texts = [caption, note, *header, *(text for row in rows for text in row)]
    chinese = r" and, for XeLaTeX, \usepackage{xeCJK}" if any(re.search(f"[{HAN}]", text) for text in texts) else ""
    names = "ll" if grouped else "l"
    heads = " & ".join(
        [*map(tex, header[0:2] if grouped else header[1:2]), *(rf"\multicolumn{{2}}{{c}}{{{tex(s)}}}" for s in short)]
    )
    lines = [
        rf"% preamble: \usepackage{{{','.join(packages)}}}{chinese}",
        rf"\begin{{{environment}}}[t]",
        rf"\centering{size}\setlength{{\tabcolsep}}{{{_SEPARATION}pt}}",
        rf"\caption{{{tex(caption)}}}\label{{tab:crt-{label}}}",
        ("" if fits else r"\resizebox{\linewidth}{!}{") + rf"\begin{{tabular}}{{{names}" + "r@{}l" * len(short) + "}",
        r"\toprule",
        heads + r" \\",
    ]
    numbered = list(enumerate(rows))
    for group, members in groupby(numbered, key=lambda row: row[1][0]):
        lines.append(r"\midrule")
        for place, (number, row) in enumerate(members_ := list(members)):
            first = [_once(group, len(members_)) if place == 0 else ""] if grouped else []
            values = [_value(text, bold=(number, column) in best) for column, text in enumerate(row[2:], 2)]
            lines.append(" & ".join([*first, tex(row[1]), *values]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}" + ("" if fits else "}")]
    told = " ".join(filter(None, (note, f"{legend}." if legend else "")))
    if told:
        lines.append(rf"\par\smallskip\parbox{{\linewidth}}{{\scriptsize\raggedright {tex(told)}}}")
    lines += [f"% {' '.join(printable(comment).split())}", rf"\end{{{environment}}}"]
    return "\n".join(lines) + "\n"


def _once(group: str, rows: int) -> str:
    """Return the name of a group, in the middle of its rows."""
    return tex(group) if rows == 1 else rf"\multirow{{{rows}}}{{*}}{{{tex(group)}}}"


def _value(text: str, *, bold: bool) -> str:
    """Return the two columns of a value: the mean, then its spread below the line and its star above."""
    found = _VALUE.fullmatch(text)
    if not found:
        return rf"\multicolumn{{2}}{{c}}{{{tex(text)}}}"
    mean = found["mean"].replace("-", "$-$")
    mean = rf"\textbf{{{mean}}}" if bold else mean
    scripts = ("^{*}" if found["star"] else "") + (rf"_{{\pm {found['std']}}}" if found["std"] else "")
    return f"{mean} & ${scripts}$" if scripts else f"{mean} &"


def _shortened(names: Sequence[str]) -> list[str]:
    """Return names of at most six letters, cut where they are longer, and no two alike."""
    cut: list[str] = []
    for name in names:
        length = 4
        while len(name) > 6 and f"{name[:length]}." in cut:
            length += 1
        cut.append(f"{name[:length]}." if len(name) > 6 and " " not in name else name)
    return cut


def _fitting(header: Sequence[str], rows: Sequence[Sequence[str]], *, grouped: bool) -> tuple[str, bool, bool]:
    """Return the largest size that fits a column, else both columns; whether it takes both, and whether it fits at all."""
    for room, wide in ((COLUMN, False), (PAGE, True)):
        for name, points in SIZES:
            if _width(header, rows, points, grouped=grouped) <= room:
                return name, wide, True
    return SIZES[-1][0], True, False


def _width(header: Sequence[str], rows: Sequence[Sequence[str]], points: float, *, grouped: bool) -> float:
    """Return about how wide the table is, in points; half an em a letter is a little more than what Times needs."""
    texts = [[title, *(row[k] for row in rows)] for k, title in enumerate(header)]
    names = [max(map(len, column)) * 0.5 * points for column in texts[0 if grouped else 1 : 2]]
    values = [max(_value_width(text, points) for text in column) for column in texts[2:]]
    return sum(names) + sum(values) + 2 * _SEPARATION * (len(names) + len(values))


def _value_width(text: str, points: float) -> float:
    found = _VALUE.fullmatch(text)
    if not found:
        return len(text) * 0.5 * points
    scripts = len(found["std"]) * 0.4 + 0.7 if found["std"] else 0.4 * len(found["star"])
    return (len(found["mean"]) * 0.5 + scripts) * points


_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "[": "{[}", "*": "{*}",  # bare, they would be arguments of the line end before them
        "<": "$<$", ">": "$>$", "|": "$|$", '"': "''",  # other characters in the fonts of plain pdfLaTeX
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "≈": r"$\approx$", "†": r"$\dagger$", DASH: "--", "\n": " ", "\t": " ",
    }
)  # fmt: skip


def tex(text: str) -> str:
    """Return a text as LaTeX shows it; the hyphen before a number is a minus."""
    return re.sub(r"(?<![\w$-])-(?=\d)", "$-$", printable(text).translate(_TEX))
