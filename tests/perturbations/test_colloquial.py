"""crt.perturbations.colloquial: slang, and what people mix up only beside the right neighbours."""

import json

import pytest

from crt.errors import ResourceError
from crt.perturbations.colloquial import Confusion, colloquial, confusions
from crt.resources import Table, load_table, read_json, resource_dir

SHIPPED = resource_dir() / "perturbations/colloquial.json"
GUARDED = "不没无未非别莫勿" + "〇零一二两三四五六七八九十百千万亿"


@pytest.fixture(scope="module")
def options():
    """Return a function from a text to the options of each word that may be replaced."""
    find = colloquial(load_table("colloquial"))
    return lambda text: {text[site.start : site.end]: site.options for site in find(text)}


@pytest.fixture
def given(tmp_path):
    """Return a function that writes sets of confusions to a file and returns the table in it."""

    def write(sets):
        path = tmp_path / "colloquial.json"
        fields = {"schema": 1, "entries": {"什么": ["啥"]}, "confusions": sets}
        path.write_text(json.dumps(fields, ensure_ascii=False), encoding="utf-8")
        return load_table("colloquial", path)

    return write


def test_slang_is_a_whole_word(options):
    """A key inside a longer word is left alone."""
    assert options("什么") == {"什么": ("啥", "神马")}
    assert "什么" not in options("为什么")
    assert "我" not in options("自我")


def test_slang_and_confusion_at_one_word_are_one_site(options):
    """What is mixed up comes before what is slang, and nothing stands there twice."""
    assert options("走了。")["了"] == ("啦", "鸟", "咯")
    assert options("已经不在")["已经"] == ("以经", "己经")
    assert options("真是好的。")["的"] == ("滴",)
    assert "的" not in options("桌子的腿")


@pytest.mark.parametrize(
    ("text", "word", "option"),
    [
        ("认真地学习", "地", "的"),
        ("跑得很快", "得", "的"),
        ("买的很便宜", "的", "得"),
        ("再来一次", "再", "在"),
        ("我在看书", "在", "再"),
        ("带眼镜", "带", "戴"),
        ("带了帽子，戴口罩", "戴", "带"),
        ("他走了。", "了", "啦"),
        ("他走了", "了", "啦"),
        ("感觉如何？", "如何", "咋样"),
        ("如何安装", "如何", "咋"),
        ("觉得好", "觉得", "觉的"),
    ],
)
def test_mixed_up_beside_these(options, text, word, option):
    """The neighbours are those that the set asks for."""
    assert option in options(text)[word]


@pytest.mark.parametrize(
    ("text", "word"),
    [("在家", "在"), ("再一次", "再"), ("带孩子", "带"), ("我得走", "得"), ("走了一天", "了"), ("如何是好", "如何")],
)
def test_not_mixed_up_beside_others(options, text, word):
    """A condition that no neighbour meets leaves the word alone."""
    assert word not in options(text)


def test_a_character_of_a_longer_word_is_not_mixed_up(options):
    """的, 在 and 得 are tokens of their own or nothing."""
    assert not options("目的地")
    assert "在" not in options("存在问题")
    assert "得" not in options("获得")


def test_conditions():
    """A side is a word, a tag or the end of the text; an empty condition allows any neighbour."""
    assert Confusion(("在",), ("再",), frozenset(), frozenset()).fits("", "桌子")
    verb_after = Confusion(("在",), ("再",), frozenset(), frozenset({"v"}))
    assert verb_after.fits("", "看")
    assert not verb_after.fits("", "桌子")
    assert not verb_after.fits("", "")
    last = Confusion(("了",), ("啦",), frozenset({"走"}), frozenset({"", "。"}))
    assert last.fits("走", "")
    assert last.fits("走", "。")
    assert not last.fits("看", "。")


def test_shipped_sets_change_no_negation_and_no_number():
    """Key and option hold the same of these characters, in the same order."""

    def kept(word):
        return [char for char in word if char in GUARDED]

    pairs = [(word, option) for c in confusions(load_table("colloquial")) for word in c.words for option in c.to]
    pairs += [(word, option) for word, options in load_table("colloquial").entries.items() for option in options]
    assert [(word, option) for word, option in pairs if kept(word) != kept(option)] == []


def test_shipped_slang_is_informal_and_short():
    """The register is stated, and no word has more than three options."""
    assert read_json(SHIPPED)["register"] == "informal"
    assert max(map(len, load_table("colloquial").entries.values())) <= 3


def test_options_of_a_set_are_the_set_unless_given(given):
    """Words become each other; with `to` they become those."""
    both, one = confusions(given([{"words": ["做", "作"]}, {"words": ["哪"], "to": ["那"]}]))
    assert both.to == ("做", "作")
    assert one.to == ("那",)


def test_no_confusions(given):
    """A table may have none."""
    assert confusions(given([])) == ()
    assert confusions(Table("colloquial", {"电影": ("片儿",)}, "", modified=True)) == ()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("的", "must be an object with 'words'"),
        ({"to": ["地"]}, "must be an object with 'words'"),
        ({"words": ["的", "地"], "after": ["v"]}, "has no field 'after'"),
        ({"words": ["的", "地"], "right": "v"}, "'right' needs a list"),
        ({"words": []}, "'words' needs a list"),
        ({"words": ["", "地"]}, "a word is empty"),
        ({"words": ["的"]}, "'的' can become nothing but itself"),
    ],
)
def test_faults_name_file_and_set(given, entry, message):
    """A person can find the set and knows what to do."""
    table = given([{"words": ["做", "作"]}, entry])
    with pytest.raises(ResourceError, match=r"confusion 2: ") as raised:
        confusions(table)
    assert message in str(raised.value)
    assert str(table.path) in str(raised.value)


def test_confusions_must_be_a_list(given):
    """An object in place of the list is refused."""
    table = given({"words": ["的", "地"]})
    with pytest.raises(ResourceError, match="must be a list"):
        confusions(table)


def test_own_slang():
    """The words of another table stand in place of the shipped ones."""
    find = colloquial(Table("colloquial", {"电影": ("片儿",)}, "", modified=True))
    assert [site.options for site in find("电影什么")] == [("片儿",)]
