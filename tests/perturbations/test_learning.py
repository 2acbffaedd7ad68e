"""crt.perturbations.learning: what is learnt from pairs, and what is not."""

import pytest

from crt.perturbations.learning import is_held_out, learn


@pytest.mark.parametrize(
    ("original", "written", "expected"),
    [
        ("他是垃圾", "他是辣鸡", {"垃圾": {"辣鸡": 1}}),
        ("我讨厌你", "我讨yan你", {"讨厌": {"讨yan": 1}}),
        ("我喜欢你", "我喜 欢你", {"喜欢": {"喜 欢": 1}}),
        ("我喜欢你", "我喜欢 你", {}),
        ("我喜欢你", "我喜欢", {}),
        ("我喜欢你", "我喜欢你", {}),
        ("今天天气非常不错我们出去玩吧", "全部重写一遍了就这样子", {}),
    ],
)
def test_what_a_pair_teaches(original, written, expected):
    """The word around a change; no stray mark between words, nothing left out as a whole, no sentence written anew."""
    assert learn([(original, written)], 1) == expected


def test_options_are_in_the_order_of_their_counts():
    """The most frequent way comes first, and what is rarer than the minimum does not come."""
    pairs = [("垃圾", way) for way in ("辣鸡", "laji", "辣鸡", "laji", "辣鸡", "拉圾")]
    assert learn(pairs, 2) == {"垃圾": {"辣鸡": 3, "laji": 2}}
    assert list(learn(pairs, 1)["垃圾"]) == ["辣鸡", "laji", "拉圾"]
    assert learn(pairs, 4) == {}


def test_a_character_is_learnt_from_several_words():
    """One word says nothing of another one; two that are written alike do."""
    assert set(learn([("厌恶", "yan恶")], 1)) == {"厌恶"}
    learnt = learn([("厌恶", "yan恶"), ("讨厌", "讨yan")], 1)
    assert set(learnt) == {"厌恶", "讨厌", "厌"}
    assert learnt["厌"] == {"yan": 2}


def test_a_fifth_is_held_out():
    """By the text alone: of 2,000 texts between 18 and 22 %."""
    held = [is_held_out(f"文本{number}") for number in range(2000)]
    assert held == [is_held_out(f"文本{number}") for number in range(2000)]
    assert 0.18 < sum(held) / len(held) < 0.22
