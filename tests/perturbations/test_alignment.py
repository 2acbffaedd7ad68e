"""crt.perturbations.alignment: what was changed, and what some sites explain of it."""

import pytest

from crt.perturbations.alignment import as_written, reached, segments, unexplained
from crt.records import Site

BITS = (Site(1, 2, ("x",)), Site(3, 3, ("-", " ")), Site(4, 6, ("yy", "")))
"""Sites of abcdef."""


@pytest.mark.parametrize(
    ("original", "written", "expected"),
    [
        ("abc", "abc", []),
        ("", "", []),
        ("abc", "axc", [(1, 2, 1, 2)]),
        ("abc", "ab-c", [(2, 2, 2, 3)]),
        ("abc", "ac", [(1, 2, 1, 1)]),
        ("我讨厌你啊", "我讨yan你阿", [(2, 3, 2, 5), (4, 5, 6, 7)]),
    ],
)
def test_segments(original, written, expected):
    """What was put in, left out or replaced, between equal parts."""
    assert segments(original, written) == expected


@pytest.mark.parametrize(
    ("written", "expected", "steps"),
    [
        ("abcdef", [], 0),
        ("axcdef", [True], 0),
        ("axc dyy", [True, True, True], 0),
        ("abcd", [True], 0),
        ("azcdef", [False], 1),
        ("axcdez", [True, False], 1),
        ("zzzabcdef", [False], 3),
        ("", [False], 4),
        ("abcdefabcdef", [False], 6),
    ],
)
def test_reached(written, expected, steps):
    """A segment is reached if no single step is left in it; options of several sites explain one text together."""
    assert reached("abcdef", written, BITS) == expected
    assert len(unexplained("abcdef", written, BITS)) == steps


def test_overlapping_sites_of_several_families():
    """Sites of all families may overlap: those are taken that explain most."""
    sites = [Site(0, 2, ("煞笔",)), Site(0, 1, ("煞", "沙")), Site(1, 2, ("b",)), Site(1, 1, (" ",))]
    assert all(reached("傻逼", written, sites) == [True] for written in ("煞笔", "沙b", "煞b"))
    assert reached("傻逼", "傻 b", sites) == [True]
    assert reached("傻逼", "沙笔", sites) == [False]


def test_an_option_of_several_characters_is_one_segment():
    """A site may take in what is equal around a change: 讨厌 -> 讨yan."""
    assert reached("我讨厌你", "我讨yan你", [Site(1, 3, ("讨yan",))]) == [True]
    assert reached("我讨厌你", "我讨yan你", [Site(1, 3, ("taoyan",))]) == [False]


def test_as_written():
    """Each changed segment is a site with what was written as its option; a text without a pair has none."""
    find = as_written({"我讨厌你啊": "我讨yan你", "好": "好"})
    assert find("我讨厌你啊") == (Site(2, 3, ("yan",)), Site(4, 5, ("",)))
    assert find("好") == find("我") == ()
