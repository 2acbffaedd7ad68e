"""Ask how often a model is right on several samples of each text, and how often on all of them (RobTest)."""

from pathlib import Path
from typing import Any

import click

from entrypoints.door import (
    COUNT,
    DATA,
    OUTPUT,
    PREDICT,
    TEXT,
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
@option("dataset", str, "chnsenticorp", "chnsenticorp, tnews, ocnli, sample, or the path of your own file or folder.")
@option("model", TEXT, "", "rule, a checkpoint folder, a hub id, models:/crt-tnews@best; default: the registered best.")
@option("perturbations", Listed(), "homophone,shape,traditional,space,punctuation,synonym", "What to measure.")
@option("degrees", Listed(float), "0.05,0.1,0.2,0.3,0.4,0.5,0.6", "Edits by characters, above 0 and at most 1.")
@option("samples", click.IntRange(min=1), 20, "Samples of each text at each degree.")
@option("seed", click.IntRange(min=0), 42, "Seed of the samples.")
@option("split", TEXT, "", "Split to evaluate on; default: test for chnsenticorp, validation for tnews and ocnli.")
@option("max_samples", COUNT, 300, "At most so many texts; empty: all.")
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
@option("force", bool, "false", "Measure degrees again that are stored already.")
@door
def main(**o: Any) -> None:
    """Measure the average and the worst case of each (perturbation, degree) as an MLflow run; stored ones are skipped."""
    from crt.models import PredictOptions
    from crt.studies.grid import Columns, Degrees

    scope = Degrees(
        models=(o["model"] or "",),
        datasets=(o["dataset"],),
        perturbations=o["perturbations"],
        degrees=o["degrees"],
        samples=o["samples"],
        seed=o["seed"],
        split=o["split"],
        limit=o["max_samples"],
        fields=o["fields"],
        exclude_seen=o["exclude_seen"],
        tables={name: Path(file) for name, file in o["table"].items()},
        columns=Columns(o["text_column"], o["text_pair_column"], o["label_column"]),
    )
    data = source(o)
    reach_hub([scope.task(o["dataset"])], scope.models, data)
    predict = PredictOptions(o["max_length"], o["eval_batch_size"], o["precision"], o["label_map"])

    from crt.studies import cells, results, worst_case

    results.check_output(o["output_dir"])
    name = f"worst case: {o['model'] or 'best model'} on {o['dataset']}"
    with tracked("worst_case", name, settings(o), o["precision"]) as (accelerator, tracker):
        keys = worst_case.run(scope, data, predict, accelerator, tracker or cells.Silent(), force=o["force"])
        if tracker:
            scores = worst_case.publish(tracker, keys, o["output_dir"], figures=not o["no_figures"])
            click.echo(f"{scores}\ntables and figure: {o['output_dir']}\ncompare models: mlflow run . -e compare")


if __name__ == "__main__":
    main()
