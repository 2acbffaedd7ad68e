"""Evaluate against the plain way: clean predicted with every cell, every input padded to max_length.

    python benchmarks/bench_evaluate.py [--task tnews] [--model FOLDER] [--examples 200] [--probs 0.05,0.15,0.3]

Without --model: a BERT of 4 layers x 384 with random weights. Data from $CRT_DATA_DIR, else the built-in rows.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import torch
import transformers

from benchmarks.common import load, machine, parsed, parser, show, timed
from benchmarks.encoders import BATCH, MAX_LENGTH, predictor
from crt.models.transformer import TransformerClassifier
from crt.perturbations import REFERENCE_PERTURBATIONS
from crt.perturbations import load as load_perturbation
from crt.perturbations.engine import find_sites, perturb_all
from crt.records import Input
from crt.studies.answers import Answers


def main() -> None:
    """Measure each factor alone and all of them together, over the same cells."""
    arguments = parser(__doc__)
    arguments.add_argument("--task", default="tnews")
    arguments.add_argument("--model")
    arguments.add_argument("--examples", type=int, default=200)
    arguments.add_argument("--probs", default="0.05,0.15,0.3")
    arguments.add_argument("--seeds", default="13,42,100")
    options = parsed(arguments, examples=8, probs="0.15", seeds="13")
    transformers.logging.set_verbosity_error()
    split = load(options.task, options.examples)
    clean = [example.input for example in split.examples]
    cells = perturbed_cells(
        split, [float(p) for p in options.probs.split(",")], [int(s) for s in options.seeds.split(",")]
    )
    model = predictor(options.model, options.task, clean, "tiny" if options.small else "small")

    def plain(inputs: list[Input]) -> np.ndarray:
        return np.concatenate([fixed(model, inputs[k : k + BATCH]) for k in range(0, len(inputs), BATCH)])

    def bucketed(inputs: list[Input]) -> np.ndarray:
        return model.predict(inputs).probabilities

    times = dict.fromkeys(("plain clean", "plain perturbed", "width clean", "width perturbed"), 0.0)
    labels: list[np.ndarray] = []
    bucketed(clean[:32])  # warm up
    for inputs in cells:
        times["plain clean"] += timed(lambda: plain(clean))
        times["plain perturbed"] += timed(lambda inputs=inputs: labels.append(plain(inputs).argmax(axis=1)))
        times["width clean"] += timed(lambda: bucketed(clean))
        times["width perturbed"] += timed(lambda inputs=inputs: bucketed(inputs))
    ours: list[np.ndarray] = []

    def crt() -> None:
        known = Answers(model, clean)
        per = len(cells) // len(REFERENCE_PERTURBATIONS)
        for at in range(0, len(cells), per):
            answers = known.extended([value for inputs in cells[at : at + per] for value in inputs])
            ours.extend(answers.of(inputs).probabilities.argmax(axis=1) for inputs in cells[at : at + per])

    rows = [
        ("plain way: clean with every cell, padded to 128", times["plain clean"] + times["plain perturbed"]),
        ("clean predicted once", times["plain clean"] / len(cells) + times["plain perturbed"]),
        ("batches of one width", times["width clean"] + times["width perturbed"]),
        ("both", times["width clean"] / len(cells) + times["width perturbed"]),
        ("crt: both, each distinct input once, one pass a perturbation", timed(crt)),
    ]
    differing = sum(int(np.sum(a != b)) for a, b in zip(labels, ours, strict=True))
    print(f"{options.task}, {len(clean)} examples, {len(cells)} cells, fp32; {machine('torch', 'transformers')}\n")
    show(rows)
    print(f"\n{differing} of {len(cells) * len(clean)} labels differ between the plain way and crt")


def perturbed_cells(split, probs, seeds) -> list[list[Input]]:  # noqa: ANN001
    """Return the inputs of every cell of the default perturbations."""
    cells = []
    for name in REFERENCE_PERTURBATIONS:
        sites = find_sites(split.examples, load_perturbation(name).find)
        cells += [list(perturb_all(sites, name=name, prob=prob, seed=seed).inputs) for prob in probs for seed in seeds]
    return cells


@torch.inference_mode()
def fixed(predictor: TransformerClassifier, inputs: list[Input]) -> np.ndarray:
    """Predict one batch as most scripts do: every input padded to max_length."""
    batch = predictor.tokenizer(
        *map(list, zip(*inputs, strict=True)),
        truncation=True,
        max_length=MAX_LENGTH,
        padding="max_length",
        return_tensors="pt",
    )
    predictor.model.eval()
    return predictor.model(**batch).logits.softmax(dim=-1).numpy()


if __name__ == "__main__":
    main()
