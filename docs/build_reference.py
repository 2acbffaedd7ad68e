"""Write docs/reference.md from the tables of the code: `python docs/build_reference.py`; with --check, only compare."""  # noqa: INP001

import importlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference.md"
COMMANDS = (
    "main", "train", "evaluate", "compare", "baselines", "heuristics", "behaviour", "detect", "worst_case", "perturb", "audit",
)  # fmt: skip

INTRODUCTION = """\
# Reference

Written by `python docs/build_reference.py` from the tables in the code; do not edit it by hand.

- [Metrics](#metrics)
- [Perturbations](#perturbations)
- [Data sets](#data-sets)
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

Each takes a prob, the share of its sites to edit, and a seed. A table can be replaced by your own with the option
`table`. How to add one: [adding.md](adding.md).
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
SLICES_TEXT = """
## Slices

Which texts break a model: `compare` tests the groups of each. Definitions: [metrics.md](metrics.md#slices-slicescsv). How to add
one: [adding.md](adding.md).
"""
COMMANDS_TEXT = """
## Commands

Under `mlflow run .` an option is given as `-P name=value`; under `python -m entrypoints.NAME`, as `--name value`. Lists
are comma-separated.
"""


def reference() -> str:
    """Return the text of the reference page."""
    return "".join([INTRODUCTION, *_metrics(), *_perturbations(), *_tasks(), *_slices(), *_commands()])


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
                ", ".join(f"`{file}`" for file in task.files.values()) if task.hub else "built in",
                task.licence,
                task.citation,
            )
            for name, task in TASKS.items()
        ),
    )


def _commands() -> Iterator[str]:
    yield COMMANDS_TEXT
    for name in COMMANDS:
        command: click.Command = importlib.import_module(f"entrypoints.{name}").main
        yield f"\n### {name}\n\n{command.help}\n\n```bash\nmlflow run .{'' if name == 'main' else f' -e {name}'}\n```\n"
        yield _table(
            ("option", "default", "values", "meaning"),
            (
                (
                    f"`{option.name}`",
                    f"`{option.default}`" if option.default != "" else "",
                    _values(option.type),
                    option.help,
                )
                for option in command.params
                if isinstance(option, click.Option)
            ),
        )


def _values(kind: click.ParamType) -> str:
    """Return what an option takes."""
    from entrypoints.door import Listed, Optional, Pairs

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


def main(arguments: list[str]) -> int:
    """Write the page, or compare it; return the exit status."""
    text = reference()
    if "--check" not in arguments:
        REFERENCE.write_text(text, encoding="utf-8")
    elif not REFERENCE.is_file() or REFERENCE.read_text(encoding="utf-8") != text:
        sys.stderr.write(f"{REFERENCE} is not up to date; run: python docs/build_reference.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
