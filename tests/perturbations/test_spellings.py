"""What letters, digits, signs, pinyin and emoji must not turn a text into, and what people write all the same."""

import pytest
from strategies import loaded

from crt.errors import ResourceError
from crt.perturbations.letters import letters
from crt.resources import Table


def written(name, text):
    """Return the texts that one edit can give."""
    return {text[: site.start] + new + text[site.end :] for site in loaded(name).find(text) for new in site.options}


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("letters", "技术分析究竟有没有用", "js分析"),
        ("letters", "肯定是不小心造成的", "XX"),
        ("letters", "戏曲进校园活动", "XQ进"),
        ("letters", "看了这本书", "bs"),
        ("letters", "绿军当年选了科比", "X了"),
        ("letters", "可怜什么可怜", "SM"),
        ("letters", "这些东西的共性是众所周知的", "g性"),
        ("letters", "我准备到那里去", "zb"),
        ("letters", "为您服务好", "h"),
        ("letters", "她一连叫我讲了四遍", "T一"),
        ("letters", "国内外的环境", "国n外"),
        ("mixture", "反对战争", "zz"),
        ("mixture", "很好", "很H"),
        ("mixture", "准妈妈", "嬷"),
        ("pinyin", "她们的", "tm的"),
        ("pinyin", "美国嘴边的肉", "zb"),
        ("pinyin", "鸡蛋价格预测", "jd"),
        ("pinyin", "俄说", "e说"),
        ("digits", "路边炸弹杀死叙军", "4叙"),
        ("digits", "这是对以后的畅想", "4对"),
        ("digits", "旁边是大马路", "4大"),
        ("digits", "只要数到2就行了", "29"),
        ("digits", "第四次就任总统", "9任"),
        ("digits", "都是一万", "4一"),
        ("digits", "标的都是1G", "41G"),
        ("digits", "看上去像是100岁", "4100"),
        ("digits", "也就是７月", "4７"),
        ("digits", "她家就是个养猫场", "4个"),
        ("signs", "那是在之前", "之○"),
        ("signs", "我们的优势", "X势"),
        ("signs", "一段恋爱", "■爱"),
        ("signs", "日常生活", "日X"),
        ("signs", "朴素的人", "口素"),
        ("emoji_sound", "他死在家里", "💩"),
        ("emoji_sound", "米老鼠", "🍚"),
        ("emoji_sound", "新人来了", "❤"),
    ],
)
def test_an_edit_misleads_nobody(name, text, wrong):
    """No amount, no coarse or other word, no opposite is put in, and none that decides is hidden; readers found these."""
    assert not [new for new in written(name, text) if wrong in new]


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("letters", "傻逼", {"傻b", "sb", "SB"}),
        ("letters", "装逼", {"装X", "zb"}),
        ("letters", "你妈死了", {"nmsl"}),
        ("letters", "牛逼", {"NB"}),
        ("letters", "公共汽车", {"公共q车"}),
        ("letters", "优势", {"优s", "优S", "ys"}),
        ("digits", "去死", {"q4", "去4"}),
        ("digits", "三八", {"38"}),
        ("digits", "二货", {"2h"}),
        ("digits", "笨死了", {"笨4了"}),
        ("pinyin", "讨厌", {"讨yan"}),
        ("pinyin", "吃屎", {"吃shi"}),
        ("signs", "强奸", {"强*", "强X", "强口"}),
        ("emoji_sound", "牛逼", {"🐮🍺"}),
    ],
)
def test_what_people_write_is_offered(name, text, options):
    """The forms that were seen in posts."""
    assert options <= written(name, text)


def test_no_digit_stands_beside_the_next_one():
    """Two edits side by side would make one number."""
    first, second = loaded("digits").find("好吧就是")
    assert first.options == ("8",)
    assert second.options == ("就4",)


@pytest.mark.parametrize("field", ["tm", [1]])
def test_reserved_letters_are_a_list(field):
    """The message names the file, and says what the field should be."""
    with pytest.raises(ResourceError, match="'reserved' must be a list of letters"):
        letters(Table("letters", {"垃圾": ("lj",)}, "", modified=True, more={"reserved": field}))
