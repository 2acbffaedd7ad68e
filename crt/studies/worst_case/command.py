"""Ask how often a model is right on several samples of each text, and how often on all of them (RobTest)."""

from typing import Any

import click

from crt.door import door, reach_hub, say, tracked
from crt.door.options import (
    DATA,
    OUTPUT,
    PREDICT,
    SUBJECT,
    Listed,
    option,
    prediction,
    scope,
    settings,
    source,
    with_pairs,
)
from crt.grid import DEFAULT_DEGREES, DEFAULT_SAMPLES, DEFAULT_SEED, Degrees
from crt.invocation import next_command


@click.command()
@SUBJECT
@option("degrees", Listed(float), DEFAULT_DEGREES, "Edits by characters, above 0 and at most 1.")
@option("samples", click.IntRange(min=1), DEFAULT_SAMPLES, "Samples of each text at each degree.")
@option("seed", click.IntRange(min=0), DEFAULT_SEED, "Seed of the samples.")
@scope(max_samples=300)
@DATA
@PREDICT
@OUTPUT
@option("force", bool, "false", "Measure degrees again that are stored already.")
@door
def main(**o: Any) -> None:
    """Measure the average and the worst case of each (perturbation, degree) as an MLflow run; stored ones are skipped."""
    degrees = Degrees(
        models=(o["model"] or "",),
        datasets=(o["dataset"],),
        degrees=o["degrees"],
        samples=o["samples"],
        seed=o["seed"],
        **with_pairs(o),
    )
    data = source(o)
    reach_hub([degrees.task(o["dataset"])], degrees.models, data)

    from crt.studies import cells, outputs
    from crt.studies.worst_case import study

    outputs.check(o["output_dir"], study.FILES)
    name = f"worst case: {o['model'] or 'best model'} on {o['dataset']}"
    with tracked("worst_case", name, settings(o), o["precision"]) as (accelerator, tracker):
        keys = study.run(degrees, data, prediction(o), accelerator, tracker or cells.Silent(), force=o["force"])
        if tracker:
            scores = study.publish(tracker, keys, o["output_dir"], figures=not o["no_figures"])
            say(f"{scores}\ntables and figure: {o['output_dir']}\ncompare models: {next_command('compare')}")
