"""Pull the measured cells of many runs into the paper table."""

from typing import Any

import click

from crt.door import door, say, tracked, ui_command
from crt.door.options import OUTPUT, TEXT, Listed, option
from crt.invocation import next_command


@click.command()
@option(
    "experiments",
    Listed(),
    "",
    "Experiments to read; default: the one of every command but make demo, whose is crt-demo.",
)
@option("models", Listed(), "", "Only these models, by name, by spec, or by the fingerprint of a predictor.")
@option("datasets", Listed(), "", "Only these data sets.")
@option("split", TEXT, "", "Only this split; default: the reported one where a data set was measured on several.")
@option("significance", bool, "true", "Intervals, tests and weak spots from the stored outcomes.")
@OUTPUT
@door
def main(**o: Any) -> None:
    """Write the mean±std table (CSV, Markdown, LaTeX) and the figures of all finished cells, and those of other studies."""
    from crt.studies import STUDIES, compare, outputs
    from crt.tracking.history import read_stored

    outputs.check(o["output_dir"], compare.FILES)
    stored = read_stored(o["experiments"], tuple(STUDIES))
    wanted = {"models": o["models"], "datasets": o["datasets"]}
    studies = compare.select_studies(stored.studies, **wanted)
    cells = stored.cells[:0]
    if studies.empty or compare.any_cell(stored.cells, **wanted):
        cells = compare.select(stored.cells, split=o["split"] or "", **wanted)
    names = ", ".join(stored.experiments)
    with tracked("compare", "compare", {"experiments": ",".join(stored.experiments)}) as (_, tracker):
        assert tracker is not None
        chosen = {name: ",".join(o[name]) for name in ("experiments", "models", "datasets")}
        again = next_command("compare", chosen | {"split": o["split"]})
        found = compare.write_comparison(
            tracker,
            cells,
            o["output_dir"],
            again,
            significance=o["significance"],
            figures=not o["no_figures"],
            studies=studies,
        )
        if found.tables:
            say(f"read {len(found.cells)} cells of experiment {names}\n\n{found.tables[0].markdown()}")
            say("\n".join([*found.verdict, ""]))
        for table in found.studies:
            say(table.markdown())
        say(f"tables, figures and report.html: {o['output_dir']}\nsee every run in the browser: {ui_command(tracker)}")
