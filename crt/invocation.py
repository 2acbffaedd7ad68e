"""How this process was started, so that a message spells the next command in the same way."""

import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from crt.redaction import redacted

_OWN_ENVIRONMENT = re.compile(r"mlflow-[0-9a-f]{40}.*")
"""The name that `mlflow run` gives to an environment that it makes."""


def next_command(name: str, options: Mapping[str, object] | None = None) -> str:
    """Return the line that starts a command of crt as this process was started, to be pasted into a shell; a secret is hidden.

    Args:
        name: of the command.
        options: by name; those that are None, or empty texts, are left out.
    """
    given = {key: str(value) for key, value in (options or {}).items() if value not in (None, "")}
    if "MLFLOW_RUN_ID" in os.environ and _script() != "crt":
        local = [] if _OWN_ENVIRONMENT.fullmatch(Path(sys.prefix).name) else ["--env-manager local"]
        entry = [] if name == "main" else [f"-e {name}"]
        words = [f"-P {key}={shlex.quote(value)}" for key, value in given.items()]
        return redacted(" ".join(["mlflow run .", *entry, *words, *local]))
    start = {"entrypoints": f"python -m entrypoints.{name}", "module": f"python -m crt {name}"}
    words = [start.get(_script(), f"crt {name}"), *(f"--{key} {shlex.quote(value)}" for key, value in given.items())]
    return redacted(" ".join(words))


def this_command() -> str:
    """Return the line that started this process, to be pasted into a shell; what is secret in it is hidden."""
    path = Path(sys.argv[0] if sys.argv else "")
    start = {"entrypoints": f"python -m entrypoints.{path.stem}", "module": "python -m crt"}
    return redacted(" ".join([start.get(_script(), "crt"), *map(shlex.quote, sys.argv[1:])]))


def _script() -> str:
    """Return what was started: `entrypoints`, `module` for `python -m crt`, else `crt`."""
    path = Path(sys.argv[0] if sys.argv else "")
    if path.parent.name == "entrypoints":
        return "entrypoints"
    return "module" if path.parts[-2:] == ("crt", "__main__.py") else "crt"
