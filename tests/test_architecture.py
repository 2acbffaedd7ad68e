"""Who may import whom, what a light import costs, and what the library never does."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
LONGEST = 400
"""Lines of a module; a longer one does two things."""


class Layer(NamedTuple):
    """What the modules of a layer may import."""

    modules: tuple[str, ...]
    """Names; a trailing dot stands for all modules below."""
    layers: str
    """Layers of crt, beside `root`: the package's own constants."""
    anywhere: str = ""
    """Other distributions."""
    inside: str = ""
    """Other distributions, inside functions only."""


VALUES = "numpy pandas opencc jieba rjieba rapidfuzz scipy"
LAYERS = {
    "root": Layer(("crt",), ""),
    "ground": Layer(("crt.errors", "crt.files", "crt.randomness", "crt.records"), "ground", "numpy"),
    "reading": Layer(
        ("crt.catalogue", "crt.decoding", "crt.labels", "crt.reading", "crt.resources", "crt.suites", "crt.tasks"),
        "ground reading",
        "",
        "datasets openpyxl pandas",
    ),
    "values": Layer(
        (
            "crt.perturbations.",
            "crt.scoring.",
            "crt.reporting",
            "crt.reporting.card",
            "crt.reporting.preview",
            "crt.reporting.signature",
            "crt.reporting.spreadsheet",
            "crt.reporting.table",
            "crt.reporting.verdict",
            "crt.studies",
            "crt.studies.grid",
        ),
        "ground reading values",
        VALUES,
    ),
    "detection": Layer(("crt.detection.",), "ground reading values detection", "numpy sklearn"),
    "models": Layer(
        ("crt.models.",), "ground reading values models", "numpy torch transformers accelerate safetensors requests"
    ),
    "tracking": Layer(
        ("crt.history", "crt.registry", "crt.store", "crt.tracking"),
        "ground reading values tracking",
        "mlflow pandas requests sqlalchemy",
        "transformers",
    ),
    "figures": Layer(
        tuple(
            f"crt.reporting.{name}"
            for name in ["drawing", "examples", "figures", "markup", "page", "sections", "tested"]
        ),
        "ground values figures",
        "matplotlib numpy pandas",
    ),
    "studies": Layer(
        tuple(
            f"crt.studies.{name}"
            for name in [
                "answers",
                "audit",
                "baselines",
                "behaviour",
                "benchmark",
                "cards",
                "cells",
                "compare",
                "detection",
                "evidence",
                "heuristics",
                "outcomes",
                "report",
                "results",
                "train",
                "worst_case",
            ]
        ),
        "ground reading values detection models tracking figures studies",
        f"{VALUES} sklearn",
    ),
    "doors": Layer(("entrypoints.",), "ground reading values detection models tracking figures studies doors", "click"),
}
"""The layers, lowest first: imports point from later rows to earlier ones."""

SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("crt", "entrypoints")
    for path in sorted((ROOT / package).rglob("*.py"))
}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}
CRT = [name for name in SOURCES if name.partition(".")[0] == "crt"]
COMMANDS = [name for name in SOURCES if name.startswith("entrypoints.") and name != "entrypoints.door"]


class Import(NamedTuple):
    """One imported module."""

    module: str
    inside: bool
    """It stands in a function."""


def imports(module: str) -> Iterator[Import]:
    """Yield what a module imports when it runs: not what stands under `if TYPE_CHECKING`."""
    package = module if SOURCES[module].name == "__init__.py" else module.rpartition(".")[0]

    def walk(node: ast.AST, *, inside: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from (Import(alias.name, inside) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = ".".join(filter(None, (package if child.level else "", child.module)))
                names = [f"{base}.{alias.name}" for alias in child.names]
                yield from (Import(name if name in SOURCES else base, inside) for name in names)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                yield from (found for other in child.orelse for found in walk(other, inside=inside))
            else:
                yield from walk(child, inside=inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    return walk(TREES[module], inside=False)


def layer_of(module: str) -> str:
    """Return the layer of a module, an exact name before a package."""
    exact = [layer for layer, row in LAYERS.items() if module in row.modules]
    below = [
        layer
        for layer, row in LAYERS.items()
        if any(m.endswith(".") and f"{module}.".startswith(m) for m in row.modules)
    ]
    assert len(exact) + len(below) == 1, f"{module} belongs to {exact + below or 'no layer'}; put it into one of LAYERS"
    return (exact + below)[0]


def is_ours(module: str) -> bool:
    """Return whether a module is one of this repository."""
    return module.partition(".")[0] in ("crt", "entrypoints")


@pytest.mark.parametrize("module", SOURCES)
def test_imports_of_our_own(module):
    """A module imports only from the layers that its row names, also inside functions."""
    allowed = {"root", *LAYERS[layer_of(module)].layers.split()}
    wrong = {
        f"{name} ({layer_of(name)})" for name, _ in imports(module) if is_ours(name) and layer_of(name) not in allowed
    }
    assert not wrong, f"{module} is in layer {layer_of(module)} and imports {', '.join(sorted(wrong))}"


@pytest.mark.parametrize("module", SOURCES)
def test_imports_of_others(module):
    """A module imports only the distributions of its row, the heavy ones inside functions where the row says so."""
    row = LAYERS[layer_of(module)]
    others = {(name.partition(".")[0], inside) for name, inside in imports(module) if not is_ours(name)}
    others = {(name, inside) for name, inside in others if name not in sys.stdlib_module_names}
    wrong = {
        name
        for name, inside in others
        if name not in row.anywhere.split() and not (inside and name in row.inside.split())
    }
    assert not wrong, f"{module} is in layer {layer_of(module)} and imports {', '.join(sorted(wrong))}"


HOMES = {
    "mlflow": ("crt.history", "crt.registry", "crt.store", "crt.tracking"),
    "matplotlib": ("crt.reporting.drawing", "crt.reporting.figures"),
    "click": ("entrypoints.",),
}


@pytest.mark.parametrize(("distribution", "homes"), HOMES.items())
def test_few_homes(distribution, homes):
    """MLflow is imported in four modules, matplotlib in drawing and figures, click in the entry points."""
    users = {module for module in SOURCES for name, _ in imports(module) if name.partition(".")[0] == distribution}
    assert users
    assert all(module in homes or module.startswith(tuple(h for h in homes if h.endswith("."))) for module in users), (
        users
    )


def test_no_circles():
    """No module imports itself through others when it is loaded."""
    graph = {m: {name for name, inside in imports(m) if is_ours(name) and not inside and name != m} for m in SOURCES}
    assert len(list(TopologicalSorter(graph).static_order())) == len(SOURCES)


def test_values_have_no_circles():
    """The modules of plain values do not import each other in a circle, not even inside functions."""
    values = [module for module in SOURCES if layer_of(module) in ("root", "ground", "reading", "values")]
    graph = {module: {name for name, _ in imports(module) if name in values and name != module} for module in values}
    assert len(list(TopologicalSorter(graph).static_order())) == len(values)


SHARED = {"crt.studies"} | {
    f"crt.studies.{name}" for name in ("answers", "cells", "evidence", "grid", "outcomes", "report", "results")
}
"""What the experiments have in common."""


@pytest.mark.parametrize("module", [name for name in CRT if name.startswith("crt.studies.")])
def test_studies_stand_alone(module):
    """No experiment imports another: they share the grid, the outcomes and the writing of results."""
    studies = {name for name, _ in imports(module) if name.startswith("crt.studies.")}
    assert studies <= SHARED, studies - SHARED


def modules_after(code: str) -> tuple[set[str], str]:
    """Run code in a fresh interpreter; return the top-level modules that it loaded, and what it printed."""
    report = "; import sys; print('\\n@', *{name.split('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code + report], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    printed, _, names = run.stdout.rpartition("\n@ ")
    return set(names.split()), printed


def test_the_grid_is_light():
    """A grid is described and checked without torch, transformers or mlflow."""
    loaded, _ = modules_after("import crt.studies.grid")
    assert "crt" in loaded
    assert not loaded & {"torch", "transformers", "mlflow", "matplotlib"}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_light(command):
    """The help of every command comes without torch, transformers or mlflow."""
    start = f"import runpy, sys; sys.argv = ['x', '--help']\ntry: runpy.run_module('{command}', run_name='__main__')"
    loaded, printed = modules_after(f"{start}\nexcept SystemExit as done: assert not done.code\npass")
    assert "Usage:" in printed
    assert "--help" in printed
    assert not loaded & {"torch", "transformers", "mlflow", "accelerate", "pandas"}


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


@pytest.mark.parametrize("module", CRT)
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


@pytest.mark.parametrize("module", CRT)
def test_no_long_module(module):
    """No module of the library is so long that it must be doing two things."""
    assert len(SOURCES[module].read_text(encoding="utf-8").splitlines()) <= LONGEST
