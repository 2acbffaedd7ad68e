"""What every command shares: option types, the one place where errors become exits, and the tracked run."""

import functools
import io
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from crt.catalogue import Task
from crt.errors import CrtError, DataError, is_full, no_room, without_password
from crt.files import exists, is_folder, no_such
from crt.tasks import Source

if TYPE_CHECKING:
    from accelerate import Accelerator

    from crt.studies.grid import Shard
    from crt.tracking import MlflowTracker

Command = Callable[..., None]

log = logging.getLogger("crt")


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

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Shard":
        """Split and convert."""
        from crt.studies.grid import Shard

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


DATA = options(
    option(
        "data_dir", TEXT, "", "Folder that holds chnsenticorp/, ocnli/, tnews/; default $CRT_DATA_DIR, else the hub."
    ),
    option("revision", TEXT, "", "Revision of the hub data set."),
    option("text_column", str, "text", "Column of the text in your own file."),
    option("text_pair_column", TEXT, "", "Column of the second text, for pairs."),
    option("label_column", str, "label", "Column of the label."),
)

PREDICT = options(
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

OUTPUT = options(
    option("output_dir", click.Path(path_type=Path), "outputs", "Folder for tables and figures."),
    option("no_figures", bool, "false", "Write tables only."),
)


def door(command: Command) -> Command:
    """Turn the errors of crt, and a full disk, into a message on stderr and exit 1; anything else is a bug with a traceback."""

    @functools.wraps(command)
    def guarded(**values: Any) -> None:
        _write_any_text()
        logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
        main = os.environ.get("RANK", "0") == "0"
        logging.getLogger("crt").setLevel(logging.INFO if main else logging.ERROR)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            _check_encoding()
            command(**values)
        except Exception as error:
            if not isinstance(error, CrtError) and not is_full(error):
                raise
            if _must_say_why():
                said = error if isinstance(error, CrtError) else no_room(error)
                click.echo(f"error: {without_password(str(said))}", err=True)
            sys.exit(1)

    return guarded


def _write_any_text() -> None:
    """Have stdout and stderr write Chinese where their encoding has none, and never fail on a character or replace it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if _has_chinese(stream.encoding) else "utf-8", errors="backslashreplace")


def _check_encoding() -> None:
    """Refuse arguments, and a working folder, whose bytes were read in another encoding than theirs.

    Raises:
        CrtError: there is one; the message says what to do.
    """
    encoding = sys.getfilesystemencoding()
    known = _has_chinese(encoding)
    texts = sys.argv[1:]
    with suppress(OSError):  # the folder is gone
        texts.append(str(Path.cwd()))
    for text in texts:
        if not text.isascii() and (not known or any("\ud800" <= letter <= "\udfff" for letter in text)):
            written = os.fsencode(text).decode("utf-8", "replace")
            advice = "write it in UTF-8" if known else "set PYTHONUTF8=1"
            raise CrtError(
                f"'{written}' cannot be read in this shell's encoding, {encoding}; {advice}, and start again"
            )


def _has_chinese(encoding: str) -> bool:
    try:
        "中".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _must_say_why() -> bool:
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return True
    from crt.models.processes import must_say_why

    return must_say_why()


def ui_command(tracker: "MlflowTracker") -> str:
    """Return how to open the MLflow UI on the store in use: the command, or the address of the server."""
    uri: str = tracker.client.tracking_uri
    if uri.startswith("http"):
        return uri
    program = Path(sys.executable).with_name("mlflow")
    here = program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program
    if uri == f"sqlite:///{Path.cwd() / 'mlflow.db'}":
        return f"{here} ui"
    return f"{here} ui --backend-store-uri " + (uri if uri.startswith("sqlite") else '"$MLFLOW_TRACKING_URI"')


def settings(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, as they are logged."""
    texts = {name: ",".join(map(str, v)) if isinstance(v, list | tuple) else v for name, v in values.items()}
    return {name: text for name, text in texts.items() if text not in (None, "", {})}


def source(values: dict[str, Any]) -> Source:
    """Return where the published data sets are read from: the option, else $CRT_DATA_DIR, else the hub."""
    folder = values["data_dir"] or os.environ.get("CRT_DATA_DIR") or None
    if folder and not is_folder(folder):
        raise DataError(f"data_dir {no_such(folder, 'folder')}")
    return Source(Path(folder) if folder else None, values["revision"])


def reach_hub(tasks: Sequence[Task], models: Sequence[str], source: Source) -> None:
    """Switch the hub libraries to their cache if the hub is needed and out of reach: they would retry for minutes.

    Call it before they are imported.
    """
    needed = source.data_dir is None and any(task.root is None for task in tasks)
    needed |= any(_on_hub(spec.removeprefix("embedding:").removeprefix("zeroshot:")) for spec in models)
    if not needed or any(name in os.environ for name in ("HF_HUB_OFFLINE", "HTTPS_PROXY", "https_proxy")):
        return
    hub = urlsplit(os.environ.get("HF_ENDPOINT", "https://huggingface.co"))
    try:
        socket.create_connection((hub.hostname, hub.port or 443), timeout=5).close()
    except OSError:
        log.warning("%s cannot be reached: only what was downloaded before can be used", hub.hostname)
        os.environ["HF_HUB_OFFLINE"] = "1"


def _on_hub(spec: str) -> bool:
    return spec not in ("", "rule", "tiny") and ":" not in spec and not exists(spec)


@contextmanager
def tracked(
    kind: str, name: str, settings: dict[str, object], precision: str = "auto"
) -> Iterator[tuple["Accelerator", "MlflowTracker | None"]]:
    """Start the processes and, on the main one, the run; end both whatever happens."""
    from crt.models.processes import share, start
    from crt.tracking import open_run

    accelerator = start(precision)
    tracker: MlflowTracker | None = None
    with ExitStack() as stack:
        stack.callback(accelerator.end_training)

        def enter() -> None:
            nonlocal tracker
            tracker = stack.enter_context(open_run(kind, name, {**settings, "processes": accelerator.num_processes}))

        share(accelerator, enter)
        yield accelerator, tracker
        accelerator.wait_for_everyone()
