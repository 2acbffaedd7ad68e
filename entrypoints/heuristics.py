"""Ask whether a model of natural language inference follows surface cues (HANS)."""

from pathlib import Path
from typing import Any

import click

from entrypoints.door import (
    COUNT,
    DATA,
    OUTPUT,
    PREDICT,
    TEXT,
    Optional,
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
@option("label_map", Pairs("="), "", "Names of the model's labels, like LABEL_0=contradiction,LABEL_1=neutral.")
@DATA
@option("max_length", COUNT, "", "Longest input in tokens. Default: as the model was trained, else 128.")
@PREDICT
@OUTPUT
@door
def main(**o: Any) -> None:
    """Write the accuracy by heuristic and gold label, the predictions in HANS's format, and a figure."""
    from crt.catalogue import TASKS
    from crt.models import PredictOptions
    from crt.tasks import find_task, probing

    columns = {"text": o["text_column"], "text_pair": o["text_pair_column"], "label": o["label_column"]}
    task = probing(find_task(o["dataset"], **columns))
    trap = task.name == "chinese_hans" and not o["predictions"]
    beside = o["ordinary"] or ("ocnli" if trap else "none")
    ordinary = [] if beside == "none" else [find_task(beside, **columns)]
    data = source(o)
    reach_hub([task, *ordinary], [o["model"] or ""], data)

    from crt.studies import heuristics, results

    results.check_output(o["output_dir"])
    task, pairs = heuristics.load_pairs(task, o["split"], data, o["max_samples"])
    usual = [heuristics.load_pairs(each, None, data, o["max_samples"]) for each in ordinary]
    predict = PredictOptions(o["max_length"], o["eval_batch_size"], o["precision"], o["label_map"])
    name = f"heuristics: {o['predictions'] or o['model'] or 'best model'} on {task.name}"
    with tracked("heuristics", name, settings(o), o["precision"]) as (accelerator, tracker):
        if o["predictions"]:
            found = heuristics.score_file(task, pairs, o["predictions"])
        else:
            default = TASKS["hans" if task.name == "hans" else "ocnli"]
            found = heuristics.measure(
                task,
                pairs,
                o["model"] or "",
                predict,
                accelerator,
                tracker,
                default=default,
                source=data,
                ordinary=usual,
            )
        if tracker:
            table = heuristics.publish(tracker, found, o["output_dir"], figures=not o["no_figures"])
            click.echo(f"{table}\npredictions, tables and figure: {o['output_dir']}")


if __name__ == "__main__":
    main()
