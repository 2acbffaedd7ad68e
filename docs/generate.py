"""Write what is made from the code: MLproject, entrypoints/ and docs/reference.md: `make docs`; with --check, only compare."""

import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent

INTRODUCTION = """\
# Reference

Written by `make docs` from the tables in the code; do not edit it by hand.

- [Metrics](#metrics)
- [Perturbations](#perturbations)
- [Data sets](#data-sets)
- [Models](#models)
- [Studies](#studies)
- [Slices](#slices)
- [Commands](#commands)
"""
METRICS_TEXT = """
## Metrics

In the order of the columns; the first {count}, after the five keys `model`, `dataset`, `perturbation`, `prob` and
`seed`, are the columns of the result table. Definitions: [metrics.md](metrics.md).
"""
PERTURBATIONS_TEXT = """
## Perturbations

Each takes a prob, the share of its sites to edit, and a seed. A table can be replaced by your own, or added to, with the
option `table`; `protect` and `only` bind all of them to words of yours. How to add one: [adding.md](adding.md).
"""
TASKS_TEXT = """
## Data sets

Beside these, the option `dataset` takes the path of your own file, or of a folder with files named train, validation (or
dev) and test:

- Formats: `.csv`; `.tsv` and `.txt` (tabs, no quoting); `.jsonl` and `.json` (an object a line, or one array of objects);
  `.parquet`; `.xlsx` (the first sheet, with the extra `excel`). A text file may be packed: `.csv.gz`.
- Encodings: UTF-8, else UTF-16 or GB18030, which is told. A file that mixes two, or is of another, is an error.
- Labels: without the blanks around them. A label that is empty or `-` is none, and its row is left out and counted. Two
  spellings of a label in the training file, and `-1` beside labels from 0 on, are asked about.
- Name: that of the file or folder; `own/test.csv`, whose name says nothing, is called own-test.
"""
MODELS_TEXT = """
## Models

What the option `model` takes. A checkpoint has labels of its own, which must be those of the data set, by name or by `label_map`;
the others take those of the data set. A function gets a list of texts (of tuples of two, for pairs) and gives for each a label, or a
row of probabilities in the order of its attribute `labels`, else of the labels of the data set. A checkpoint is read without running
code; a model of another flavour of MLflow, and a function, are code that is run. How to add a kind: [adding.md](adding.md).
"""
STUDIES_TEXT = """
## Studies

Beside the grid of `evaluate`. Each is a command of its name; `compare` puts the models side by side where the params of the last
column agree. Definitions: [protocols.md](protocols.md).
"""
SLICES_TEXT = """
## Slices

Which texts break a model: `compare` tests the groups of each. Definitions: [metrics.md](metrics.md#slices-slicescsv). How to add
one: [adding.md](adding.md).
"""
COMMANDS_TEXT = """
## Commands

A command is started as `crt NAME`, as `python -m crt NAME`, or as an entry point of the project, `mlflow run . -e NAME`, which
starts `python -m entrypoints.NAME`. An option is given as `--name value`, under `mlflow run .` as `-P name=value`. Lists are
comma-separated.
"""


def reference() -> str:
    """Return the text of the reference page."""
    parts = (_metrics(), _perturbations(), _tasks(), _models(), _studies(), _slices(), _commands())
    return "".join([INTRODUCTION, *(text for part in parts for text in part)])


def _metrics() -> Iterator[str]:
    from crt.scoring.metrics import CLEAN_METRICS, METRICS, REFERENCE_METRICS

    yield METRICS_TEXT.format(count=len(REFERENCE_METRICS))
    yield _table(
        ("metric", "what it is", "better", "result table", "clean cells"),
        (
            (
                f"[`{name}`](metrics.md#{name})",
                metric.summary,
                metric.better,
                _yes(name in REFERENCE_METRICS),
                _yes(name in CLEAN_METRICS),
            )
            for name, metric in METRICS.items()
        ),
    )


def _perturbations() -> Iterator[str]:
    from crt.perturbations import PERTURBATIONS

    yield PERTURBATIONS_TEXT
    yield _table(
        ("perturbation", "what it does", "table", "libraries"),
        (
            (
                f"`{name}`",
                perturbation.summary,
                f"`resources/perturbations/{perturbation.table}.json`" if perturbation.table else "",
                ", ".join(perturbation.libraries),
            )
            for name, perturbation in PERTURBATIONS.items()
        ),
    )


def _slices() -> Iterator[str]:
    from crt.scoring.slices import SLICES

    yield SLICES_TEXT
    yield _table(("slice", "divided by", "column"), ((s.name, s.summary, f"`{s.column}`") for s in SLICES.values()))


def _tasks() -> Iterator[str]:
    from crt.catalogue import ALIASES, TASKS

    also = {name: [alias for alias, known in ALIASES.items() if known == name] for name in TASKS}
    yield TASKS_TEXT
    yield _table(
        (
            "data set",
            "what it is",
            "labels",
            "texts",
            "reported split",
            "hub",
            "files below `data_dir`",
            "licence",
            "source",
        ),
        (
            (
                ", or ".join(f"`{known}`" for known in (name, *also[name])),
                task.summary,
                str(len(task.labels)),
                str(len(task.fields)),
                task.eval_split,
                f"`{task.hub.repository}`" + (f" ({task.hub.config})" if task.hub.config else "") if task.hub else "",
                ", ".join(f"`{file}`" for file in task.files.values()) if task.root is None else "built in",
                task.licence,
                task.citation,
            )
            for name, task in TASKS.items()
        ),
    )


def _models() -> Iterator[str]:
    from crt.models import MODELS

    yield MODELS_TEXT
    yield _table(
        ("kind", "what it is", "labels", "may come from the hub"),
        (
            (f"`{kind.name}`", kind.summary, "its own" if kind.own_labels else "of the data set", _yes(kind.on_hub))
            for kind in MODELS.values()
        ),
    )


def _studies() -> Iterator[str]:
    from crt.studies import STUDIES

    yield STUDIES_TEXT
    yield _table(
        ("study", "what it tells", "must agree"),
        ((f"`{s.kind}`", s.summary, ", ".join(f"`{param}`" for param in s.agree)) for s in STUDIES.values()),
    )


def _commands() -> Iterator[str]:
    yield COMMANDS_TEXT
    for name, command in _loaded().items():
        yield f"\n### {name}\n\n{command.help}\n\n```bash\ncrt {name}\n```\n"
        yield _table(
            ("option", "default", "values", "meaning"),
            (
                (
                    f"`{option.name}`",
                    f"`{option.default}`" if option.default != "" else "",
                    _values(option.type),
                    option.help,
                )
                for option in _options(command)
            ),
        )


def _values(kind: click.ParamType) -> str:
    """Return what an option takes."""
    from crt.door.options import Listed, Optional, Pairs

    words = {str: "text", int: "whole number", float: "number"}
    match kind:
        case Optional():
            return f"{_values(kind.kind)}, or empty"
        case Listed():
            return f"list of {'names' if kind.kind is str else words[kind.kind] + 's'}"
        case Pairs():
            return f"list of NAME{kind.separator}VALUE"
        case click.Choice():
            return ", ".join(kind.choices)
        case click.IntRange() | click.FloatRange():
            word = words[int if isinstance(kind, click.IntRange) else float]
            least = "" if kind.min is None else f" {'above' if kind.min_open else 'from'} {kind.min}"
            most = "" if kind.max is None else f" {'below' if kind.max_open else 'to'} {kind.max}"
            return f"{word}{least}{most}"
        case _:
            names = {"boolean": "true, false", "integer": words[int], "float": words[float]}
            return names.get(kind.name, kind.name)


def _yes(value: bool) -> str:
    return "yes" if value else ""


def _table(header: tuple[str, ...], rows: Iterable[tuple[str | None, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    cells = [[(cell or "").replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    return "\n" + "".join("".join(f"| {cell} " if cell else "| " for cell in line) + "|\n" for line in cells)


def _loaded() -> dict[str, click.Command]:
    from crt.commands import COMMANDS, load_command

    return {name: load_command(name) for name in COMMANDS}


def _options(command: click.Command) -> list[click.Option]:
    return [option for option in command.params if isinstance(option, click.Option)]


MLPROJECT = """\
# Written by `make docs` from the commands in the code; do not edit it by hand.
name: ChineseRobustText

conda_env: conda.yaml

entry_points:
"""


def mlproject() -> str:
    """Return the text of MLproject: each command with its options and their defaults, all of them texts."""
    parts = []
    for name, command in _loaded().items():
        options = _options(command)
        several = any(option.name == "precision" for option in options)  # it may use several devices
        start = "accelerate launch --quiet --module" if several else "python -m"
        words = [f"{start} entrypoints.{name}", *(f"--{option.name} {{{option.name}}}" for option in options)]
        whole = [word.replace(" ", "\0") for word in words]
        lines = textwrap.wrap(" ".join(whole), 114, break_long_words=False, break_on_hyphens=False)
        parameters = "".join(f'      {o.name}: {{type: string, default: "{o.default}"}}\n' for o in options)
        line = "".join(f"      {text}\n" for text in lines).replace("\0", " ")
        parts.append(f"  {name}:\n    parameters:\n{parameters}    command: >-\n{line}")
    return MLPROJECT + "\n".join(parts)


def entry_points() -> dict[Path, str]:
    """Return the text of each file of entrypoints/ that starts a command."""
    from crt.commands import COMMANDS

    text = """\"\"\"`python -m entrypoints.{name}`: the same as `crt {name}`.\"\"\"

from {module} import main

if __name__ == "__main__":
    main()
"""
    return {
        Path("entrypoints", f"{name}.py"): text.format(name=name, module=module) for name, module in COMMANDS.items()
    }


def generated() -> Mapping[Path, str]:
    """Return the text of each file that is made from the code, by its path in the repository."""
    return {Path("MLproject"): mlproject(), Path("docs", "reference.md"): reference(), **entry_points()}


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write the files, or compare them; return the exit status."""
    stale = []
    for path, text in generated().items():
        there = root / path
        if there.is_file() and there.read_text(encoding="utf-8") == text:
            continue
        stale.append(str(path))
        if "--check" not in arguments:
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_text(text, encoding="utf-8")
    if stale and "--check" in arguments:
        sys.stderr.write(f"not up to date: {', '.join(stale)}; run: make docs\n")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
