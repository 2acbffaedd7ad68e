"""The commands, `crt NAME`: each parses its options, opens a run, calls one study and writes files.

A command is imported when it is asked for, and imports what it needs when it runs: help is there at once.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import cast

import click

from crt import __version__
from crt.studies import STUDIES

COMMANDS: Mapping[str, str] = {
    **{name: f"crt.commands.{name}" for name in ("main", "train", "evaluate", "compare", "baselines")},
    **{name: f"crt.studies.{name}.command" for name in STUDIES},
    **{name: f"crt.commands.{name}" for name in ("perturb", "audit", "reach", "learn")},
}
"""The module of each command, whose `main` it is; the entry points of MLproject have the same names."""


class Lazy(click.Group):
    """A group whose commands are imported one by one."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names, in the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command, or None if there is none of that name."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None


def load_command(name: str) -> click.Command:
    """Import a command; `name` is a key of COMMANDS."""
    return cast("click.Command", import_module(COMMANDS[name]).main)


@click.group(cls=Lazy)
@click.version_option(__version__, package_name="chinese-robust-text", prog_name="crt")
def crt() -> None:
    """How much worse does a Chinese text classifier get on the input that people really write?"""
