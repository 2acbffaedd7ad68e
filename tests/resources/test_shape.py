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
    """The characters of the shipped table."""
    return {key: options for key, options in load_table("shape").entries.items() if len(key) == 1}


def test_the_table_is_large(entries):
    """At least 2,700 characters have a look-alike, and none has more than 8."""
    assert len(entries) >= 2700
    assert max(map(len, entries.values())) <= 8


def test_keys_and_options_are_different_single_characters(entries):
    """A character is replaced by one other character, and each is offered once."""
    assert all(len(char) == 1 for key, options in entries.items() for char in (key, *options))
    assert all(len({key, *options}) == 1 + len(options) for key, options in entries.items())


def test_no_negation_and_no_numeral_is_touched(entries):
    """What turns a sentence into its opposite, or a number into another one, is neither a key nor an option."""
    assert not {char for key, options in entries.items() for char in (key, *options)} & set(NEGATIONS + NUMERALS)


def test_the_words_are_those_in_which_a_character_does_not_negate():
    """未 looks like 末, and is written so in 未来; nothing else is longer than a character."""
    words = {key: options for key, options in load_table("shape").entries.items() if len(key) > 1}
    assert words == {word: (word.replace("未", "末"),) for word in ("未来", "未央", "未时")}


@pytest.mark.parametrize(
    ("char", "wrong"),
    [("好", "奸"), ("技", "妓"), ("表", "婊"), ("末", "未"), ("是", "足"), ("工", "巫"), ("全", "企")],
)
def test_what_a_reader_refused_is_not_offered(entries, char, wrong):
    """No look-alike is an insult or negates, and none shares a frame or a part only."""
    assert wrong not in entries.get(char, ())


def test_a_very_frequent_character_has_decent_look_alikes_or_none(entries):
    """The rows that were read one by one are the whole of what is offered."""
    assert entries["好"] == ("妤",)
    assert entries["我"] == ("俄",)
    assert not {"关", "起", "等", "所"} & set(entries)


def test_well_known_pairs_are_among_the_first_options(entries):
    """Of the pairs of the gold list, at least 80 % are found among the first 5 options."""
    groups = [line.split("\t") for line in GOLD.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    pairs = [pair for group in groups for pair in permutations(group, 2)]
    assert len(pairs) > 600
    assert sum(other in entries.get(char, ())[:5] for char, other in pairs) / len(pairs) >= 0.80


def test_options_are_common_characters(entries):
    """Only characters that everybody reads are offered: all of them are among the main readings, none is rare."""
    assert readings().main.keys() | readings().ambiguous >= {char for options in entries.values() for char in options}
