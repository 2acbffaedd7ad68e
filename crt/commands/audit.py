"""Have people judge the perturbations blind: write the sheet, then score what they filled in."""

from pathlib import Path
from typing import Any

import click

from crt.door import door, reach_hub, say
from crt.door.options import DATA, DATASET, PERTURBED, TEXT, Listed, in_scope, option, source
from crt.invocation import next_command


@click.command()
@option("dataset", str, "chnsenticorp", DATASET)
@PERTURBED
@option("pairs", click.IntRange(min=1), 30, "Pairs of each perturbation.")
@option("prob", click.FloatRange(0, 1), 0.15, "Share of the sites to edit.")
@option("seed", click.IntRange(min=0), 13, "Seed of the perturbations and of the draw.")
@DATA
@option("output_dir", click.Path(path_type=Path), "outputs", "Folder for the sheet, its key and the scores.")
@option("sheets", Listed(), "", "Sheets that were filled in, one for each reader: score them.")
@option("key", TEXT, "", "Key of the sheets; default: audit_key.csv in output_dir.")
@door
def main(**o: Any) -> None:
    """Write a sheet of pairs in random order and its key; with sheets that were filled in, score them."""
    if o["sheets"]:
        _score(o)
    else:
        _sheet(o)


def _sheet(o: dict[str, Any]) -> None:

    from crt.grid import Grid
    from crt.records import RULE

    grid = Grid(models=(RULE,), datasets=(o["dataset"],), probs=(o["prob"],), seeds=(o["seed"],), **in_scope(o))
    task, data = grid.task(o["dataset"]), source(o)
    reach_hub([task], (), data)

    from crt.studies import audit, outputs
    from crt.tasks import load_split, with_labels

    outputs.check(o["output_dir"])
    task = with_labels(task, data)
    examples = load_split(task, grid.split or task.eval_split, data).examples
    loaded = grid.loaded()
    sheet, key = audit.sheet(
        examples, task.labels, loaded, o["output_dir"], pairs=o["pairs"], prob=o["prob"], seed=o["seed"]
    )
    questions = "\n".join(f"  {name:<12} {question}" for name, question in audit.QUESTIONS.items())
    say(
        f"sheet: {sheet} (a copy for each reader)\nkey: {key} (not for the readers)\n"
        f"the readers write yes or no into its columns, or leave them blank:\n{questions}\n"
        "score what they filled in (several sheets with commas between them): "
        + next_command("audit", {"sheets": sheet, "key": key})
    )


def _score(o: dict[str, Any]) -> None:
    from crt.studies import audit, outputs

    outputs.check(o["output_dir"], audit.FILES)
    scores = audit.score(Path(o["key"] or o["output_dir"] / audit.KEY), [Path(file) for file in o["sheets"]])
    audit.publish(scores, o["output_dir"])
    say(f"{audit.score_table(scores)}\nscores: {o['output_dir'] / audit.SCORES}.csv and .md")
