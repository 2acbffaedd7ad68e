"""Train a classifier and register its best epoch."""

from typing import Any

import click

from crt.door import door, reach_hub, say, tracked
from crt.door.options import (
    COUNT,
    DATA,
    DATASET,
    DEVICE,
    SEED,
    Listed,
    find,
    option,
    prediction,
    settings,
    source,
)
from crt.invocation import next_command
from crt.models.recipe import SELECTION_METRICS, TrainOptions

RECIPE = (
    "num_train_epochs", "train_batch_size", "gradient_accumulation_steps", "learning_rate", "weight_decay", "warmup_ratio",
    "max_grad_norm", "seed", "selection_metric", "augment", "augment_prob", "augment_share",
)  # fmt: skip
"""The options that a training is described by."""
DATA_OPTIONS = ("dataset", "name", "data_dir", "text_column", "text_pair_column", "label_column")
"""Those that evaluate takes too."""
DEFAULT = TrainOptions()


@click.command()
@option("dataset", str, "chnsenticorp", DATASET)
@option(
    "model",
    str,
    DEFAULT.model,
    "Hub id, folder, models:/name@alias, tiny (random weights), or tfidf (fitted in seconds, no GPU).",
)
@option("num_train_epochs", click.IntRange(min=1), DEFAULT.num_train_epochs, "Passes over the training examples.")
@option(
    "train_batch_size",
    click.IntRange(min=1),
    DEFAULT.train_batch_size,
    "Examples in a forward pass, over all processes.",
)
@option(
    "gradient_accumulation_steps",
    click.IntRange(min=1),
    DEFAULT.gradient_accumulation_steps,
    "Forward passes in a step of the optimizer.",
)
@option("learning_rate", click.FloatRange(min=0, min_open=True), DEFAULT.learning_rate, "Peak learning rate.")
@option("weight_decay", click.FloatRange(min=0), DEFAULT.weight_decay, "Not applied to biases and layer norms.")
@option(
    "warmup_ratio",
    click.FloatRange(0, 1),
    DEFAULT.warmup_ratio,
    "Share of the steps over which the learning rate rises.",
)
@option(
    "max_grad_norm",
    click.FloatRange(min=0, min_open=True),
    DEFAULT.max_grad_norm,
    "Gradients are clipped to this norm.",
)
@option("seed", SEED, DEFAULT.seed, "Training seed.")
@option(
    "selection_metric",
    click.Choice(list(SELECTION_METRICS)),
    DEFAULT.selection_metric,
    "What the best epoch is chosen by.",
)
@option("augment", Listed(), "", "Perturbations of training examples, drawn anew each epoch, like homophone,ime.")
@option("augment_prob", click.FloatRange(0, 1), DEFAULT.augment_prob, "Share of the sites that these edit.")
@option("augment_share", click.FloatRange(0, 1), DEFAULT.augment_share, "Share of the examples that they perturb.")
@option("train_subset", COUNT, "", "Train on at most so many examples.")
@option("eval_subset", COUNT, "", "Choose the best epoch on at most so many examples.")
@DATA
@option("max_length", click.IntRange(min=8), 128, "Longest input in tokens; more is cut off.")
@DEVICE
@option("resume", bool, "false", "Go on after the last finished epoch of the same training, if it was broken off.")
@option("smoke", bool, "false", "Preset: a tiny model on the built-in rows of the data set.")
@door
def main(**o: Any) -> None:
    """Train on the training split; the best epoch is never chosen on the split that is reported."""
    from crt.errors import lookup
    from crt.perturbations import PERTURBATIONS
    from crt.records import TINY
    from crt.resources import resource_dir

    if o["smoke"]:
        o |= {"data_dir": str(resource_dir() / "samples"), "model": TINY, "learning_rate": 1e-3}
    for name in o["augment"]:
        lookup("perturbation", name, PERTURBATIONS)  # before the model is loaded
    task, data = find(o), source(o)
    reach_hub([task], [o["model"]], data)

    from crt.studies import train

    recipe = TrainOptions(model=o["model"], predict=prediction(o), **{name: o[name] for name in RECIPE})
    name = f"train {'+'.join([o['model'], *o['augment']])} on {task.name}, seed {o['seed']}"
    with tracked("train", name, settings(o), o["precision"]) as (accelerator, tracker):
        version = train.run(
            task,
            data,
            recipe,
            accelerator,
            tracker,
            train_subset=o["train_subset"],
            eval_subset=o["eval_subset"],
            resume=o["resume"],
        )
        if tracker:
            usual = {"text_column": "text", "label_column": "label"}
            given = {name: o[name] for name in DATA_OPTIONS if o[name] != usual.get(name)}
            again = next_command("evaluate", given | {"model": f"models:/{version}"})
            say(f"registered models:/{version}\nevaluate it: {again}")
