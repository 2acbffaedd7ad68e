"""Test what a model does on hand-written cases (CheckList: MFT, INV, DIR), or compare two such runs."""

from dataclasses import replace
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
@option("dataset", str, "chnsenticorp", "chnsenticorp, tnews, ocnli, sample, or the path of your own file or folder.")
@option("model", TEXT, "", "rule, a checkpoint folder, a hub id, models:/crt-tnews@best; default: the registered best.")
@option("suite", Optional(click.Path(path_type=Path), "path"), "", "Your own cases: JSON, or CSV with perhaps scores.")
@option("perturbations", Listed(), "", "Also test that the label stays under these, on the texts of the suite.")
@option("prob", click.FloatRange(0, 1), 0.15, "Share of the sites to edit in these.")
@option("seed", click.IntRange(min=0), 13, "Their seed.")
@option("compare", Listed(), "", "Two run ids, older first: what was fixed, what broke? Nothing is tested then.")
@option("label_map", Pairs("="), "", "Names of the model's labels, like LABEL_0=negative,LABEL_1=positive.")
@DATA
@option("max_length", COUNT, "", "Longest input in tokens. Default: as the model was trained, else 128.")
@PREDICT
@OUTPUT
@door
def main(**o: Any) -> None:
    """Write behavior_report.csv, pass rates by type and capability, the failed cases, and a figure."""
    if o["compare"]:
        _compare(o)
        return
    from crt.models import PredictOptions
    from crt.perturbations import load
    from crt.suites import load_suite, suite_path
    from crt.tasks import find_task, labels_of

    task = find_task(o["dataset"], text=o["text_column"], text_pair=o["text_pair_column"], label=o["label_column"])
    data = source(o)
    task = replace(task, labels=labels_of(task, data))
    suite = load_suite(
        o["suite"] or suite_path("chnsenticorp" if task.name == "sample" else task.name), task.labels, len(task.fields)
    )
    loaded = [load(name) for name in dict.fromkeys(o["perturbations"])]
    reach_hub([] if suite.scored else [task], [] if suite.scored else [o["model"] or ""], data)

    from crt.studies import behaviour, results

    suite = behaviour.with_perturbations(suite, loaded, prob=o["prob"], seed=o["seed"])
    results.check_output(o["output_dir"])
    predict = PredictOptions(o["max_length"], o["eval_batch_size"], o["precision"], o["label_map"])
    name = f"behaviour: {'given scores' if suite.scored else o['model'] or 'best model'} on {suite.name}"
    with tracked("behaviour", name, settings(o), o["precision"]) as (accelerator, tracker):
        found = behaviour.run(suite, task, data, o["model"] or "", predict, accelerator, tracker)
        if tracker:
            text = behaviour.publish(tracker, found, o["output_dir"], figures=not o["no_figures"])
            click.echo(f"{text}\nreport, tables and figure: {o['output_dir']}; run {tracker.run_id}")


def _compare(o: dict[str, Any]) -> None:
    from crt.studies import behaviour, results

    if len(o["compare"]) != 2:
        raise click.BadParameter("two run ids are needed, like compare=OLD,NEW", param_hint="compare")
    results.check_output(o["output_dir"])
    with tracked("behaviour-comparison", "behaviour: " + " against ".join(o["compare"]), settings(o)) as (_, tracker):
        if tracker:
            text = behaviour.publish_comparison(tracker, *behaviour.compared(tracker, o["compare"]), o["output_dir"])
            click.echo(f"{text}\ncases: {o['output_dir'] / 'behaviour_changes.csv'}")


if __name__ == "__main__":
    main()
