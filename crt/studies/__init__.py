"""The studies: the main experiment and what it is made of; one folder for each of those beside it, listed here."""

from collections.abc import Mapping
from importlib import import_module

from crt.records import Study

STUDIES: Mapping[str, Study] = {
    name: import_module(f"crt.studies.{name}").STUDY for name in ("heuristics", "behaviour", "detect", "worst_case")
}
"""The studies beside the grid; each has a folder of its name, and a command of its name in it."""
