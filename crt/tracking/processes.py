"""Which process works on a run, and the end of the runs whose process died."""

import os
import platform
from pathlib import Path
from typing import Any

import mlflow

HOST, SPACE, PID, STARTED, CLOSED = "crt.host", "crt.process_space", "crt.pid", "crt.started", "crt.closed"
"""Tags: which process works on a run, and why somebody else closed it."""


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
