"""crt.reading: files as they are really published and saved; nothing is lost, changed or guessed."""

import json

import pandas as pd
import pytest

from crt.errors import DataError
from crt.reading import READERS, read_rows


def write(folder, name, content):
    """Write a file, text as UTF-8, and return its path."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(folder, name, content):
    """Return the rows of a file with this content, as lists of values."""
    return [list(row.values.values()) for row in read_rows(write(folder, name, content))]  # noqa: PD011  a mapping


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("a.tsv", "label\ttext\n1\t好\n", [["1", "好"]]),
        ("a.tsv", "label\ttext\n1\t\n", [["1", ""]]),
        ("a.tsv", '1\t2\n1\t"好\n0\t差"\n1\ta "b" c\n', [["1", '"好'], ["0", '差"'], ["1", 'a "b" c']]),
        ("a.tsv", "label\ttext\n1\t好", [["1", "好"]]),
        ("a.tsv", "label\ttext\r\n1\t好\r\n\r\n0\t差\r\n", [["1", "好"], ["0", "差"]]),
        ("a.tsv", "\ufefflabel\ttext\n1\t\ufeff好\n", [["1", "\ufeff好"]]),
        ("a.tsv", "\n\nlabel\ttext\n \n1\t好\n\n", [["1", "好"]]),
        ("a.tsv", "label\ttext\n1\t 好\u200b \n", [["1", " 好\u200b "]]),
        ("a.tsv", "label\ttext\n1\ta\u2028b\u2029c\x85d\x0be\x0cf\x1cg\n", [["1", "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"]]),
        ("a.csv", "label,text\n1,好\n", [["1", "好"]]),
        ("a.csv", 'label,text\n1,""\n0,\n', [["1", ""], ["0", ""]]),
        ("a.csv", 'label,text\n1,"他说""好"",\n又说"\n0,差', [["1", '他说"好",\n又说'], ["0", "差"]]),
        ("a.csv", "\ufefflabel,text\r\n\r\n1,好\r\n", [["1", "好"]]),
        ("a.csv", "\n\nlabel,text\n1,好\n", [["1", "好"]]),
        ("a.csv", 'label,text\n1, 好\u200b \n0,"a\u2028b\x85c"\n', [["1", " 好\u200b "], ["0", "a\u2028b\x85c"]]),
        ("A.CSV", "label,text\n1,好\n", [["1", "好"]]),
        ("a.json", '{"label": "1", "text": "好"}', [["1", "好"]]),
        ("a.jsonl", '\ufeff{"label": 1, "text": "好\\n\\u0000"}\r\n\r\n{"text": null}\n', [[1, "好\n\0"], [None]]),
        ("a.jsonl", '{"text": "a\u2028b\x85c\\u2028\u200b "}\n', [["a\u2028b\x85c\u2028\u200b "]]),
        ("a.jsonl", '{"text": "\\ud800"}\n', [["\ud800"]]),
    ],
)  # fmt: skip
def test_what_is_published_is_read_as_it_stands(name, content, rows, tmp_path):
    """Quotes, byte-order marks, CRLF, a missing last newline, blank lines and odd characters lose and change nothing."""
    assert read(tmp_path, name, content) == rows


def test_parquet_is_read_as_it_stands(tmp_path):
    """Parquet keeps the texts, types and order."""
    frame = pd.DataFrame({"label": [1, 0], "text": ['"好\u200b\n', ""]})
    frame.to_parquet(tmp_path / "a.parquet")
    rows = read_rows(tmp_path / "a.parquet")
    assert [dict(row.values) for row in rows] == frame.to_dict("records")
    assert [row.where for row in rows] == [f"{tmp_path}/a.parquet, row 0", f"{tmp_path}/a.parquet, row 1"]


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("a.tsv", "label\ttext\r\n\r\n1\t好\r\n0\t差", [3, 4]),
        ("a.csv", 'label,text\n1,"好\n\n好"\n\n0,差\n', [2, 6]),
        ("a.jsonl", '\n{"text": "好"}\n\n{"text": "差"}', [2, 4]),
    ],
)
def test_a_row_knows_its_line(name, content, lines, tmp_path):
    """The place of a row is the line an editor shows, blank lines and fields of several lines counted."""
    path = write(tmp_path, name, content)
    assert [row.where for row in read_rows(path)] == [f"{path}, line {line}" for line in lines]


EMPTY = ["", "\n \r\n", "\ufeff", "\ufeff\n", "\u3000\n"]
TEXT = [suffix for suffix in READERS if suffix != ".parquet"]


@pytest.mark.parametrize("content", EMPTY)
@pytest.mark.parametrize("suffix", TEXT)
def test_an_empty_file_is_refused(suffix, content, tmp_path):
    """Nothing, white space or a lone byte-order mark is no data set, whatever the format."""
    with pytest.raises(DataError, match=f"a{suffix}: is empty$"):
        read(tmp_path, f"a{suffix}", content)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "label\ttext\n", "a.tsv: holds no rows"),
        ("a.csv", "label,text", "a.csv: holds no rows"),
        ("a.doc", "好", "a.doc: cannot tell the format of '.doc'; known: .csv, .tsv, .txt, .jsonl, .json, .parquet"),
        ("a", "好", "a: cannot tell the format of ''; known: .csv, .tsv, .txt, .jsonl, .json, .parquet"),
        ("a.tsv", "label\ttext\n1\t好\n0\t差".encode("gb18030"), "a.tsv, line 2: byte 0xba is not UTF-8"),
        ("a.csv", "label,text\n1,好".encode("utf-16"), "a.csv, line 1: byte 0xff is not UTF-8"),
        ("a.jsonl", b'{"text": "a"}\n\n{"text": "\xc4\xe3"}', "a.jsonl, line 3: byte 0xc4 is not UTF-8"),
        ("a.csv", b"label,text\n1,a\0b\n", "a.csv, line 2: holds a NUL character; this is no text file"),
        ("a.jsonl", b"\0", "a.jsonl, line 1: holds a NUL character; this is no text file"),
        ("a.tsv", "label\ttext\n1\t好\n0\n", "a.tsv, line 3: 1 columns, the header has 2 (label, text)"),
        ("a.tsv", "label\ttext\n1\t好\t吃\n", "a.tsv, line 2: 3 columns, the header has 2 (label, text)"),
        ("a.csv", 'label,text\n1,"好\n吃"\n0,差,x\n', "a.csv, line 4: 3 columns, the header has 2 (label, text)"),
        ("a.csv", 'label,text\n1,好\n0,"差\n', "a.csv, line 3: not valid CSV"),
        ("a.csv", 'label,text\n1,"好"吃\n', "a.csv, line 2: not valid CSV"),
        ("a.tsv", "text\tlabel\ttext\n好\t1\t差\n", "a.tsv, line 1: column 'text' stands there twice"),
        ("a.csv", "text,label,text\n好,1,差\n", "a.csv, line 1: column 'text' stands there twice"),
        ("a.jsonl", '{"text": "好"}\n{"text": \n', "a.jsonl, line 2: not JSON"),
        ("a.jsonl", '{"text": "好"}\n' + "[" * 100_000, "a.jsonl, line 2: not JSON"),
        ("a.jsonl", '{"label": ' + "1" * 5000 + "}", "a.jsonl, line 1: not JSON"),
        ("a.json", '[{"text": "好"}]', "a.json, line 1: expected a JSON object, found list"),
        ("a.json", '\n"好"', "a.json, line 2: expected a JSON object, found str"),
        ("a.parquet", "", "a.parquet: not a readable Parquet file"),
        ("a.parquet", "PAR1", "a.parquet: not a readable Parquet file"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused(name, content, message, tmp_path):
    """The message names the file, the line where there is one, and the fault."""
    with pytest.raises(DataError) as caught:
        read(tmp_path, name, content)
    assert f"{tmp_path}/{message}" in str(caught.value)


def test_a_wrong_encoding_is_answered_with_what_to_do(tmp_path):
    """The message for a file that is not UTF-8 names the encoding that such files often have."""
    with pytest.raises(DataError, match=r"save the file as UTF-8.*GB18030"):
        read(tmp_path, "a.csv", "label,text\n1,好".encode("gb18030"))


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    """The system's reason is given."""
    path = write(tmp_path, "a.csv", "label,text\n1,好\n")
    monkeypatch.setattr(
        "pathlib.Path.read_bytes", lambda _: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    )
    with pytest.raises(DataError, match=r"a\.csv: cannot be read \(Permission denied\)"):
        read_rows(path)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "folder.tsv", "x" * 300 + ".csv"])
def test_a_missing_file_is_refused(name, tmp_path):
    """A path that is missing, or a folder, is no file."""
    (tmp_path / "folder.tsv").mkdir()
    with pytest.raises(DataError, match=f"{name}: no such file"):
        read_rows(tmp_path / name)


def test_a_parquet_file_without_rows_is_refused(tmp_path):
    """Columns alone are no data."""
    pd.DataFrame({"text": [], "label": []}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="holds no rows"):
        read_rows(tmp_path / "a.parquet")


def test_the_formats_agree(tmp_path):
    """The same rows in every format are the same rows, awkward characters included."""
    texts = ['"好', "a,b", "a 'b' \u200b", " 差\u2028 ", "\ufeff", "网络👍🏽"]
    frame = pd.DataFrame({"label": "1", "text": texts})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    for suffix in (".tsv", ".txt"):
        write(tmp_path, f"a{suffix}", "label\ttext\n" + "".join(f"1\t{text}\n" for text in texts))
    lines = "".join(json.dumps({"label": "1", "text": text}, ensure_ascii=False) + "\n" for text in texts)
    write(tmp_path, "a.json", lines)
    write(tmp_path, "a.jsonl", lines)
    for suffix in READERS:
        rows = read_rows(tmp_path / f"a{suffix}")
        assert [dict(row.values) for row in rows] == frame.to_dict("records"), suffix
