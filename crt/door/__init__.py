"""The way in and out of every command: errors become exits, the hub is looked for once, and a run is opened and closed."""

import functools
import io
import logging
import os
import shlex
import signal
import socket
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import click

from crt.catalogue import Task
from crt.door.options import Command
from crt.errors import CrtError, is_full, no_room
from crt.models import needs_hub
from crt.redaction import redacted, shown
from crt.tasks import Source

if TYPE_CHECKING:
    from accelerate import Accelerator

    from crt.tracking.runs import MlflowTracker

log = logging.getLogger("crt")


def door(command: Command) -> Command:
    """Turn the errors of crt, and a full disk, into a message on stderr and exit 1; anything else is a bug with a traceback."""

    @functools.wraps(command)
    def run(**values: Any) -> None:
        _write_any_text()
        logging.setLogRecordFactory(Record)
        logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
        sys.excepthook = _traceback
        main = os.environ.get("RANK", "0") == "0"
        logging.getLogger("crt").setLevel(logging.INFO if main else logging.ERROR)
        _quieten()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            _check_encoding()
            command(**values)
        except Exception as error:
            if not isinstance(error, CrtError) and not is_full(error):
                raise
            if _must_say_why():
                said = error if isinstance(error, CrtError) else no_room(error)
                say(f"error: {said}", err=True)
            sys.exit(1)

    return run


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


def say(text: str, *, err: bool = False) -> None:
    """Print a text, on stdout or stderr, without secrets and without what a terminal would obey."""
    click.echo(shown(text), err=err)


class Record(logging.LogRecord):
    """A message of any logger, of other libraries too, as it may be shown."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.exc_info:
            self.exc_text = shown("".join(traceback.format_exception(*self.exc_info)).rstrip("\n"))

    def getMessage(self) -> str:  # noqa: N802  the name is that of logging
        """Return the message without secrets and without what a terminal would obey."""
        return shown(super().getMessage())


def _traceback(*found: Any) -> None:
    """Print the traceback of a bug: what it quotes may be secret, too."""
    say("".join(traceback.format_exception(*found)).rstrip("\n"), err=True)


def _quieten() -> None:
    """Keep MLflow from printing what a user of crt does not need."""
    os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    # the one prints the traceback of every error that it raises, too; the other looks for a model card on the hub
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
    logging.getLogger("mlflow.transformers").setLevel(logging.ERROR)


def _must_say_why() -> bool:
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return True
    from crt.models.processes import must_say_why

    return must_say_why()


def ui_command(tracker: "MlflowTracker") -> str:
    """Return how to open the MLflow UI on the store in use: the command, or the address of the server."""
    uri: str = tracker.client.tracking_uri
    if uri.startswith("http"):
        return redacted(uri)
    program = Path(sys.executable).with_name("mlflow")
    near = program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program
    here, database = shlex.quote(str(near)), Path.cwd() / "mlflow.db"
    # in a folder with such a name MLflow cannot use its default store
    if uri in ("sqlite:///mlflow.db", f"sqlite:///{database}") and quote(str(database)) == str(database):
        return f"{here} ui"
    plain = uri.startswith("sqlite") and redacted(uri) == uri
    return f"{here} ui --backend-store-uri " + (shlex.quote(uri) if plain else '"$MLFLOW_TRACKING_URI"')


def reach_hub(tasks: Sequence[Task], models: Sequence[str], source: Source) -> None:
    """Switch the hub libraries to their cache if the hub is needed and out of reach: they would retry for minutes.

    Call it before they are imported.
    """
    needed = source.data_dir is None and any(task.root is None for task in tasks)
    needed |= any(map(needs_hub, models))
    hub = urlsplit(os.environ.get("HF_ENDPOINT", "https://huggingface.co"))
    if not (needed and hub.hostname) or any(
        name in os.environ for name in ("HF_HUB_OFFLINE", "HTTPS_PROXY", "https_proxy")
    ):
        return
    try:
        socket.create_connection((hub.hostname, hub.port or 443), timeout=5).close()
    except OSError:
        log.warning("%s cannot be reached: only what was downloaded before can be used", hub.hostname)
        os.environ["HF_HUB_OFFLINE"] = "1"


@contextmanager
def tracked(
    kind: str, name: str, settings: Mapping[str, object], precision: str = "auto", experiment: str = ""
) -> Iterator[tuple["Accelerator", "MlflowTracker | None"]]:
    """Start the processes and, on the main one, the run; end both whatever happens.

    Args:
        kind: of the run.
        name: of the run.
        settings: stored with it.
        precision: of the predictions.
        experiment: of the run, where the environment names none; empty: the one of every command.
    """
    from crt.models.processes import from_main, start
    from crt.tracking.history import DEFAULT
    from crt.tracking.runs import open_run

    accelerator = start(precision)
    tracker: MlflowTracker | None = None
    with ExitStack() as stack:
        stack.callback(accelerator.end_training)

        def enter() -> None:
            nonlocal tracker
            told = {**settings, "processes": accelerator.num_processes}
            tracker = stack.enter_context(open_run(kind, name, told, experiment or DEFAULT))

        from_main(accelerator, enter)
        yield accelerator, tracker
        accelerator.wait_for_everyone()
