"""Which process this is, and whether another one still lives."""

import os
from pathlib import Path


def space() -> str:
    """Return what tells apart where a process number counts: the boot and, for containers, the namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return "-"


def started(pid: int) -> str | None:
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
