"""Markdown, CSV and LaTeX with names that a stranger chose: no link, no formula, no command."""

import csv
import html
import re
from dataclasses import replace
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import PROPERTY

from crt.catalogue import TASKS
from crt.reporting.card import card
from crt.reporting.markdown import Markdown, bold, bullets, code, in_markdown, line, table
from crt.reporting.spreadsheet import bare, defused, write_csv, write_sheet
from crt.reporting.table import PaperTable
from crt.scoring.evidence import Evidence
from crt.scoring.summary import Comparison
from crt.studies.detect.study import DetectResult, Verdict
from crt.studies.detect.study import publish as publish_detect
from crt.tracking.runs import open_run

EVIL = "![x](http://evil.invalid/a.png)\n# <img src=x> `c` [y](http://evil.invalid) =1+1\x1b[31m\r% \\end{table}"
LIVE = re.compile(r"(?<!\\)!?\[[^\]]*(?<!\\)\]\(|<img|(?<!\\)`c")
"""An image, a link, an element or a piece of code that Markdown would make."""


def alive(text):
    """Tell whether something in a text is markup, a line that is code aside."""
    return LIVE.search(re.sub(r"(?m)^(`+) .*? \1$", "", text))


def read(text):
    """Return what Markdown shows for an escaped text."""
    return html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text))


@PROPERTY
@given(st.text())
def test_escaped_text_reads_as_it_is(text):
    """In one line, twice is once, and nothing in it is markup."""
    shown = in_markdown(text)
    assert len(shown.splitlines()) <= 1
    assert in_markdown(shown) == shown
    assert not LIVE.search(shown)
    if text.isprintable() and "\\" not in text:
        assert read(shown) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [("# a", "\\# a"), ("- a", "\\- a"), ("1. a", "1\\. a"), ("1.5 a", "1.5 a"), ("=", "\\="), ("> a", "\\> a"), ("a-b", "a-b")],
)  # fmt: skip
def test_the_start_of_a_line(text, shown):
    """What stands at the start of a line makes no heading, list or quotation."""
    assert line(text) == shown
    assert bullets([text]) == f"- {shown}\n"


def test_markup_by_construction():
    """Tables escape their cells, but not what is Markdown; code has more backticks around it than in it."""
    assert table(("a|b", Markdown("c_d")), [(bold("*"), "-0.5")]) == (
        "| a\\|b | c_d |\n| --- | ---: |\n| **\\*** | -0.5 |\n"
    )
    assert [code("a"), code("a`b"), code("``\n"), code("x\x1b")] == ["`a`", "`` a`b ``", "``` `` ```", "`x\\x1b`"]


@PROPERTY
@given(st.text() | st.sampled_from(["=1", "'=1", "''=1", "-1", "'-1", "-0.5±0.1*", "'", "\t", "＝1", "1e5"]))
def test_what_is_guarded_comes_back(text):
    """A formula gets an apostrophe, a number none, and `bare` gives back what was written."""
    assert bare(defused(text)) == text
    assert not defused(text).startswith(("=", "@", "\t", "\r", "\n"))


def test_numbers_stay_numbers(tmp_path):
    """Numbers, and texts that are numbers, are written as they are; names and texts are defused, titles too."""
    frame = pd.DataFrame(
        {"=m": ["=1+1", "@x", "a"], "n": [-1, 2, 3], "f": [-0.5, None, 1.0], "s": ["-0.5±0.1*", "+3", "-x"]}
    )
    frame["whole"] = pd.array([1, None, -3], dtype="Int64")
    frame["mixed"] = pd.Series([1, None, "=x"], dtype=object)
    write_csv(frame, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == (
        "'=m,n,f,s,whole,mixed\n'=1+1,-1,-0.5,-0.5±0.1*,1,1\n'@x,2,,+3,,\na,3,1.0,'-x,-3,'=x\n"
    )
    write_sheet(frame[:0], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == b"\xef\xbb\xbf'=m,n,f,s,whole,mixed\n"


def test_a_signature_stays_in_its_comment():
    """A line feed in a name ends no comment of LaTeX and no code of Markdown, and no control is written."""
    paper = PaperTable("m", ("a", EVIL), ((EVIL, "1"),), frozenset({(0, 0)}), EVIL, f"data:{EVIL}")
    latex, shown = paper.latex(), paper.markdown()
    assert [text for text in latex.split("\n") if re.search(r"end\{table\*?\}", text)] == latex.split("\n")[-3:-1]
    assert latex.split("\n")[-3].startswith("% data:")
    assert replace(paper, signature="a\u2028b\x85c").latex().count("\n") == latex.count("\n")
    for text in (latex, shown):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert not alive(shown)


def test_cards_and_notes(store):
    """A name in the card of a model, and in the notes and tables of a study, is read and not obeyed."""
    keys = {"model": EVIL, "dataset": EVIL, "split": EVIL, "num_examples": 9.0, "clean_acc": 0.9, "clean_macro_f1": 0.9}
    cells = pd.DataFrame(
        [
            keys | {"perturbation": "clean", "prob": 0.0, "seed": 0, "train_seed": None},
            keys
            | {
                "perturbation": "space",
                "prob": 0.3,
                "seed": 1,
                "train_seed": None,
                "perturbed_acc": 0.5,
                "acc_drop": 0.4,
            },
        ]
    )
    task = replace(TASKS["tnews"], labels=(EVIL, "b"), summary=EVIL)
    found = Comparison.of(cells.reindex(columns=[*cells.columns, "attack_success_rate"]))
    empty = pd.DataFrame(columns=["perturbation", "metric", "value", "low", "high"])
    intervals = pd.DataFrame(
        [{"perturbation": "clean", "metric": name, "value": 0.5, "low": 0.4, "high": 0.6} for name in
         ("clean_acc", "clean_macro_f1", "perturbed_acc", "acc_drop", "attack_success_rate")]
    )  # fmt: skip
    intervals[["dataset", "model", "prob"]] = EVIL, EVIL, 0.3
    extra = intervals[intervals["metric"] == "acc_drop"].assign(perturbation="space")
    evidence = Evidence(intervals=pd.concat([intervals, extra]), tests=empty[:0], duels=empty[:0], slices=empty[:0])
    text = card("crt-x/1", task, {"base_model": EVIL, "metric": EVIL, "value": "0.5"}, {EVIL: (found, evidence)})
    assert not alive(text)
    assert len(re.findall("(?m)^#", text)) == 4
    labels = ("clean", EVIL)
    verdicts = tuple(
        Verdict(
            name, f"encoder: {EVIL}", labels, pd.Series([0, 1]).to_numpy(), pd.Series([0, 1]).to_numpy(), ("a", "b")
        )
        for name in ("detection", "labelling")
    )
    unseen = pd.DataFrame(
        [[f"={EVIL}", EVIL, 1.0, 1.0, 1.0, 1]],
        columns=["left_out", "with_it", "recall", "clean_recall", "balanced_accuracy", "n"],
    )
    texts = pd.DataFrame({"part": ["test"], "attack": [EVIL], "text_1": [f"={EVIL}"]})
    with open_run("detect", "test", {}) as tracker:
        findings = DetectResult(verdicts, {"detection": {"a": 1.0}}, unseen, texts, {"model": EVIL, "dataset": "d"})
        publish_detect(tracker, findings, folder := Path("out"), figures=False)
        note = mlflow.get_run(tracker.run_id).data.tags["mlflow.note.content"]
    assert not alive(note)
    with (folder / "unseen_attacks.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file))[1][0] == f"'={EVIL}"
    with (folder / "detection_texts.csv").open(encoding="utf-8-sig", newline="") as file:
        assert list(csv.reader(file))[1][2] == f"'={EVIL}"
    assert (folder / "confusion_detection_encoder.csv").is_file()
