"""Learn a table from how people really write."""

from typing import Any

import click

from crt.door import door, say
from crt.door.options import FOLDER, PAIRS_FILE, option, pairs_file
from crt.invocation import next_command


@click.command()
@click.argument("pairs", default="")
@PAIRS_FILE
@option("name", str, "homophone", "The perturbation whose table it takes the place of.")
@option("minimum", click.IntRange(min=1), 2, "How often an option must have been written.")
@FOLDER
@door
def main(pairs: str, **o: Any) -> None:
    """Turn pairs, texts and how somebody wrote them, into a table for table=NAME:FILE; the most frequent option comes first."""
    path = pairs_file(pairs, o)

    from crt.errors import CrtError, lookup
    from crt.pairs import read_pairs, texts_of
    from crt.perturbations import PERTURBATIONS
    from crt.studies import outputs
    from crt.studies.reach import LEARNT, TABLE, held_out_reach, write_table

    if not lookup("perturbation", o["name"], PERTURBATIONS).table:
        raise CrtError(f"perturbation '{o['name']}' has no table; name one that has, like homophone")
    outputs.check(o["output_dir"], LEARNT)
    sets = texts_of(read_pairs(path, original=o["original_column"], written=o["written_column"]))
    texts = [pair for pairs in sets.values() for pair in pairs]
    hits, segments = held_out_reach(texts, o["name"], o["minimum"])
    entries = write_table(texts, o["name"], f"learnt from pairs: {path.name}", o["minimum"], o["output_dir"])
    file = o["output_dir"] / TABLE
    share = f" ({hits / segments:.2f})" if segments else ""
    line = next_command("perturb", {"perturbations": o["name"], "table": f"{o['name']}:{file}", "text": texts[0][0]})
    say(
        f"{file}: {len(entries):,} keys, {sum(map(len, entries.values())):,} options, from {len(texts):,} pairs\n"
        "held out: a table learnt from 80 % of the originals reaches "
        f"{hits:,} of {segments:,} changed segments of the others{share}\n"
        f"try it: {line}"
    )
