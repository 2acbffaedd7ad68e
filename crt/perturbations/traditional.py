"""Simplified script turned into traditional script, by word: 头发 and 发展 get different 发.

Each word of the segmentation is converted by itself (OpenCC, configuration s2tw: the forms that people in Taiwan type),
so that no phrase reaches across a border: 被 and 发明 do not hold 被发. A word that changes is one site, so that no word
is ever half converted. With the words of Taiwan (s2twp) a word that is another one there takes its place: 软件 is 軟體.

Some simplified characters stand for several traditional ones: 只 is 只 and 隻. What stands alone or in a name is not
guessed: 范 may be 範 or a surname.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache

from crt.perturbations.engine import SiteFinder
from crt.perturbations.text import UNSAFE, dictionary, words
from crt.records import Site

_SURE = frozenset("个么云儿几出别千发台听吃团坏坛并当扑挂摆晒愿毁湿烟获脏艳苏荡虫证铲闲雇须饥丑丰历叹尽")
"""Characters that have one traditional form wherever no phrase of OpenCC says otherwise."""

_NAMES = ("nr", "ns", "nt", "nz")
"""How jieba's tags of names begin."""

_MISTAKEN = frozenset(
    "不准 准迁证 市场准入 里脊 游动 游丝 水里游 复混肥 十几分钟 二十几分钟 万分钟 干法 瓜干 "
    "抽签 拒签 免签 会签 签子 基岩 岩壁 岩画 岩洞 围岩 邋里邋遢".split()
)
"""Words that OpenCC knows no phrase for and writes with the wrong form."""

_OTHER_SENSE = re.compile(
    "项目|支持|数据|发布|打开|比特|程序|联系|运行|设置|消息|设备|类型|声明|高级|低级|分区|连接|优化|参数|进程|脚本|对象|窗口"
    "|壁纸|社区|添加|保存|审核|注销|创建|文件|适配|端口|菜单|刷新|仿真|扩展|挂断|默认|变量|批量|禁用|循环|布尔|万象|权限"
    "|全局|溢出|用户|点击|调度|队列|函数|镜像|串行|奔驰|网卡|显存|查看|查找|总线|链接|重装|序列|性价比"
)
"""Words of computing that Taiwan writes otherwise, and that mean something else in other texts: 项目 is 專案 only there."""


@cache
def _converter(configuration: str):  # type: ignore[no-untyped-def]  # noqa: ANN202  opencc has no types
    import opencc

    return opencc.OpenCC(configuration)


@lru_cache(maxsize=1 << 16)
def _converted(configuration: str, word: str) -> str:
    converted: str = _converter(configuration).convert(word)
    return converted


def simplified(word: str) -> str:
    """Return a word in simplified script (OpenCC, t2s)."""
    return _converted("t2s", word)


@cache
def _forms() -> Mapping[str, frozenset[str]]:
    """Return the frequent traditional characters, the first level of Big5, that each simplified one is written for."""
    codes = (code.to_bytes(2, "big") for code in range(0xA440, 0xC67F))
    frequent = [char for code in codes if len(char := code.decode("big5", errors="ignore")) == 1 and not char.isascii()]
    forms: dict[str, set[str]] = {}
    for there, here in zip(frequent, _converter("t2s").convert("\n".join(frequent)).split("\n"), strict=True):
        forms.setdefault(here, set()).add(there)
    return {here: frozenset(there) for here, there in forms.items()}


@lru_cache(maxsize=1 << 16)
def in_traditional(word: str) -> str | None:
    """Return a word in traditional script; None if nothing says which form of a character is meant."""
    if word in _MISTAKEN or UNSAFE.search(word):
        return None
    there = list(_converted("s2tw", word))
    if len(there) != len(word):
        return None
    guessed = len(word) == 1 or dictionary().get(word, (0, ""))[1].startswith(_NAMES)
    for at, char in enumerate(word if guessed else ""):
        forms = _forms().get(char, frozenset())
        if len(forms) > 1 and char not in _SURE and there[at] == _converted("s2tw", char) != char:
            if len(word) == 1 or char not in forms:
                return None
            there[at] = char  # as surnames and foreign names have it: 余秋雨, 库里
    return "".join(there)


def traditional() -> SiteFinder:
    """Find the words that are written differently in traditional script."""

    def find(text: str) -> tuple[Site, ...]:
        spans = words(text)
        return tuple(site for start, end in spans if (site := _site(text[start:end], start)))

    return find


def taiwan() -> SiteFinder:
    """Find the same, and the words that are other words in Taiwan."""

    def find(text: str) -> tuple[Site, ...]:
        found = ((text[start:end], start) for start, end in words(text))
        return tuple(site for word, start in found if (site := _regional(word, start) or _site(word, start)))

    return find


def _site(word: str, start: int) -> Site | None:
    there = in_traditional(word) or word
    differing = [at for at, char in enumerate(word) if there[at] != char]
    if not differing:
        return None
    first, last = differing[0], differing[-1] + 1
    return Site(start + first, start + last, (there[first:last],))


def _regional(word: str, start: int) -> Site | None:
    if len(word) > 1 and not _OTHER_SENSE.search(word) and not UNSAFE.search(word):
        there = _converted("s2twp", word)
        if there not in (word, _converted("s2tw", word)):
            return Site(start, start + len(word), (there,))
    return None
