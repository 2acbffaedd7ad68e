"""Build the language tables, then the manifest: make tables.

    python resources/build [NAME ...]

Without names every table is built; the hand-written ones (colloquial, digits, emoji, emoji_sound, letters) have no builder. Nothing is written before
all are built.
"""

import sys
from functools import partial
from pathlib import Path

import fuzzy
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
    "perturbations/fuzzy.json": fuzzy.build,
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
    known = {Path(path).stem: path for path in BUILDERS}
    if strange := sorted(set(names) - set(known)):
        sys.exit(f"no builder makes {', '.join(strange)}; there are {', '.join(known)}")
    texts = {}
    for name in names or known:
        print(known[name], flush=True)
        texts[name] = BUILDERS[known[name]]()
    for name, text in texts.items():
        (RESOURCES / known[name]).write_text(text, encoding="utf-8")
    manifest.write(texts, everything=texts.keys() == known.keys())


if __name__ == "__main__":
    main(sys.argv[1:])
