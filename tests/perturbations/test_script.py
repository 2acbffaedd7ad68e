"""crt.perturbations.script and answering: texts in traditional script are read in simplified script and answered in their own."""

import pytest
from golden_cases import GOLDEN
from hypothesis import given
from strategies import PROPERTY, loaded, texts

from crt.perturbations import PERTURBATIONS, load
from crt.perturbations.answering import in_script
from crt.perturbations.engine import perturb
from crt.perturbations.script import holds_simplified, in_simplified, is_traditional
from crt.records import Example, Site
from crt.resources import OwnTable

REVIEW = "這間飯店的房間很乾淨，服務員也很熱情，可是早餐不好吃，皇后的頭髮，以後再來。"

BY_WORDS = [name for name, p in PERTURBATIONS.items() if p.reads == "words"]


def results(name, text):
    """Return what every site edited gives, for some seeds."""
    find = loaded(name).find
    return {perturb(Example("a/b/0", (text,), 0), find, name=name, prob=1.0, seed=seed).input[0] for seed in range(9)}


@pytest.mark.parametrize(
    ("text", "traditional"),
    [
        ("", False),
        ("皇后", False),
        ("网络", False),
        ("網絡", True),
        (REVIEW, True),
        ("他说：「網絡」安全吗？这个问题", False),
    ],
)
def test_the_script_of_a_text(text, traditional):
    """A text in traditional script holds its characters, and hardly any of the other script."""
    assert is_traditional(text) == traditional


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_whoever_tells_scripts_apart_says_so(name):
    """What is answered in the script of a text depends on the version of OpenCC."""
    assert PERTURBATIONS[name].reads == "text" or "OpenCC" in PERTURBATIONS[name].libraries


@PROPERTY
@given(texts)
def test_every_character_keeps_its_place(text):
    """The simplified form is as long as the text, and simplified again it is the same."""
    assert len(in_simplified(text)) == len(text)
    if not is_traditional(text):
        assert in_script(lambda given: (Site(0, 0, (given,)),))(text) == (Site(0, 0, (text,)),)


@pytest.mark.parametrize(
    ("name", "text", "result"),
    [
        ("synonym", "我喜歡這個電影", "我喜愛這個影片"),
        ("repeat", "電影", "電電影影"),
        ("swap", "電影很好看，網絡", "影電很好看，絡網"),
        ("width", "電影，好！", "電影,好!"),
        ("emoji", "我的錢買電影票", "我的💰買電影票"),
        ("pinyin", "網絡安全", "wangluoanquan"),
        ("homophone", "權利", "權力"),
        ("traditional", REVIEW, REVIEW),
        ("traditional", "台灣的家具", "台灣的家具"),
    ],
)
def test_answered_in_the_script_of_the_text(name, text, result):
    """Tables match through conversion; characters that stay are those of the text."""
    assert result in results(name, text)


@pytest.mark.parametrize("name", [name for name in PERTURBATIONS if name not in {"simplified", "evade"}])
def test_no_simplified_character_is_written_into_a_traditional_text(name):
    """Whatever is edited, no character comes in that only simplified texts have."""
    assert not any(map(holds_simplified, results(name, REVIEW)))


def test_looks_hold_between_shared_characters():
    """A look-alike or a part of the simplified form is no look-alike of the traditional one."""
    find = in_script(lambda _: (Site(0, 1, ("末", "话")), Site(1, 2, ("木",))), looks=True)
    assert find("未來網") == (Site(0, 1, ("末",)),)


def test_what_has_no_certain_form_is_left_out():
    """發 and 髮 are both 发: where one word holds both, or an option could be either, nothing is said."""
    find = in_script(lambda _: (Site(0, 2, ("发展",)), Site(2, 3, ("范", "好"))))
    assert find("發髮網絡") == (Site(0, 2, ("發展",)), Site(2, 3, ("好",)))


def test_evade_matches_both_scripts(tmp_path):
    """A list in either script finds its words in either script, and disguises them in that of the text."""
    path = tmp_path / "words.txt"
    path.write_text("電影\n网络\n", encoding="utf-8")
    find = load("evade", OwnTable(path)).find
    assert [(site.start, site.end) for site in find("看电影，上網絡，看電影，上网络")] == [
        (1, 3),
        (5, 7),
        (9, 11),
        (13, 15),
    ]
    options = [option for site in find("這間飯店有電影") for option in site.options]
    assert "电影" in options
    assert "電 影" in options
    assert not [option for option in options if holds_simplified(option) and option != "电影"]


@pytest.mark.parametrize("name", BY_WORDS)
def test_descriptions_and_variants_stay_whole(name):
    """No site lies in an ideographic description sequence or between a character and its variation selector."""
    for kept in ("⿰氵去", "⿱艹⿰氵去", "⿲彳氵亍", "葛\U000e0100", "海\ufe00"):
        for result in results(name, f"房间很干净{kept}房间很干净"):
            assert kept in result


def test_simplified_mirrors_traditional():
    """What `traditional` makes of a golden text becomes that text again."""
    for text, there in GOLDEN["becomes"]["traditional"]:
        if is_traditional(there):
            assert in_simplified(there) == text
