"""Simplified script turned into traditional script, by word: 头发 and 发展 get different 发.

Each word of the segmentation is converted by itself (OpenCC, configuration s2tw: the forms that people in Taiwan type),
so that no phrase reaches across a border: 被 and 发明 do not hold 被发. A word that changes is one site, so that no word
is ever half converted. With the words of Taiwan (s2twp) a word that is another one there takes its place: 软件 is 軟體.

Some simplified characters stand for several traditional ones: 只 is 只 and 隻. What stands alone or in a name is not
guessed: 范 may be 範 or a surname.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache, partial

from crt.perturbations.engine import SiteFinder
from crt.perturbations.script import convert, converted, in_simplified, is_traditional
from crt.perturbations.text import NAMES, UNSAFE, dictionary, grammatical, tag_of, words
from crt.records import Site

_SURE = frozenset("个么云儿几出别千台听吃团坏坛并当扑挂摆晒愿毁湿烟获脏艳苏荡虫证铲闲雇须饥丑丰历叹尽")
"""Characters that have one traditional form wherever no phrase of OpenCC says otherwise."""

_AFTER = {"里": "裡", "后": "後"}
"""Those that have one form where they follow a longer word: 房间里, 结束后."""

_MISTAKEN = frozenset(
    (
        *("不准", "准迁证", "市场准入", "复混肥", "十几分钟", "二十几分钟", "万分钟", "干法", "瓜干", "经济杠杆"),
        *("里脊", "邋里邋遢", "游动", "游丝", "水里游", "基岩", "岩壁", "岩画", "岩洞", "围岩", "双汇集团", "拉升"),
        *("抽签", "拒签", "免签", "会签", "签子", "一出", "冬冬", "全彩", "克制"),
        *("娘家", "回娘家", "娘舅", "娘亲", "干娘", "丈母娘"),
    )
)
"""Words that OpenCC writes with a form that is wrong, or right in another sense only (一出戏)."""

_OTHER_SENSE = re.compile(
    "项目|支持|数据|发布|打开|比特|程序|联系|运行|设置|消息|设备|类型|声明|高级|低级|分区|连接|优化|参数|进程|脚本|对象|窗口"
    "|壁纸|社区|添加|保存|审核|注销|创建|文件|适配|端口|菜单|刷新|仿真|扩展|挂断|默认|变量|批量|禁用|循环|布尔|万象|权限"
    "|全局|溢出|用户|点击|调度|队列|函数|镜像|串行|奔驰|网卡|显存|查看|查找|总线|链接|重装|序列|性价比"
)
"""Words of computing that Taiwan writes otherwise, and that mean something else in other texts: 项目 is 專案 only there."""


@cache
def _forms() -> Mapping[str, frozenset[str]]:
    """Return the frequent traditional characters, the first level of Big5, that each simplified one is written for."""
    codes = (code.to_bytes(2, "big") for code in range(0xA440, 0xC67F))
    frequent = [char for code in codes if len(char := code.decode("big5", errors="ignore")) == 1 and not char.isascii()]
    forms: dict[str, set[str]] = {}
    for there, here in zip(frequent, convert("t2s", "\n".join(frequent)).split("\n"), strict=True):
        forms.setdefault(here, set()).add(there)
    return {here: frozenset(there) for here, there in forms.items()}


@lru_cache(maxsize=1 << 16)
def in_traditional(word: str) -> str | None:
    """Return a word in traditional script; None if nothing says which form of a character is meant."""
    if word in _MISTAKEN or UNSAFE.search(word):
        return None
    there = list(converted("s2tw", word))
    if len(there) != len(word):
        return None
    guessed = len(word) == 1 or tag_of(word).startswith(NAMES)
    for at, char in enumerate(word if guessed else ""):
        forms = _forms().get(char, frozenset())
        if len(forms) > 1 and char not in _SURE and there[at] == converted("s2tw", char) != char:
            if len(word) == 1 or char not in forms:
                return None
            there[at] = char  # as surnames and foreign names have it: 余秋雨, 库里
    return "".join(there)


def traditional() -> SiteFinder:
    """Find the words that are written differently in traditional script."""
    return partial(_sites, regional=False)


def taiwan() -> SiteFinder:
    """Find the same, and the words that are other words in Taiwan."""
    return partial(_sites, regional=True)


def _sites(text: str, *, regional: bool) -> tuple[Site, ...]:
    if is_traditional(text):
        return ()
    whole = convert("s2tw", UNSAFE.sub("?", text))
    sites = []
    spans = words(text)
    neighbours = ["", *(text[start:end] for start, end in spans), ""]
    for (start, end), before, word, after in zip(spans, neighbours, neighbours[1:], neighbours[2:], strict=False):
        there = (
            (_elsewhere(word) if regional else None) or _following(before, word, after) or in_traditional(word) or word
        )
        if len(there) != len(word):
            sites.append(Site(start, end, (there,)))
        elif there != word and not (whole[start:end] != there and _crossed(text, start, end)):
            differing = [at for at in range(len(word)) if there[at] != word[at]]
            first, last = differing[0], differing[-1] + 1
            sites.append(Site(start + first, start + last, (there[first:last],)))
    return tuple(sites)


def _following(before: str, word: str, after: str) -> str | None:
    """Return what follows a longer word that is no name and no number, unless another name may begin with it: 里皮."""
    if word in _AFTER and len(before) > 1 and grammatical(after):
        tag = dictionary().get(before, (0, "nr"))[1]
        return None if tag.startswith(("m", *NAMES)) else _AFTER[word]
    return None


def _crossed(text: str, start: int, end: int) -> bool:
    """Tell whether another word can be read across a border: 皇后 in 皇 and 后来."""
    return any(text[at - 1 : at + 1] in dictionary() for at in (start, end) if 0 < at < len(text))


def _elsewhere(word: str) -> str | None:
    """Return the word of Taiwan, if it is another one."""
    if len(word) == 1 or _OTHER_SENSE.search(word) or UNSAFE.search(word):
        return None
    there = converted("s2twp", word)
    return there if there != converted("s2tw", word) else None


def simplify() -> SiteFinder:
    """Find the words that are written differently in simplified script."""

    def find(text: str) -> tuple[Site, ...]:
        plain = in_simplified(text)
        sites = []
        for start, end in words(plain) if plain != text else ():
            differing = [at for at in range(start, end) if text[at] != plain[at]]
            if differing:
                first, last = differing[0], differing[-1] + 1
                sites.append(Site(first, last, (plain[first:last],)))
        return tuple(sites)

    return find
