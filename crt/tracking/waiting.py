"""Waiting for a tracking store that is new, busy or for a while away, and what to say where waiting does not help.

What waits for what: a locked SQLite database is waited for by SQLite itself, for `PATIENCE`; a tracking server that does
not answer is asked again by MLflow's client, 7 times over about 2 minutes (`MLFLOW_HTTP_REQUEST_MAX_RETRIES`). Processes
of one host that meet a fresh database go in one after the other.
"""

import logging
import os
import platform
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import mlflow
from filelock import FileLock, Timeout
from mlflow.exceptions import MlflowException
from mlflow.tracking._model_registry.utils import _get_store as _registry_store
from mlflow.tracking._tracking_service.utils import _get_store as _tracking_store
from requests import RequestException
from sqlalchemy import event

from crt.errors import CrtError, TrackingError, is_full, no_room, remedy
from crt.redaction import redacted

log = logging.getLogger(__name__)

PATIENCE = 300
"""Seconds that a locked SQLite database is waited for; MLflow's own 20 are less than a slow backup takes."""
HASTE = 5
"""Seconds that it is waited for by a command that was interrupted."""
NOTICE, TURN = 5, 600
"""Seconds after which a process that waits for its turn at a fresh store says for whom, and gives up."""
_seconds = [PATIENCE]
MOVED = "if that folder was moved, move it back or put a link to it there (ln -s NEW OLD); if it is lost, "
"""What to do about files that are not where the store says."""


def _patient(uri: str) -> None:
    """Have MLflow's own engines of this SQLite database wait for its locks, and no other engine of the process."""
    for store in (_tracking_store(uri), _registry_store(uri)):  # type: ignore[no-untyped-call]
        if not event.contains(store.engine, "before_cursor_execute", _wait_longer):
            event.listen(store.engine, "before_cursor_execute", _wait_longer, retval=True)


def _wait_longer(_: object, __: object, statement: str, parameters: Any, *___: object) -> tuple[str, Any]:
    """Replace the time that MLflow sets at the start of every session: there is no setting for it."""
    if statement.startswith("PRAGMA busy_timeout"):
        statement = f"PRAGMA busy_timeout = {1000 * _seconds[-1]}"
    return statement, parameters


@contextmanager
def first_contact() -> Iterator[None]:
    """Let the processes of this host that use the same database in, one after the other; a fresh SQLite file gets its tables.

    MLflow makes the tables of a fresh database on the first call; two that do so at once leave it broken for good, and one
    that is killed meanwhile leaves a SQLite file so.
    """
    uri = plain_store()
    if "://" not in uri or uri.startswith(("http", "databricks")):
        yield
        return
    database = database_of(uri)
    name = f"crt-{sha256(f'{Path.home()} {uri}'.encode()).hexdigest()[:16]}.lock"
    path = database.with_name(f"{database.name}-lock") if database else Path(tempfile.gettempdir()) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with _in_turn(path):
        if database:
            _make_tables(database)
            _patient(uri)
        yield


def plain_store() -> str:
    """Return the tracking URI, after MLflow's quoted one of a local database was replaced by one that says the same.

    MLflow 3 quotes the path of its default store, and then makes a folder of that name: under a path with a blank or a Chinese
    character it fails, or leaves a stray folder.
    """
    uri = str(mlflow.get_tracking_uri())
    database = database_of(uri)
    if database and "%" in uri and "%" not in str(database):
        near = database.parent == Path.cwd()
        mlflow.set_tracking_uri(f"sqlite:///{database.name if near else database}")
    return str(mlflow.get_tracking_uri())


def database_of(uri: str) -> Path | None:
    """Return the file of a SQLite store, None for any other."""
    return Path(unquote(uri.removeprefix("sqlite:///").partition("?")[0])) if uri.startswith("sqlite:///") else None


@contextmanager
def _in_turn(path: Path) -> Iterator[None]:
    """Hold a lock, whose holder is named to those that wait for long.

    Raises:
        TrackingError: it is held for longer than TURN; the message says by whom, and what to do.
    """
    holder = path.with_name(f"{path.name}-holder")
    lock = FileLock(path, mode=0o666)
    for seconds in (NOTICE, TURN - NOTICE):
        try:
            lock.acquire(timeout=seconds)
            break
        except Timeout:
            who = _read(holder) or "another process"
            if seconds == NOTICE:
                log.warning("waiting for %s, which holds %s", who, path)
    else:
        raise TrackingError(
            f"{who} has held {path} for {TURN} seconds; a stopped process goes on with `kill -CONT PID`, or ends with "
            "`kill PID`; then start again"
        )
    try:
        with suppress(OSError):
            holder.write_text(f"process {os.getpid()} of {platform.node()}", encoding="utf-8")
        yield
    finally:
        with suppress(OSError):
            holder.unlink(missing_ok=True)
        lock.release()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def _make_tables(path: Path) -> None:
    """Make the tables of a fresh SQLite file in another one, and copy them in one transaction: all of them or none."""
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as database:
        if database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / path.name
            mlflow.MlflowClient(f"sqlite:///{made}").search_experiments()
            with closing(sqlite3.connect(made)) as source:
                source.backup(database)


@contextmanager
def closing_time() -> Iterator[None]:
    """Write the end of a run; where an interrupt is at work, the lock may be this process's own, which nothing lets go."""
    _seconds.append(HASTE if isinstance(sys.exception(), (KeyboardInterrupt, SystemExit)) else PATIENCE)
    try:
        yield
    finally:
        _seconds.pop()


def twice(call: Callable[[], object]) -> None:
    """Do something in the store, and do it once more if that fails.

    MLflow's client repeats a request that got no answer, but not one whose answer broke off half way.

    Raises:
        MlflowException: it failed twice.
    """
    try:
        _once(call)
    except MlflowException as error:
        log.warning(
            "the tracking store failed (%s): trying once more",
            redacted(" ".join(error.message.split()))[:200],
        )
        _once(call)


def _once(call: Callable[[], object]) -> None:
    try:
        call()
    except RequestException as error:  # an OSError: a server that refuses a file would pass for a full disk
        raise MlflowException(str(error)) from error


_FAULTS = (
    (
        re.compile(r"\b40[13]\b|Unauthorized|Forbidden|PERMISSION_DENIED", re.IGNORECASE),
        "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, to those of a user who may write there",
    ),
    (
        re.compile("readonly database|Permission denied"),
        "you may not write there: ask its owner for the right to (chmod g+w), or work on a tracking server",
    ),
    (
        re.compile("file is not a database|disk image is malformed|file is encrypted"),
        "the file is damaged: put a copy of it back, or move it away, and measure again",
    ),
)
"""What a store says that refuses, and what to do then."""


def store_error(error: Exception) -> CrtError:
    """Return what to say of a store that cannot be used at all."""
    if is_full(error):
        return no_room(error)
    cause = redacted(" ".join(str(error).partition("[SQL:")[0].split()))[:300]
    usual = "use sqlite:///mlflow.db (the default), postgresql+psycopg2://… or the http address of an mlflow server"
    return TrackingError(
        redacted(
            f"the tracking store {mlflow.get_tracking_uri()} cannot be used ({type(error).__name__}: {cause}); "
            f"{_advice(error) or usual}"
        )
    )


def refusal(error: MlflowException) -> TrackingError:
    """Return what to say of a call that a store refused, without the statement and its hundreds of values."""
    cause = redacted(" ".join(error.message.partition("[SQL:")[0].split()))
    return TrackingError(
        f"the tracking store refused: {cause}; {_advice(error) or remedy(error)} and start again: what was finished is kept"
    )


def _advice(error: Exception) -> str:
    return next((advice for fault, advice in _FAULTS if fault.search(str(error))), "")
