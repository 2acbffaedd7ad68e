"""Named hypothesis strategies: what people write in Chinese, and what breaks programs that read it."""

from functools import cache

from golden_cases import GOLDEN
from hypothesis import settings
from hypothesis import strategies as st

from crt.perturbations import Loaded, load
from crt.records import Example

PROPERTY = settings(max_examples=30, deadline=None, derandomize=True, database=None)
"""Settings of every property: the same few examples each time, and no clock."""

WORDS = (
    *("安全", "未来", "网络", "喜欢", "电影", "漂亮", "头发", "发展", "皇后", "以后", "干净", "理发店", "这个", "很"),
    *("後來", "頭髮", "一直", "《", "》", "《喜欢》", "〇", "𠀀", "々"),
)
"""Words that the tables and OpenCC know, traditional ones, book titles, and characters at the edges of Han."""

SPOKEN = tuple(dict.fromkeys(text for pairs in GOLDEN["may become"].values() for text, _ in pairs))
"""Texts in which some perturbation has a site, however rare its sites are."""

FOREIGN = ("5G", "iPhone", "2018年", "3.14", "WiFi6", "C++", "1,200", "e\u0301")
"""Latin words and numbers; the last one is a letter with a combining accent."""

EMOJI = ("👍🏽", "👨‍👩‍👧", "❤️", "🇨🇳", "😀")
"""Emoji of one to five code points."""

MARKS = tuple("，。！…“”,.\"'\t\n\r \u3000\u200b\u2028\ufeff")
"""Punctuation, white space and characters without a width."""

BROKEN = ("\0", "\ud800", "\udfff", "\uffff")
"""NUL, lone surrogates and a noncharacter: valid in a str, refused by most libraries."""

han = st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)
"""One Han character of the basic block."""

pieces = st.one_of(han, *map(st.sampled_from, (WORDS, SPOKEN, FOREIGN, EMOJI, MARKS)))
"""A character, a word, a short text, a number, an emoji or a mark."""

clean_texts = st.lists(pieces, max_size=20).map("".join)
"""Chinese-like texts that can be written as UTF-8, the empty one included."""

texts = st.one_of(clean_texts, st.lists(st.one_of(pieces, st.sampled_from(BROKEN)), max_size=12).map("".join))
"""Chinese-like texts, among them broken ones and the empty one."""

singles = st.tuples(texts)
"""Inputs of one field."""

pairs = st.tuples(texts, texts)
"""Inputs of two fields."""

inputs = st.one_of(singles, pairs)
"""Inputs of one field or two."""

probs = st.one_of(st.sampled_from((0.0, 0.05, 0.15, 0.3, 1.0)), st.floats(0, 1))
"""Shares of sites, both ends included."""

degrees = st.one_of(st.just(0.0), st.integers(1, 100).map(lambda percent: percent / 100))
"""Edits by characters."""

samples = st.integers(0, 99)
"""Numbers of a sample."""

seeds = st.integers(0, 2**32 - 1)
"""Seeds of a perturbation."""


def examples(values: st.SearchStrategy[tuple[str, ...]] = inputs) -> st.SearchStrategy[list[Example]]:
    """Return lists of examples with these inputs and distinct ids, the empty list included."""
    return st.lists(values, max_size=5).map(
        lambda rows: [Example(f"task/test/{number}", value, number % 2) for number, value in enumerate(rows)]
    )


@cache
def loaded(name: str) -> Loaded:
    """Return a perturbation, loaded once for all tests."""
    return load(name)
