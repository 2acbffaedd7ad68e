"""Detect attacked texts and name the attack (TCAB)."""

from pathlib import Path
from typing import Any

import click

from crt.door import door, reach_hub, say, tracked
from crt.door.options import (
    COUNT,
    DATA,
    OUTPUT,
    PREDICT,
    SEED,
    SUBJECT,
    TEXT,
    Listed,
    Optional,
    find,
    option,
    prediction,
    settings,
    source,
)
from crt.perturbations import REFERENCE_PERTURBATIONS

ATTACKS = (
    *REFERENCE_PERTURBATIONS, "ime", "colloquial", "pinyin", "split", "invisible", "width", "martian", "emoji", "swap",
    "repeat", "delete",
)  # fmt: skip


@click.command()
@SUBJECT
@option("perturbations", Listed(), ATTACKS, "The attacks.")
@option("prob", click.FloatRange(0, 1), 0.15, "Share of the sites that an attack edits.")
@option("seed", SEED, 13, "Of the attacks, the parts and the detectors.")
@option("max_samples", COUNT, "", "At most so many source texts.")
@option("successful", bool, "false", "Only attacks that turn a right answer of the victim into a wrong one.")
@option("attacks", Optional(click.Path(path_type=Path), "path"), "", "A file in TCAB's columns, in place of all above.")
@option("encoder", TEXT, "", "Also fine-tune this encoder as a detector: a hub id, a folder, or tiny.")
@option("num_train_epochs", click.IntRange(min=1), 2, "Passes of the encoder over the texts.")
@option("learning_rate", click.FloatRange(min=0, min_open=True), 2e-5, "Peak learning rate of the encoder.")
@option("train_batch_size", click.IntRange(min=1), 16, "Texts in a forward pass of its training.")
@DATA
@PREDICT
@OUTPUT
@door
def main(**o: Any) -> None:
    """Write how well attacks on a model, the victim, are detected and named, also those that no detector was trained on."""
    from crt.perturbations import load

    task, data = find(o), source(o)
    loaded = [load(name) for name in dict.fromkeys(o["perturbations"])]
    models = [o["encoder"] or "", *([] if o["attacks"] else [o["model"] or ""])]
    reach_hub([] if o["attacks"] else [task], models, data)

    from crt.models.recipe import TrainOptions
    from crt.studies import outputs
    from crt.studies.detect import attacks, study

    outputs.check(o["output_dir"], study.FILES)
    encoder = None
    if o["encoder"]:
        names = ("num_train_epochs", "learning_rate", "train_batch_size", "seed")
        recipe = {name: o[name] for name in names}
        encoder = TrainOptions(model=o["encoder"], predict=prediction({**o, "label_map": {}}), **recipe)
    with tracked("detect", f"detect: {o['attacks'] or task.name}", settings(o), o["precision"]) as (
        accelerator,
        tracker,
    ):
        if o["attacks"]:
            corpus = study.Corpus(
                o["attacks"].stem, attacks.split(attacks.from_file(o["attacks"]), seed=o["seed"]), None,
                {"model": "no victim", "dataset": o["attacks"].name},
            )  # fmt: skip
        else:
            corpus = study.from_dataset(
                task, data, loaded, o["model"] or "", prediction(o), accelerator, tracker,
                prob=o["prob"], seed=o["seed"], limit=o["max_samples"], successful=o["successful"],
            )  # fmt: skip
        found = study.run(corpus, seed=o["seed"], encoder=encoder, accelerator=accelerator)
        if tracker:
            text = study.publish(tracker, found, o["output_dir"], figures=not o["no_figures"])
            say(f"{text}\ntables and figure: {o['output_dir']}")
