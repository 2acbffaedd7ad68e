"""Words replaced by synonyms: only whole words of the segmentation, never inside the title of a work or a set phrase."""

import re
from collections.abc import Iterator

from crt.perturbations.engine import SiteFinder
from crt.perturbations.guards import TITLE, clear_of, outside
from crt.perturbations.substitution import substitution
from crt.perturbations.text import HAN
from crt.resources import Table

FIXED = re.compile(
    "|".join(
        (
            TITLE.pattern,
            "[不没](?:是|能|算|会)?很",  # not 不挺
            "[不我]说|说是",  # let alone; you know; it is said
            "自助早餐|早餐(?:自助|[厅券])",
            "心情.{0,3}美丽",
            "一直[往向朝走]",
            "与之",
            "好多了",  # much better
            "曾经的",
            "楼层前台|房屋中心|获得大?丰收",
            "没有没|没没有",  # somebody stutters
            rf"([{HAN}]{{1,2}})归\1",  # 买归买
            f"(?<=[{HAN}])(?<![的这该那此本家个住在到是和对让给选订])酒店",  # part of its name: 如心酒店
        )
    )
)
"""What a synonym would break."""

_YOU = re.compile("[你您]")
_SENTENCE = re.compile("[^。！？!?\n]+")


def synonym(table: Table) -> SiteFinder:
    """Find the words that are keys of the table; 你 and 您 only where a sentence has one of them, lest it have both."""
    return clear_of(_addressed_twice, outside(FIXED, substitution(table, within=False)))


def _addressed_twice(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of 你 and 您 in each sentence that has several."""
    for sentence in _SENTENCE.finditer(text):
        addressed = [match.span() for match in _YOU.finditer(text, *sentence.span())]
        if len(addressed) > 1:
            yield from addressed
