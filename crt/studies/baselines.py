"""The baselines: data sets x models x training seeds, as commands that can be read, run here or sent to a cluster."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crt.models import augmented_name, checkpoint_alias
from crt.records import RULE
from crt.tasks import find_task

LAUNCH = ("accelerate", "launch", "--quiet", "--module")


@dataclass(frozen=True, slots=True)
class Job:
    """One model on one data set: train, then evaluate."""

    name: str
    """For the summary."""
    steps: tuple[tuple[str, ...], ...]
    """Argument lists, run in this order; a failure ends the job."""

    def line(self) -> str:
        """Return the job as one shell command."""
        return " && ".join(shlex.join(step) for step in self.steps)


def plan(
    datasets: Sequence[str],
    models: Sequence[str],
    train_seeds: Sequence[int],
    *,
    args: Sequence[str],
    train_args: Sequence[str],
    evaluate_args: Sequence[str],
    output: str,
) -> tuple[Job, ...]:
    """Return the jobs of the matrix; the rule classifier needs no training and has one job a data set.

    Args:
        datasets: names of tasks.
        models: model specs.
        train_seeds: seeds of the training.
        args: further options of both commands.
        train_args: further options of train alone.
        evaluate_args: further options of evaluate alone.
        output: folder under which each evaluation gets its own.
    """
    given = [*args, *train_args]
    written = "=".join(given).partition("--augment=")[2].partition("=")[0]
    augment = [name.strip() for name in written.split(",") if name.strip()]
    jobs = []
    for dataset in datasets:
        task = find_task(dataset)
        for model in models:
            for seed in train_seeds if model != RULE else train_seeds[:1]:
                alias = RULE if model == RULE else checkpoint_alias(augmented_name(Path(model).name, augment), seed)
                spec = RULE if model == RULE else f"models:/{task.registered_name}@{alias}"
                common = ("--dataset", dataset, *args)
                train = (*LAUNCH, "crt", "train", *common, "--model", model, "--seed", str(seed), *train_args)
                folder = ("--output_dir", f"{output}/{task.name}/{alias}")
                evaluate = (*LAUNCH, "crt", "evaluate", *common, "--model", spec, *folder, *evaluate_args)
                jobs.append(Job(f"{task.name}/{alias}", (evaluate,) if model == RULE else (train, evaluate)))
    return tuple(jobs)


def execute(job: Job) -> bool:
    """Run the steps of a job in processes of their own; return whether all of them ended well."""
    # The run of the caller is not theirs: each step opens its own in the same experiment.
    environment = {key: value for key, value in os.environ.items() if key != "MLFLOW_RUN_ID"}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])
    return all(subprocess.run(step, env=environment, check=False).returncode == 0 for step in job.steps)
