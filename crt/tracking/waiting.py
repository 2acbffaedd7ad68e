"""Waiting for a tracking store that is new, busy or for a while away, and what to say where waiting does not help.

What waits for what: a locked SQLite database is waited for by SQLite itself, for `PATIENCE`; a tracking server that does
not answer is asked again by MLflow's client, 7 times over about 2 minutes (`MLFLOW_HTTP_REQUEST_MAX_RETRIES`). Processes
of one host that meet a fresh database go in one after the other.
"""

import logging
import os
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
            _patient(uri)
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
            redacted(" ".join(error.message.split()))[:200],
        )
        _once(call)


def _once(call: Callable[[], object]) -> None:
    try:
        call()
    except RequestException as error:  # an OSError: a server that refuses a file would pass for a full disk
        raise MlflowException(str(error)) from error


def store_error(error: Exception) -> CrtError:
    """Return what to say of a store that cannot be used at all."""
    if is_full(error):
        return no_room(error)
    cause = redacted(" ".join(str(error).split()))[:300]
    return TrackingError(
        redacted(
            f"the tracking store {mlflow.get_tracking_uri()} cannot be used ({type(error).__name__}: {cause}); "
            "use sqlite:///mlflow.db (the default), postgresql+psycopg2://… or the http address of an mlflow server"
        )
    )


def refusal(error: MlflowException) -> TrackingError:
    """Return what to say of a call that a store refused, without the statement and its hundreds of values."""
    cause = redacted(" ".join(error.message.partition("[SQL:")[0].split()))
    return TrackingError(
        f"the tracking store refused: {cause}; {remedy(error)} and start again: what was finished is kept"
    )
