"""Edits that readers called wrong, or that nobody writes: none of them is made any more."""

import pytest
from strategies import loaded

from crt.perturbations import load
from crt.resources import load_table


def written(name, text):
    """Return every text that a single edit gives."""
    return {text[:start] + option + text[end:] for start, end, options in loaded(name).find(text) for option in options}


@pytest.mark.parametrize(
    ("name", "text", "result"),
    [
        ("ime", "高水平大学", "高水平法学"),
        ("ime", "小鹿的原主人", "小鹿的原熟人"),
        ("ime", "她们的衣服", "她们的义父"),
        ("ime", "他体检过", "他意见过"),
        ("ime", "奇迹多的泛滥", "器具多的泛滥"),
        ("ime", "后年就能", "后面就能"),
        ("ime", "选择很少", "选择焚烧"),
        ("ime", "这个石头", "这个石油"),
        ("ime", "三个大人", "三个法人"),
        ("ime", "去河南", "去荷兰"),
        ("ime", "单位要求佩戴", "党委要求佩戴"),
        ("ime", "近代的思想家", "晋代的思想家"),
        ("shape", "你明年竞选", "称明年竞选"),
        ("shape", "90后", "90垢"),
        ("shape", "房车", "房东"),
        ("shape", "我和你", "找和你"),
        ("homophone", "卖掉了", "卖吊了"),
        ("homophone", "公司推出产品", "公司退出产品"),
        ("fuzzy", "衣服", "衣狐"),
        ("split", "得到", "彳㝵到"),
        ("split", "流水", "氵㐬水"),
        ("martian", "亲人", "媇人"),
        ("delete", "人很少", "人很"),
        ("delete", "取货很快", "取货很"),
        ("delete", "王琦瑶有朋友", "王琦有朋友"),
        ("delete", "贾静雯在家", "贾静在家"),
        ("delete", "部分银行", "分银行"),
        ("delete", "在国外", "在国"),
        ("delete", "不够人性化", "不够性化"),
        ("delete", "一批农民", "一农民"),
        ("repeat", "作家路遥", "作家路遥遥"),
        ("punctuation", "他对我很好", "他对，我很好"),
        ("punctuation", "明年起开始", "明年起？开始"),
        ("synonym", "也不很人性化", "也不挺人性化"),
        ("synonym", "有以下缺点", "有以下短处"),
        ("synonym", "自助早餐", "自助早饭"),
        ("synonym", "说是可以", "讲是可以"),
        ("synonym", "心情不美丽", "心情不漂亮"),
        ("synonym", "一直走", "始终走"),
        ("synonym", "不能与之同日而语", "不能和之同日而语"),
        ("synonym", "比如心酒店好", "比如心宾馆好"),
        ("synonym", "你孩子，你会生气", "您孩子，你会生气"),
        ("synonym", "曾经的解说", "曾的解说"),
        ("synonym_all", "买归买", "购买归买"),
        ("synonym_all", "没有没有办法", "没没有办法"),
        ("synonym_all", "当父母", "当双亲"),
        ("colloquial", "且是水泥的", "且素水泥的"),
        ("colloquial", "讲到他叫你停", "讲到他叫乃停"),
        ("colloquial", "《汤姆做哥哥》", "《汤姆做锅锅》"),
    ],
)
def test_what_a_reader_called_wrong(name, text, result):
    """Another fact, another person, another word, or a form that no input method gives."""
    assert result not in written(name, text)


@pytest.mark.parametrize(
    ("name", "text", "result"),
    [
        ("homophone", "是废物", "是费物"),
        ("homophone", "是废物", "是飞舞"),
        ("homophone", "加微信", "加薇信"),
        ("homophone", "赌博网站", "堵博网站"),
        ("homophone", "操你妈", "草泥马"),
        ("fuzzy", "这么傻很正常", "这么撒很正常"),
        ("punctuation", "明年起开始", "明年起；开始"),
        ("synonym", "这家酒店好", "这家宾馆好"),
        ("synonym", "你知道吗", "您知道吗"),
        ("colloquial", "你来吧", "乃来吧"),
        ("delete", "电影", "影"),
    ],
)
def test_what_people_write(name, text, result):
    """The forms beside them are still reached, those in use among them."""
    assert result in written(name, text)


def test_a_word_is_written_in_part_after_its_own_options():
    """The options of the word itself stand first, then those with one of its characters replaced."""
    (site,) = load("homophone").find("废物")
    own = load_table("homophone").entries["废物"]
    assert site.options[: len(own)] == own
    assert all(len(option) == 2 and set(option) & set("废物") for option in site.options[len(own) :])
