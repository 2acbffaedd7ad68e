"""crt.perturbations.sound and text: how a text is read, and how it is cut into words."""

import marshal
import sys
import tempfile
from importlib.metadata import version
from io import BytesIO
from pathlib import Path

import jieba
import pytest
import rjieba
from hypothesis import given
from strategies import PROPERTY, clean_texts, loaded

from crt.catalogue import TASKS
from crt.errors import ResourceError
from crt.perturbations import text as cutting
from crt.perturbations.sound import readings, sounds
from crt.perturbations.text import tokens, words
from crt.tasks import Source, load_split

REAL = Source(Path(__file__).parents[3] / "shared/data")
CASES = [
    line.split("\t")
    for line in (Path(__file__).parents[1] / "resources/polyphones.tsv").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
"""Sentence, character and its sound: written before the tables were looked at, and not changed since."""


def heard(text):
    """Return the sound of each code point."""
    return [sound for word in sounds(tokens(text)) for sound in word]


def verdict(sentence, char, sound):
    """Return right, wrong or skipped; a character that an offered word leaves as it is counts as right."""
    at = sentence.index(char)
    found = heard(sentence)[at]
    if found.rstrip("12345") == sound.rstrip("12345") and ("5" in found + sound or found == sound):
        return "right"
    covering = [site for site in loaded("homophone").find(sentence) if site.start <= at < site.end]
    if covering and all(option[at - covering[0].start] == char for option in covering[0].options):
        return "right"
    return "wrong" if found else "skipped"


def test_polyphones():
    """Of the held-out cases at least 80 % are read rightly and at most 4 % wrongly; the rest is left alone."""
    verdicts = [verdict(*case) for case in CASES]
    assert verdicts.count("right") >= 0.8 * len(CASES)
    assert verdicts.count("wrong") <= 0.04 * len(CASES)


@pytest.mark.parametrize(
    ("text", "char", "sound"),
    [
        ("他在银行工作", "行", "hang2"),
        ("自行车", "行", "xing2"),
        ("睡着了", "着", "zhao2"),
        ("这一行字", "行", "hang2"),
        ("我去睡觉", "觉", "jiao4"),
        ("他长", "长", ""),
        ("旅行", "旅", "lv3"),
        ("知识", "识", "shi2"),
        ("好的", "的", "de5"),
        ("abc行", "a", ""),
    ],
)
def test_a_phrase_decides(text, char, sound):
    """Inside a known phrase a character has the sound of the phrase, also across words; outside it may have none."""
    assert heard(text)[text.index(char)] == sound


def test_a_sound_for_every_code_point():
    """The sounds stand in the order of the text, one for each code point of each word."""
    text = "银行2018，𠀀iPhone\0"
    assert [len(word) for word in sounds(tokens(text))] == [end - start for start, end in words(text)]


def test_readings_agree_with_themselves():
    """A character with one usual reading is not among the ambiguous, and each phrase holds the characters it names."""
    known = readings()
    assert not known.ambiguous & set(known.main)
    assert all(set(odd) <= set(phrase) for phrase, odd in known.phrases.items())


def cut(text):
    """Return the words that jieba finds."""
    return list(cutting._cut_of_jieba()(text))


@PROPERTY
@given(clean_texts)
def test_rjieba_cuts_as_jieba_does(text):
    """The fast path and the dependency find the same words in whatever is written."""
    text = text.replace("\0", "")
    assert rjieba.cut(text, hmm=False) == cut(text)


@pytest.mark.skipif(not REAL.data_dir.is_dir(), reason="the published data are not at hand")
@pytest.mark.parametrize("name", ["chnsenticorp", "tnews", "ocnli"])
def test_rjieba_cuts_real_text_as_jieba_does(name):
    """So they do in 500 real texts of each data set."""
    task = TASKS[name]
    for example in load_split(task, task.eval_split, REAL).limited(500).examples:
        for text in example.input:
            assert rjieba.cut(text, hmm=False) == cut(text)


@pytest.fixture
def fresh(monkeypatch):
    """Have the cutter and its dictionary made anew, and again after the test."""

    def forget():
        for made in (cutting._words_file, cutting._cut_of_jieba, cutting._cutter):
            made.cache_clear()

    forget()
    yield
    forget()


@pytest.mark.parametrize("name", ["jieba", "rjieba"])
def test_what_others_give_jieba_changes_no_word(name, fresh, monkeypatch, tmp_path):
    """Neither a cache in the shared temporary folder nor words added to the tokenizer of the module reach ours."""
    text = "我在清华大学看电影"
    foreign = {"我在": 10**6, "清": 0, "清华": 0, "清华大": 10**6, "看": 0, "看电": 10**6}
    (tmp_path / "jieba.cache").write_bytes(marshal.dumps((foreign, 3 * 10**6)))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(jieba, "dt", jieba.Tokenizer())
    jieba.dt.add_word("在清华", 10**6)
    assert {"看电", "在清华"} <= set(jieba.dt.cut(text, HMM=False))  # so it was with the tokenizer of the module
    if name == "jieba":
        monkeypatch.setitem(sys.modules, "rjieba", None)
    else:
        changed = rjieba.Jieba()
        changed.add_word("看电影", 10**6, None)
        monkeypatch.setattr(rjieba, "cut", changed.cut)
    assert tokens(text) == ["我", "在", "清华大学", "看", "电影"]
    assert cutting.cutter() == f"{name} {version(name)}"
    assert [path.name for path in tmp_path.iterdir()] == ["jieba.cache"]


def test_a_release_that_was_not_compared_does_not_cut(fresh, monkeypatch, caplog):
    """Another rjieba may bring another dictionary: jieba does the work, and the log says so."""
    caplog.set_level("INFO", "crt")
    monkeypatch.setattr(cutting, "version", lambda name: {"rjieba": "9.0"}.get(name) or version(name))
    assert tokens("看电影") == ["看", "电影"]
    assert cutting.cutter() == "jieba 0.42.1"
    assert "rjieba 9.0 was not compared with jieba" in caplog.text


def test_another_dictionary_is_refused(fresh, monkeypatch):
    """A dictionary with other words under the same version is an error that says how to get the right one."""
    monkeypatch.setattr(jieba.Tokenizer, "get_dict_file", lambda _: BytesIO("看电影 9 v\n".encode()))
    monkeypatch.setitem(sys.modules, "rjieba", None)
    with pytest.raises(ResourceError, match=r"dict\.txt of jieba has the SHA-256 .* --force-reinstall jieba==0\.42\.1"):
        tokens("看电影")


@PROPERTY
@given(clean_texts)
def test_words_cover_the_text(text):
    """Words stand side by side from the first code point to the last."""
    bounds = words(text)
    assert "".join(text[start:end] for start, end in bounds) == text
    assert all(start < end for start, end in bounds)
