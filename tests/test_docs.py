"""The documents: they are fresh, complete, and lead somewhere."""

import importlib.util
import re
import textwrap
from pathlib import Path

import pytest
import yaml

from crt.catalogue import TASKS
from crt.commands import COMMANDS
from crt.models import MODELS
from crt.perturbations import PERTURBATIONS
from crt.perturbations.engine import SiteFinder
from crt.records import Site
from crt.resources import load_table
from crt.scoring.metrics import METRICS
from crt.studies import STUDIES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
UNTRACKED = {"outputs", "mlruns", "dist", "build"}
PAGES = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith(".") or part in UNTRACKED for part in path.relative_to(ROOT).parts)
)
FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def generator():
    """The script that writes what is made from the code."""
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(path: Path) -> str:
    """Return the text of a page."""
    return path.read_text(encoding="utf-8")


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def sections(text: str) -> dict[str, str]:
    """Return the text below each heading that is a name in backticks, up to the next heading."""
    parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {title.strip("`"): body for title, body in zip(parts[1::2], parts[2::2], strict=True) if title[0] == "`"}


def test_what_is_generated_is_fresh(generator):
    """MLproject, entrypoints/ and docs/reference.md are what their script writes."""
    stale = [str(path) for path, text in generator.generated().items() if read(ROOT / path) != text]
    assert not stale, "run: make docs"


def test_check_mode(generator, tmp_path, capsys):
    """With --check the script writes nothing: it fails on files that are missing or stale, with the way out."""
    assert generator.main(["--check"], tmp_path) == 1
    assert "MLproject" in (told := capsys.readouterr().err)
    assert told.endswith("run: make docs\n")
    assert not list(tmp_path.iterdir())
    assert generator.main([], tmp_path) == 0
    assert generator.main(["--check"], tmp_path) == 0
    page = tmp_path / "docs" / "reference.md"
    page.write_text(read(page) + "x", encoding="utf-8")
    assert generator.main(["--check"], tmp_path) == 1
    assert capsys.readouterr().err == "not up to date: docs/reference.md; run: make docs\n"


def test_reference_is_complete():
    """The reference page has a row for each metric, perturbation, data set, model kind and study, and a section for each command."""
    text = read(DOCS / "reference.md")
    assert re.findall(r"^\| \[`(\w+)`\]", text, re.MULTILINE) == list(METRICS)
    for name in (*PERTURBATIONS, *TASKS, *MODELS, *STUDIES):
        assert re.search(rf"^\| `{name}`", text, re.MULTILINE), name
    commands = yaml.safe_load(read(ROOT / "MLproject"))["entry_points"]
    assert set(COMMANDS) == set(commands)
    for name, command in commands.items():
        section = text.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        assert re.findall(r"^\| `(\w+)`", section, re.MULTILINE) == list(command["parameters"])


def test_every_metric_is_defined():
    """docs/metrics.md has a section for each metric and for nothing else; each says when the metric is undefined."""
    found = sections(read(DOCS / "metrics.md"))
    assert set(found) == set(METRICS)
    for name, text in found.items():
        assert re.search(r"[Uu]ndefined|Always defined", text), name
        assert re.search(r"[Cc]ount|[Ff]raction", text), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_resolve(page):
    """Every relative link of a page leads to a file or folder of the repository, and to a heading if it names one."""
    for target in LINK.findall(FENCE.sub("", read(page))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{target}: no such file"
        assert there.is_relative_to(ROOT), f"{target}: leads out of the repository"
        assert not anchor or anchor in anchors(read(there)), f"{target}: no such heading"


def test_adding_shows_what_works(tmp_path):
    """The table and the site finder that docs/adding.md shows are usable as they stand."""
    text = read(DOCS / "adding.md")
    table, finder = (
        textwrap.dedent(re.search(rf"^ *```{kind}\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)[1])
        for kind in ("json", "python")
    )
    (tmp_path / "NAME.json").write_text(table, encoding="utf-8")
    assert load_table("NAME", tmp_path / "NAME.json").entries == {"安全": ("按全",), "未": ("末",)}
    names = {"Site": Site, "SiteFinder": SiteFinder}
    exec(finder, names)
    assert names["doubled"]()("5G网络") == (Site(2, 3, ("网网",)), Site(3, 4, ("络络",)))


def test_adding_names_what_exists():
    """docs/adding.md has a section for each kind of contribution, and the files and names in it exist."""
    text = read(DOCS / "adding.md")
    titles = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert titles[:10] == [
        "A table perturbation",
        "Another perturbation",
        "Judging a perturbation blind",
        "A data set",
        "A behaviour suite",
        "A feature of attacked texts",
        "A model kind",
        "A metric",
        "A slice",
        "A study",
    ]
    for path in re.findall(r"`((?:crt|docs|entrypoints|resources|tests)/[\w/.]*)`", text):
        assert "NAME" in path or (ROOT / path).exists(), path
    sources = "".join(read(file) for folder in ("crt", "tests") for file in (ROOT / folder).rglob("*.py"))
    for name in re.findall(r"`([A-Za-z_]+)`", FENCE.sub("", text)):
        assert re.search(rf"\b{name}\b", sources), name
