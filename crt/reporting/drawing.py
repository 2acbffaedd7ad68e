"""How every figure is drawn: fonts that have Chinese characters, colours, and a figure as a part of a page."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Literal

from matplotlib import font_manager, rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from crt.perturbations.text import HAN

log = logging.getLogger(__name__)

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, told apart by colour-blind readers."""
MARKERS = "osD^vPX"
"""Markers of lines, in their order."""
HEAT = "#ee8b4d"
"""Colour of what is lost, in heat maps and bars; the page has it too."""
ZERO, GRID = "#999999", "#e6e6e6"
"""Colours of the line at zero and of the grid."""

COLUMN, PAGE = 3.3, 6.9
"""Width in inches of a column and of both columns of a paper."""

CHINESE = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "Microsoft YaHei", "PingFang SC",
    "Hiragino Sans GB", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "SimHei", "Noto Sans CJK JP",
)  # fmt: skip
"""Font families with Han characters, the first one that is installed is used; Noto's collection may go by its first face."""
_FILES = re.compile(r"noto.?sans.?(cjk|sc)|source.?han.?sans|msyh|pingfang|hiragino|wqy|simhei", re.IGNORECASE)


@cache
def chinese() -> tuple[str, ...]:
    """Return the installed font family with Han characters that comes first in `CHINESE`, or nothing."""
    if not set(CHINESE) & set(font_manager.get_font_names()):
        # matplotlib remembers the fonts of its first start: one that was installed later must be added
        for path in filter(_FILES.search, font_manager.findSystemFonts()):
            font_manager.fontManager.addfont(path)
    known = set(font_manager.get_font_names())
    return tuple(name for name in CHINESE if name in known)[:1]


@cache
def _warn() -> None:
    log.warning(
        "no font with Chinese characters is installed, so figures show boxes in their place; "
        "install one, like the package fonts-noto-cjk (Debian, Ubuntu) or google-noto-sans-cjk-fonts (Fedora)"
    )


@contextmanager
def style() -> Iterator[None]:
    """Set what all figures share, while they are made and while they are written."""
    with rc_context(
        {"font.family": ["DejaVu Sans", *chinese()], "font.size": 8, "axes.titlesize": 8, "axes.linewidth": 0.7}
    ):
        yield


def canvas(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Figure:
    """Return an empty figure of a size in inches, which arranges its axes itself unless `layout` is None."""
    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def check_fonts(figure: Figure) -> None:
    """Warn, once, if a figure has Chinese characters and no installed font does."""
    if not chinese() and any(re.search(f"[{HAN}]", text.get_text()) for text in figure.findobj(Text)):
        _warn()


_DROPPED = re.compile(
    r"^.*?(?=<svg)|<metadata>.*?</metadata>|<!--.*?-->|\n\s*(?=<)| (?:width|height)=\"[\d.]+pt\"", re.DOTALL
)
_VARIABLES = {
    **{colour.lower(): f"var(--s{number})" for number, colour in enumerate(COLOURS[:-1], 1)},
    COLOURS[-1]: "currentColor",
    ZERO: "var(--axis)",
    GRID: "var(--rule)",
}


def inline(figure: Figure, name: str, label: str) -> str:
    """Return a figure as markup for a page: texts stay texts, colours are variables of the page's style.

    Args:
        figure: any.
        name: unique on the page; the ids in the figure begin with it.
        label: what the figure shows, for who cannot see it; escaped.
    """
    buffer = StringIO()
    with style(), rc_context({"svg.hashsalt": "crt", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    svg = _DROPPED.sub("", buffer.getvalue()).strip()
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", svg)
    svg = re.sub("#[0-9a-f]{6}", lambda found: _VARIABLES.get(found[0], found[0]), svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def plain(axes: Axes, grid: Literal["x", "y"]) -> None:
    """Leave what a reader needs: a light grid along the values, two spines."""
    axes.tick_params(labelsize=7)
    axes.grid(axis=grid, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def save_as(figure: Figure, stem: Path, *suffixes: str) -> None:
    """Write a figure once for each suffix, like `.svg`."""
    for suffix in suffixes:
        save(figure, stem.with_suffix(suffix))


_UNDATED = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
"""Metadata without which two files of the same figure would differ."""


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the same numbers give the same bytes."""
    check_fonts(figure)
    with style(), rc_context({"svg.hashsalt": "crt", "svg.fonttype": "none", "pdf.fonttype": 42}):
        figure.savefig(path, metadata=_UNDATED.get(path.suffix, {}), dpi=300)
