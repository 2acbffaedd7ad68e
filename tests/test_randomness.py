"""crt.randomness: draws are in [0, 1), belong to their key alone, and are SplitMix64."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import PROPERTY, texts

from crt.randomness import base, smallest, uniforms

WORD = 2**64 - 1
bases = st.integers(0, WORD)
positions = st.integers(0, 2**40)
names = st.lists(texts, unique=True, max_size=12)
MANY = np.arange(20_000)


def splitmix64(seed: int, count: int) -> int:
    """Return output number `count`, from 1, of SplitMix64: written from the paper, in plain Python."""
    z = (seed + count * 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def test_the_reference_is_splitmix64():
    """The implementation in this file gives the published outputs of seed 1234567."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [splitmix64(1234567, count) for count in range(1, 5)] == published


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ((), 0xC765742576758571),
        ((0,), 0x9C09BF85306200AC),
        ((13, "homophone", "tnews/validation/1203", 0), 0x41227F1C309F6DD0),
        (("\ud800", "安全"), 0x107624546CAFB6F2),
    ],
)
def test_bases_are_frozen(key, expected):
    """The base of a key is the same on every machine and in every version: published results hang on it."""
    assert base(*key) == expected


def test_the_parts_of_a_key_are_kept_apart():
    """No two keys that differ in a part, its type or its borders share a base."""
    keys = [(), ("",), ("", ""), ("ab", "c"), ("a", "bc"), (1,), ("1",), (1, 2), (12,), ('a","b',), ("a", "b")]
    assert len({base(*key) for key in keys}) == len(keys)


@PROPERTY
@given(st.lists(st.tuples(bases, positions), max_size=8), st.sampled_from((0, 1)))
def test_draws_are_splitmix64(rows, stream):
    """A draw is output 2 * position + stream + 1 of the base, its upper 53 bits as a fraction, and lies in [0, 1)."""
    draws = uniforms([b for b, _ in rows], [p for _, p in rows], stream=stream)
    assert draws.tolist() == [(splitmix64(b, 2 * p + stream + 1) >> 11) / 2**53 for b, p in rows]
    assert all(0 <= draw < 1 for draw in draws)


@PROPERTY
@given(bases, positions)
def test_a_single_draw_is_that_of_the_array(number, position):
    """Scalars, one base for many positions, and arrays give the same draws, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = float(uniforms(number, position))
        assert uniforms(number, [0, position])[1] == alone
        assert uniforms([1, number], position)[1] == alone
        assert uniforms([number], [position])[0] == alone


@pytest.mark.parametrize(
    "other",
    [
        lambda: uniforms(base(14, "space", "tnews/test/1", 0), MANY),
        lambda: uniforms(base(13, "shape", "tnews/test/1", 0), MANY),
        lambda: uniforms(base(13, "space", "tnews/test/2", 0), MANY),
        lambda: uniforms(base(13, "space", "tnews/test/1", 1), MANY),
        lambda: uniforms(base(13, "space", "tnews/test/1", 0), MANY, stream=1),
        lambda: uniforms(base(13, "space", "tnews/test/1", 0), MANY + 1),
        lambda: uniforms([base(13, "space", f"tnews/test/{row}", 0) for row in MANY], 0),
    ],
    ids=["seed", "name", "example", "field", "stream", "next position", "across examples"],
)
def test_neighbouring_draws_are_independent(other):
    """Draws that differ in one part of the key only are even over [0, 1) and uncorrelated (5 standard errors)."""
    one, two = uniforms(base(13, "space", "tnews/test/1", 0), MANY), other()
    expected = len(MANY) / 20
    for draws in (one, two):
        assert np.abs(np.histogram(draws, bins=20, range=(0, 1))[0] - expected).max() < 5 * expected**0.5
    assert abs(np.corrcoef(one, two)[0, 1]) < 5 / len(MANY) ** 0.5


@PROPERTY
@given(names, st.data())
def test_the_smallest_are_nested_and_know_no_order(known, data):
    """A smaller count chooses a subset, the order of the names changes nothing, and indices ascend."""
    chosen = [{known[row] for row in smallest(known, count, key="subset")} for count in range(len(known) + 2)]
    assert [len(names) for names in chosen] == [*range(len(known) + 1), len(known)]
    assert all(few <= more for few, more in pairwise(chosen))
    count = data.draw(st.integers(0, len(known)))
    shuffled = data.draw(st.permutations(known))
    rows = smallest(shuffled, count, key="subset")
    assert rows == sorted(rows)
    assert {shuffled[row] for row in rows} == chosen[count]


def test_the_smallest_depend_on_the_key():
    """Two keys choose independently: of 1,000 names, a tenth by either key shares about a hundredth."""
    known = [f"tnews/test/{row}" for row in range(1000)]
    one, two = (set(smallest(known, 100, key=key)) for key in ("subset", "other"))
    assert 1 <= len(one & two) <= 25
