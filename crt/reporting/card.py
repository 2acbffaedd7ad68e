"""The model card of a registered version: what it is, how it was trained, how it holds up, and how to load it."""

from collections.abc import Iterator, Mapping
from math import isnan

from crt.catalogue import Task
from crt.records import CLEAN
from crt.reporting.markdown import bullets, code, in_markdown, line
from crt.reporting.markdown import table as markdown
from crt.reporting.verdict import verdict
from crt.scoring.evidence import Evidence
from crt.scoring.stacked import ALL
from crt.scoring.summary import DASH, Comparison

LONGEST = 5000
"""Characters of a description that MLflow keeps."""

TRAINING = {
    "base_model": "base model",
    "train_examples": "training examples",
    "num_train_epochs": "epochs",
    "learning_rate": "learning rate",
    "train_batch_size": "batch size",
    "seed": "seed",
    "augment": "augmented with",
    "selection_examples": "selection examples",
}
"""What is said of the training: names of its params, and how they read."""


def card(
    reference: str, task: Task, training: Mapping[str, str], measured: Mapping[str, tuple[Comparison, Evidence]]
) -> str:
    """Return the card in Markdown, not longer than LONGEST: what does not fit is left out, the last sentences first.

    Args:
        reference: `name/version`.
        task: that it was trained on.
        training: params of the training by name, `metric` and `value` of the selected epoch among them.
        measured: for each split that it was evaluated on what was measured, and the evidence.
    """
    rows = [(title, training[name]) for name, title in TRAINING.items() if training.get(name)]
    if "metric" in training:
        rows.append(
            ("selected epoch", f"{training['metric']} {float(training['value']):.4f} on the selection examples")
        )
    labels = f" Labels: {', '.join(task.labels)}." if task.labels else ""
    parts = [
        f"# {in_markdown(reference.replace('/', ' version '))}\n",
        f"{line(f'{task.name}: {task.summary}.{labels}')}\n",
        "## Training\n",
        markdown(("", ""), rows, texts=2),
        "## Loading\n",
        f'```python\nimport mlflow\nclassify = mlflow.transformers.load_model("models:/{reference}")\n```\n',
    ]
    for split, (found, evidence) in measured.items():
        count = int(found.cells["num_examples"].max())
        parts += [
            f"\n## On {in_markdown(split)} ({count} examples)\n",
            _scores(found, evidence),
            f"{code(found.signature)}\n",
        ]
        told = verdict(found, evidence)
        parts += [bullets([sentence]).rstrip("\n") for sentence in told.sentences]
        parts.append(f"\n{told.table.markdown()}")
    while len("\n".join(parts)) > LONGEST:
        parts.pop()
    return "\n".join(parts)


def _scores(found: Comparison, evidence: Evidence) -> str:
    """Return clean and perturbed scores with their intervals, in percent."""
    over_all = evidence.intervals[evidence.intervals["perturbation"].isin([CLEAN, ALL])].set_index("metric")
    titles = {
        "clean_acc": "clean accuracy",
        "clean_macro_f1": "clean macro-F1",
        "perturbed_acc": "accuracy, mean over perturbations and probs",
        "acc_drop": "accuracy drop, mean",
        "attack_success_rate": "attack success rate, mean",
    }

    def rows() -> Iterator[tuple[str, str, str]]:
        for name, title in titles.items():
            value, low, high = 100 * over_all.loc[name, ["value", "low", "high"]].to_numpy(dtype=float)
            yield (title, DASH, DASH) if isnan(value) else (title, f"{value:.1f}", f"{low:.1f} to {high:.1f}")
        summary = found.summary
        worst = summary.iloc[int(summary["perturbed_acc_mean"].to_numpy(dtype=float).argmin())]
        where = f"lowest accuracy: {worst['perturbation']} at prob {worst['prob']:g}"
        yield where, f"{100 * worst['perturbed_acc_mean']:.1f}", ""

    return markdown(("percent", "value", "95 % interval"), rows())
