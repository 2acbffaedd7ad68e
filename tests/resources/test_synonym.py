"""The tables of synonyms: what a reader vouched for, and nothing that changes a label by its words alone."""

from pathlib import Path

import pytest

from crt.resources import load_table, read_json, resource_dir

BUILD = Path(__file__).parents[2] / "resources/build"
SEED, ALL = load_table("synonym").entries, load_table("synonym_all").entries


def listed(name):
    """Return word and option of each line of a hand-written file; a word marked > is only an option."""
    groups = [line.split("\t") for line in (BUILD / name).read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    return {
        (word, option)
        for group in groups
        for word in group
        if word[0] != ">"
        for option in (other.removeprefix(">") for other in group)
        if word != option
    }


def pairs(entries):
    """Return key and option of each entry."""
    return {(key, option) for key, options in entries.items() for option in options}


def test_the_seed_is_what_was_written_by_hand():
    """The default table holds the hand-written groups and nothing else."""
    assert pairs(SEED) == listed("synonym_seed.tsv")


def test_every_mined_pair_was_accepted():
    """What the wider table adds stands in the list of pairs that a reader accepted."""
    assert pairs(ALL) == pairs(SEED) | listed("synonym_accepted.tsv")


def test_mined_pairs_go_both_ways():
    """Only a hand-written line may say that a word is put in and never replaced."""
    assert {(option, word) for word, option in pairs(ALL) - pairs(SEED)} <= pairs(ALL)


@pytest.mark.parametrize("entries", [SEED, ALL], ids=["seed", "all"])
def test_praise_does_not_become_blame(entries):
    """No option is on the other side of the opinion words than its key."""
    sides = read_json(resource_dir() / "rules/sentiment.json")["keywords"]
    side = {word: name for name, words in sides.items() for word in words}
    assert [pair for pair in pairs(entries) if len({side[word] for word in pair if word in side}) > 1] == []


def test_a_negation_is_never_made_or_lost():
    """不 and 没 as words of their own are in no pair; inside a word they may be, if the other one means the same."""
    assert not {pair for pair in pairs(ALL) if {"不", "未", "无", "非", "莫", "勿", "别"} & set(pair)}
    assert {pair for pair in pairs(ALL) if "没" in pair} <= {("没", "没有"), ("没有", "没")}
