"""Measure how much worse a model gets on perturbed input."""

from typing import Any

import click

from crt.door import door, reach_hub, say, tracked
from crt.door.options import (
    DATA,
    NUMBER,
    OUTPUT,
    PREDICT,
    SHARD,
    SUBJECTS,
    TEXT,
    WHOLE,
    Listed,
    option,
    prediction,
    scope,
    settings,
    source,
    with_pairs,
)
from crt.grid import DEFAULT_PROBS, DEFAULT_SEEDS, Grid
from crt.invocation import next_command


@click.command()
@SUBJECTS
@option("probs", Listed(float), DEFAULT_PROBS, "Shares of the sites to edit, 0..1.")
@option("seeds", Listed(int), DEFAULT_SEEDS, "Seeds of the perturbations.")
@option("prob", NUMBER, "", "A single prob, in place of probs.")
@option("seed", WHOLE, "", "A single seed, in place of seeds.")
@scope()
@DATA
@PREDICT
@OUTPUT
@option(
    "model_name",
    TEXT,
    "",
    "What the tables call the model; default: its base model, versions of one as NAME@v1, NAME@v2.",
)
@option("force", bool, "false", "Measure cells again that are stored already.")
@option(
    "shard", SHARD, "", "Measure only the cells that fall to one of several workers, like 2/4; compare reads them all."
)
@option("smoke", bool, "false", "Preset: the rule classifier on the built-in rows of the data set.")
@door
def main(**o: Any) -> None:
    """Measure every (model, dataset, perturbation, prob, seed) as an MLflow run; stored cells are skipped."""
    from crt.errors import GridError
    from crt.records import RULE
    from crt.resources import resource_dir

    if o["smoke"]:
        o |= {"data_dir": str(resource_dir() / "samples"), "model": o["model"] or (RULE,)}
    grid = Grid(
        models=o["model"] or ("",),
        datasets=o["dataset"],
        probs=o["probs"] if o["prob"] is None else (o["prob"],),
        seeds=o["seeds"] if o["seed"] is None else (o["seed"],),
        **with_pairs(o),
    )
    if o["model_name"] and len(grid.models) > 1:
        raise GridError([f"model_name is for one model, and there are {len(grid.models)}; measure them one by one"])
    data = source(o)
    reach_hub([grid.task(name) for name in grid.datasets], grid.models, data)

    from crt.models import renamed
    from crt.studies import benchmark, cards, outputs, results
    from crt.studies.cells import Silent

    outputs.check(o["output_dir"], results.FILES)
    name = f"{'+'.join(grid.models) or 'best model'} on {'+'.join(grid.datasets)}"
    with tracked("grid", name, settings(o), o["precision"]) as (accelerator, tracker):
        load = renamed(o["model_name"])
        keys = benchmark.run(grid, data, prediction(o), accelerator, tracker or Silent(), load=load, force=o["force"])
        if tracker and grid.shard:
            say(f"the files in {o['output_dir']} show shard {grid.shard} alone; for all: {next_command('compare')}")
        if tracker and keys:
            cells = results.write_grid(tracker, keys, o["output_dir"], figures=not o["no_figures"])
            tasks = {task.name: task for task in map(grid.task, grid.datasets)}
            asked = cells.assign(spec=cells["key"].map(keys)).explode("spec")
            for (dataset, spec), rows in asked.groupby(["dataset", "spec"]):
                cards.update(tracker, tasks[str(dataset)], str(spec), rows.drop(columns="spec"))
            say(f"tables and figures: {o['output_dir']}\ncompare models: {next_command('compare')}")
