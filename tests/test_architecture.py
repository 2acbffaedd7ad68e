"""Who may import whom, what a light import costs, and what the library never does."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from crt.commands import COMMANDS
from crt.studies import STUDIES

ROOT = Path(__file__).parent.parent
LONGEST = 400
"""Lines of a module; a longer one does two things."""


class Layer(NamedTuple):
    """What the modules of a layer may import."""

    modules: tuple[str, ...]
    """Names, or patterns: the longest one that fits a module counts."""
    layers: str
    """Layers of crt, beside `root`: the package's own constants."""
    anywhere: str = ""
    """Other distributions."""
    inside: str = ""
    """Other distributions, inside functions only."""


LAYERS = {
    "root": Layer(("crt",), ""),
    "ground": Layer(
        (
            "crt.errors",
            "crt.files",
            "crt.invocation",
            "crt.liveness",
            "crt.outside",
            "crt.randomness",
            "crt.records",
            "crt.redaction",
        ),
        "ground",
        "filelock numpy",
    ),
    "reading": Layer(
        (
            "crt.catalogue",
            "crt.decoding",
            "crt.labels",
            "crt.pairs",
            "crt.reading",
            "crt.resources",
            "crt.suites",
            "crt.tasks",
        ),
        "ground reading",
        "",
        "datasets openpyxl pandas",
    ),
    "values": Layer(
        ("crt.grid", "crt.perturbations*", "crt.provenance", "crt.scoring*", "crt.studies.*.scoring"),
        "ground reading values",
        "numpy pandas opencc jieba rjieba rapidfuzz scipy",
    ),
    "models": Layer(
        ("crt.models*",),
        "ground reading values models",
        "numpy torch transformers accelerate safetensors requests sklearn pandas mlflow",
    ),
    "tracking": Layer(
        ("crt.tracking*",),
        "ground reading values tracking",
        "filelock mlflow pandas requests sqlalchemy",
        "transformers",
    ),
    "reporting": Layer(("crt.reporting*",), "ground reading values reporting", "matplotlib numpy pandas"),
    "studies": Layer(
        ("crt.studies*",),
        "ground reading values models tracking reporting studies",
        "numpy pandas rapidfuzz sklearn",
    ),
    "api": Layer(("crt.api",), "ground reading values models tracking reporting studies", "pandas"),
    "door": Layer(("crt.door*",), "ground reading values models tracking door", "click"),
    "commands": Layer(
        ("crt.__main__", "crt.commands*", "crt.studies.*.command", "entrypoints*"),
        "ground reading values models tracking reporting studies door commands",
        "click",
    ),
}
"""The layers, lowest first: imports point from later rows to earlier ones."""

SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("crt", "entrypoints")
    for path in sorted((ROOT / package).rglob("*.py"))
}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}
CRT = [name for name in SOURCES if name.partition(".")[0] == "crt"]


class Import(NamedTuple):
    """One imported module."""

    module: str
    inside: bool
    """It stands in a function."""
    typing: bool
    """It stands under `if TYPE_CHECKING`: nothing is loaded."""


def imports(module: str) -> Iterator[Import]:
    """Yield what a module imports."""
    package = module if SOURCES[module].name == "__init__.py" else module.rpartition(".")[0]

    def walk(node: ast.AST, *, inside: bool, typing: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from (Import(alias.name, inside, typing) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = ".".join(filter(None, (package if child.level else "", child.module)))
                names = [f"{base}.{alias.name}" for alias in child.names]
                yield from (Import(name if name in SOURCES else base, inside, typing) for name in names)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for other in child.body:
                    yield from walk(ast.Module([other], []), inside=inside, typing=True)
                for other in child.orelse:
                    yield from walk(ast.Module([other], []), inside=inside, typing=typing)
            else:
                function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                yield from walk(child, inside=inside or function, typing=typing)

    return walk(TREES[module], inside=False, typing=False)


def layer_of(module: str) -> str:
    """Return the layer of a module: that of the longest pattern which fits it."""
    fits = [(len(m), layer) for layer, row in LAYERS.items() for m in row.modules if fnmatchcase(module, m)]
    assert fits, f"{module} belongs to no layer; name it, or its folder, in LAYERS of tests/test_architecture.py"
    return max(fits)[1]


def is_ours(module: str) -> bool:
    """Return whether a module is one of this repository."""
    return module.partition(".")[0] in ("crt", "entrypoints")


@pytest.mark.parametrize("module", SOURCES)
def test_imports_of_our_own(module):
    """A module imports only from the layers that its row names, also inside functions and for types."""
    allowed = {"root", *LAYERS[layer_of(module)].layers.split()}
    ours = {found.module for found in imports(module) if is_ours(found.module)}
    wrong = {f"{name} ({layer_of(name)})" for name in ours if layer_of(name) not in allowed}
    assert not wrong, f"{module} is in layer {layer_of(module)} and imports {', '.join(sorted(wrong))}"


@pytest.mark.parametrize("module", SOURCES)
def test_imports_of_others(module):
    """A module imports only the distributions of its row, the heavy ones inside functions where the row says so."""
    row = LAYERS[layer_of(module)]
    loaded = [found for found in imports(module) if not is_ours(found.module) and not found.typing]
    others = {(found.module.partition(".")[0], found.inside) for found in loaded}
    others = {(name, inside) for name, inside in others if name not in sys.stdlib_module_names}
    wrong = {
        name
        for name, inside in others
        if name not in row.anywhere.split() and not (inside and name in row.inside.split())
    }
    assert not wrong, f"{module} is in layer {layer_of(module)} and imports {', '.join(sorted(wrong))}"


HOMES = {
    "mlflow": ("crt.tracking.*", "crt.models.registered"),
    "sqlalchemy": ("crt.tracking.*",),
    "matplotlib": ("crt.reporting.drawing", "crt.reporting.*figures"),
    "click": ("crt.door*", "crt.commands*", "crt.studies.*.command"),
}


@pytest.mark.parametrize(("distribution", "homes"), HOMES.items())
def test_few_homes(distribution, homes):
    """MLflow and SQLAlchemy are imported in one folder (and where a model of MLflow is loaded), matplotlib in drawing and figures, click by the commands."""
    users = {m for m in SOURCES for found in imports(m) if found.module.partition(".")[0] == distribution}
    assert users
    strangers = {module for module in users if not any(fnmatchcase(module, home) for home in homes)}
    assert not strangers


def circle(names: Iterable[str], *, functions: bool) -> tuple[str, ...]:
    """Return some modules that import each other in a circle, for types too; with `functions` also inside functions."""
    graph = {
        name: {
            found.module
            for found in imports(name)
            if found.module in names and found.module != name and (functions or not found.inside)
        }
        for name in names
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def test_no_circles():
    """No module imports itself through others when it is loaded or checked for types."""
    assert not circle(SOURCES, functions=False)


def test_no_back_arrows():
    """The folders and modules directly below crt do not import each other in a circle, neither in functions nor for types."""

    def room(module: str) -> str:
        return ".".join(module.split(".")[:2])

    rooms: dict[str, set[str]] = {}
    for module in SOURCES:
        others = {room(found.module) for found in imports(module) if is_ours(found.module) and found.module != "crt"}
        rooms.setdefault(room(module), set()).update(others - {room(module), "crt"})
    assert len(list(TopologicalSorter(rooms).static_order())) >= len(rooms)


def test_values_have_no_circles():
    """The modules of plain values do not import each other in a circle, not even inside functions."""
    values = [module for module in SOURCES if layer_of(module) in ("root", "ground", "reading", "values")]
    assert not circle(values, functions=True)


def test_circles_are_seen(monkeypatch):
    """A circle that only types close is found."""
    texts = {
        "crt.one": "from crt.two import b",
        "crt.two": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from crt.one import a",
    }
    for name, text in texts.items():
        monkeypatch.setitem(SOURCES, name, Path(f"{name}.py"))
        monkeypatch.setitem(TREES, name, ast.parse(text))
    assert set(circle(texts, functions=False)) == set(texts)


SHARED = {"crt.studies"} | {
    f"crt.studies.{name}"
    for name in (
        "answers",
        "cards",
        "cells",
        "choice",
        "evidence",
        "kept",
        "memory",
        "outcomes",
        "outputs",
        "report",
        "results",
    )
}
"""What the experiments have in common."""


@pytest.mark.parametrize("module", [name for name in CRT if name.startswith("crt.studies.")])
def test_studies_stand_alone(module):
    """No experiment imports another: they share the outcomes and the writing of results, and each its own folder."""
    own = {".".join(module.split(".")[:3])} if module.split(".")[2] in STUDIES else set()
    used = {found.module for found in imports(module) if found.module.startswith("crt.studies.")}
    own |= {"crt.studies.compare"} if module == "crt.studies.versus" else set()  # a comparison of two models
    strangers = {name for name in used - SHARED if ".".join(name.split(".")[:3]) not in own}
    assert layer_of(module) == "commands" or not strangers, strangers


def test_each_study_is_a_folder():
    """A study has a folder of its name with its record, its study, its scoring where it has some, and its command."""
    folders = {name.split(".")[2] for name in SOURCES if name.startswith("crt.studies.") and name.count(".") == 3}
    assert folders == set(STUDIES)
    for name, study in STUDIES.items():
        assert study.kind == name, f"crt/studies/{name}/__init__.py: the kind of STUDY must be '{name}'"
        assert {f"crt.studies.{name}.{part}" for part in ("study", "command")} <= set(SOURCES), name


def modules_after(code: str) -> tuple[set[str], str]:
    """Run code in a fresh interpreter; return the top-level modules that it loaded, and what it printed."""
    report = "; import sys; print('\\n@', *{name.split('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code + report], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    printed, _, names = run.stdout.rpartition("\n@ ")
    return set(names.split()), printed


def test_the_grid_is_light():
    """A grid is described and checked without torch, transformers, mlflow or pandas."""
    loaded, _ = modules_after("import crt.grid")
    assert "crt" in loaded
    assert not loaded & {"torch", "transformers", "mlflow", "matplotlib", "pandas"}


HEAVY = {"torch", "transformers", "mlflow", "accelerate", "pandas", "matplotlib", "sklearn", "datasets"}


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_is_light(command):
    """The help of `crt` and of every command comes without torch, transformers, mlflow or pandas."""
    words = ["--help"] if command is None else [command, "--help"]
    loaded, printed = modules_after(f"from crt.commands import crt\ncrt({words!r}, standalone_mode=False)")
    assert "Usage:" in printed
    assert "--help" in printed
    assert not loaded & HEAVY


FORBIDDEN = {"print", "hash", "exit", "quit", "input", "sys.exit", "os._exit", "sys.stdout.write", "sys.stderr.write"}
GENERATORS = {"default_rng", "Generator", "SeedSequence", "PCG64", "Philox"}
"""What numpy.random has beside its global generator."""


def faults(tree: ast.AST) -> set[str]:
    """Return the calls and names of a module that the library does without."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := ast.unparse(node.func)) in FORBIDDEN:
            found.add(f"{name}()")
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("np.random", "numpy.random"):
            found |= {f"numpy.random.{node.attr}"} - {f"numpy.random.{name}" for name in GENERATORS}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & {"random", "secrets", "numpy.random"}
        elif isinstance(node, ast.ImportFrom) and node.module in ("random", "secrets", "numpy.random"):
            found |= {f"{node.module}.{alias.name}" for alias in node.names if alias.name not in GENERATORS}
        elif isinstance(node, ast.Raise) and node.exc and ast.unparse(node.exc).startswith("SystemExit"):
            found.add("SystemExit")
    return found


@pytest.mark.parametrize("module", [name for name in CRT if layer_of(name) not in ("door", "commands")])
def test_the_library_neither_prints_nor_exits_nor_draws_globally(module):
    """The library never prints or exits, and draws from no generator whose state others share, nor from hash()."""
    assert not faults(TREES[module])


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("print(1)", {"print()"}),
        ("import sys\nsys.exit(2)", {"sys.exit()"}),
        ("raise SystemExit", {"SystemExit"}),
        ("hash('a')", {"hash()"}),
        ("import random", {"random"}),
        ("from random import choice", {"random.choice"}),
        ("np.random.seed(1)", {"numpy.random.seed"}),
        ("from numpy.random import rand", {"numpy.random.rand"}),
        ("np.random.default_rng(1)\nhashed(1)\nconsole.print(1)", set()),
    ],
)
def test_faults_are_seen(code, found):
    """The check above sees what it is to see."""
    assert faults(ast.parse(code)) == found


def test_one_way_out():
    """Commands print by `say` of the door, which hides secrets and spells out controls; `perturb --plain` gives texts as they are."""
    echo = {name for name in SOURCES if "click.echo(" in SOURCES[name].read_text(encoding="utf-8")}
    assert echo == {"crt.door", "crt.commands.perturb"}


@pytest.mark.parametrize("module", [name for name in CRT if name != "crt.reporting.spreadsheet"])
def test_one_writer_of_tables(module):
    """Tables are written by `write_csv`, which guards against formulas; the outcomes of a cell are crt's own."""
    own = SOURCES[module].read_text(encoding="utf-8").count(".to_csv(")
    assert own == (module == "crt.tracking.runs")


@pytest.mark.parametrize("module", CRT)
def test_no_long_module(module):
    """No module of the library is so long that it must be doing two things."""
    assert len(SOURCES[module].read_text(encoding="utf-8").splitlines()) <= LONGEST
