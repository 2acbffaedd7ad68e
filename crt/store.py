"""Living with a tracking store that is new, busy or for a while away, and with processes that died at work.

What waits for what: a locked SQLite database is waited for by SQLite itself, for `PATIENCE`; a tracking server that does
not answer is asked again by MLflow's client, 7 times over about 2 minutes (`MLFLOW_HTTP_REQUEST_MAX_RETRIES`). Processes
of one host that meet a fresh database go in one after the other.
"""

import logging
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import mlflow
from mlflow.exceptions import MlflowException
from requests import RequestException
from sqlalchemy import Engine, event

from crt.errors import CrtError, TrackingError, is_full, no_room, remedy, without_password

log = logging.getLogger(__name__)

PATIENCE = 300
"""Seconds that a locked SQLite database is waited for; MLflow's own 20 are less than a slow backup takes."""
HASTE = 5
"""Seconds that it is waited for by a command that was interrupted."""
_seconds = [PATIENCE]
HOST, SPACE, PID, STARTED, CLOSED = "crt.host", "crt.process_space", "crt.pid", "crt.started", "crt.closed"
"""Tags: which process works on a run, and why somebody else closed it."""
MOVED = "if that folder was moved, move it back or put a link to it there (ln -s NEW OLD); if it is lost, "
"""What to do about files that are not where the store says."""

os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
# it prints the traceback of every error that it raises, too
logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)


@event.listens_for(Engine, "connect")
def _wait_for_locks(connection: Any, _: object) -> None:
    """Have a new connection wait: the first statements of MLflow come before it says how long it waits itself."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute(f"PRAGMA busy_timeout = {1000 * _seconds[-1]}")


@event.listens_for(Engine, "before_cursor_execute", retval=True)
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
    uri = mlflow.get_tracking_uri()
    if os.name == "nt" or "://" not in uri or uri.startswith(("http", "databricks")):
        yield
        return
    import fcntl

    database = Path(uri.removeprefix("sqlite:///").partition("?")[0]) if uri.startswith("sqlite:///") else None
    name = f"crt-{os.getuid()}-{sha256(uri.encode()).hexdigest()[:16]}.lock"
    path = database.with_name(f"{database.name}-lock") if database else Path(tempfile.gettempdir()) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if database:
            _make_tables(database)
        yield


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
            without_password(" ".join(error.message.split())[:200]),
        )
        _once(call)


def _once(call: Callable[[], object]) -> None:
    try:
        call()
    except RequestException as error:  # an OSError: a server that refuses a file would pass for a full disk
        raise MlflowException(str(error)) from error


def process_tags() -> dict[str, str]:
    """Return the tags that say which process works on a run."""
    return {HOST: platform.node(), SPACE: _space(), PID: str(os.getpid()), STARTED: _started(os.getpid()) or ""}


def close_dead(client: mlflow.MlflowClient, runs: list[Any]) -> int:
    """Close the running runs among these whose process, one of this host and container, is gone; return how many there were."""
    closed = 0
    for run in runs:
        tags = run.data.tags
        if (tags.get(HOST), tags.get(SPACE)) != (platform.node(), _space()) or not tags.get(PID, "").isdecimal():
            continue
        started = _started(int(tags[PID]))
        if started == "" or (started is not None and tags.get(STARTED, started) == started):
            continue
        client.set_tag(run.info.run_id, CLOSED, f"process {tags[PID]} of {tags[HOST]} ended without closing this run")
        client.set_terminated(run.info.run_id, "KILLED")
        closed += 1
    return closed


def store_error(error: Exception) -> CrtError:
    """Return what to say of a store that cannot be used at all."""
    if is_full(error):
        return no_room(error)
    cause = " ".join(str(error).split())[:300]
    return TrackingError(
        without_password(
            f"the tracking store {mlflow.get_tracking_uri()} cannot be used ({type(error).__name__}: {cause}); "
            "use sqlite:///mlflow.db (the default), postgresql+psycopg2://… or the http address of an mlflow server"
        )
    )


def refusal(error: MlflowException) -> TrackingError:
    """Return what to say of a call that a store refused, without the statement and its hundreds of values."""
    cause = without_password(" ".join(error.message.partition("[SQL:")[0].split()))
    return TrackingError(
        f"the tracking store refused: {cause}; {remedy(error)} and start again: what was finished is kept"
    )


def _space() -> str:
    """Return what tells apart where a process number counts: the boot and, for containers, the namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return "-"


def _started(pid: int) -> str | None:
    """Return when a process of this host began, in ticks since the boot; empty: it lives, but that is not known; None: gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        fields = []
    if fields:
        return None if fields[0] == "Z" else fields[19]
    if os.name == "nt":  # there, signal 0 would end it
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return ""
