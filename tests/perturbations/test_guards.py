"""crt.perturbations.guards: what no perturbation touches, held for every entry of PERTURBATIONS."""

import re
from itertools import product

import pytest
from golden_cases import texts_of
from hypothesis import given
from hypothesis import strategies as st
from strategies import PROPERTY, WORDS, loaded

from crt.perturbations import PERTURBATIONS, Perturbation, load
from crt.perturbations.engine import perturb
from crt.perturbations.guards import NEGATIONS, entries_negating_alike, negating_alike, outside
from crt.records import Example, Site
from crt.resources import Table

every = pytest.mark.parametrize("name", PERTURBATIONS)
untrusted = pytest.mark.parametrize("name", [name for name, p in PERTURBATIONS.items() if not p.trusted])

KEPT = (
    *("12.5", "2018", "10:30", "95%", "1,200", "３８", "iPhone", "WiFi-6", "C++", "https://a.cn/b?x=1", "www.a.com/b"),
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


@every
def test_names_numbers_links_and_emoji_stay(name):
    """With every site edited they stand in the text as they did."""
    for kept, text in product(KEPT, ("房间很干净", *texts_of(name))):
        assert kept in everything(name, f"{text} {kept} {text}")


@every
@PROPERTY
@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(KEPT)), min_size=1, max_size=6))
def test_they_stay_among_others(name, parts):
    """However they are mixed with words, none is lost, doubled or changed."""
    text = "".join(f"{word} {kept} " for word, kept in parts)
    rest = everything(name, text)
    for _, kept in parts:
        assert kept in rest
        rest = rest[rest.index(kept) + len(kept) :]


@untrusted
def test_negations_and_numbers_stay(name):
    """Each negation is there as often as before and in its order, and no number in Han characters is touched."""
    for text in (*SENTENCES, *texts_of(name)):
        result = everything(name, text)
        assert re.findall(f"[{NEGATIONS}]", result) == re.findall(f"[{NEGATIONS}]", text)
        for number in re.findall("一百二十三|三千万|两百", text):
            assert number in result


def test_who_is_trusted():
    """Another script and tables that were read may write a negation otherwise, and only they."""
    trusted = {name for name, perturbation in PERTURBATIONS.items() if perturbation.trusted}
    differ = ", ".join(
        sorted(trusted ^ {"synonym", "synonym_all", "traditional", "traditional_tw", "simplified", "shape"})
    )
    assert not differ, f"{differ}: read it for negations, then name it in tests/perturbations/test_guards.py"


def test_an_option_that_negates_is_left_out():
    """A user's own table cannot bring a negation in or out; options that keep it stay."""
    sites = (Site(0, 1, ("不", "布")), Site(1, 2, ("没",)), Site(2, 3, ("步",)), Site(3, 5, ("不号", "布号")))
    assert negating_alike(lambda _: sites)("步霉不不好") == (Site(0, 1, ("布",)), Site(3, 5, ("不号",)))
    table = Table("x", {"步": ("不", "布"), "霉": ("没",), "不好": ("不号", "布号")}, "", modified=True)
    assert entries_negating_alike(table).entries == {"步": ("布",), "不好": ("不号",)}


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
