"""Training and evaluating a BERT-base on a GPU with crt's own loops: speed, use of the device, and waiting for the host.

    python benchmarks/gpu.py [--steps 200] [--batch 64] [--examples 1200] [--peak TFLOPS]

The model has random weights and nothing is downloaded; texts are generated reviews. bf16 on a GPU, fp32 without one.
Tokens are those without padding. MFU is the work of the matrix products (twice the multiply-adds of the forward pass, three
times that when training; padding counts) against the peak of the device, which is looked up by its name or given.
Host-bound is the share of the time in which no kernel runs: a shorter pass is profiled first, which also warms up, and
its kernel time is scaled by the work to the pass that is timed. Evaluate is one grid of 54 cells and the clean one, from
reading the file to the last metric; nothing is logged.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.common import machine, parsed, parser, reviews, table, timed, write_reviews
from benchmarks.encoders import MAX_LENGTH, Measured, counted, save_bert
from crt.catalogue import TASKS
from crt.grid import DEFAULT_PROBS, DEFAULT_SEEDS, Grid
from crt.models import PredictOptions
from crt.models.processes import start
from crt.models.recipe import TrainOptions
from crt.models.training import EpochRecord, train
from crt.perturbations import REFERENCE_PERTURBATIONS
from crt.records import Example
from crt.studies import benchmark
from crt.studies.cells import Silent
from crt.tasks import Source, Split

TASK = "chnsenticorp"
VOCABULARY = 21_128
"""Rows of the embedding of bert-base-chinese."""
PEAKS = {"H200": 989, "H100": 989, "A100": 312, "L40S": 362, "A10G": 70, "A10": 125, "L4": 121, "RTX 4090": 165}
"""Dense bf16 TFLOP/s by a part of the device's name, as the vendor states them; the first that fits counts."""


def main() -> None:
    """Train, then evaluate what was trained."""
    arguments = parser(__doc__)
    arguments.add_argument("--steps", type=int, default=200)
    arguments.add_argument("--batch", type=int, default=64)
    arguments.add_argument("--examples", type=int, default=1200)
    arguments.add_argument("--peak", type=float, help="dense bf16 TFLOP/s of the device")
    options = parsed(arguments, steps=4, batch=4, examples=6)
    gpu = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if gpu else "CPU"
    peak = options.peak or next((peak for name, peak in PEAKS.items() if name in device), None)
    count = options.steps * options.batch
    texts = reviews(count)
    examples = tuple(Example(f"{TASK}/train/{n}", (text,), n % 2) for n, text in enumerate(texts))
    precision = "bf16" if gpu else "fp32"
    probs, seeds = (DEFAULT_PROBS[:1], DEFAULT_SEEDS[:1]) if options.small else (DEFAULT_PROBS, DEFAULT_SEEDS)
    cells = len(REFERENCE_PERTURBATIONS) * len(probs) * len(seeds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = "tiny" if options.small else "base"
        spec = save_bert(TASK, [example.input for example in examples], size, folder / "random", VOCABULARY)
        write_reviews(folder, options.examples)
        short = (examples[: max(options.batch, count // 5)], folder / "short")
        rows = [
            row(
                "train",
                lambda: training(spec, *short, options.batch, precision),
                lambda: training(spec, examples, folder / "trained", options.batch, precision),
                peak,
                factor=3,
            ),
            row(
                "evaluate",
                lambda: evaluating(folder, precision, DEFAULT_PROBS[:1], DEFAULT_SEEDS[:1]),
                lambda: evaluating(folder, precision, probs, seeds),
                peak,
                factor=1,
            ),
        ]
    print(
        f"{device}{f', peak {peak:g} TFLOP/s' if peak else ''}, {precision}, {size}, {options.steps} steps of {options.batch}, "
        f"{options.examples:,} texts x {cells} cells; {machine('torch', 'transformers', 'accelerate')}\n"
    )
    table(("what", "s", "tokens/s", "padding waste", "MFU", "host-bound"), rows)


def row(
    name: str, short: Callable[[], Measured], whole: Callable[[], Measured], peak: float | None, *, factor: int
) -> tuple[str, ...]:
    """Profile a short pass, time a whole one; return what the table says of it."""
    kernels = None
    if torch.cuda.is_available():
        with profile(activities=[ProfilerActivity.CUDA]) as profiled:
            part = short()
            torch.cuda.synchronize()
        kernels = sum(event.self_device_time_total for event in profiled.key_averages()) / 1e6
    else:
        part = short()
    found = whole()
    busy = None if kernels is None else kernels * found.adds / part.adds / found.seconds
    mfu = None if peak is None else 2 * factor * found.adds / found.seconds / (peak * 1e12)
    return (
        name,
        f"{found.seconds:.1f}",
        f"{found.speed:,.0f}",
        f"{1 - found.tokens / found.padded:.1%}",
        "-" if mfu is None else f"{mfu:.1%}",
        "-" if busy is None else f"{1 - busy:.1%}",
    )


def training(spec: str, examples: tuple[Example, ...], folder: Path, batch: int, precision: str) -> Measured:
    """Train one epoch; the time is that of the steps."""
    options = TrainOptions(model=spec, train_batch_size=batch, predict=PredictOptions(MAX_LENGTH))
    split = Split(TASK, "train", examples, 0)
    with counted(spec, training=True) as measured:
        for record in train(TASKS[TASK], split, split.limited(batch), start(precision), options, folder):
            if isinstance(record, EpochRecord):
                measured.seconds = record.seconds
    return measured


def evaluating(folder: Path, precision: str, probs: tuple[float, ...], seeds: tuple[int, ...]) -> Measured:
    """Measure a grid of the model that was trained."""
    spec = str(folder / "trained")
    grid = Grid((spec,), (TASK,), probs=probs, seeds=seeds)
    with counted(spec, training=False) as measured:
        measured.seconds = timed(
            lambda: benchmark.run(grid, Source(folder), PredictOptions(), start(precision), Silent())
        )
    return measured


if __name__ == "__main__":
    main()
