"""The table of look-alike characters: how much it holds, and how many well-known pairs."""

from itertools import permutations
from pathlib import Path

import pytest

from crt.perturbations.sound import readings
from crt.resources import load_table

GOLD = Path(__file__).parent / "shape_gold.tsv"
NEGATIONS, NUMERALS = "不没无未非别莫勿", "零一二三四五六七八九十百千万亿两"


@pytest.fixture
def entries():
    """The shipped table."""
    return load_table("shape").entries


def test_the_table_is_large(entries):
    """At least 2,700 characters have a look-alike, and none has more than 8."""
    assert len(entries) >= 2700
    assert max(map(len, entries.values())) <= 8


def test_keys_and_options_are_different_single_characters(entries):
    """A character is replaced by one other character, and each is offered once."""
    assert all(len(char) == 1 for key, options in entries.items() for char in (key, *options))
    assert all(len({key, *options}) == 1 + len(options) for key, options in entries.items())


def test_no_negation_and_no_numeral_is_touched(entries):
    """What turns a sentence into its opposite, or a number into another one, is not there but for 未 -> 末 and back."""
    pairs = {(key, option) for key, options in entries.items() for option in options}
    assert {pair for pair in pairs if set(NEGATIONS + NUMERALS) & set(pair)} == {("未", "末"), ("末", "未")}


def test_well_known_pairs_are_among_the_first_options(entries):
    """Of the pairs of the gold list, at least 80 % are found among the first 5 options."""
    groups = [line.split("\t") for line in GOLD.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    pairs = [pair for group in groups for pair in permutations(group, 2)]
    assert len(pairs) > 600
    assert sum(other in entries.get(char, ())[:5] for char, other in pairs) / len(pairs) >= 0.80


def test_options_are_common_characters(entries):
    """Only characters that everybody reads are offered: all of them are among the main readings, none is rare."""
    assert readings().main.keys() | readings().ambiguous >= {char for options in entries.values() for char in options}
