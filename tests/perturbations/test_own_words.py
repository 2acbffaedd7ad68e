"""Words of the user: protected ones stay whatever happens around them, and of the others nothing but the listed ones changes."""

import pytest
from golden_cases import texts_of
from hypothesis import given
from hypothesis import strategies as st
from strategies import PROPERTY, loaded

from crt.errors import ResourceError
from crt.perturbations import PERTURBATIONS, load
from crt.perturbations.engine import find_sites, perturb_all
from crt.perturbations.own_words import OwnWords, apart, occurrences, within
from crt.perturbations.text import words
from crt.records import Example, Site
from crt.resources import OwnTable, Table

every = pytest.mark.parametrize("name", PERTURBATIONS)
words_of_few = st.lists(st.text("安全网络", min_size=1, max_size=4), max_size=8)


def listed(*entries):
    """Return a list of words as it is read from a file."""
    return Table("words", dict.fromkeys(entries, ()), "", modified=True)


def result(text, name, **lists):
    """Return what a text becomes under a perturbation that is bound to the user's words, with every site edited."""
    return edited(text, load(name, words=OwnWords(**lists)).find)


def edited(text, find):
    """Return what a text becomes where every site is edited."""
    return perturb_all(find_sites([Example("task/test/0", (text,), 0)], find), name="x", prob=1.0, seed=13)[0]


@PROPERTY
@given(words_of_few, st.text("安全网络x", max_size=12))
def test_every_occurrence_is_found(known, text):
    """At each position the longest listed word that begins there is found, and no other place."""
    expected = []
    for at in range(len(text)):
        here = [word for word in known if text.startswith(word, at)]
        if here:
            expected.append((at, at + max(map(len, here))))
    assert list(occurrences(known)(text)) == expected


def test_the_longest_word_from_left_to_right():
    """Places that overlap one that was taken are left out."""
    found = occurrences(["微信", "微信号", "信号", "号码"])("微信号码")
    assert found == ((0, 3), (1, 3), (2, 4))
    assert apart(found) == ((0, 3),)
    assert apart(((0, 2), (1, 3), (2, 4))) == ((0, 2), (2, 4))


@every
def test_protected_words_stay(name):
    """Every second word of texts that the perturbation changes is protected: no edit touches it, and others are still made."""
    texts = texts_of(name)
    protected = {text[start:end] for text in texts for start, end in words(text)[::2] if end - start > 1}
    places = occurrences(protected)
    find = load(name, words=OwnWords(protect=listed(*protected))).find
    for text in texts:
        spans = places(text)
        for edit in edited(text, find).edits:
            assert all(edit.end <= start or edit.start >= end for start, end in spans), (text, edit)
        untouched = [
            site
            for site in loaded(name).find(text)
            if all(site.end <= start or site.start >= end for start, end in spans)
        ]
        assert list(find(text)) == untouched


def test_overlapping_protected_words_stay_both():
    """Two brands that share a character are spared both, with the gaps inside them; a gap at their border is none of theirs."""
    protect = listed("微信", "信号", "大众")
    assert result("开微信号大众", "space", protect=protect).input == ("开 微信号 大众",)


@every
def test_only_the_listed_words_change(name):
    """With a list of words, each edit lies within one of them; without an occurrence there is none."""
    texts = texts_of(name)
    chosen = {text[start:end] for text in texts for start, end in words(text)[::2] if end - start > 1} or {"安全"}
    places = occurrences(chosen)
    find = load(name, words=OwnWords(only=listed(*chosen))).find
    for text in texts:
        spans = apart(places(text))
        for edit in edited(text, find).edits:
            assert any(start <= edit.start and edit.end <= end for start, end in spans), (text, edit)
    assert result(text, name, only=listed("龘龘龘")).edits == ()


@pytest.mark.parametrize("name", ["homophone", "pinyin", "space", "invisible", "punctuation"])
def test_every_occurrence_is_disguised(name):
    """At prob 1 a filter finds no occurrence of the listed words any more, whatever words stand around them."""
    text = "想要微信号的加微信，微信好友。"
    after = result(text, name, only=listed("微信")).input[0]
    assert "微信" not in after
    assert [part for part in ("想要", "号的加", "，", "好友。") if part in after] == ["想要", "号的加", "，", "好友。"]


def test_a_site_that_reaches_beyond_a_listed_word_is_none():
    """Where a key of the table is longer, the listed word is looked up by itself."""
    entries = {"微信号": "甲", "微信": "乙", "信": "丙"}

    def find(text):
        key = next(key for key in entries if key in text)
        return (Site(text.index(key), text.index(key) + len(key), (entries[key],)),)

    inner = within(occurrences(["微信"]), find)
    assert inner("加微信号") == (Site(1, 3, ("乙",)),)
    assert inner("加微信了") == (Site(1, 3, ("乙",)),)
    assert inner("信号") == ()


def test_guards_hold_for_listed_words():
    """A listed word inside a name, a number or a tag stays as it is, and so does one that is protected too."""
    assert result("@微信号 三百万 #微信#", "homophone", only=listed("微信", "百万")).edits == ()
    assert result("微信", "homophone", protect=listed("微信"), only=listed("微信")).edits == ()


def test_lists_are_read_as_people_have_them(tmp_path):
    """GB18030, blank lines, blanks around a word and comments; an empty list and broken bytes are errors with the place."""
    path = tmp_path / "brands.txt"
    path.write_bytes("# 品牌\n\n 小米 \n香格里拉\n小米\n".encode("gb18030"))
    assert list(OwnWords.read(path, None).protect.entries) == ["小米", "香格里拉"]
    path.write_text("# 品牌\n", encoding="utf-8")
    with pytest.raises(ResourceError, match=r"brands\.txt: lists no word; write one a line"):
        OwnWords.read(None, path)
    path.write_bytes("小米\n".encode() + b"\xff\n")
    with pytest.raises(ResourceError, match=r"brands\.txt, line 2: byte 0xff is not UTF-8"):
        OwnWords.read(path, None)


def test_a_table_is_replaced_or_added_to(tmp_path):
    """FILE alone takes the place of the shipped table; +FILE stands before it, its options first."""
    path = tmp_path / "mine.json"
    path.write_text('{"schema": 1, "entries": {"安": ["铵"], "龘": ["达"]}}', encoding="utf-8")
    shipped, replaced, added = (load("shape", own).table for own in (None, OwnTable(path), OwnTable.of(f"+{path}")))
    assert replaced.entries == {"安": ("铵",), "龘": ("达",)}
    assert added.entries == shipped.entries | {"安": ("铵", *shipped.entries["安"]), "龘": ("达",)}
    assert len({shipped.sha256, replaced.sha256, added.sha256}) == 3
    assert (shipped.modified, replaced.modified, added.modified) == (False, True, True)


def test_confusions_are_added_too(tmp_path):
    """The sets of words that people mix up are part of a table, so a file that adds to it adds to them."""
    path = tmp_path / "mine.json"
    path.write_text(
        '{"schema": 1, "entries": {"龘": ["达"]}, "confusions": [{"words": ["候", "侯"]}]}', encoding="utf-8"
    )
    shipped = load("colloquial").table.more["confusions"]
    assert load("colloquial", OwnTable(path, adds=True)).table.more["confusions"] == [{"words": ["候", "侯"]}, *shipped]


@pytest.mark.parametrize(("listed", "text"), [("网络", "這個網絡很快"), ("網絡", "这个网络很快")])
def test_lists_hold_in_either_script(listed, text):
    """A word is found however it is written."""
    assert occurrences([listed])(text) == ((2, 4),)
