"""What is written down twice agrees: MLproject and the click options, conda.yaml, pyproject.toml and the pins."""

import importlib
import re
import shlex
import tomllib
from itertools import chain
from pathlib import Path

import click
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from crt.commands import COMMANDS

ROOT = Path(__file__).parent.parent
ENTRY_POINTS = yaml.safe_load((ROOT / "MLproject").read_text(encoding="utf-8"))["entry_points"]
CONDA = yaml.safe_load((ROOT / "conda.yaml").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUNTIME = PROJECT["project"]["dependencies"]
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
LINES = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
PINS = dict(line.split("==") for line in LINES)
PINNED = {canonicalize_name(name): version for name, version in PINS.items()}


def options(name: str) -> dict[str, click.Parameter]:
    """Return the options of an entry point by name."""
    parameters = importlib.import_module(f"entrypoints.{name}").main.params
    return {parameter.name: parameter for parameter in parameters if isinstance(parameter, click.Option)}


def test_every_script_is_an_entry_point():
    """Each script of entrypoints/ can be run with `mlflow run . -e`, and nothing else can."""
    scripts = {path.stem for path in (ROOT / "entrypoints").glob("*.py")} - {"__init__"}
    differ = ", ".join(sorted((set(ENTRY_POINTS) ^ scripts) | (scripts ^ set(COMMANDS))))
    assert not differ, f"{differ}: not a command, a script and an entry point of MLproject; run: make docs"


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_parameters_are_the_options(name):
    """An entry point has the parameters of its click options, in the same order and with the same defaults."""
    declared = {key: value["default"] for key, value in ENTRY_POINTS[name]["parameters"].items()}
    defaults = {key: str(parameter.default) for key, parameter in options(name).items()}
    assert list(declared.items()) == list(defaults.items()), f"{name} is stale in MLproject; run: make docs"


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_parameters_are_texts(name):
    """Every parameter is declared as a string with a string as its default, so that nothing is rewritten on the way."""
    for value in ENTRY_POINTS[name]["parameters"].values():
        assert (value["type"], type(value["default"])) == ("string", str), f"{name}: quote the default in MLproject"


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_command_passes_every_parameter_once(name):
    """The command hands over each parameter exactly once, as `--name {name}`, and nothing else."""
    words = shlex.split(ENTRY_POINTS[name]["command"])
    first = words.index(f"entrypoints.{name}") + 1
    passed = [word for key in ENTRY_POINTS[name]["parameters"] for word in (f"--{key}", f"{{{key}}}")]
    assert words[first:] == passed, f"the command of {name} in MLproject passes other parameters; run: make docs"


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_launcher(name):
    """What predicts or trains, and so takes a precision, starts with `accelerate launch`, the rest with python."""
    command = ENTRY_POINTS[name]["command"]
    several = name in ("train", "evaluate") or "precision" in options(name)
    start = "accelerate launch --quiet --module" if several else "python -m"
    right = command.startswith(f"{start} entrypoints.{name} ")
    assert right, f"the command of {name} in MLproject does not start with {start}; run: make docs"


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_defaults_are_accepted(name):
    """The defaults of MLproject, empty ones among them, pass the checks of the options they are handed to."""
    command = importlib.import_module(f"entrypoints.{name}").main
    words = [word for key, value in ENTRY_POINTS[name]["parameters"].items() for word in (f"--{key}", value["default"])]
    given = command.make_context(name, list(words)).params
    assert given == command.make_context(name, []).params, f"{name} is stale in MLproject; run: make docs"


def test_conda_has_the_requirements_of_the_package():
    """conda.yaml installs the runtime requirements of pyproject.toml and no others."""
    (pip,) = [entry["pip"] for entry in CONDA["dependencies"] if isinstance(entry, dict)]
    assert pip == RUNTIME, "copy the dependencies of pyproject.toml into conda.yaml"
    assert CONDA["name"] == PROJECT["project"]["name"]


def test_python_version_agrees():
    """conda.yaml, the package and the linter speak of the same Python."""
    (python,) = [entry for entry in CONDA["dependencies"] if str(entry).startswith("python=")]
    version = python.removeprefix("python=")
    named = (PROJECT["project"]["requires-python"], PROJECT["tool"]["ruff"]["target-version"])
    assert named == (f">={version}", f"py{version.replace('.', '')}"), (
        "Python differs from conda.yaml; edit pyproject.toml"
    )


@pytest.mark.parametrize("requirement", sorted({*RUNTIME, *chain(*EXTRAS.values())}))
def test_every_requirement_is_pinned(requirement):
    """constraints.txt pins every requirement to a version that satisfies it."""
    wanted = Requirement(requirement)
    pinned = PINNED.get(canonicalize_name(wanted.name))
    assert pinned, f"{wanted.name} is not pinned; add the version that was tested to constraints.txt"
    right = wanted.specifier.contains(pinned, prereleases=True)
    assert right, f"{requirement} is pinned to {pinned}; edit constraints.txt"


def test_pins():
    """The pins are exact, without local versions, one for each name, in order; torch is the version measured with."""
    assert PINS["torch"] == "2.13.0"
    assert len(PINNED) == len(PINS) == len(LINES), "a name is pinned twice; edit constraints.txt"
    assert sorted(LINES, key=str.lower) == LINES, "the pins are not in order; edit constraints.txt"
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in PINS.values())


@pytest.mark.parametrize("requirements", [RUNTIME, *EXTRAS.values()], ids=["runtime", *EXTRAS])
def test_requirements_are_in_order(requirements):
    """Requirements are listed in alphabetical order, each once."""
    names = [Requirement(requirement).name.lower() for requirement in requirements]
    assert names == sorted(set(names)), "the requirements are not in order; edit pyproject.toml"
