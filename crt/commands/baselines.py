"""Print, or run, the commands of the baselines: data sets x models x training seeds."""

import sys
from pathlib import Path
from typing import Any

import click

from crt.door import door, say
from crt.door.options import SEED, Listed, option
from crt.grid import DEFAULT_SEEDS
from crt.models import BASELINES


@click.command()
@option("datasets", Listed(), "chnsenticorp,tnews,ocnli", "Data sets.")
@option("models", Listed(), BASELINES, "Encoders, or rule.")
@option("train_seeds", Listed(int), DEFAULT_SEEDS, "Training seeds.")
@option("args", str, "", 'Further options of train and evaluate, like "--max_length 64".')
@option("train_args", str, "", 'Further options of train alone, like "--num_train_epochs 3".')
@option("evaluate_args", str, "", 'Further options of evaluate alone, like "--max_samples 1000".')
@option("output_dir", click.Path(path_type=Path), "outputs", "Folder under which each evaluation gets its own.")
@option("execute", bool, "false", "Run the commands one by one instead of printing them.")
@door
def main(**o: Any) -> None:
    """Print one command a line, or run them all; a failure does not stop the others."""
    import shlex

    from crt.grid import Grid
    from crt.studies import baselines

    Grid(models=o["models"], datasets=o["datasets"], seeds=o["train_seeds"])  # names every fault of the lists
    for seed in o["train_seeds"]:
        SEED.convert(seed, None, click.get_current_context())
    jobs = baselines.plan(
        o["datasets"],
        o["models"],
        o["train_seeds"],
        args=shlex.split(o["args"]),
        train_args=shlex.split(o["train_args"]),
        evaluate_args=shlex.split(o["evaluate_args"]),
        output=str(o["output_dir"]),
    )
    if not o["execute"]:
        say("\n".join(job.line() for job in jobs))
        return
    failed = []
    for number, job in enumerate(jobs, start=1):
        say(f"[{number}/{len(jobs)}] {job.name}\n{job.line()}", err=True)
        if not baselines.execute(job):
            failed.append(job)
    say(f"{len(jobs) - len(failed)} of {len(jobs)} baselines done")
    if failed:
        say("failed:\n" + "\n".join(f"  {job.name}: {job.line()}" for job in failed), err=True)
        sys.exit(1)
