"""The documents: they are fresh, complete, and lead somewhere."""

import importlib.util
import json
import re
import textwrap
from pathlib import Path

import pytest
import yaml
from golden_cases import mark, unmarked

from crt.catalogue import TASKS
from crt.commands import COMMANDS
from crt.models import MODELS
from crt.perturbations import PERTURBATIONS, Perturbation
from crt.perturbations.engine import SiteFinder, perturb
from crt.perturbations.substitution import substitution
from crt.records import Example, Site
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
    assert not stale, f"{', '.join(stale)}: not up to date; run: make docs"


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
    assert re.findall(r"^\| \[`(\w+)`\]", text, re.MULTILINE) == list(METRICS), (
        "docs/reference.md lists other metrics; run: make docs"
    )
    for name in (*PERTURBATIONS, *TASKS, *MODELS, *STUDIES):
        assert re.search(rf"^\| `{name}`", text, re.MULTILINE), f"{name} is not in docs/reference.md; run: make docs"
    commands = yaml.safe_load(read(ROOT / "MLproject"))["entry_points"]
    assert set(COMMANDS) == set(commands), "MLproject has other entry points than there are commands; run: make docs"
    for name, command in commands.items():
        section = text.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        listed = re.findall(r"^\| `(\w+)`", section, re.MULTILINE)
        assert listed == list(command["parameters"]), f"{name} in docs/reference.md is stale; run: make docs"


def test_every_metric_is_defined():
    """docs/metrics.md has a section for each metric and for nothing else; each says when the metric is undefined."""
    found = sections(read(DOCS / "metrics.md"))
    missing, strange = (", ".join(sorted(names)) for names in (set(METRICS) - set(found), set(found) - set(METRICS)))
    assert not missing, f"no section defines {missing}; add a heading of that name to docs/metrics.md"
    assert not strange, f"{strange} is no metric; mend the heading in docs/metrics.md"
    for name, text in found.items():
        assert re.search(r"[Uu]ndefined|Always defined", text), f"say when {name} is undefined in docs/metrics.md"
        assert re.search(r"[Cc]ount|[Ff]raction", text), (
            f"say whether {name} is a count or a fraction in docs/metrics.md"
        )


def test_every_study_is_defined():
    """docs/protocols.md has a section for each study, and for nothing else."""
    found = set(re.findall(r"^## `(\w+)`", read(DOCS / "protocols.md"), re.MULTILINE))
    missing, strange = (", ".join(sorted(names)) for names in (set(STUDIES) - found, found - set(STUDIES)))
    assert not missing, f"no section defines {missing}; add a heading like '## `{missing}`: …?' to docs/protocols.md"
    assert not strange, f"{strange} is no study; mend the heading in docs/protocols.md"


def test_the_readme_sorts_every_perturbation():
    """The list of what people do, in README.md, names each perturbation and no other."""
    rows = read(ROOT / "README.md").partition("| what people do |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", rows))
    missing, strange = (", ".join(sorted(names)) for names in (set(PERTURBATIONS) - named, named - set(PERTURBATIONS)))
    assert not missing, f"README.md does not say what {missing} is for; name it in the table 'what people do'"
    assert not strange, f"{strange} is no perturbation; mend the table 'what people do' in README.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_resolve(page):
    """Every relative link of a page leads to a file or folder of the repository, and to a heading if it names one."""
    for target in LINK.findall(FENCE.sub("", read(page))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        edit = f"edit {page.relative_to(ROOT)}"
        assert there.exists(), f"{target}: no such file; {edit}"
        assert there.is_relative_to(ROOT), f"{target}: leads out of the repository; {edit}"
        assert not anchor or anchor in anchors(read(there)), f"{target}: no such heading; {edit}"


def test_adding_shows_what_works(tmp_path):
    """The table, its entry, its golden cases and the site finder that docs/adding.md shows are usable as they stand."""
    blocks = re.findall(r"^ *```(?:json|python)\n(.*?)^ *```$", read(DOCS / "adding.md"), re.DOTALL | re.MULTILINE)
    table, entry, golden, finder = map(textwrap.dedent, blocks)
    (tmp_path / "NAME.json").write_text(table, encoding="utf-8")
    loaded = load_table("NAME", tmp_path / "NAME.json")
    assert loaded.entries == {"安全": ("按全",), "晴": ("睛",)}
    perturbation = eval(entry.strip(), {"Perturbation": Perturbation, "substitution": substitution})
    assert (perturbation.name, perturbation.table) == ("NAME", loaded.name)
    find = perturbation.finder(loaded)
    assert [mark(unmarked(text), find(unmarked(text))) for text in json.loads(golden)["places"]["NAME"]] == [
        "", "5G", "[安全]第一", "[晴]天",
    ]  # fmt: skip
    [[before, after]] = json.loads(golden)["may become"]["NAME"]
    assert perturb(Example("a/b/0", (before,), 0), find, name="NAME", prob=1.0, seed=1).input == (after,)
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
        assert "NAME" in path or (ROOT / path).exists(), f"there is no {path}; edit docs/adding.md"
    sources = "".join(read(file) for folder in ("crt", "tests") for file in (ROOT / folder).rglob("*.py"))
    for name in re.findall(r"`([A-Za-z_]+)`", FENCE.sub("", text)):
        assert re.search(rf"\b{name}\b", sources), f"nothing is called {name}; edit docs/adding.md"
