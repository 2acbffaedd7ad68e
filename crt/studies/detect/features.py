"""What gives an attack away: numbers about the characters of a text, their order, and what its victim says of it.

TCAB counts words between spaces; Chinese has none, so everything here is counted on characters, over the whole text and
over its beginning, middle and end.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from crt.perturbations.characters import CLASSES, classes_of
from crt.perturbations.sound import readings
from crt.records import Input, Prediction

REGIONS: Mapping[str, tuple[float, float]] = {
    "all": (0.0, 1.0),
    "begin": (0.0, 0.25),
    "middle": (0.25, 0.75),
    "end": (0.75, 1.0),
}
"""Parts of a text, as shares of its characters."""

_LATIN = re.compile("[a-z]+")


class Surprise:
    """A character bigram model: how unusual is each character after the one before it?

    Interpolated with the frequency of the character alone and a uniform floor; trained on clean texts only.
    """

    BIGRAM, UNIGRAM, FLOOR = 0.7, 0.28, 0.02
    CHARACTERS = 20_000
    """Over which the floor is spread."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        """Count the characters and pairs of characters of some texts."""
        points, starts = points_of(inputs)
        before = _shifted(points, starts)
        self._chars, self._char_counts = np.unique(points, return_counts=True)
        self._pairs, self._pair_counts = np.unique(_pair(before, points), return_counts=True)
        self._befores, self._before_counts = np.unique(before, return_counts=True)
        self._total = max(len(points), 1)

    def of(self, points: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the negative log2 probability of each code point after the one before it."""
        before = _shifted(points, starts)
        single = _looked_up(self._chars, self._char_counts, points) / self._total
        pair = _looked_up(self._pairs, self._pair_counts, _pair(before, points))
        follows = pair / np.maximum(_looked_up(self._befores, self._before_counts, before), 1)
        return np.asarray(-np.log2(self.BIGRAM * follows + self.UNIGRAM * single + self.FLOOR / self.CHARACTERS))


def text_features(
    inputs: Sequence[Input], surprise: NDArray[np.float64] | None = None
) -> dict[str, NDArray[np.float64]]:
    """Return features of the characters of each input, by name.

    Args:
        inputs: n inputs; the fields of a pair are taken one after the other.
        surprise: of each code point, see `Surprise.of`; None: those features are left out.
    """
    points, starts = points_of(inputs)
    lengths = np.diff(np.append(starts, len(points)))
    found: dict[str, NDArray[np.float64]] = {"length": np.log1p(lengths)}
    distinct, codes = np.unique(points, return_inverse=True)
    member = np.array([classes_of(chr(point)) for point in distinct.tolist()], dtype=np.float64).reshape(
        -1, len(CLASSES)
    )[codes]
    columns = {name: member[:, k] for k, name in enumerate(CLASSES)}
    columns["space_between_han"] = _between(columns["space"], columns["han"], starts)
    columns["latin_between_han"] = _between(columns["latin"], columns["han"], starts)
    columns["repeated"] = (points == _shifted(points, starts)).astype(np.float64)
    for region, (first, last) in REGIONS.items():
        begin = starts + np.floor(first * lengths).astype(np.int64)
        end = starts + np.ceil(last * lengths).astype(np.int64)
        size = np.maximum(end - begin, 1)
        for name, column in columns.items():
            found[f"{name}_{region}"] = _summed(column, begin, end) / size
        if surprise is not None:
            found[f"surprise_{region}"] = _summed(surprise, begin, end) / size
    if surprise is not None:
        rows = np.repeat(np.arange(len(inputs)), lengths)
        most = np.zeros(len(inputs))
        np.maximum.at(most, rows, surprise)
        found["surprise_most"] = most
        found["surprise_high"] = _summed((surprise > 12).astype(np.float64), starts, starts + lengths) / np.maximum(
            lengths, 1
        )
    found["pinyin"] = np.array([_pinyin_share(" ".join(value)) for value in inputs])
    return found


def victim_features(prediction: Prediction) -> dict[str, NDArray[np.float64]]:
    """Return how sure the victim is (largest probability, margin, entropy in bits), and its share of unknown tokens."""
    p = np.sort(prediction.probabilities.astype(np.float64), axis=1)[:, ::-1]
    entropy = -np.sum(p * np.log2(np.maximum(p, 1e-12)), axis=1)
    unknown = prediction.unknown / np.maximum(prediction.tokens, 1)
    return {"p_max": p[:, 0], "p_margin": p[:, 0] - p[:, 1], "p_entropy": entropy, "unknown_tokens": unknown}


def _pinyin_share(text: str) -> float:
    """Return the share of the runs of Latin letters that are a toneless pinyin syllable."""
    runs = _LATIN.findall(text.lower())
    return sum(run in _syllables() for run in runs) / len(runs) if runs else 0.0


@cache
def _syllables() -> frozenset[str]:
    return frozenset(sound.rstrip("12345") for sound in readings().main.values())


def points_of(inputs: Sequence[Input]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the code points of all inputs, one after the other, and where each input starts."""
    texts = ["".join(value) for value in inputs]
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
    return points, np.cumsum([0, *map(len, texts)])[:-1].astype(np.int64)


def _shifted(points: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the code point before each one; 0 at the start of a text."""
    before = np.append(0, points)[: len(points)]
    before[starts[starts < len(points)]] = 0
    return before


def _pair(before: NDArray[np.int64], points: NDArray[np.int64]) -> NDArray[np.int64]:
    return before * 0x110000 + points


def _looked_up(keys: NDArray[np.int64], counts: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the count of each wanted key, 0 for one that is not there."""
    if not len(keys):
        return np.zeros(len(wanted))
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, counts[places], 0).astype(np.float64)


def _summed(column: NDArray[np.float64], begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.float64]:
    total = np.append(0.0, np.cumsum(column))
    return np.asarray(total[end] - total[begin])


def _between(inner: NDArray[np.float64], outer: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return 1 for each character of one class that stands between two of another, within a text."""
    if not len(inner):
        return inner
    first, last = np.zeros(len(inner), bool), np.zeros(len(inner), bool)
    inside = starts[starts < len(inner)]
    first[inside] = True
    last[np.append(inside[1:], len(inner)) - 1] = True
    left, right = np.append(0.0, outer[:-1]), np.append(outer[1:], 0.0)
    return np.asarray(inner * left * right * ~first * ~last)
