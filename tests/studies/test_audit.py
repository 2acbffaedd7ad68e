"""The blind audit: what is drawn, what the readers see, and what is made of their answers."""

import csv
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from conftest import runner
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from strategies import PROPERTY

from crt.commands import audit as door
from crt.errors import CrtError, DataError
from crt.perturbations import load
from crt.records import Example
from crt.studies import audit

NAMES = ("space", "punctuation", "traditional")
LABELS = ("negative", "positive")
REVIEWS = [Example(f"t/test/{k}", (f"第{k}间房间很干净，电视和网络也都好用。",), k % 2) for k in range(40)]
PAIR = Example("t/test/0", ("今天下雨了，路上没有人", "=路上人很多"), 0)


def draw(folder: Path, examples: Sequence[Example] = REVIEWS, names: Sequence[str] = NAMES, **options: float):
    """Write a sheet and its key; return the rows of both."""
    loaded = [load(name) for name in names]
    files = audit.sheet(examples, LABELS, loaded, folder, **({"pairs": 5, "prob": 0.3, "seed": 13} | options))
    return tuple(rows(file) for file in files)


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


# what is drawn


def test_sheet_and_key(tmp_path):
    """Each perturbation has its pairs, numbered alike in both files; each differs from its original."""
    sheet, key = draw(tmp_path)
    assert [row["pair"] for row in sheet] == [row["pair"] for row in key] == [str(n) for n in range(1, 16)]
    assert sorted(row["perturbation"] for row in key) == sorted(NAMES * 5)
    assert {row["draw"] for row in sheet} == {row["draw"] for row in key}
    originals = {example.id: example for example in REVIEWS}
    for shown, row in zip(sheet, key, strict=True):
        assert shown["original"] == originals[row["id"]].input[0] != shown["perturbed"]
        assert (row["gold"], row["prob"], row["seed"]) == (LABELS[originals[row["id"]].label], "0.3", "13")


def test_the_sheet_is_blind(tmp_path):
    """The sheet has the texts, blank answers and the draw alone, and the perturbations stand in no blocks."""
    sheet, key = draw(tmp_path)
    assert list(sheet[0]) == ["pair", "original", "perturbed", "same_label", "would_write", "readable", "draw"]
    assert {row[question] for row in sheet for question in audit.QUESTIONS} == {""}
    order = [row["perturbation"] for row in key]
    assert sum(one != other for one, other in pairwise(order)) > 5


def test_the_draw_does_not_depend_on_the_order(tmp_path):
    """The order of the examples and of the perturbations leaves both files as they are."""
    assert draw(tmp_path / "a") == draw(tmp_path / "b", REVIEWS[::-1], NAMES[::-1])


def test_a_larger_draw_holds_the_smaller_one(tmp_path):
    """With more pairs the pairs of before are drawn again."""
    small, large = (
        {(row["perturbation"], row["id"]) for row in draw(tmp_path / str(pairs), pairs=pairs)[1]} for pairs in (3, 8)
    )
    assert small < large


@pytest.mark.parametrize("change", [{"seed": 42}, {"prob": 0.5}, {"pairs": 4}])
def test_every_draw_has_its_own_digest(tmp_path, change):
    """Another seed, prob or number of pairs is another draw."""
    first, second = (draw(tmp_path / name, **options)[0] for name, options in (("a", {}), ("b", change)))
    assert first[0]["draw"] != second[0]["draw"]


def test_only_what_changed_is_drawn(tmp_path, caplog):
    """Where fewer texts change than were asked for there are fewer pairs, a repeated one counts once, and the log says so."""
    examples = [*REVIEWS[:2], *(Example(f"t/test/latin{k}", ("no Han",), 0) for k in range(9))]
    with caplog.at_level("INFO", logger="crt"):
        _, key = draw(tmp_path, examples, ("space",), prob=1.0)
    assert {row["id"] for row in key} == {"t/test/0", "t/test/1"}
    assert "space changes 2 of 3 texts" in caplog.text


def test_nothing_changes(tmp_path):
    """Where no example changes there is no sheet."""
    with pytest.raises(DataError, match="no example changes at prob 0; raise it"):
        draw(tmp_path, prob=0.0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [audit.SHEET, audit.KEY])
def test_answers_are_not_overwritten(tmp_path, name):
    """A sheet or a key that is there already is left alone."""
    (tmp_path / name).write_text("precious")
    with pytest.raises(DataError, match=f"{name}: is there already and may hold answers"):
        draw(tmp_path)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["precious"]


def test_a_full_disk_leaves_no_half_draw(tmp_path, monkeypatch):
    """Where there is no room for both files there is neither, so that the same command works when there is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(CrtError, match=r"audit_sheet\.csv and audit_key\.csv cannot be written to .*make room"):
            draw(tmp_path)
        with pytest.raises(CrtError, match=r"the tables cannot be written to .*make room"):
            audit.publish(pd.DataFrame({"perturbation": ["space"], "pairs": [1]}), tmp_path)
    assert not list(tmp_path.iterdir())
    assert len(draw(tmp_path)[0]) == 15


def test_pairs_of_texts(tmp_path):
    """Premise and hypothesis stand in one cell, below each other and named."""
    (row,), _ = draw(tmp_path, [PAIR], ("space",), prob=1.0)
    assert row["original"] == "premise: 今天下雨了，路上没有人\nhypothesis: =路上人很多"
    assert row["perturbed"] == "premise: 今 天 下 雨 了，路 上 没 有 人\nhypothesis: =路 上 人 很 多"


def test_spreadsheets_see_utf8(tmp_path):
    """Both files begin with a byte-order mark: without one, spreadsheet programs show Chinese garbled."""
    draw(tmp_path)
    assert {file.read_bytes()[:3] for file in tmp_path.iterdir()} == {b"\xef\xbb\xbf"}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝", "\t"])
def test_no_cell_is_a_formula(tmp_path, start):
    """A text that a spreadsheet program would compute has an apostrophe before it, and its answers are scored."""
    (row,), _ = draw(tmp_path, [Example("t/test/0", (f'{start}1,"好看"',), 0)], ("space",), prob=1.0)
    assert (row["original"], row["perturbed"]) == (f'\'{start}1,"好看"', f'\'{start}1,"好 看"')
    answered(tmp_path / audit.SHEET, ["y", "n", "y"])
    assert audit.score(tmp_path / audit.KEY, [tmp_path / audit.SHEET]).loc[0, "would_write"] == 0


# how it is scored


def answered(path: Path, *answers: Sequence[str]) -> None:
    """Fill the first rows of a sheet in, and write it as spreadsheet programs do: with blank rows at the end."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    for row, values in enumerate(answers):
        frame.loc[row, list(audit.QUESTIONS)] = list(values)
    text = frame.to_csv(index=False, lineterminator="\r\n")
    path.write_bytes(f"\ufeff{text},,,,,,\r\n".encode())


KEY = """\
pair,perturbation,prob,seed,id,gold,draw
1,space,0.15,13,t/1,a,draw-1
2,shape,0.15,13,t/2,a,draw-1
3,space,0.15,13,t/3,b,draw-1
4,shape,0.15,13,t/4,b,draw-1
"""
HEADER = "pair,original,perturbed,same_label,would_write,readable,draw\n"
FIRST = """\
1,x,y,yes,yes,yes,draw-1
2,x,y,no,yes,,draw-1
3,x,y,yes,no,yes,draw-1
4,x,y,yes,yes,yes,draw-1
"""
SECOND = """\
4,x,y,否,是,１,draw-1
3,x,y,,,,draw-1
2,x,y,N, Y ,YES,draw-1
1,x,y,1,0,y,draw-1
"""


@pytest.fixture
def scored(tmp_path):
    """Score sheets with these rows."""
    (tmp_path / "key.csv").write_text(KEY)

    def score(*sheets: str) -> pd.DataFrame:
        files = [tmp_path / f"{number}.csv" for number in range(1, len(sheets) + 1)]
        for file, text in zip(files, sheets, strict=True):
            file.write_text(HEADER + text, encoding="utf-8")
        return audit.score(tmp_path / "key.csv", files)

    return score


def test_one_reader(scored):
    """With one reader there are the shares of yes among what was answered, and no kappa."""
    assert audit.score_table(scored(FIRST)) == (
        "| perturbation | pairs | same_label | would_write | readable |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| shape | 2 | 0.50 | 1.00 | 1.00 |\n"
        "| space | 2 | 1.00 | 0.50 | 1.00 |\n"
        "| all | 4 | 0.75 | 0.75 | 1.00 |\n"
    )


def test_two_readers(scored):
    """With two, shares are means over the readers; kappa is on the common answers and missing where it is undefined."""
    table = scored(FIRST, SECOND).set_index("perturbation")
    nan = float("nan")
    assert list(table.index) == ["shape", "space", "all"]
    assert list(table["pairs"]) == [2, 2, 4]
    expected = {
        "same_label": [(1 / 2 + 0) / 2, 1, (3 / 4 + 1 / 3) / 2],
        "would_write": [1, (1 / 2 + 0) / 2, (3 / 4 + 2 / 3) / 2],
        "readable": [1, 1, 1],
        "kappa_same_label": [0, nan, 0.4],  # all: 2 of 3 agree, 4/9 by chance
        "kappa_would_write": [nan, 0, 0],
        "kappa_readable": [nan, nan, nan],
    }
    assert list(table.columns) == ["pairs", *expected]
    for name, values in expected.items():
        assert list(table[name]) == pytest.approx(values, nan_ok=True), name


def test_undefined_is_a_dash(scored):
    """A perturbation that nobody judged has no share, and a kappa that is undefined is no 0."""
    lines = audit.score_table(scored("1,x,y,no,,,draw-1\n2,,,,,,draw-1\n3,,,,,,draw-1\n4,,,,,,draw-1\n", SECOND))
    assert "| space | 1 | 0.50 | 0.00 | 1.00 | 0.00 | – | – |" in lines
    lines = audit.score_table(scored("1,x,y,no,,,draw-1\n2,,,,,,draw-1\n3,,,,,,draw-1\n4,,,,,,draw-1\n"))
    assert "| shape | 0 | – | – | – |" in lines


def test_three_readers(scored):
    """With more than two readers kappa is its mean over the pairs of readers."""
    table = scored(FIRST, SECOND, FIRST).set_index("perturbation")
    assert table.loc["all", "kappa_same_label"] == pytest.approx((0.4 + 1 + 0.4) / 3)


@PROPERTY
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_kappa_is_that_of_sklearn(pairs):
    """Cohen's kappa is what scikit-learn computes, undefined cases among it."""
    first, second = (pd.Series(values, dtype=float) for values in zip(*pairs, strict=True))
    expected = cohen_kappa_score(first, second, labels=[0, 1])
    assert audit.cohen_kappa(first, second) == pytest.approx(expected, nan_ok=True)


def test_kappa_without_common_answers():
    """Readers who answered different pairs have no kappa."""
    nan = float("nan")
    assert pd.isna(audit.cohen_kappa(pd.Series([1.0, nan]), pd.Series([nan, 1.0])))


WRONG = {
    "unknown answer": (
        FIRST.replace("no,yes,,", "no,maybe,,"),
        "1.csv, line 3: column 'would_write' holds 'maybe'; write yes or no (y/n, 1/0, 是/否) or leave it blank",
    ),
    "missing pair": (
        FIRST.replace("2,x,y,no,yes,,draw-1\n", ""),
        "1.csv: 1 of 4 pairs are missing, the first is 2; put the rows back",
    ),
    "repeated pair": (
        FIRST.replace("3,x", "1,x"),
        "1.csv, line 4: pair '1' stands there for the second time; keep one of the rows",
    ),
    "strange pair": (FIRST.replace("3,x", "33,x"), "1.csv, line 4: pair '33' is not in "),
    "another draw": (FIRST.replace("draw-1", "draw-2"), "1.csv, line 2: is of draw-2, but "),
    "no answers": (
        "".join(f"{n},x,y,,,,draw-1\n" for n in range(1, 5)),
        "1.csv: holds no answers; write yes or no into the columns same_label, would_write, readable",
    ),
}


@pytest.mark.parametrize(("sheet", "message"), WRONG.values(), ids=WRONG)
def test_what_is_refused(scored, sheet, message):
    """Each fault names the file, the line, the value and the way out."""
    with pytest.raises(DataError) as caught:
        scored(sheet)
    assert message in str(caught.value)


def test_the_key_is_no_sheet(scored, tmp_path):
    """A file of other columns is refused, and so is a sheet that is given for two readers."""
    scored(FIRST)
    key, sheet = tmp_path / "key.csv", tmp_path / "1.csv"
    with pytest.raises(
        DataError, match=r"key\.csv: no column 'original'\. The file has .*; expected pair, original, perturbed, "
    ):
        audit.score(key, [key])
    with pytest.raises(DataError, match=r"1\.csv: is listed twice; give one sheet for each reader"):
        audit.score(key, [sheet, sheet])


# the command


def test_command(tmp_path, monkeypatch):
    """The command writes a sheet, says which command scores it, and that one writes the scores."""
    monkeypatch.chdir(tmp_path)
    start = ["--dataset", "sample", "--perturbations", "space,shape", "--pairs", "2"]
    result = runner().invoke(door.main, start)
    assert result.exit_code == 0, result.output
    answered(Path("outputs", audit.SHEET), *["yyn"] * 4)
    words = shlex.split(result.output.splitlines()[-1].partition(": ")[2])
    assert words[:2] == ["crt", "audit"]
    result = runner().invoke(door.main, words[2:])
    assert result.exit_code == 0, result.output
    assert "| all | 4 | 1.00 | 1.00 | 0.00 |" in result.output
    scores = pd.read_csv("outputs/audit_scores.csv")
    assert list(scores["perturbation"]) == ["shape", "space", "all"]
    assert Path("outputs/audit_scores.md").read_text(encoding="utf-8") in result.output
    result = runner().invoke(door.main, start)
    assert (result.exit_code, "may hold answers" in result.stderr) == (1, True)


def test_command_names_the_labels_of_own_data(tmp_path):
    """The labels of the user's own file stand in the key by name."""
    file = tmp_path / "mine.csv"
    file.write_text("text,label\n好吃极了,好\n难吃极了,差\n", encoding="utf-8")
    arguments = ["--dataset", str(file), "--perturbations", "space", "--prob", "1", "--output_dir", str(tmp_path)]
    result = runner().invoke(door.main, arguments)
    assert result.exit_code == 0, result.output
    assert {(row["id"], row["gold"]) for row in rows(tmp_path / audit.KEY)} == {
        ("mine/all/0", "好"),
        ("mine/all/1", "差"),
    }
