"""Evaluate against the plain way: clean predicted with every cell, every input padded to max_length.

    python benchmarks/bench_evaluate.py [--task tnews] [--model FOLDER] [--examples 200] [--probs 0.05,0.15,0.3]

The ways predict the same cells with the same weights, one after the other; the times are those of predicting alone, but in
the last row, which is the whole command: reading, perturbing, metrics, logging, tables and figures. The pipeline is that of
transformers, given the clean inputs once and the inputs of each cell: one by one, as it comes, and in batches of 32.
CPU seconds are those of all cores.

Without --model: a BERT of 4 layers x 384 with random weights. Data from $CRT_DATA_DIR, else the built-in rows.
"""

import logging
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import torch
import transformers

from benchmarks.command import evaluate, fresh_store
from benchmarks.common import load, machine, parsed, parser, table
from benchmarks.encoders import BATCH, MAX_LENGTH, predictor, save
from crt.models.transformer import TransformerClassifier
from crt.perturbations import REFERENCE_PERTURBATIONS
from crt.perturbations import load as load_perturbation
from crt.perturbations.engine import find_sites, perturb_all
from crt.records import Input
from crt.studies.answers import Answers
from crt.tasks import Split

PLAIN = "plain way: clean with every cell, padded to 128"
CLEAN_ONCE = "clean predicted once"
ONE_WIDTH = "batches of one width"
BOTH = "both"
SINGLE = "transformers pipeline, as it comes"
BATCHED = f"transformers pipeline, batch_size={BATCH}"
CRT = "crt: both, each distinct input once, one pass a perturbation"
COMMAND = "the whole command evaluate"


class Stopwatch:
    """Adds up wall and CPU seconds by name."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = defaultdict(float)
        self.cpu: dict[str, float] = defaultdict(float)

    @contextmanager
    def of(self, *names: str) -> Iterator[None]:
        """Count what happens for some names."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        for name in names:
            self.wall[name] += time.perf_counter() - wall
            self.cpu[name] += time.process_time() - cpu


def main() -> None:
    """Measure each factor alone and all of them together, over the same cells."""
    arguments = parser(__doc__)
    arguments.add_argument("--task", default="tnews")
    arguments.add_argument("--model")
    arguments.add_argument("--examples", type=int, default=200)
    arguments.add_argument("--probs", default="0.05,0.15,0.3")
    arguments.add_argument("--seeds", default="13,42,100")
    options = parsed(arguments, examples=8, probs="0.15", seeds="13")
    transformers.logging.set_verbosity(logging.ERROR)
    split = load(options.task, options.examples)
    clean = [example.input for example in split.examples]
    cells = perturbed_cells(
        split, [float(p) for p in options.probs.split(",")], [int(s) for s in options.seeds.split(",")]
    )
    model = predictor(options.model, options.task, clean, "tiny" if options.small else "small")
    watch = Stopwatch()

    def plain(inputs: list[Input]) -> np.ndarray:
        return np.concatenate([fixed(model, inputs[k : k + BATCH]) for k in range(0, len(inputs), BATCH)])

    def bucketed(inputs: list[Input]) -> np.ndarray:
        return model.predict(inputs).probabilities

    by_one, by_batch = pipeline_of(model, 1), pipeline_of(model, BATCH)
    ways = {(PLAIN, CLEAN_ONCE): plain, (ONE_WIDTH, BOTH): bucketed, (SINGLE,): by_one, (BATCHED,): by_batch}
    labels: dict[str, list[np.ndarray]] = {names[0]: [] for names in ways}
    for predict in ways.values():
        predict(clean[:BATCH])  # warm up
    for number, inputs in enumerate(cells):
        for names, predict in ways.items():
            counted = [name for name in names if not number or name in {PLAIN, ONE_WIDTH}]
            if counted:
                with watch.of(*counted):
                    predict(clean)
            with watch.of(*names):
                found = predict(inputs)
            labels[names[0]].append(found.argmax(axis=1))

    ours: list[np.ndarray] = []
    per = len(cells) // len(REFERENCE_PERTURBATIONS)
    with watch.of(CRT):
        known = Answers(model, clean)
        for at in range(0, len(cells), per):
            answers = known.extended([value for inputs in cells[at : at + per] for value in inputs])
            ours.extend(answers.of(inputs).probabilities.argmax(axis=1) for inputs in cells[at : at + per])
    with tempfile.TemporaryDirectory() as folder, fresh_store(Path(folder)):
        spec = save(model.model, model.tokenizer, Path(folder) / "bench")
        grid = ["--probs", options.probs, "--seeds", options.seeds, "--max_samples", str(options.examples)]
        with watch.of(COMMAND):
            evaluate(["--dataset", options.task, "--model", spec, *grid])

    print(f"{options.task}, {len(clean)} examples, {len(cells)} cells, fp32; {machine('torch', 'transformers')}\n")
    wall, cpu = watch.wall[PLAIN], watch.cpu[PLAIN]
    table(
        ("what", "s", "CPU s", "times the first row", "CPU, times the first row"),
        [
            (
                name,
                f"{watch.wall[name]:.2f}",
                f"{watch.cpu[name]:.2f}",
                f"{wall / watch.wall[name]:.1f}",
                f"{cpu / watch.cpu[name]:.1f}",
            )
            for name in (PLAIN, CLEAN_ONCE, ONE_WIDTH, BOTH, SINGLE, BATCHED, CRT, COMMAND)
        ],
    )
    print()
    for way in (PLAIN, SINGLE, BATCHED):
        differing = sum(int(np.sum(a != b)) for a, b in zip(labels[way], ours, strict=True))
        print(f"{differing} of {len(cells) * len(clean)} labels differ between crt and the {way}")


def perturbed_cells(split: Split, probs: Sequence[float], seeds: Sequence[int]) -> list[list[Input]]:
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
    predictor.model.train(mode=False)
    return np.asarray(predictor.model(**batch).logits.softmax(dim=-1))


def pipeline_of(predictor: TransformerClassifier, batch: int) -> Callable[[list[Input]], np.ndarray]:
    """Return what predicts inputs with the text-classification pipeline of transformers."""
    from transformers import pipeline

    tokenizer: Any = predictor.tokenizer  # an overload of pipeline knows no common base of tokenizers
    made: Any = pipeline("text-classification", model=predictor.model, tokenizer=tokenizer, top_k=None)
    index = {label: int(column) for column, label in (predictor.model.config.id2label or {}).items()}

    def predict(inputs: list[Input]) -> np.ndarray:
        rows = [dict(zip(("text", "text_pair"), texts, strict=False)) for texts in inputs]
        found = np.empty((len(rows), len(index)), dtype=np.float32)
        for row, scores in enumerate(made(rows, batch_size=batch, truncation=True, max_length=MAX_LENGTH)):
            for score in scores:
                found[row, index[score["label"]]] = score["score"]
        return found

    return predict


if __name__ == "__main__":
    main()
