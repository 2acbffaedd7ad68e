"""The options of the commands: their types, those that several commands share, and what is made of them."""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from crt.catalogue import Task
from crt.errors import CrtError, DataError
from crt.files import is_folder, no_such
from crt.grid import Columns, Shard
from crt.models import PredictOptions
from crt.perturbations import PAIRS, REFERENCE_PERTURBATIONS, WAYS_TO_EVADE
from crt.resources import OwnTable
from crt.tasks import Source, find_task

Command = Callable[..., None]


class Listed(click.ParamType):
    """Comma-separated values; an empty text is an empty list."""

    name = "list"

    def __init__(self, kind: type[str] | type[float] | type[int] = str) -> None:
        """Take the type of the values."""
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        """Split and convert."""
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in str(value).split(",") if part.strip()]
        try:
            return tuple(self.kind(part) for part in parts)
        except ValueError:
            kinds = {float: "numbers", int: "whole numbers", str: "names"}
            self.fail(f"{value!r} is no list of {kinds[self.kind]}; write them like 0.05,0.15 or 13,42", param, ctx)


class Optional(click.ParamType):
    """A value that may be left empty: MLproject passes every parameter, set or not."""

    def __init__(self, kind: click.ParamType, name: str) -> None:
        """Take the type of a value that is there."""
        self.kind, self.name = kind, name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return None for an empty text."""
        return None if value in ("", None) else self.kind.convert(value, param, ctx)


class Pairs(click.ParamType):
    """Comma-separated `left<separator>right`; an empty text is an empty mapping."""

    name = "pairs"

    def __init__(self, separator: str) -> None:
        """Take the separator of the two sides."""
        self.separator = separator

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, str]:
        """Split into a mapping."""
        if isinstance(value, dict):
            return value
        pairs: dict[str, str] = {}
        for part in filter(None, (part.strip() for part in str(value).split(","))):
            left, found, right = part.partition(self.separator)
            if not (left and found and right) or left in pairs:
                self.fail(f"{part!r} is no new NAME{self.separator}VALUE", param, ctx)
            pairs[left] = right
        return pairs


class Sharded(click.ParamType):
    """A worker among several, like 2/4."""

    name = "shard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Shard:
        """Split and convert."""
        if isinstance(value, Shard):
            return value
        number, slash, of = str(value).partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and int(of)):
            self.fail(f"{value!r} is no shard; write it like 2/4: the second of four workers", param, ctx)
        try:
            return Shard(int(number), int(of))
        except CrtError as error:
            self.fail(str(error), param, ctx)


COUNT = Optional(click.IntRange(min=1), "count")
TEXT = Optional(click.STRING, "text")
NUMBER = Optional(click.FLOAT, "number")
WHOLE = Optional(click.INT, "integer")
SHARD = Optional(Sharded(), "shard")
SEED = click.IntRange(0, 2**32 - 1)
"""Of numpy and scikit-learn; the perturbations take any."""


def option(name: str, kind: click.ParamType | type, default: object, text: str) -> Callable[[Command], Command]:
    """Return a click option named like the MLproject parameter; a switch may stand without a value."""
    if isinstance(default, tuple):
        default = ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in default)
    if kind is bool:
        return click.option(
            f"--{name}",
            type=click.BOOL,
            default=default,
            show_default=True,
            help=text,
            is_flag=False,
            flag_value="true",
        )
    return click.option(f"--{name}", type=kind, default=default, show_default=default != "", help=text)


def options(*several: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Join options into one decorator, in their order."""
    return lambda command: functools.reduce(lambda done, one: one(done), reversed(several), command)


# what is measured


DATASET = "chnsenticorp, tnews, ocnli, sample, or the path of your own file or folder."
MODEL = (
    "rule, tfidf, a checkpoint folder, a hub id, models:/crt-tnews@best, or your own python:MODULE:FUNCTION; default: the "
    "registered best."
)
SPLIT = (
    "Split to evaluate on, selection: what models are chosen on; default: test for chnsenticorp, validation for others."
)
LABEL_MAP = "Names of the model's labels, like LABEL_0=negative,LABEL_1=positive."

SUBJECT = options(option("dataset", str, "chnsenticorp", DATASET), option("model", TEXT, "", MODEL))
SUBJECTS = options(option("dataset", Listed(), "chnsenticorp", DATASET), option("model", Listed(), "", MODEL))

OWN = options(
    option(
        "table",
        Pairs(":"),
        "",
        "Your own table in place of the shipped one, like homophone:FILE.json, or added to it, homophone:+FILE.json; "
        "evade:FILE.txt lists words to disguise.",
    ),
    option(
        "ways", Listed(), "", f"How evade disguises a word: {', '.join(WAYS_TO_EVADE)}; default: all, as listed first."
    ),
    option("protect", TEXT, "", "A file of words that are never changed, one a line: brands, names."),
    option("only", TEXT, "", "A file of words, one a line: nothing else is changed."),
)

PERTURBED = options(
    option("perturbations", Listed(), REFERENCE_PERTURBATIONS, "Which perturbations."),
    option("split", TEXT, "", SPLIT),
    OWN,
)


def scope(max_samples: int | str = "") -> Callable[[Command], Command]:
    """Return the options of a `Scope` beside its models and data sets."""
    return options(
        PERTURBED,
        option("max_samples", COUNT, max_samples, "At most so many examples; empty: all."),
        option("fields", str, "both", "Which texts of a pair are perturbed: both, first or second."),
        option("pairs", TEXT, "", "Texts of the data set, or their ids, and how somebody wrote them: also measured."),
        option("exclude_seen", bool, "false", "Leave out inputs that also stand in the training split."),
    )


DATA = options(
    option(
        "data_dir", TEXT, "", "Folder that holds chnsenticorp/, ocnli/, tnews/; default $CRT_DATA_DIR, else the hub."
    ),
    option("revision", TEXT, "", "Revision of the hub data set."),
    option("name", TEXT, "", "What the tables call your own data; default: the name of the file or folder."),
    option("text_column", str, "text", "Column of the text in your own file."),
    option("text_pair_column", TEXT, "", "Column of the second text, for pairs."),
    option("label_column", str, "label", "Column of the label."),
)

# how, and what is written

DEVICE = options(
    option(
        "eval_batch_size",
        click.IntRange(min=1),
        32,
        "Inputs of full length in a batch; shorter ones make larger batches.",
    ),
    option(
        "precision",
        click.Choice(["auto", "fp32", "bf16", "fp16"]),
        "auto",
        "auto: bf16 on a GPU that has it, else fp32.",
    ),
)
"""What predicts or trains; a command with these is started by `accelerate launch`."""

PREDICT = options(
    option("label_map", Pairs("="), "", LABEL_MAP),
    option(
        "max_length",
        COUNT,
        "",
        "Longest input in tokens; more is cut off. Default: as the model was trained, else 128.",
    ),
    DEVICE,
)

PAIRS_FILE = options(
    option("file", TEXT, "", "The pairs, if not as an argument: a table, or JSON with lists of [original, written]."),
    option("original_column", str, "original", "Column of the originals."),
    option("written_column", str, "written", "Column of the texts as somebody wrote them."),
)

FOLDER = option("output_dir", click.Path(path_type=Path), "outputs", "Folder for the tables.")

OUTPUT = options(
    option("output_dir", click.Path(path_type=Path), "outputs", "Folder for tables and figures."),
    option("no_figures", bool, "false", "Write tables only."),
)


# what is made of the options


def find(o: dict[str, Any]) -> Task:
    """Return the data set that is asked for."""
    columns = {"text": o["text_column"], "text_pair": o["text_pair_column"], "label": o["label_column"]}
    return find_task(o["dataset"], name=o["name"], **columns)


def pairs_file(argument: str, o: dict[str, Any]) -> Path:
    """Return the file of pairs, from the argument or the option.

    Raises:
        DataError: there is neither.
    """
    if not (argument or o["file"]):
        raise DataError(
            "give a file of pairs: a table with the columns original and written, or JSON with lists of them"
        )
    return Path(argument or o["file"])


def own(o: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Scope` that are made of OWN."""
    files = {name: Path(o[name]) if o[name] else None for name in ("protect", "only")}
    return {"tables": {name: OwnTable.of(file) for name, file in o["table"].items()}, "ways": o["ways"], **files}


def in_scope(o: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Scope` beside its models, data sets and doses; those that a command does not have keep their default."""
    fields = {
        "perturbations": o["perturbations"],
        "split": o["split"],
        "columns": Columns(o["text_column"], o["text_pair_column"], o["label_column"]),
        "name": o["name"],
        **own(o),
    }
    names = {"max_samples": "limit", "fields": "fields", "exclude_seen": "exclude_seen", "shard": "shard"}
    return fields | {field: o[name] for name, field in names.items() if name in o}


def with_pairs(o: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Scope` where real pairs may be measured too: they are one of the perturbations."""
    if not o["pairs"]:
        return in_scope(o)
    names = tuple(dict.fromkeys((*o["perturbations"], PAIRS.name)))
    return in_scope(o) | {"perturbations": names, "pairs": Path(o["pairs"])}


def source(o: dict[str, Any]) -> Source:
    """Return where the published data sets are read from: the option, else $CRT_DATA_DIR, else the hub."""
    folder = o["data_dir"] or os.environ.get("CRT_DATA_DIR") or None
    if folder and not is_folder(folder):
        raise DataError(f"data_dir {no_such(folder, 'folder')}")
    return Source(Path(folder) if folder else None, o["revision"])


def prediction(o: dict[str, Any]) -> PredictOptions:
    """Return how models predict."""
    return PredictOptions(o["max_length"], o["eval_batch_size"], o["precision"], o.get("label_map", {}))


def settings(o: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, as they are logged."""
    texts = {name: ",".join(map(str, v)) if isinstance(v, list | tuple) else v for name, v in o.items()}
    return {name: text for name, text in texts.items() if text not in (None, "", {})}
