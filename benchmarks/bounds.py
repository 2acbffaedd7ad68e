"""The oldest versions that pyproject.toml allows, as exact pins for pip: every lower bound becomes the version itself.

    python benchmarks/bounds.py torch==2.13.0

What is given takes the place of the package's own bound: of torch, where the oldest one is not at hand.
"""

import re
import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Print a pin a line; a package without a bound stays as it is."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    given = {name_of(pin): pin for pin in sys.argv[1:]}
    for need in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        print(given.get(name_of(need), need.replace(">=", "==")))


def name_of(need: str) -> str:
    """Return the name of the package that is needed."""
    return re.split(r"[=<>!~\[; ]", need, maxsplit=1)[0]


if __name__ == "__main__":
    main()
