"""crt.perturbations.polarity: no option turns what a text is for or against, or puts an offensive word into it."""

import json

import pytest
from strategies import loaded

from crt.perturbations import PERTURBATIONS, load
from crt.perturbations.polarity import KINDS, entries_keeping_polarity, keeps_polarity, polarity
from crt.resources import OwnTable, load_table, read_json, resource_dir

FILTERED = [name for name, p in PERTURBATIONS.items() if p.table and "polarity" not in p.trusted]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(("好", "奸"), ("技", "妓"), ("表", "婊"), ("票", "嫖"), ("努力", "奴隶"), ("讲师", "僵尸")),  # offensive
        *(("买", "卖"), ("卖", "买"), ("买家", "卖家"), ("阳", "阴")),  # opposites
        *(
            ("满意", "难以"),
            ("优惠", "后悔"),
            ("热心", "恶心"),
            ("后悔", "优惠"),
            ("希望", "死亡"),
        ),  # the other polarity
        *(("还是", "害死"), ("有点", "优点"), ("很", "恨"), ("孩子", "害死")),  # from none to one
    ],
)
def test_what_turns_a_text(old, new):
    """An offensive word, an opposite, the other polarity and a polarity where there was none."""
    assert not keeps_polarity(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("傻逼", "煞笔"),
        ("操", "草"),
        ("妓女", "妓铝"),
        ("美好", "每好"),
        ("满意", "慢意"),
        ("喜欢", "喜爱"),
        ("坏", "怀"),
    ],
)
def test_what_may_be_written(old, new):
    """A disguise of what is offensive itself, a word of the same polarity, and one that has lost it."""
    assert keeps_polarity(old, new)


@pytest.mark.parametrize("name", FILTERED)
def test_a_shipped_table_is_clean_by_itself(name):
    """The builders leave out what the filter would."""
    table = load_table(name)
    assert entries_keeping_polarity(table).entries == table.entries


def test_the_table_of_a_user_is_filtered(tmp_path):
    """The same holds for a table that is given in place of a shipped one; a reading is no part of its key."""
    file = tmp_path / "mine.json"
    entries = {"好": ["奸", "妤"], "技": ["妓"], "行/xing2": ["形"], "操": ["草"]}
    file.write_text(json.dumps({"schema": 1, "entries": entries}), encoding="utf-8")
    sites = load("homophone", OwnTable(file)).find("好技行操")
    assert [site.options for site in sites] == [("妤",), ("草",)]


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_whoever_is_filtered_says_so(name):
    """Another list has the cells measured again whose sites it decides; the last two are made of finders that are filtered."""
    assert ("polarity.json" in PERTURBATIONS[name].resources) == (name in (*FILTERED, "evade", "mixture"))


def test_the_list_is_broad_and_says_one_thing_of_a_word():
    """Several hundred words, none of two kinds and none twice, and opposites of two characters."""
    data = read_json(resource_dir() / "polarity.json")
    listed = [word for kind in KINDS for line in data[kind] for word in line.split(" ")]
    assert len(listed) == len(set(listed)) == len(polarity().kinds) >= 1000
    assert all(len(pair) == 2 for line in data["opposites"] for pair in line.split(" "))


@pytest.mark.parametrize(
    ("name", "text", "never"),
    [
        ("shape", "好", "奸"),
        ("shape", "技术", "妓"),
        ("shape", "手表", "婊"),
        ("shape", "未入住", "末"),
        ("martian", "票", "嫖"),
        ("homophone", "努力", "奴"),
        ("ime", "买", "卖"),
        ("ime", "满意", "难以"),
        ("ime", "优惠", "后悔"),
        ("ime", "热心", "恶心"),
        ("ime", "否认", "夫人"),
        ("ime", "拒绝", "聚居"),
    ],
)
def test_no_option_of_the_other_polarity(name, text, never):
    """What careless tables offered is at no site of the perturbation."""
    assert not [site for site in loaded(name).find(text) if any(never in option for option in site.options)]
