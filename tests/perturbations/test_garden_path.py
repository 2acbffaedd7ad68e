"""crt.perturbations.garden_path: words across others, and the synonyms that make them."""

import pytest

from crt.perturbations.garden_path import crossing, garden_path
from crt.resources import Table

PAIRS = {
    "现在": ("目前", "如今"),
    "如今": ("现在",),
    "的确": ("实在",),
    "满意": ("称心",),
    "方便": ("便利",),
    "质量": ("品质",),
}


def across(text):
    """Return the words that lie across others."""
    return [text[start:end] for start, end in crossing(text)]


@pytest.fixture(scope="module")
def find():
    """Return the finder of a small table."""
    return garden_path(Table("garden_path", PAIRS, "", modified=True))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("好", []),
        ("😀", []),
        ("服务实在好", ["务实"]),
        ("结果真的很好", ["果真"]),
        ("肯定比如今好", ["比如"]),
        ("让人称心", ["人称"]),
        ("服务的确好", []),
        ("iPhone比如今好", ["比如"]),
        ("服务实在好，结果真的好", ["务实", "果真"]),
    ],
)
def test_crossing(text, words):
    """A frequent word across a border of the segmentation is found at its place."""
    assert across(text) == words


def test_words_side_by_side_are_no_crossing():
    """A word of the dictionary that is made of whole words of the text cuts none of them."""
    assert across("现在好") == []
    assert across("不 好") == []


@pytest.mark.parametrize(
    ("text", "word", "option"),
    [
        ("肯定比现在好", "现在", "如今"),
        ("服务的确好", "的确", "实在"),
        ("让人满意", "满意", "称心"),
        ("这里很不方便", "方便", "便利"),
        ("产品的质量好，工作质量差", "质量", "品质"),
    ],
)
def test_the_option_makes_a_word_across(find, text, word, option):
    """The text has no word across the site before, and one after; the rest of the text is the same."""
    [site] = find(text)
    assert text[site.start : site.end] == word
    assert site.options == (option,)
    changed = text[: site.start] + option + text[site.end :]
    assert len(crossing(changed)) > len(crossing(text))


@pytest.mark.parametrize(
    "text",
    ["", "现在", "现在好", "肯定比如今好", "肯定比，现在好", "《比现在》", "电影的确好", "这里很方便", "产品的质量好"],
)
def test_no_site(find, text):
    """Nothing to mislead the eye: no neighbour, no key, a title, a border that stays plain or is crossed already."""
    assert find(text) == ()


def test_options_are_those_that_mislead(find):
    """Of several synonyms only those with a word across are offered, in the order of the table."""
    [site] = find("比现在好")
    assert site.options == ("如今",)
