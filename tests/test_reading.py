"""crt.reading and crt.decoding: files as they are really published and saved; nothing is lost, changed or guessed."""

import builtins
import csv
import gzip
import json
import logging
import zipfile
from datetime import datetime
from functools import partial

import pandas as pd
import pytest
from openpyxl import Workbook

from crt.errors import DataError
from crt.reading import SUFFIXES, TEXTS, read_rows, stem_of, suffix_of


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
        ("a.json", '[{"text": "好"}]', [["好"]]),
        ("a.json", '\ufeff\n[\n {\n  "text": "[好]，{"\n },\n\n {"text": null}\n]\n', [["[好]，{"], [None]]),
        ("a.jsonl", '[{"text": "好\u2028"}\r\n, {"text": "差"}]', [["好\u2028"], ["差"]]),
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
        ("a.json", '\n[\n\n {\n  "text": "好"},\n  {"text": "差"}, {"text":\n "吃"},\n{}]', [4, 6, 6, 8]),
    ],
)
def test_a_row_knows_its_line(name, content, lines, tmp_path):
    """The place of a row is the line an editor shows, blank lines and fields of several lines counted."""
    path = write(tmp_path, name, content)
    assert [row.where for row in read_rows(path)] == [f"{path}, line {line}" for line in lines]


KNOWN = "Known: .csv, .tsv, .txt, .jsonl, .json, .parquet, .xlsx; a text file may be packed, like .csv.gz"
gzipped = partial(gzip.compress, mtime=0)  # else the names of the tests depend on the clock
PACKED = gzipped(b"label,text\n" + "".join(f"1,好{number}\n" for number in range(4000)).encode())
EMPTY = ["", "\n \r\n", "\ufeff", "\ufeff\n", "\u3000\n"]


@pytest.mark.parametrize("content", EMPTY)
@pytest.mark.parametrize("suffix", TEXTS)
def test_an_empty_file_is_refused(suffix, content, tmp_path):
    """Nothing, white space or a lone byte-order mark is no data set, whatever the format."""
    with pytest.raises(DataError, match=f"a{suffix}: is empty$"):
        read(tmp_path, f"a{suffix}", content)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "label\ttext\n", "a.tsv: holds no rows"),
        ("a.csv", "label,text", "a.csv: holds no rows"),
        ("a.doc", "好", f"a.doc: cannot tell the format of '.doc'. {KNOWN}"),
        ("a", "好", f"a: cannot tell the format of ''. {KNOWN}"),
        ("a.xls", "好", f"a.xls: cannot tell the format of '.xls'; did you mean '.xlsx'? {KNOWN}"),
        ("a.parquet.gz", "好", f"a.parquet.gz: cannot tell the format of '.gz'. {KNOWN}"),
        ("a.csv", "label,text\n1,好\n".encode() + "0,差\n".encode("gb18030"), "a.csv, line 3: byte 0xb2 is not UTF-8, but line 2 is: the file is damaged or mixes two encodings"),
        ("a.csv", "label,text\n1,差\n".encode("gb18030") + "0,好\n".encode(), "a.csv, line 2: byte 0xb2 is not UTF-8, but line 3 is"),
        ("a.csv", "label,text\n1,好\n0,差".encode()[:-1], "a.csv, line 3: byte 0xe5 is not UTF-8, but line 2 is"),
        ("a.csv", b"label,text\n1,\xff\n", "a.csv, line 2: byte 0xff is neither UTF-8 nor GB18030; save the file as UTF-8"),
        ("a.csv", "label,text\n1,très bon\n".encode("latin-1"), "a.csv, line 2: byte 0xe8 is not UTF-8, and as GB18030 the file is no Chinese"),
        ("a.csv", "label,text\n1,房間很乾淨，服務也好。\n".encode("big5"), "a.csv, line 2: byte 0xa9 is not UTF-8, and as GB18030 the file is no Chinese (it may be Big5); save it as UTF-8"),
        ("a.csv", "label,text\n1,好".encode("utf-16")[:-1], "a.csv, line 2: byte 0x7d is not UTF-16; save the file as UTF-8"),
        ("a.csv", "\ufefflabel,text\n1,".encode() + "好".encode("gb18030"), "a.csv, line 2: byte 0xba is not UTF-8; save the file as UTF-8"),
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
        ("a.jsonl", '{"text": "好"}\n[{"text": "好"}]', "a.jsonl, line 2: expected a JSON object, found list"),
        ("a.json", '{\n"text": "好"\n}', "a.json, line 1: not JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1)); give one object a line, or one array of objects"),
        ("a.json", '[{"text": "好"},\n["差"]]', "a.json, line 2: expected a JSON object, found list"),
        ("a.json", '[{"text": "好"},\n{"text": }]', "a.json, line 2: not JSON (Expecting value"),
        ("a.json", '[{"text": "好"},\n]', "a.json, line 2: not JSON (Expecting value"),
        ("a.json", '[{"text": "好"},\n{"text": "差"}', "a.json, line 2: not JSON (the array has something else than a comma or its end behind this element)"),
        ("a.json", '[{"text": "好"} {"text": "差"}]', "a.json, line 1: not JSON (the array has something else"),
        ("a.json", '[{"text": "好"} [{"text": "差"}]', "a.json, line 1: not JSON (the array has something else"),
        ("a.json", '[{"text": "好"}]\n[{"text": "差"}]', "a.json, line 1: not JSON (the array has something else"),
        ("a.json", "[]", "a.json: holds no rows"),
        ("a.json", "[" * 100_000, "a.json, line 1: not JSON"),
        ("a.csv.gz", "label,text\n1,好\n", "a.csv.gz, line 1: damaged, it cannot be unpacked beyond this line (Not a gzipped file"),
        ("a.csv.gz", PACKED[:-9], "a.csv.gz, line 4002: damaged, it cannot be unpacked beyond this line (Compressed file ended"),
        ("a.csv.gz", PACKED[:40] + b"\0" * 9 + PACKED[49:], "a.csv.gz, line 1: damaged, it cannot be unpacked beyond this line (Error -3 while decompressing"),
        ("a.csv.gz", PACKED[:-8] + b"\0" * 8, "a.csv.gz, line 4002: damaged, it cannot be unpacked beyond this line (CRC check failed"),
        ("a.csv.gz", gzipped(b""), "a.csv.gz: is empty"),
        ("a.csv.gz", gzipped("label,text\n1,好\n0,差,x\n".encode("gb18030")), "a.csv.gz, line 3: 3 columns, the header has 2"),
        ("a.xlsx", "label,text\n1,好\n", "a.xlsx: not a readable Excel file (File is not a zip file); save the sheet as CSV"),
        ("a.xlsx", "", "a.xlsx: not a readable Excel file (File is not a zip file)"),
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


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("gb18030", "GB18030"),
        ("gbk", "GB18030"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("utf-32", "UTF-32"),
    ],
)
@pytest.mark.parametrize("text", ["房间很干净，一共2晚…", "房間很乾淨，一共2晚", "好"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt.gz"])
def test_every_encoding_is_read_and_told(name, text, encoding, told, tmp_path, caplog):
    """What Windows and its programs write as Chinese text is read; it is said once if it is not UTF-8."""
    content = {
        ".csv": f"label,text\n1,{text}\n",
        ".jsonl": json.dumps({"label": "1", "text": text}, ensure_ascii=False) + "\n",
        ".txt": f"label\ttext\n1\t{text}\n",
    }[suffix_of(tmp_path / name)].encode(encoding)
    with caplog.at_level(logging.INFO, "crt"):
        for _ in range(2):
            assert read(tmp_path, name, gzipped(content) if name.endswith("gz") else content) == [["1", text]]
    assert caplog.messages == ([f"{tmp_path / name} is read as {told}: it is not UTF-8"] if told else [])


def test_a_byte_order_mark_of_utf_16_be_is_known(tmp_path):
    """The mark says the order of the bytes and is no part of the first column."""
    content = b"\xfe\xff" + "label,text\n1,一\n".encode("utf-16-be")
    assert [dict(row.values) for row in read_rows(write(tmp_path, "a.csv", content))] == [{"label": "1", "text": "一"}]


def test_emoji_in_gb18030_are_read(tmp_path):
    """Four bytes for a character are no fault."""
    assert read(tmp_path, "a.csv", "label,text\n1,好👍🏽吃\n".encode("gb18030")) == [["1", "好👍🏽吃"]]


def test_a_cell_may_be_of_any_length(tmp_path):
    """Cells above the limit of csv are read, and the limit of the process is left as it was, also after an error."""
    before = csv.field_size_limit()
    assert read(tmp_path, "a.csv", f"label,text\n1,{'好' * 140_000}\n") == [["1", "好" * 140_000]]
    assert csv.field_size_limit() == before
    with pytest.raises(DataError, match="not valid CSV"):
        read(tmp_path, "a.csv", f'label,text\n1,"{"好" * 140_000}')
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("name", ["a.csv.gz", "a.xlsx"])
def test_a_bomb_is_refused(name, tmp_path, monkeypatch):
    """A packed file is not unpacked beyond a limit."""
    monkeypatch.setattr("crt.decoding.LARGEST", 10_000)
    monkeypatch.setattr("crt.reading.LARGEST", 10_000)
    path = tmp_path / name
    if name == "a.xlsx":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("xl/worksheets/sheet1.xml", "0" * 10_001)
    else:
        path.write_bytes(gzipped(b"label,text\n1," + b"0" * 9_999))
    with pytest.raises(DataError, match=r"unpacks to .*more than 10,000"):
        read_rows(path)


def workbook(path, *sheets):
    """Write a workbook of sheets, each a list of rows."""
    book = Workbook()
    book.remove(book.active)
    for rows in sheets:
        sheet = book.create_sheet()
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_a_workbook_is_read_as_its_sheet_saved_as_csv(tmp_path, caplog):
    """Numbers, dates, truth and blank cells of the first sheet are texts, a row knows its number, and other sheets are told."""
    day = datetime(2024, 5, 1)  # noqa: DTZ001  a sheet knows no time zone
    rows = [
        [],
        ["label", "text", None, ""],
        [1, "好\n吃", None],
        [],
        [0.5, 2018],
        [2.0, day],
        [True, day.replace(hour=13)],
        [None, "差"],
    ]
    path = workbook(tmp_path / "a.xlsx", rows, [["other"]])
    with caplog.at_level(logging.INFO, "crt"):
        found = read_rows(path)
    assert [(row.where.removeprefix(f"{path}, "), *row.values.values()) for row in found] == [  # noqa: PD011  a mapping
        ("row 3", "1", "好\n吃"),
        ("row 5", "0.5", "2018"),
        ("row 6", "2", "2024-05-01"),
        ("row 7", "TRUE", "2024-05-01 13:00:00"),
        ("row 8", "", "差"),
    ]
    assert list(found[0].values) == ["label", "text"]
    assert caplog.messages == [f"{path}: the first of 2 sheets is read, 'Sheet'"]


def test_a_bad_workbook_is_refused(tmp_path):
    """Cells beside the header, a column that stands there twice, no rows, and a zip file that is no workbook."""
    for rows, message in (
        ([["label", "text"], [1, "好", "x"]], "row 2: 3 columns, the header has 2"),
        ([["text", "text"], [1, "好"]], "row 1: column 'text' stands there twice"),
        ([["label", "text"]], "holds no rows"),
        ([], "holds no rows"),
    ):
        with pytest.raises(DataError, match=message):
            read_rows(workbook(tmp_path / "a.xlsx", rows))
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as packed:
        packed.writestr("a.csv", "label,text\n1,好\n")
    with pytest.raises(DataError, match=r"a\.xlsx: not a readable Excel file \(.+\); save the sheet as CSV"):
        read_rows(tmp_path / "a.xlsx")


def test_a_workbook_needs_openpyxl(tmp_path, monkeypatch):
    """Without the optional package the message says how to install it, and how to go on without it."""
    path, found = workbook(tmp_path / "a.xlsx", [["text"], ["好"]]), builtins.__import__

    def without(name, *arguments):
        if name == "openpyxl":
            raise ImportError(name)
        return found(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DataError, match=r"pip install 'chinese-robust-text\[excel\]', or save the sheet as CSV"):
        read_rows(path)


@pytest.mark.parametrize(
    ("name", "stem", "suffix"),
    [
        ("a.csv", "a", ".csv"),
        ("a.b.CSV", "a.b", ".csv"),
        ("a.csv.gz", "a", ".csv"),
        ("A.JSONL.GZ", "A", ".jsonl"),
        ("a.gz", "a", ".gz"),
        ("a.doc.gz", "a.doc", ".gz"),
        ("a", "a", ""),
        ("csv.gz", "csv", ".gz"),
    ],
)
def test_a_name_has_a_stem_and_a_format(name, stem, suffix, tmp_path):
    """That a text is packed is no part of its format nor of its name."""
    assert (stem_of(tmp_path / name), suffix_of(tmp_path / name)) == (stem, suffix)


def test_absent_values_of_parquet_are_none(tmp_path):
    """Whatever pandas calls an absent value, it is none."""
    frame = pd.DataFrame({"label": pd.array([1, None], "Int64"), "text": ["好", None], "score": [0.5, float("nan")]})
    frame.to_parquet(tmp_path / "a.parquet")
    values = [list(row.values.values()) for row in read_rows(tmp_path / "a.parquet")]  # noqa: PD011  a mapping
    assert values == [[1, "好", 0.5], [None, None, None]]


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
    write(tmp_path, "a.json", json.dumps(frame.to_dict("records"), indent=1))
    write(tmp_path, "a.jsonl", lines)
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    for suffix in TEXTS:
        write(tmp_path, f"a{suffix}.gz", gzipped((tmp_path / f"a{suffix}").read_bytes()))
    for suffix in SUFFIXES:
        rows = read_rows(tmp_path / f"a{suffix}")
        assert [dict(row.values) for row in rows] == frame.to_dict("records"), suffix
