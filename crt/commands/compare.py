"""Pull the measured cells of many runs into the paper table."""

from typing import Any

import click

from crt.door import door, say, tracked, ui_command
from crt.door.options import NUMBER, OUTPUT, TEXT, Listed, option
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
@option("baseline", TEXT, "", "A model, by name, spec or fingerprint, that candidate is held against.")
@option("candidate", TEXT, "", "The model that is held against it: paired differences, and the texts fixed and broken.")
@option("split", TEXT, "", "Only this split; default: the reported one where a data set was measured on several.")
@option("significance", bool, "true", "Intervals, tests and weak spots from the stored outcomes.")
@option(
    "margin",
    click.FloatRange(0, min_open=True),
    1.0,
    "Accuracies are called alike if the interval lies within so many points.",
)
@option(
    "table_prob",
    NUMBER,
    "",
    "Prob of the tables for a paper; default: the largest that every data set was measured at.",
)
@OUTPUT
@door
def main(**o: Any) -> None:
    """Write the mean±std table (CSV, Markdown, LaTeX) and the figures of all finished cells, and those of other studies."""
    from crt.errors import CrtError
    from crt.scoring.statistics import MARGIN
    from crt.studies import STUDIES, compare, outputs, versus
    from crt.tracking.history import read_stored

    pair = o["baseline"], o["candidate"]
    if any(pair) and not all(pair):
        raise CrtError("baseline and candidate belong together; give both")
    outputs.check(o["output_dir"], compare.FILES, *([versus.FILES] if all(pair) else []))
    stored = read_stored(o["experiments"], tuple(STUDIES))
    wanted = {"models": o["models"], "datasets": o["datasets"]}
    studies = compare.select_studies(stored.studies, **wanted)
    cells = stored.cells[:0]
    if all(pair):
        studies = studies[:0]
        cells = versus.chosen(stored.cells, *pair, datasets=o["datasets"], split=o["split"] or "")
    elif studies.empty or compare.any_cell(stored.cells, **wanted):
        cells = compare.select(stored.cells, split=o["split"] or "", **wanted)
    names = ", ".join(stored.experiments)
    with tracked("compare", "compare", {"experiments": ",".join(stored.experiments)}) as (_, tracker):
        assert tracker is not None
        chosen = {name: ",".join(o[name]) for name in ("experiments", "models", "datasets")}
        margin = "" if o["margin"] == 100 * MARGIN else f"{o['margin']:g}"
        dose = "" if o["table_prob"] is None else f"{o['table_prob']:g}"
        chosen |= {name: o[name] for name in ("baseline", "candidate", "split")}
        again = next_command("compare", chosen | {"margin": margin, "table_prob": dose})
        found = compare.write_comparison(
            tracker,
            cells,
            o["output_dir"],
            again,
            significance=o["significance"],
            figures=not o["no_figures"],
            margin=o["margin"] / 100,
            table_prob=o["table_prob"],
            studies=studies,
        )
        if found.verdict is not None:
            counts = f"{len(found.cells)} of {len(stored.cells)} cells of experiment {names}"
            say(f"{counts}\n\n{found.tables[0].markdown()}")
            say(found.verdict.markdown())
        for table in versus.write(tracker, cells, o["output_dir"], *pair) if all(pair) else ():
            say(table.markdown())
        for table in found.studies:
            say(table.markdown())
        say(f"tables, figures and report.html: {o['output_dir']}\nsee every run in the browser: {ui_command(tracker)}")
