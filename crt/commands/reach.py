"""Tell how much of what people really write the perturbations can produce."""

from typing import Any

import click

from crt.door import door, say
from crt.door.options import FOLDER, OWN, PAIRS_FILE, Listed, option, own, pairs_file


@click.command()
@click.argument("pairs", default="")
@PAIRS_FILE
@option(
    "perturbations", Listed(), "", "Which; default: all but those that compose or widen others, and slips of the hand."
)
@OWN
@FOLDER
@door
def main(pairs: str, **o: Any) -> None:
    """Align pairs, texts and how somebody wrote them, with the options of each perturbation, and print the share it can produce."""
    path = pairs_file(pairs, o)

    from crt.grid import Grid
    from crt.pairs import read_pairs, texts_of
    from crt.records import RULE
    from crt.scoring.reach import reach
    from crt.studies import outputs
    from crt.studies.reach import FAMILIES, FILES, publish

    outputs.check(o["output_dir"], FILES)
    grid = Grid((RULE,), ("sample",), perturbations=o["perturbations"] or FAMILIES, **own(o))
    sets = texts_of(read_pairs(path, original=o["original_column"], written=o["written_column"]))
    counts, missed = reach(sets, {one.perturbation.name: one.find for one in grid.loaded()})
    say(publish(counts, missed, o["output_dir"]))
    say(f"tables: {', '.join(str(o['output_dir'] / name) for name in FILES.names)}")
