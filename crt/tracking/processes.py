"""Which process works on a run, and the end of the runs whose process died."""

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

import mlflow

from crt.liveness import space, started

HOST, SPACE, PID, STARTED, CLOSED = "crt.host", "crt.process_space", "crt.pid", "crt.started", "crt.closed"
"""Tags: which process works on a run, and why somebody else closed it."""
HEARTBEAT = "crt.heartbeat"
"""Tag: when the process last said that it lives, in seconds since 1970 by its clock."""
BEAT, SILENCE = 300, 7200
"""Seconds between two heartbeats, and those after which a run of another host is taken for dead: more than clocks differ."""


def process_tags() -> dict[str, str]:
    """Return the tags that say which process works on a run, and that it does now."""
    pid = os.getpid()
    tags = {HOST: platform.node(), SPACE: space(), PID: str(pid), STARTED: started(pid) or ""}
    return tags | {HEARTBEAT: str(int(time.time()))}


@contextmanager
def beating(client: mlflow.MlflowClient, run_id: str) -> Iterator[None]:
    """Say every BEAT seconds that the process of a run lives; a store that is away for a while misses a beat."""
    ended = Event()

    def beat() -> None:
        while not ended.wait(BEAT):
            with suppress(Exception):
                client.set_tag(run_id, HEARTBEAT, str(int(time.time())))

    Thread(target=beat, name=f"heartbeat of {run_id}", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def close_dead(client: mlflow.MlflowClient, runs: list[Any]) -> int:
    """Close the running runs among these whose process is gone; return how many there were.

    A process of this host and container is looked for; of any other, which cannot be, the heartbeat decides.
    """
    closed = 0
    for run in runs:
        if why := _death(run.data.tags):
            client.set_tag(run.info.run_id, CLOSED, why)
            client.set_terminated(run.info.run_id, "KILLED")
            closed += 1
    return closed


def _death(tags: dict[str, str]) -> str:
    """Return why the process of a run is taken for dead; empty: it is not."""
    if not tags.get(PID, "").isdecimal():
        return ""
    name = f"process {tags[PID]} of {tags.get(HOST)}"
    if (tags.get(HOST), tags.get(SPACE)) != (platform.node(), space()):
        silence = time.time() - int(tags.get(HEARTBEAT) or time.time())
        return f"{name} has said nothing for {silence / 3600:.0f} hours" if silence > SILENCE else ""
    began = started(int(tags[PID]))
    lives = began == "" or (began is not None and tags.get(STARTED, began) == began)
    return "" if lives else f"{name} ended without closing this run"
