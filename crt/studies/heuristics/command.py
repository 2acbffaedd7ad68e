"""Ask whether a model of natural language inference follows surface cues (HANS)."""

from pathlib import Path
from typing import Any

import click

from crt.door import door, reach_hub, say, tracked
from crt.door.options import (
    COUNT,
    DATA,
    OUTPUT,
    PREDICT,
    TEXT,
    Optional,
    find,
    option,
    prediction,
    settings,
    source,
)


@click.command()
@option(
    "dataset", str, "chinese_hans", "chinese_hans, hans, ocnli, or your own file: with HANS's columns, or any pairs."
)
@option("model", TEXT, "", "A checkpoint folder, a hub id, models:/crt-ocnli@best; default: the registered best.")
@option("predictions", Optional(click.Path(path_type=Path), "path"), "", "Score this file pairID,gold_label, no model.")
@option(
    "ordinary",
    TEXT,
    "",
    "Pairs without a trap, for the usual accuracy beside, or none; default: ocnli for chinese_hans.",
)
@option("split", TEXT, "", "Split to use; default: the one that is reported.")
@option("max_samples", COUNT, "", "At most so many pairs of each set.")
@DATA
@PREDICT
@OUTPUT
@door
def main(**o: Any) -> None:
    """Write the accuracy by heuristic and gold label, the predictions in HANS's format, and a figure."""
    from crt.catalogue import TASKS
    from crt.tasks import probing

    task = probing(find(o))
    trap = task.name == "chinese_hans" and not o["predictions"]
    beside = o["ordinary"] or ("ocnli" if trap else "none")
    ordinary = [] if beside == "none" else [find({**o, "dataset": beside, "name": None})]
    data = source(o)
    reach_hub([task, *ordinary], [o["model"] or ""], data)

    from crt.studies import outputs
    from crt.studies.heuristics import study

    outputs.check(o["output_dir"], study.FILES)
    task, pairs = study.load_pairs(task, o["split"], data, o["max_samples"])
    usual = [study.load_pairs(each, None, data, o["max_samples"]) for each in ordinary]
    name = f"heuristics: {o['predictions'] or o['model'] or 'best model'} on {task.name}"
    with tracked("heuristics", name, settings(o), o["precision"]) as (accelerator, tracker):
        if o["predictions"]:
            found = study.score_file(task, pairs, o["predictions"])
        else:
            default = TASKS["hans" if task.name == "hans" else "ocnli"]
            found = study.measure(
                task,
                pairs,
                o["model"] or "",
                prediction(o),
                accelerator,
                tracker,
                default=default,
                source=data,
                ordinary=usual,
            )
        if tracker:
            table = study.publish(tracker, found, o["output_dir"], figures=not o["no_figures"])
            say(f"{table}\npredictions, tables and figure: {o['output_dir']}")
