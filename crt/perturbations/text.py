"""What the site finders share: Han characters and word boundaries."""

import logging
import re
from functools import cache
from itertools import accumulate

HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
"""Character class of Han characters, for a regular expression."""

BETWEEN_HAN = re.compile(f"(?<=[{HAN}])(?=[{HAN}])")
"""The gap between two neighbouring Han characters."""


@cache
def _dictionary():  # type: ignore[no-untyped-def]  # noqa: ANN202  jieba has no types
    import jieba

    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    return jieba.dt


def words(text: str) -> list[tuple[int, int]]:
    """Return start and end of each word: jieba's dictionary segmentation, without guessing unknown words."""
    lengths = [len(word) for word in _dictionary().cut(text, HMM=False)]
    ends = list(accumulate(lengths))
    return [(end - length, end) for end, length in zip(ends, lengths, strict=True)]
