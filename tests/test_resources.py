"""crt.resources: the shipped files are those of the manifest, and a bad table is refused with file and entry."""

import importlib
import json
import sys
from pathlib import Path

import pytest

from crt.errors import ResourceError
from crt.perturbations import PERTURBATIONS
from crt.resources import file_sha256, load_table, manifest, read_json, resource_dir

TABLES = sorted({perturbation.table for perturbation in PERTURBATIONS.values() if perturbation.table})


def table(entries: object, **fields: object) -> str:
    """Return the text of a table file."""
    return json.dumps({"schema": 1, "name": "homophone", "entries": entries, **fields}, ensure_ascii=False)


def test_the_manifest_is_that_of_the_files():
    """MANIFEST.json is fresh: no resource was changed, added or removed without it."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "resources/build"))
    try:
        files = importlib.import_module("manifest").files()
    finally:
        sys.path.pop(0)
    assert files == manifest()


def test_every_table_has_its_perturbation():
    """Each table perturbation has its file, and each file of tables a perturbation that reads it."""
    assert {name for name in manifest() if name.startswith("perturbations/")} == {
        f"perturbations/{name}.json" for name in TABLES
    }


@pytest.mark.parametrize("name", TABLES)
def test_a_shipped_table_is_valid_and_unmodified(name):
    """The shipped table passes its own checks and counts as the original."""
    loaded = load_table(name)
    assert loaded.name == name
    assert not loaded.modified
    assert loaded.sha256 == manifest()[f"perturbations/{name}.json"]
    assert all(isinstance(options, tuple) for options in loaded.entries.values())


@pytest.mark.parametrize("name", TABLES)
def test_a_copy_is_the_original_and_an_edited_table_is_modified(name, tmp_path):
    """What counts is the content: a copy elsewhere is unmodified, one more entry makes it modified and is read."""
    path = tmp_path / "mine.json"
    path.write_bytes((resource_dir() / f"perturbations/{name}.json").read_bytes())
    assert load_table(name, path) == load_table(name)
    data = read_json(path)
    data["entries"]["龘龘"] = ["龖", "龍"]
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    edited = load_table(name, path)
    assert edited.modified
    assert edited.sha256 == file_sha256(path) != load_table(name).sha256
    assert edited.entries == load_table(name).entries | {"龘龘": ("龖", "龍")}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ("not UTF-8 JSON",)),
        ("{", ("not UTF-8 JSON", "line 1")),
        (table({"安": ["按"]}).encode("gb18030"), ("not UTF-8 JSON",)),
        (table({"安": ["按"]}).encode("utf-8-sig"), ("not UTF-8 JSON", "BOM")),
        ("[" * 100_000, ("not UTF-8 JSON", "recursion")),
        ('{"schema": ' + "1" * 5000 + "}", ("not UTF-8 JSON", "digits")),
        ("[]", ("JSON object", "list")),
        ("null", ("JSON object", "NoneType")),
        ("{}", ("schema is None", "reads 1")),
        (table({"安": ["按"]}, schema=2), ("schema is 2", "reads 1")),
        ('{"schema": 1}', ("'entries'",)),
        (table([]), ("'entries'",)),
        (table({}), ("'entries'", "at least one")),
        ('{"schema": 1, "entries": {"安": ["按"], "安": ["岸"]}}', ("'安'", "twice")),
        ('{"schema": 1, "schema": 1, "entries": {"安": ["按"]}}', ("'schema'", "twice")),
        (table({"": ["按"]}), ("entry ''", "the key is empty")),
        (table({" \u3000": ["按"]}), ("entry ' \u3000'", "the key is empty")),
        (table({"安": []}), ("entry '安'", "at least one option")),
        (table({"安": None}), ("entry '安'", "at least one option")),
        (table({"安": "按"}), ("entry '安'", "needs a list")),
        (table({"安": {"按": 1}}), ("entry '安'", "needs a list")),
        (table({"安": ["按", 1]}), ("entry '安'", "option 1 is no string")),
        (table({"安": [["按"]]}), ("entry '安'", "option ['按'] is no string")),
        (table({"安": [""]}), ("entry '安'", "an option is empty")),
        (table({"安": ["安"]}), ("entry '安'", "equals its key")),
        (table({"安": ["按", "岸", "按"]}), ("entry '安'", "twice")),
        (table({"好": ["号"], "安": [], "全": [""]}), ("entry '安'", "entry '全'")),
        (table({key: [] for key in "一二三四五六七"}), ("entry '一'", "entry '五'", "and 2 more")),
    ],
)
def test_a_malformed_table_is_refused(content, words, tmp_path):
    """The message names the file, the entry where there is one, and the fault."""
    path = tmp_path / "mine.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ResourceError) as caught:
        load_table("homophone", path)
    for word in (str(path), *words):
        assert word in str(caught.value)


@pytest.mark.parametrize(("name", "reason"), [("missing.json", "no such file"), (".", r"cannot be read \(.+\)")])
def test_a_table_that_is_no_file_is_refused(name, reason, tmp_path):
    """A missing file and a folder are reported with the path and the reason."""
    with pytest.raises(ResourceError, match=reason) as caught:
        load_table("homophone", tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


def test_other_fields_of_a_table_are_free(tmp_path):
    """A table may carry its source and licence."""
    path = tmp_path / "mine.json"
    path.write_text(table({"安": ["按"]}, licence="CC0-1.0", source={"by": "hand"}), encoding="utf-8")
    assert load_table("homophone", path).entries == {"安": ("按",)}
