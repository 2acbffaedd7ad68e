"""crt.pairs and what is made of them: reading, reach, learn, and the perturbation of real pairs."""

import json

import pandas as pd
import pytest
from conftest import runner

from crt.commands import evaluate, learn, reach
from crt.errors import DataError
from crt.pairs import ALL, Pair, of_examples, read_pairs, texts_of
from crt.perturbations import PAIRS, load, load_pairs
from crt.perturbations.engine import find_sites, perturb_all
from crt.records import Example
from crt.resources import load_table
from crt.scoring.reach import TOGETHER
from crt.scoring.reach import reach as reach_of

TEXTS = [("加我微信吧", "加我薇信吧"), ("真是垃圾", "真是laji"), ("好电影", "好 电影"), ("不错", "不错")]


def write(folder, name, content):
    """Write a file and return its path."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.csv", "original,written\n" + "".join(f"{a},{b}\n" for a, b in TEXTS)),
        ("p.tsv", "original\twritten\n" + "".join(f"{a}\t{b}\n" for a, b in TEXTS)),
        ("p.jsonl", "\n".join(json.dumps({"original": a, "written": b}) for a, b in TEXTS)),
        ("p.json", [{"original": a, "written": b} for a, b in TEXTS]),
        ("p.json", TEXTS),
        ("p.json", {ALL: TEXTS}),
    ],
)
def test_every_form_of_pairs(tmp_path, name, content):
    """Tables and lists give the same pairs."""
    assert texts_of(read_pairs(write(tmp_path, name, content))) == {ALL: TEXTS}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "p.csv",
            "a,written\nb,c\n",
            "p.csv, line 2: no column 'original'. The file has a, written; name the right one with original_column=",
        ),
        ("p.csv", "original,b\nb,c\n", "line 2: no column 'written'"),
        ("p.json", {"s": [["a", "b"], ["a"]]}, "set 's', pair 2: expected [original, written], two texts"),
        ("p.json", {"s": [["a", 1]]}, "set 's', pair 1: expected"),
        ("p.jsonl", '{"original": "a", "written": 3}', "line 1: column 'written' holds 3, which is no text"),
        ("p.jsonl", '{"original": "a"}', "no column 'written'"),
    ],
)
def test_bad_pairs_are_named(tmp_path, name, content, message):
    """The message says file, line and what is wrong."""
    with pytest.raises(DataError) as caught:
        texts_of(read_pairs(write(tmp_path, name, content)))
    assert message in str(caught.value)


def test_an_id_needs_a_data_set():
    """Without the text of the example there is nothing to align."""
    with pytest.raises(DataError, match="f, line 2: has no original text"):
        texts_of({ALL: [Pair("f, line 2", "b", None, "7")]})


def test_pairs_find_their_examples():
    """By the id, as in the data set or whole, or by the text; the first of several pairs counts."""
    examples = [Example("d/test/7", ("甲",), 0), Example("d/test/8", ("乙",), 0), Example("d/test/9", ("丙",), 0)]
    pairs = [
        Pair("1", "a", None, "7"),
        Pair("2", "b", None, "d/test/8"),
        Pair("3", "c", "丙"),
        Pair("4", "x", "丙"),
        Pair("5", "y", "丁"),
    ]
    assert of_examples(pairs, examples) == ({"甲": "a", "乙": "b", "丙": "c"}, 4)
    with pytest.raises(DataError, match="f: the original is not the text of example d/test/7"):
        of_examples([Pair("f", "a", "乙", "7")], examples)
    with pytest.raises(DataError, match="f: example d/test/1 has two texts"):
        of_examples([Pair("f", "a", None, "1")], [Example("d/test/1", ("甲", "乙"), 0)])


def test_real_pairs_are_a_perturbation(tmp_path):
    """At prob 1 every text is as somebody wrote it, doses are nested, and texts without a pair have no site."""
    originals = [Example(f"d/test/{n}", (a,), 0) for n, (a, _) in enumerate([*TEXTS, ("别的", "")])]
    loaded = load_pairs(dict(TEXTS), write(tmp_path, "p.json", TEXTS))
    sites = find_sites(originals, loaded.find)
    assert list(sites.count) == [1, 1, 1, 0, 0]
    assert [value[0] for value in perturb_all(sites, name=PAIRS.name, prob=1.0, seed=1).inputs] == [
        *(b for _, b in TEXTS),
        "别的",
    ]
    some, more = (perturb_all(sites, name=PAIRS.name, prob=prob, seed=1) for prob in (0.3, 0.7))
    assert all(set(low.edits) <= set(high.edits) for low, high in zip(some, more, strict=True))
    assert loaded.table.sha256 != load_pairs({}, write(tmp_path, "q.json", [])).table.sha256


def test_reach_counts_segments():
    """A row for each family and for all of them; what none reaches is listed, the most frequent first."""
    families = {name: load(name).find for name in ("space", "pinyin")}
    counts, missed = reach_of({"a": [*TEXTS, ("加微信", "加薇信")], "none": []}, families)
    rows = {(row.set, row.family): (row.segments, row.reached, row.pairs, row.whole) for row in counts.itertuples()}
    assert rows["a", "space"] == (4, 1, 5, 2)
    assert rows["a", "pinyin"] == (4, 1, 5, 2)
    assert rows["a", TOGETHER] == (4, 2, 5, 3)
    assert rows["none", TOGETHER] == (0, 0, 0, 0)
    assert counts["share"].isna().sum() == 3
    assert missed.to_numpy().tolist() == [["微", "薇", 2, "加我薇信吧"]]


def test_reach_command(tmp_path):
    """It prints the shares and writes the tables."""
    path = write(tmp_path, "p.json", {"mine": TEXTS})
    result = runner().invoke(
        reach.main, [str(path), "--perturbations", "pinyin,space", "--output_dir", str(tmp_path / "o")]
    )
    assert result.exit_code == 0, result.output
    assert "| all together | 0.67 |" in result.stdout
    assert "| 微 | 薇 | 加我薇信吧 | 1 |" in result.stdout
    assert pd.read_csv(tmp_path / "o" / "reach.csv").query("family == 'space'")["reached"].tolist() == [1]
    again = runner().invoke(
        reach.main,
        ["--file", str(path), "--perturbations", "evade", "--ways", "listed", "--output_dir", str(tmp_path / "o")],
    )
    assert "| evade | 0.67 |" in again.stdout


def test_learn_command(tmp_path):
    """Its table is one that `table=` takes, the most frequent option first."""
    rows = [
        (f"{word}{number}", f"{way}{number}")
        for word, way in (("垃圾", "辣鸡"), ("真的", "zhen的"))
        for number in range(20)
    ]
    rows += [(f"垃圾了{number}", f"laji了{number}") for number in range(5)]
    path = write(tmp_path, "p.json", rows)
    result = runner().invoke(learn.main, [str(path), "--output_dir", str(tmp_path)])
    assert result.exit_code == 0, result.output
    table = tmp_path / "learnt_table.json"
    assert load_table("homophone", table).entries["垃圾"] == ("辣鸡", "laji")
    assert load_table("homophone", table).more["counts"]["垃圾"] == {"辣鸡": 20, "laji": 5}
    assert "of the others (1.00)" in result.stdout
    refused = runner().invoke(learn.main, [str(path), "--output_dir", str(tmp_path), "--minimum", "99"])
    assert "no change stands in 99 of the 45 pairs" in refused.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            "original,written\n不会推荐给朋友的，环境差、服务差、价格还贵。,不会推荐给朋友的，环境cha、服务cha、价格还贵。\n",
            "pairs prob 1 seed 13: accuracy",
        ),
        ("original,written\n没有的,a\n", "none of its 1 pairs changes a text of sample, split 'test'"),
    ],
)
def test_evaluate_with_pairs(store, tmp_path, caplog, content, told):
    """Pairs are measured beside the perturbations; pairs of other texts are refused."""
    path = write(tmp_path, "p.csv", content)
    arguments = [
        "--dataset",
        "sample",
        "--model",
        "rule",
        "--perturbations",
        "pairs",
        "--pairs",
        str(path),
        "--prob",
        "1",
        "--seed",
        "13",
    ]
    result = runner().invoke(evaluate.main, [*arguments, "--output_dir", str(tmp_path / "o"), "--no_figures"])
    assert told in caplog.text + result.stderr
    if result.exit_code == 0:
        assert "1 of 1 pairs belong to 1 of 220 examples" in caplog.text
        assert "2 changed segments" in caplog.text
    without = runner().invoke(evaluate.main, ["--dataset", "sample", "--perturbations", "pairs"])
    assert "perturbation 'pairs' needs pairs=FILE" in without.stderr
