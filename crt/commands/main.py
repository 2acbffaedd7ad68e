"""The whole job at small size: train, evaluate, compare, on the built-in reviews; no network, a few minutes."""

from typing import Any

import click

from crt.door import door, say, tracked, ui_command
from crt.door.options import OUTPUT, option
from crt.invocation import next_command


@click.command()
@option("num_train_epochs", click.IntRange(min=1), 12, "Passes over the built-in training reviews.")
@OUTPUT
@door
def main(**o: Any) -> None:
    """Train a tiny BERT on the built-in reviews, measure it and the rule classifier, and compare the two."""
    from crt.catalogue import TASKS
    from crt.grid import Grid
    from crt.models import PredictOptions
    from crt.models.recipe import TrainOptions
    from crt.records import RULE
    from crt.studies import benchmark, compare, outputs, results, train
    from crt.tasks import Source
    from crt.tracking.history import DEMO

    outputs.check(o["output_dir"], results.FILES, compare.FILES)
    predict = PredictOptions(max_length=64)
    recipe = TrainOptions(
        model="tiny",
        num_train_epochs=o["num_train_epochs"],
        train_batch_size=16,
        learning_rate=1e-3,
        predict=predict,
    )
    name, settings = "demo: tiny and rule on sample", {"num_train_epochs": recipe.num_train_epochs}
    with tracked("main", name, settings, experiment=DEMO) as (accelerator, tracker):
        assert tracker is not None  # the demonstration is one process
        with tracker.child("train", "train tiny on sample", {"learning_rate": recipe.learning_rate}) as training:
            version = train.run(TASKS["sample"], Source(), recipe, accelerator, training)
        grid = Grid(models=(f"models:/{version}", RULE), datasets=("sample",))
        keys = benchmark.run(grid, Source(), predict, accelerator, tracker)
        cells = results.write_grid(tracker, keys, o["output_dir"], figures=not o["no_figures"])
        found = compare.write_comparison(
            tracker,
            compare.select(cells),
            o["output_dir"],
            next_command("main"),
            significance=True,
            figures=not o["no_figures"],
        )
        assert found.verdict is not None  # there are cells
        say(f"\n{found.tables[0].markdown()}\n{found.verdict.markdown()}")
        say(f"\ntables, figures and the page report.html: {o['output_dir']}")
        say(f"see every run in the browser: {ui_command(tracker)}")
