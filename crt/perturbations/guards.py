"""What no perturbation touches: names, numbers, links, emoji, who is meant, and what turns a sentence into its opposite."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache

from crt.perturbations.engine import SiteFinder
from crt.perturbations.text import HAN, words
from crt.records import Site
from crt.resources import Table

NEGATORS = "不没沒无無未非别別莫勿甭否禁拒反免毋休唔冇"
"""Characters that negate; one of them less, or more, and the gold label may be wrong."""

HARMLESS = (
    "非常|非洲|南非|北非|西非|东非|除非|(?<![从尚还并])未来(?!得)|"
    "特别|区别|级别|分别|性别|别墅|告别|个别|差别|类别|别人|别的|辨别|识别|鉴别|离别|道别|送别|派别|别克|别致|别针|"
    "淹没|沉没|埋没|吞没|出没|无锡|莫斯科|莫言|莫扎特|约莫|紫禁城|"
    "反正|反应|反映|反馈|反复|反思|反弹|反而|反倒|反射|反省|反响|反光|相反|"
    "免费|休息|休闲|休假|休克|休养|休憩|退休|离休|午休|双休|公休"
)
"""Words in which such a character does not negate, as a regular expression."""

NEGATOR = re.compile(f"(?:{HARMLESS})|(?P<negator>[{NEGATORS}]|难以|難以)")
"""A word that negates is the group; what is harmless is passed over."""

NEGATING = "未[必曾尝免]|[不何]必|不曾|并[不非未]|[绝决毫从]不|毫无|无[法从须]|没有?[法能有]?|[切请]勿|难[以免]|[以不]免|避免|禁止|拒绝|反对|否[认定则]"
"""Words that negate as a whole: 未必 is not 未心."""

PRONOUNS = "他她它牠祂"
"""Who is meant: 她 in place of 他 is another person."""

_EMOJI = (
    "\u00a9\u00ae\u200d\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    "\u2b05-\u2b55\u3030\u303d\u3297\u3299\ufe0f\U0001f000-\U0001faff\U000e0020-\U000e007f"
)
"""Character class of emoji, and of what joins and varies them."""

_LETTER = rf"(?:(?![{HAN}])[^\W_])"

_DESCRIBED = f"[{HAN}\u2e80-\u2fdf]"
for _ in range(3):  # how deep one description stands in another
    _DESCRIBED = (
        rf"(?:[{HAN}\u2e80-\u2fdf]|[\u2ffe\u2fff]{_DESCRIBED}|[\u2ff2\u2ff3]{_DESCRIBED}{{3}}"
        rf"|[\u2ff0\u2ff1\u2ff4-\u2ffd\u31ef]{_DESCRIBED}{{2}})"
    )

NAMED = "|".join(
    (
        rf"(?:https?://|www\.)[!-~{HAN}]+",  # links, of which the path may be Chinese
        r"#[^#\s]{1,60}#|#\w{1,30}",  # tags: #电影# and #电影
        r"@[\w\-]{1,30}",  # names: @张三, and the second half of an e-mail address
        rf"\[[{HAN}]{{1,4}}\]",  # emoticons that are spelt out: [微笑]
        f"[{_EMOJI}]+",
        f"(?=[\u2ff0-\u2fff\u31ef]){_DESCRIBED}",  # ideographic descriptions: ⿰氵去
        f"[{HAN}][\ufe00-\ufe0f\U000e0100-\U000e01ef]+",  # characters with a variation selector
    )
)
"""What is never touched."""

LATIN = rf"{_LETTER}+(?:[.,:/%+&'_\-]{_LETTER}+)*[%+]*"
"""Words of other scripts, and numbers: C++, 12.5%. They may be written in another style, nothing else."""

NUMERALS = "〇零一二三四五六七八九十廿卅百千万亿两俩仨几半壹贰叁肆伍陆柒捌玖拾佰仟萬億兩倆幾貳參陸"

COUNTED = (
    "个個只隻条條张張本把座间間家口位名件次遍趟回天年月日号號秒周岁歲元块塊毛角斤克吨噸米里层層楼樓级級星届屆期集部首"
    "支枝棵颗顆粒滴朵片辆輛架艘列台臺套双雙副群组組排串束堆份杯瓶碗盘盤盒包袋箱桶罐壶壺锅鍋餐顿頓场場局轮輪圈句字页頁"
    "章节節段篇则則题題项項种種类類款代辈輩倍折"
)
"""Measure words after which 一 is a number too."""

_MEASURES = f"[{COUNTED}等分时時点點成步脚声聲行道面样樣頭头些下起边邊人者点钟钱]"

NUMBER = "|".join(
    (
        f"第?[{NUMERALS}]{{2,}}[多来余餘]?(?:分之[{NUMERALS}]+)?{_MEASURES}?",
        f"第[{NUMERALS}]{_MEASURES}?",
        f"[{NUMERALS}]分之[{NUMERALS}]+",
        f"[{NUMERALS.replace('一', '')}][多来余餘]?{_MEASURES}?",
        f"一[{COUNTED}]",
        f"(?<=[0-9０-９]){_MEASURES}",
    )
)
"""Numbers in Han characters, with what they count: 第二天, 一家三口, 百分之五; 一 alone counts before a measure word only."""

TITLE = re.compile("《(?:[^《》]|《[^《》]*》)*》")
"""The title of a work, in which no other word stands."""

QUANTITY = re.compile(
    "[很许好太最更较]?[多少]数?|许多|不少|大多|(?:一|大|小|各)?部[分份]|[全局]部|所有|全[体都]|大[半批量]|一[批些]|"
    "[国海境省市校室]?[内外]|个别|唯一|单个|双方|各[个种类]|每[个次]|"
    "[至最]少|[至最]多|任何|大约|大概|只[是有好能]|仅仅?|几乎|一共|共计"
)
"""Words of how much or how many, and of within or without: a slip in one, or another word, states another fact."""

RUN_OF_NUMERALS = re.compile("[零〇一二三四五六七八九十百千万亿两]{2,}")
"""What a blank may not part either: 二十."""


def outside(pattern: re.Pattern[str], find: SiteFinder) -> SiteFinder:
    """Leave out the sites of a finder that touch a match of the pattern; those at its borders stay."""
    return clear_of(lambda text: (match.span() for match in pattern.finditer(text)), find)


def clear_of(found: Callable[[str], Iterable[tuple[int, int]]], find: SiteFinder) -> SiteFinder:
    """Leave out the sites of a finder that touch one of the places that are found; those at its borders stay."""

    def outer(text: str) -> tuple[Site, ...]:
        sites = list(find(text))
        for first, last in found(text):
            low, high = bisect_left(sites, (first,)), bisect_left(sites, (last,))
            if low and sites[low - 1].end > first:
                low -= 1
            elif low < high and sites[low].end == first:  # an insertion at the border
                low += 1
            del sites[low:high]
        return tuple(sites)

    return outer


def uncut(find: SiteFinder) -> SiteFinder:
    """Leave out the sites of listed words that cut what no perturbation touches; those that hold it whole stay: QQ群, 二百五."""
    kept = re.compile(f"{NAMED}|{LATIN}|{NUMBER}")

    def whole(text: str) -> tuple[Site, ...]:
        sites = find(text)
        within = {at for match in kept.finditer(text) for at in range(match.start() + 1, match.end())} if sites else ()
        return tuple(site for site in sites if site.start not in within and site.end not in within)

    return whole


def guarded(find: SiteFinder, *, numbers: bool, latin: bool, negating: bool) -> SiteFinder:
    """Leave out the sites of a finder that no perturbation may have.

    Args:
        find: the finder of a perturbation.
        numbers: numbers in Han characters are among them.
        latin: words of other scripts, and numbers, are among them.
        negating: words that negate as a whole are among them.
    """
    kept = [NAMED, *[LATIN] * latin, *[NUMBER] * numbers, *[NEGATING] * negating]
    return outside(re.compile("|".join(kept)), find)


def after_no_negator(find: SiteFinder) -> SiteFinder:
    """Leave out the insertions of a finder inside a word that negates, and right after it: 今后是不，会再入住."""

    def clear(text: str) -> tuple[Site, ...]:
        if not negations(text):
            return find(text)
        near = {at for start, end in words(text) if negations(text[start:end]) for at in range(start + 1, end + 1)}
        return tuple(site for site in find(text) if site.start not in near)

    return clear


def meaning_alike(find: SiteFinder) -> SiteFinder:
    """Leave out the options of a finder that negate otherwise than what they replace, or mean somebody or a number else."""

    def alike(text: str) -> tuple[Site, ...]:
        sites = (site._replace(options=_alike(text[site.start : site.end], site.options)) for site in find(text))
        return tuple(site for site in sites if site.options)

    return alike


def entries_meaning_alike(table: Table) -> Table:
    """Leave out the same options of a table: it is looked through once, where a finder is at each site."""
    entries = {key: _alike(key, options) for key, options in table.entries.items()}
    return replace(table, entries={key: options for key, options in entries.items() if options})


def negations(text: str) -> list[str]:
    """Return what negates in a text, in its order."""
    return [found for match in NEGATOR.finditer(text) if (found := match["negator"])]


_RISKY = frozenset(f"{NEGATORS}难難{PRONOUNS}{NUMERALS}")


def _alike(old: str, options: tuple[str, ...]) -> tuple[str, ...]:
    if _RISKY.isdisjoint(old) and all(map(_RISKY.isdisjoint, options)):
        return options
    return tuple(option for option in options if means_the_same(old, option))


@lru_cache(maxsize=1 << 16)
def means_the_same(old: str, new: str) -> bool:
    """Return whether a replacement keeps the negations, and brings in neither a person nor a numeral."""
    brought = {char for char in new if char in NUMERALS or char in PRONOUNS} - set(old)
    return negations(old) == negations(new) and not brought
