"""Measure how much worse a model gets on perturbed input."""

from pathlib import Path
from typing import Any

import click

from entrypoints.door import (
    COUNT,
    DATA,
    NUMBER,
    OUTPUT,
    PREDICT,
    SHARD,
    TEXT,
    WHOLE,
    Listed,
    Pairs,
    door,
    option,
    reach_hub,
    settings,
    source,
    tracked,
)


@click.command()
@option(
    "dataset", Listed(), "chnsenticorp", "chnsenticorp, tnews, ocnli, sample, or the path of your own file or folder."
)
@option(
    "model", Listed(), "", "rule, a checkpoint folder, a hub id, models:/crt-tnews@best; default: the registered best."
)
@option("perturbations", Listed(), "homophone,shape,traditional,space,punctuation,synonym", "What to measure.")
@option("probs", Listed(float), "0.05,0.15,0.3", "Shares of the sites to edit, 0..1.")
@option("seeds", Listed(int), "13,42,100", "Seeds of the perturbations.")
@option("prob", NUMBER, "", "A single prob, in place of probs.")
@option("seed", WHOLE, "", "A single seed, in place of seeds.")
@option(
    "split",
    TEXT,
    "",
    "Split to evaluate on, selection: what models are chosen on; default: test for chnsenticorp, validation for others.",
)
@option("max_samples", COUNT, "", "At most so many examples.")
@option("fields", str, "both", "Which texts of a pair are perturbed: both, first or second.")
@option("exclude_seen", bool, "false", "Leave out inputs that also stand in the training split.")
@option("table", Pairs(":"), "", "Your own table, like homophone:FILE.json.")
@option("label_map", Pairs("="), "", "Names of the model's labels, like LABEL_0=negative,LABEL_1=positive.")
@DATA
@option(
    "max_length", COUNT, "", "Longest input in tokens; more is cut off. Default: as the model was trained, else 128."
)
@PREDICT
@OUTPUT
@option("force", bool, "false", "Measure cells again that are stored already.")
@option(
    "shard", SHARD, "", "Measure only the cells that fall to one of several workers, like 2/4; compare reads them all."
)
@option("smoke", bool, "false", "Preset: the rule classifier on the built-in rows of the data set.")
@door
def main(**o: Any) -> None:
    """Measure every (model, dataset, perturbation, prob, seed) as an MLflow run; stored cells are skipped."""
    from crt.models import PredictOptions
    from crt.records import RULE
    from crt.resources import resource_dir
    from crt.studies.grid import Columns, Grid

    if o["smoke"]:
        o |= {"data_dir": str(resource_dir() / "samples"), "model": o["model"] or (RULE,)}
    grid = Grid(
        models=o["model"] or ("",),
        datasets=o["dataset"],
        perturbations=o["perturbations"],
        probs=o["probs"] if o["prob"] is None else (o["prob"],),
        seeds=o["seeds"] if o["seed"] is None else (o["seed"],),
        split=o["split"],
        limit=o["max_samples"],
        fields=o["fields"],
        exclude_seen=o["exclude_seen"],
        tables={name: Path(file) for name, file in o["table"].items()},
        shard=o["shard"],
        columns=Columns(o["text_column"], o["text_pair_column"], o["label_column"]),
    )
    data = source(o)
    reach_hub([grid.task(name) for name in grid.datasets], grid.models, data)
    predict = PredictOptions(o["max_length"], o["eval_batch_size"], o["precision"], o["label_map"])

    from crt.studies import benchmark, cards, results
    from crt.studies.cells import Silent

    results.check_output(o["output_dir"])
    name = f"{'+'.join(grid.models) or 'best model'} on {'+'.join(grid.datasets)}"
    with tracked("grid", name, settings(o), o["precision"]) as (accelerator, tracker):
        keys = benchmark.run(grid, data, predict, accelerator, tracker or Silent(), force=o["force"])
        if tracker and grid.shard:
            click.echo(
                f"the files in {o['output_dir']} show shard {grid.shard} alone; for all: mlflow run . -e compare"
            )
        if tracker and keys:
            cells = results.publish(tracker, keys, o["output_dir"], figures=not o["no_figures"])
            tasks = {task.name: task for task in map(grid.task, grid.datasets)}
            asked = cells.assign(spec=cells["key"].map(keys)).explode("spec")
            for (dataset, spec), rows in asked.groupby(["dataset", "spec"]):
                cards.update(tracker, tasks[str(dataset)], str(spec), rows.drop(columns="spec"))
            click.echo(f"tables and figures: {o['output_dir']}\ncompare models: mlflow run . -e compare")


if __name__ == "__main__":
    main()
