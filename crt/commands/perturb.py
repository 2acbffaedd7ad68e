"""Show what the perturbations make of a text, or list them."""

import sys
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import Any

import click

from crt.door import door, say
from crt.door.options import OWN, TEXT, Listed, option, own
from crt.invocation import next_command


@click.command()
@click.argument("texts", nargs=-1)
@option("text", TEXT, "", "A text; or give texts as arguments, a file, or lines on standard input.")
@option("file", TEXT, "", "A file of texts, one a line.")
@option("perturbations", Listed(), "", "Which; default: all.")
@option("prob", click.FloatRange(0, 1), 0.15, "Share of the sites to edit.")
@option("seed", click.IntRange(min=0), 13, "Seed of the perturbations.")
@OWN
@option("plain", bool, "false", "Write the perturbed texts alone, without marks.")
@option("list", bool, "false", "List the perturbations with the size of their tables and their reach.")
@door
def main(texts: tuple[str, ...], **o: Any) -> None:
    """Perturb texts and mark the edits; without a text, or with --list, list the perturbations."""
    from crt.grid import Grid
    from crt.perturbations import PERTURBATIONS
    from crt.perturbations.engine import perturb
    from crt.records import RULE, Example
    from crt.reporting.preview import shown

    names = o["perturbations"] or tuple(PERTURBATIONS)
    grid = Grid((RULE,), ("sample",), perturbations=names, probs=(o["prob"],), seeds=(o["seed"],), **own(o))
    loaded = grid.loaded()
    given = list(_texts(texts, o["text"], o["file"])) if not o["list"] else []
    if not given:
        say(_listing(loaded))
        return
    for number, text in enumerate(given):
        example = Example(f"text/{number}", (text,), 0)
        for one in loaded:
            name = one.perturbation.name
            perturbed = perturb(example, one.find, name=name, prob=o["prob"], seed=o["seed"])
            if o["plain"] and not sys.stdout.isatty():
                click.echo(perturbed.input[0])  # a program that reads it gets every character
            else:
                say(perturbed.input[0] if o["plain"] else shown(name, example, perturbed))


def _texts(arguments: tuple[str, ...], text: str | None, file: str | None) -> Iterator[str]:
    from crt.decoding import decoded, read_text

    yield from arguments
    if text:
        yield text
    if file:
        yield from read_text(Path(file)).splitlines()
    if not (arguments or text or file or sys.stdin.isatty()):
        yield from decoded(sys.stdin.buffer.read(), "standard input").splitlines()


def _listing(loaded: list[Any]) -> str:
    from crt.catalogue import TASKS
    from crt.reporting.preview import reach
    from crt.resources import resource_dir
    from crt.tasks import Source, load_split

    reviews = load_split(TASKS["sample"], "test", Source(resource_dir() / "samples")).examples
    lines = [f"{'perturbation':<15}{'keys':>6}{'options':>9}{'texts':>7}{'sites':>7}"]
    for row in reach(loaded, reviews).to_dict("records"):
        size = f"{row['keys']:>6.0f}{row['options']:>9.0f}" if not isnan(row["keys"]) else f"{'-':>6}{'-':>9}"
        lines.append(f"{row['perturbation']:<15}{size}{row['texts']:>7.0%}{row['sites']:>7.1f}  {row['what']}")
    return "\n".join(
        (
            *lines,
            "",
            "keys, options: of its table",
            f"texts: share of the {len(reviews)} built-in reviews that can be edited; sites: places for 100 Han characters",
            f"try one: {next_command('perturb', {'text': '房间干净，服务也好。'})}",
        )
    )
