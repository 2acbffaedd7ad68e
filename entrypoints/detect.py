"""Detect attacked texts and name the attack (TCAB)."""

from pathlib import Path
from typing import Any

import click

from entrypoints.door import (
    COUNT,
    DATA,
    OUTPUT,
    PREDICT,
    SEED,
    TEXT,
    Listed,
    Optional,
    Pairs,
    door,
    option,
    reach_hub,
    settings,
    source,
    tracked,
)

ATTACKS = (
    "homophone,shape,traditional,space,punctuation,synonym,ime,colloquial,pinyin,split,invisible,width,martian,emoji,"
    "swap,repeat,delete"
)


@click.command()
@option("dataset", str, "chnsenticorp", "chnsenticorp, tnews, ocnli, sample, or the path of your own file or folder.")
@option("model", TEXT, "", "The victim: rule, a folder, a hub id, models:/…; default: the registered best.")
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
@option("label_map", Pairs("="), "", "Names of the victim's labels, like LABEL_0=negative,LABEL_1=positive.")
@DATA
@option("max_length", COUNT, "", "Longest input in tokens. Default: as the model was trained, else 128.")
@PREDICT
@OUTPUT
@door
def main(**o: Any) -> None:
    """Write how well attacks are detected and named, and how well those that no detector was trained on."""
    from crt.models import PredictOptions
    from crt.perturbations import load
    from crt.tasks import find_task

    task = find_task(o["dataset"], text=o["text_column"], text_pair=o["text_pair_column"], label=o["label_column"])
    data = source(o)
    loaded = [load(name) for name in dict.fromkeys(o["perturbations"])]
    models = [o["encoder"] or "", *([] if o["attacks"] else [o["model"] or ""])]
    reach_hub([] if o["attacks"] else [task], models, data)

    from crt.detection import attacks
    from crt.models.training import TrainOptions
    from crt.studies import detection, results

    results.check_output(o["output_dir"])
    predict = PredictOptions(o["max_length"], o["eval_batch_size"], o["precision"], o["label_map"])
    encoder = None
    if o["encoder"]:
        names = ("num_train_epochs", "learning_rate", "train_batch_size", "seed")
        recipe = {name: o[name] for name in names}
        encoder = TrainOptions(
            model=o["encoder"], predict=PredictOptions(o["max_length"], o["eval_batch_size"], o["precision"]), **recipe
        )
    name = f"detect: {o['attacks'] or task.name}"
    with tracked("detect", name, settings(o), o["precision"]) as (accelerator, tracker):
        if o["attacks"]:
            corpus = detection.Corpus(
                o["attacks"].stem, attacks.split(attacks.from_file(o["attacks"]), seed=o["seed"]), None,
                {"model": "no victim", "dataset": o["attacks"].name},
            )  # fmt: skip
        else:
            corpus = detection.from_dataset(
                task, data, loaded, o["model"] or "", predict, accelerator, tracker,
                prob=o["prob"], seed=o["seed"], limit=o["max_samples"], successful=o["successful"],
            )  # fmt: skip
        found = detection.run(corpus, seed=o["seed"], encoder=encoder, accelerator=accelerator)
        if tracker:
            click.echo(
                f"{detection.publish(tracker, found, o['output_dir'], figures=not o['no_figures'])}\ntables and figure: {o['output_dir']}"
            )


if __name__ == "__main__":
    main()
