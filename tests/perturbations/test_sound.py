"""crt.perturbations.sound and text: how a text is read, and how it is cut into words."""

from pathlib import Path

import jieba
import pytest
import rjieba
from hypothesis import given
from strategies import PROPERTY, clean_texts, loaded

from crt.catalogue import TASKS
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
    """Return the words that jieba itself finds."""
    return list(jieba.dt.cut(text, HMM=False))


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


@PROPERTY
@given(clean_texts)
def test_words_cover_the_text(text):
    """Words stand side by side from the first code point to the last."""
    bounds = words(text)
    assert "".join(text[start:end] for start, end in bounds) == text
    assert all(start < end for start, end in bounds)
