"""How this process was started, so that a message spells the next command in the same way."""

import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

_OWN_ENVIRONMENT = re.compile(r"mlflow-[0-9a-f]{40}.*")
"""The name that `mlflow run` gives to an environment that it makes."""


def next_command(name: str, options: Mapping[str, object] | None = None) -> str:
    """Return the line that starts a command of crt as this process was started, to be pasted into a shell.

    Args:
        name: of the command.
        options: by name; those that are None, or empty texts, are left out.
    """
    given = {key: str(value) for key, value in (options or {}).items() if value not in (None, "")}
    if "MLFLOW_RUN_ID" in os.environ and _script() != "crt":
        local = [] if _OWN_ENVIRONMENT.fullmatch(Path(sys.prefix).name) else ["--env-manager local"]
        return " ".join(
            [
                "mlflow run .",
                *([] if name == "main" else [f"-e {name}"]),
                *(f"-P {key}={shlex.quote(value)}" for key, value in given.items()),
                *local,
            ]
        )
    start = {"entrypoints": f"python -m entrypoints.{name}", "module": f"python -m crt {name}"}
    words = [start.get(_script(), f"crt {name}"), *(f"--{key} {shlex.quote(value)}" for key, value in given.items())]
    return " ".join(words)


def _script() -> str:
    """Return what was started: `entrypoints`, `module` for `python -m crt`, else `crt`."""
    path = Path(sys.argv[0] if sys.argv else "")
    if path.parent.name == "entrypoints":
        return "entrypoints"
    return "module" if path.parts[-2:] == ("crt", "__main__.py") else "crt"
