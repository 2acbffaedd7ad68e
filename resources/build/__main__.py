"""Build the language tables and the manifest: make resources.

    python resources/build [NAME ...]

Without names every table is built; the hand-written ones (colloquial, emoji) have no builder.
"""

import sys
from functools import partial
from pathlib import Path

import homophone
import ime
import manifest
import martian
import readings
import shape
import split
import synonym

RESOURCES = Path(__file__).parent.parent
BUILDERS = {
    "readings.json": readings.build,
    "perturbations/homophone.json": homophone.build,
    "perturbations/ime.json": ime.build,
    "perturbations/martian.json": martian.build,
    "perturbations/shape.json": shape.build,
    "perturbations/split.json": split.build,
    "perturbations/synonym.json": partial(synonym.build, "seed"),
    "perturbations/synonym_all.json": partial(synonym.build, "all"),
}
"""What makes each file."""


def main(names: list[str]) -> None:
    """Write the files with these names (without folder and suffix), or all of them, then the manifest."""
    for path, build in BUILDERS.items():
        if not names or Path(path).stem in names:
            print(path)
            (RESOURCES / path).write_text(build(), encoding="utf-8")
    (RESOURCES / "MANIFEST.json").write_text(manifest.build(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
