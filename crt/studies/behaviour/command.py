"""Test what a model does on hand-written cases (CheckList: MFT, INV, DIR), or compare two such runs."""

from pathlib import Path
from typing import Any

import click

from crt.door import door, reach_hub, say, tracked
from crt.door.options import (
    DATA,
    OUTPUT,
    PREDICT,
    SUBJECT,
    Listed,
    Optional,
    find,
    option,
    prediction,
    settings,
    source,
)


@click.command()
@SUBJECT
@option("suite", Optional(click.Path(path_type=Path), "path"), "", "Your own cases: JSON, or CSV with perhaps scores.")
@option("perturbations", Listed(), "", "Also test that the label stays under these, on the texts of the suite.")
@option("prob", click.FloatRange(0, 1), 0.15, "Share of the sites to edit in these.")
@option("seed", click.IntRange(min=0), 13, "Their seed.")
@option("compare", Listed(), "", "Two run ids, older first: what was fixed, what broke? Nothing is tested then.")
@DATA
@PREDICT
@OUTPUT
@door
def main(**o: Any) -> None:
    """Write behavior_report.csv, pass rates by type and capability, the failed cases, and a figure."""
    if o["compare"]:
        _compare(o)
        return
    from crt.perturbations import load
    from crt.suites import load_suite, suite_path
    from crt.tasks import with_labels

    task, data = find(o), source(o)
    task = with_labels(task, data)
    suite = load_suite(
        o["suite"] or suite_path("chnsenticorp" if task.name == "sample" else task.name), task.labels, len(task.fields)
    )
    loaded = [load(name) for name in dict.fromkeys(o["perturbations"])]
    reach_hub([] if suite.scored else [task], [] if suite.scored else [o["model"] or ""], data)

    from crt.studies import outputs
    from crt.studies.behaviour import study

    suite = study.with_perturbations(suite, loaded, prob=o["prob"], seed=o["seed"])
    outputs.check(o["output_dir"], study.FILES)
    name = f"behaviour: {'given scores' if suite.scored else o['model'] or 'best model'} on {suite.name}"
    with tracked("behaviour", name, settings(o), o["precision"]) as (accelerator, tracker):
        found = study.run(suite, task, data, o["model"] or "", prediction(o), accelerator, tracker)
        if tracker:
            text = study.publish(tracker, found, o["output_dir"], figures=not o["no_figures"])
            say(f"{text}\nreport, tables and figure: {o['output_dir']}; run {tracker.run_id}")


def _compare(o: dict[str, Any]) -> None:
    from crt.studies import outputs
    from crt.studies.behaviour import study

    if len(o["compare"]) != 2:
        raise click.BadParameter("two run ids are needed, like compare=OLD,NEW", param_hint="compare")
    outputs.check(o["output_dir"], study.CHANGES)
    with tracked("behaviour-comparison", "behaviour: " + " against ".join(o["compare"]), settings(o)) as (_, tracker):
        if tracker:
            text = study.publish_comparison(tracker, *study.compared(tracker, o["compare"]), o["output_dir"])
            say(f"{text}\ncases: {o['output_dir'] / 'behaviour_changes.csv'}")
