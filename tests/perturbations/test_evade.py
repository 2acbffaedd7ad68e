"""crt.perturbations.evade: which words are found, and what they become."""

import pytest

from crt.perturbations import LISTED, WAYS_TO_EVADE, load
from crt.perturbations.evade import evade, finder_of, in_the_way_of
from crt.perturbations.guards import meaning_alike
from crt.records import Site
from crt.resources import OwnTable, load_table


def found(text: str, *listed: str) -> list[str]:
    """Return the places of a text at which a listed word is found."""
    return [text[start:end] for start, end, _ in finder_of(listed)(text)]


@pytest.mark.parametrize(
    ("text", "listed", "places"),
    [
        ("加微信，微信号", ("微信", "加微信"), ["加微信", "微信"]),
        ("微 信 微*信 微\u200b信 微-_信 微---信", ("微信",), ["微 信", "微*信", "微\u200b信", "微-_信"]),
        ("微，信不信。微。信", ("微信",), []),
        ("看电影 片子好，好 影 片", ("影片",), ["影 片"]),
        ("qq QQ ＱＱ Ｑq", ("QQ",), ["qq", "QQ", "ＱＱ", "Ｑq"]),
        ("赌，网 赌", ("赌", "网赌"), ["赌", "网 赌"]),
        ("微", ("微信",), []),
        ("微信", ("微信息",), []),
    ],
)
def test_where_words_are_found(text, listed, places):
    """The longest first, broken by at most two stray marks, in any case and width; not across a mark that ends something."""
    assert found(text, *listed) == places


def test_a_broken_word_is_disguised_as_a_whole():
    """Neither the word itself nor what stands there already is an option."""
    ways = [lambda word: ["微*信", word, "薇信"], in_the_way_of(lambda _: (Site(1, 1, (" ",)),))]
    assert evade(["微信"], ways)("加微*信") == (Site(1, 4, ("薇信", "微 信")),)


def test_a_way_disguises_all_sites_and_then_each():
    """Posts disguise a word as a whole, or one of its characters."""
    way = in_the_way_of(lambda word: tuple(Site(at, at + 1, (char.upper(), "-")) for at, char in enumerate(word)))
    assert way("abc") == ["ABC", "Abc", "aBc", "abC"]
    assert in_the_way_of(lambda _: ())("abc") == []


def test_listed_words_keep_their_listed_disguises(tmp_path):
    """A list of words has the disguises that the shipped list knows, and comments in it are passed over."""
    words = tmp_path / "words.txt"
    words.write_text("# mine\n微信 # the app\n  # more\n龙井茶\nC#\n", encoding="utf-8")
    loaded = load("evade", OwnTable(words))
    assert set(loaded.table.entries) == {"微信", "龙井茶", "C#"}
    (site,) = loaded.find("加微信")
    assert site.options[:2] == load_table("evade").entries["微信"][:2]
    assert "longjingcha" in loaded.find("喝龙井茶")[0].options
    assert loaded.find("真是垃圾") == ()


def test_words_are_added_to_the_shipped_list(tmp_path):
    """With a + before the file its words stand beside those of the shipped list."""
    words = tmp_path / "words.txt"
    words.write_text("龙井茶\n", encoding="utf-8")
    find = load("evade", OwnTable.of(f"+{words}"), ways=("space",)).find
    assert [site.options for site in find("喝龙井茶，真是垃圾")] == [("龙 井 茶", "龙 井茶", "龙井 茶"), ("垃 圾",)]


def test_ways_are_chosen():
    """Only what is asked for is an option, in the order of WAYS_TO_EVADE."""
    assert WAYS_TO_EVADE[0] == LISTED
    only = load("evade", ways=("space",)).find("微信")
    assert only == (Site(0, 2, ("微 信",)),)
    both = load("evade", ways=("space", LISTED)).find("微信")
    assert both == (Site(0, 2, (*load_table("evade").entries["微信"], "微 信")),)


def test_every_listed_disguise_keeps_the_label():
    """No disguise of the shipped list brings in a negation, a numeral or another person: none is left out by the guards."""
    for word, options in load_table("evade").entries.items():
        sites = (Site(0, len(word), options),)
        assert meaning_alike(lambda _, sites=sites: sites)(word) == sites


def test_words_are_found_in_either_script():
    """The list is in simplified script; texts in traditional script are read as the other perturbations read them."""
    pytest.importorskip("crt.perturbations.script")
    text = "這是傳銷啊，別加微信"
    assert [text[site.start : site.end] for site in load("evade").find(text)] == ["傳銷", "加微信"]
