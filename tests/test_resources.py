"""crt.resources: the shipped files are those of the manifest, and a bad table is refused with file and entry."""

import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crt.errors import ResourceError
from crt.perturbations import PERTURBATIONS
from crt.resources import file_sha256, load_table, manifest, read_json, resource_dir

RESOURCES = Path(__file__).parents[1] / "resources"
TABLES = sorted({perturbation.table for perturbation in PERTURBATIONS.values() if perturbation.table})


def table(entries: object, **fields: object) -> str:
    """Return the text of a table file."""
    return json.dumps({"schema": 1, "name": "homophone", "entries": entries, **fields}, ensure_ascii=False)


@pytest.fixture(scope="module")
def builder():
    """The script that writes MANIFEST.json."""
    sys.path.insert(0, str(RESOURCES / "build"))
    try:
        return importlib.import_module("manifest")
    finally:
        sys.path.pop(0)


def test_the_manifest_is_that_of_the_files(builder):
    """MANIFEST.json is fresh: no resource was changed, added or removed without it."""
    stale = ", ".join(sorted({name for name, _ in set(builder.files().items()) ^ set(manifest().items())}))
    assert not stale, f"resources/MANIFEST.json is stale ({stale}); run: make manifest"


def test_the_manifest_names_the_inputs_of_the_builders(builder):
    """The shipped tables were built from what resources/build/sources.py pins today."""
    inputs = read_json(RESOURCES / "MANIFEST.json")["inputs"]
    assert inputs == builder.inputs(), "the tables were built from other inputs; run: make tables"


def test_make_manifest_renews_the_digests_alone(tmp_path):
    """It takes in what is new, changed or gone, needs no package, and keeps what the tables were built from and with."""
    (tmp_path / "build").mkdir()
    (tmp_path / "samples").mkdir()
    for name in ("manifest.py", "sources.py"):
        shutil.copy(RESOURCES / "build" / name, tmp_path / "build")
    for name in ("prompts.json", "readings.json", "samples/new.tsv"):
        (tmp_path / name).write_bytes(b"abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of abc, FIPS 180-2
    old = {"readings.json": digest, "prompts.json": "00", "suites/gone.json": "00"}
    kept = {"inputs": {"jieba==0.1": "00"}, "tools": {"numpy": "0.1"}}
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"files": old, **kept}), encoding="utf-8")
    subprocess.run([sys.executable, "-S", tmp_path / "build/manifest.py"], check=True)
    files = dict.fromkeys(("prompts.json", "readings.json", "samples/new.tsv"), digest)
    assert read_json(tmp_path / "MANIFEST.json") == {"files": files, **kept}


def test_every_resource_is_described(builder):
    """resources/README.md has a row for each file, or for its folder, and for nothing else."""
    text = (RESOURCES / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w/.]+)` \| .+ \| .+ \| .+ \| .+ \| .+ \|$", text, re.MULTILINE)
    files = builder.files()
    silent = ", ".join(name for name in files if not {name, f"{name.rpartition('/')[0]}/"} & set(rows))
    assert not silent, f"{silent}: not described; add a row to the first table of resources/README.md"
    gone = ", ".join(row for row in rows if not any(name.startswith(row) for name in files))
    assert not gone, f"{gone}: described, but not there; edit resources/README.md"


def test_every_table_has_its_perturbation():
    """Each table perturbation has its file, and each file of tables a perturbation that reads it."""
    files = {path.stem for path in (RESOURCES / "perturbations").iterdir()}
    unread, missing = ", ".join(sorted(files - set(TABLES))), ", ".join(sorted(set(TABLES) - files))
    assert not unread, f"no perturbation reads the table {unread}; add an entry to crt/perturbations/__init__.py"
    assert not missing, f"there is no table {missing}; write its file into resources/perturbations/"


@pytest.mark.parametrize("name", TABLES)
def test_a_shipped_table_is_valid_and_unmodified(name):
    """The shipped table passes its own checks and counts as the original."""
    loaded = load_table(name)
    assert loaded.name == name
    assert not loaded.modified, f"{name}.json is not that of resources/MANIFEST.json; run: make manifest"
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
