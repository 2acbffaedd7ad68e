"""crt.perturbations.guards: what no perturbation touches, held for every entry of PERTURBATIONS."""

import re
from itertools import product
from unicodedata import normalize

import pytest
from golden_cases import texts_of
from hypothesis import given
from hypothesis import strategies as st
from strategies import PROPERTY, WORDS, loaded

from crt.perturbations import PERTURBATIONS, Perturbation, load
from crt.perturbations.engine import perturb
from crt.perturbations.guards import NEGATORS, entries_meaning_alike, meaning_alike, negations, outside
from crt.records import Example, Site
from crt.resources import Table

every = pytest.mark.parametrize("name", PERTURBATIONS)


def untrusted(kind):
    """Run a test for each perturbation that may not write this otherwise."""
    return pytest.mark.parametrize("name", [name for name, p in PERTURBATIONS.items() if kind not in p.trusted])


KEPT = (
    *(
        "12.5",
        "2018",
        "10:30",
        "95%",
        "1,200",
        "３８",
        "iPhone",
        "WiFi-6",
        "C++",
        "https://a.cn/中文?x=好",
        "www.a.com/b",
    ),
    *("@张三丰", "@user_1", "#好看的电影#", "#电影", "[微笑]", "👍🏽", "👨‍👩‍👧", "❤️", "🇨🇳"),
)
"""Names, numbers, words of other scripts, links, tags and emoji."""

SENTENCES = (
    "我不喜欢这个电影，没有意思。",
    "未来的网络无法想象，非常安全，别着急，请勿吸烟，莫名其妙。",
    "不是不好，没有没钱，别墅特别漂亮，未必非去不可。",
    "房间一百二十三块，三千万人，两百个，服务员十分热情。",
)


def everything(name: str, text: str) -> str:
    """Return the text with every site edited."""
    return perturb(Example("a/b/0", (text,), 0), loaded(name).find, name=name, prob=1.0, seed=13).input[0]


def plain(name: str, text: str) -> str:
    """Return the text without the styles of letters and digits, if the perturbation may bring some in: Ｂ is B."""
    return normalize("NFKC", text) if "latin" in PERTURBATIONS[name].trusted else text


def in_order(some, all_):
    """Return whether one is left of the other when things are left out."""
    rest = iter(all_)
    return all(one in rest for one in some)


@every
def test_names_numbers_links_and_emoji_stay(name):
    """With every site edited they stand in the text as they did."""
    for kept, text in product(KEPT, ("房间很干净", *texts_of(name))):
        assert plain(name, kept) in plain(name, everything(name, f"{text} {kept} {text}"))


@every
@PROPERTY
@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(KEPT)), min_size=1, max_size=6))
def test_they_stay_among_others(name, parts):
    """However they are mixed with words, none is lost, doubled or changed."""
    text = "".join(f"{word} {kept} " for word, kept in parts)
    rest = plain(name, everything(name, text))
    for kept in (plain(name, kept) for _, kept in parts):
        assert kept in rest
        rest = rest[rest.index(kept) + len(kept) :]


@untrusted("negations")
def test_negations_stay(name):
    """Each negation is there as before and in its order, and no character that negates comes in."""
    for text in (*SENTENCES, *texts_of(name)):
        result = re.findall(f"[{NEGATORS}]", everything(name, text))
        assert in_order("".join(negations(text)).replace("难以", ""), result)
        assert in_order(result, text)


NUMBERS = (
    *("第二天", "两个", "十几", "一家", "三口", "四星", "壹佰贰拾", "半天", "仨", "几", "百分之五", "三分之一", "二月"),
    *("十二点", "一个", "第一", "几十块", "三千万"),
)
"""A numeral alone, before what it counts, as an ordinal, in capitals, as a share and as a date."""


@untrusted("numbers")
@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_stay(name, number):
    """No number in Han characters is touched, of one numeral either."""
    for text in (f"房间{number}，很干净", f"他们{number}都喜欢", number):
        assert number in everything(name, text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("还不错", "不错"),
        ("我不喜欢", "不喜欢"),
        ("没有看到", "没有看到"),
        ("难以接受", "难以"),
        ("甭提", "甭"),
        ("休想", "休想"),
        ("我们学校", "我们"),
    ],
)
def test_what_is_negated_is_not_left_out(text, kept):
    """No character is left out of a word that negates, or of the one after it."""
    assert kept in everything("delete", text)


def test_some_words_only_look_like_negations():
    """非常 and 未来 are words like others."""
    assert negations("未来非常特别，别人都休息，相反还免费") == []
    assert negations("从未来过，并非如此，难以想象，别处理") == ["未", "非", "难以", "别"]


@pytest.mark.parametrize("seed", range(20))
def test_no_word_is_left_out(seed):
    """Whatever is left out, some of each word stays."""
    text = "电影院里的服务员特别热情"
    result = perturb(Example("a/b/0", (text,), 0), loaded("delete").find, name="delete", prob=1.0, seed=seed).input[0]
    assert len(result) >= len(text) // 2
    assert all(set(word) & set(result) for word in ("电影院", "服务员", "热情"))


@pytest.mark.parametrize("seed", range(20))
def test_marks_do_not_part_a_negation_from_what_it_negates(seed):
    """Within a word there are commas only; none stands in or right after a word that negates."""
    example = Example("a/b/0", ("今后是不会再入住了，没有服务员",), 0)
    find = loaded("punctuation").find
    result = perturb(example, find, name="punctuation", prob=1.0, seed=seed).input[0]
    assert "不会再" in result
    assert "没有服" in result
    assert re.search("服[，、]务[，、]员", result)


def test_signs_hide_nothing_that_is_negated():
    """No sign or mask stands in a word that negates, or in the one after it; elsewhere they do."""
    words = {"今后是不会再入住了，没有服务员": {"今后", "入住"}, "别喜欢，电影特别好看": {"电影特别", "好看"}}
    for text, marked in words.items():
        assert {text[site.start : site.end] for site in loaded("signs").find(text)} == marked


def test_digits_stand_for_no_amount():
    """三八 is 38 where it is no part of a number, and a numeral alone is never written as a digit."""
    assert everything("digits", "三八妇女") == "38妇女"
    for text in ("一百三八", "两百个", "三个", "十八"):
        assert everything("digits", text) == text


@pytest.mark.parametrize("name", ["swap", "delete"])
def test_a_slip_makes_no_other_word(name):
    """牛奶 does not become 奶牛, nor 大学生 学生."""
    for word, others in (("牛奶", {"奶牛"}), ("蜜蜂", {"蜂蜜"}), ("大学生", {"大学", "学生"})):
        options = {option for site in loaded(name).find(word) for option in site.options}
        assert not options & others


def test_who_is_meant_stays():
    """他 does not become 她, and nothing becomes either."""
    sites = (Site(0, 1, ("她", "塔", "ta")), Site(1, 2, ("他", "踏")))
    assert meaning_alike(lambda _: sites)("他塌") == (Site(0, 1, ("塔", "ta")), Site(1, 2, ("踏",)))


def test_who_is_trusted():
    """Another script, tables that were read, blanks and spellings may touch what others may not, and only they."""
    trusted = {name: set(perturbation.trusted) for name, perturbation in PERTURBATIONS.items() if perturbation.trusted}
    both, numbers = {"negations", "numbers"}, {"numbers"}
    read, polarity = {"negations", "polarity"}, {"polarity"}
    assert trusted == {
        **dict.fromkeys(("traditional", "traditional_tw", "simplified", "space", "invisible"), both),
        "mixture": numbers,
        "digits": {"numbers", "polarity"},
        **dict.fromkeys(("synonym", "synonym_all"), read),
        **dict.fromkeys(("colloquial", "garden_path", "split", "emoji", "emoji_sound", "letters", "evade"), polarity),
        "pinyin": {"negations"},
        "width": {"latin"},
    }


def test_an_option_that_negates_is_left_out():
    """A user's own table cannot bring a negation in or out; options that keep it stay."""
    sites = (Site(0, 1, ("不", "布")), Site(1, 2, ("没",)), Site(2, 3, ("步",)), Site(3, 5, ("不号", "布号")))
    assert meaning_alike(lambda _: sites)("步霉不不好") == (Site(0, 1, ("布",)), Site(3, 5, ("不号",)))
    table = Table("x", {"步": ("不", "布"), "霉": ("没",), "不好": ("不号", "布号"), "事": ("四",)}, "", modified=True)
    assert entries_meaning_alike(table).entries == {"步": ("布",), "不好": ("不号",)}


def test_the_borders_of_a_span_are_free():
    """An insertion at the border of a protected span stays, one inside it is left out, and so is what overlaps it."""
    sites = tuple(Site(at, at, ("x",)) for at in range(5))
    assert [s.start for s in outside(re.compile("bc"), lambda _: sites)("abcd")] == [0, 1, 3, 4]
    assert outside(re.compile("bc"), lambda _: (Site(0, 2, ("x",)), Site(3, 4, ("y",))))("abcd") == (
        Site(3, 4, ("y",)),
    )


def test_guards_hold_for_whatever_is_added():
    """The guards stand in `load`, so that a new entry of the table has them without asking."""
    entry = Perturbation("x", "", lambda: lambda text: (Site(0, len(text), ("好",)),))
    PERTURBATIONS["x"] = entry  # type: ignore[index]
    try:
        assert load("x").find("不") == ()
        assert load("x").find("2018") == ()
        assert load("x").find("坏") == (Site(0, 1, ("好",)),)
    finally:
        del PERTURBATIONS["x"]  # type: ignore[attr-defined]


@untrusted("negations")
def test_words_that_negate_stay_whole(name):
    """未必 is not 未心, nor 无法 无发; what parts it by a blank, or takes no notice of words, may."""
    if PERTURBATIONS[name].reads != "text":
        assert {"未必", "无法"} <= set(re.findall("未必|无法", everything(name, "他未必知道，也无法理解")))
