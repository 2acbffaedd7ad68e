"""How near the encoder's forward pass comes to bare matrix products of its own shapes, and what evaluate spends time on.

    python benchmarks/bench_limit.py [--model FOLDER] [--task tnews] [--examples 400] [--rounds 3]

First table: the batches of `predict_all`, as evaluate makes them. Right after each forward pass the matrix products that
it consists of (query, key, value, scores, weighted values, output, feed-forward, for each layer, with weights of its own)
run alone, into memory that is there already; the best of the rounds counts for each batch. Padding counts as work on both
sides; tokens are those without it. Second table: `predict_all` with other ways to compute the same: the attention that is
written out (eager), torch.compile, whose first pass is told apart, and bf16; labels that differ from those of the first row,
and those among them whose two best probabilities are further apart than 1e-3. Third table: the command evaluate, after start-up, on
the default grid, by what it is busy with; a part does not include the parts that it calls.

Without --model: a BERT of 4 layers x 384 with random weights. Data from $CRT_DATA_DIR, else the built-in rows.
"""

import pkgutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import torch

from benchmarks.command import evaluate, fresh_store
from benchmarks.common import load, machine, parsed, parser, table, timed
from benchmarks.encoders import multiply_adds, predictor, save
from crt.models import predict_all
from crt.models.transformer import TransformerClassifier
from crt.records import Input

PARTS = {
    "crt.tasks.read_rows": "reading the data",
    "crt.studies.cells.load_predictor": "loading the model",
    "crt.models.transformer.TransformerClassifier.predict": "tokenising and padding",
    "crt.studies.benchmark.find_sites": "perturbing",
    "crt.studies.benchmark.perturb_all": "perturbing",
    "crt.studies.benchmark.outcome_of": "outcomes and metrics",
    "crt.studies.benchmark.score": "outcomes and metrics",
    "crt.studies.benchmark.example_pairs": "outcomes and metrics",
    "crt.studies.benchmark.outcome_columns": "outcomes and metrics",
    "crt.tracking.runs.MlflowTracker.log_measurement": "logging",
    "crt.studies.results.write_grid": "tables and figures",
}
"""What is timed in evaluate, and what that is called; the model's forward pass is timed by hooks."""

FORWARD, REST = "the model's forward pass", "all else"

COMPILED = "torch.compile"


def main() -> None:
    """Measure the forward pass against the matrix products, then split the time of evaluate."""
    arguments = parser(__doc__)
    arguments.add_argument("--model")
    arguments.add_argument("--task", default="tnews")
    arguments.add_argument("--examples", type=int, default=400)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--choices", default=f"eager,{COMPILED},bf16")
    options = parsed(arguments, examples=8, rounds=1, choices="eager,bf16")  # compiling takes most of a minute
    size = "tiny" if options.small else "small"
    inputs = list(dict.fromkeys(example.input for example in load(options.task, options.examples).examples))
    model = predictor(options.model, options.task, inputs, size)
    shape = model.model.config
    print(
        f"{options.task}, {len(inputs)} inputs, {shape.num_hidden_layers} layers x {shape.hidden_size}, fp32, "
        f"{torch.get_num_threads()} threads; {machine('torch', 'transformers')}\n"
    )
    against_products(model, inputs, options.rounds)
    print()
    against_choices(model, inputs, options.choices.split(","), options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        # with a head, whether or not the folder that was given has one
        spec = save(model.model, model.tokenizer, Path(folder) / "bench")
        limit = str(options.examples)
        grid = ["--perturbations", "space", "--probs", "0.15", "--seeds", "13"] if options.small else []
        times = parts_of(["--dataset", options.task, "--model", spec, "--max_samples", limit, *grid], Path(folder))
    whole = sum(times.values())
    rows = [
        (name, f"{value:.2f}", f"{value / whole:.1%}") for name, value in sorted(times.items(), key=lambda p: -p[1])
    ]
    print()
    table(("evaluate, busy with", "s", "share"), [*rows, ("together", f"{whole:.2f}", "100.0%")])


def against_products(model: TransformerClassifier, inputs: Sequence[Input], rounds: int) -> None:
    """Print the speed of the products, of the forward pass and of all of `predict_all`."""
    work = products(model.model.config)
    started, batch = [0.0], [0]
    forward: dict[int, float] = {}
    bare: dict[int, float] = {}
    adds: dict[int, int] = {}
    products_seconds = 0.0

    def before(*_: Any) -> None:
        started[0] = time.perf_counter()

    def after(_: Any, __: Any, keywords: dict[str, torch.Tensor], ___: Any) -> None:
        nonlocal products_seconds
        now, number = time.perf_counter(), batch[0]
        rows, width = keywords["input_ids"].shape
        alone, adds[number] = work(rows, width), multiply_adds(model.model.config, rows, width)
        forward[number] = min(forward.get(number, 1e9), now - started[0])
        bare[number] = min(bare.get(number, 1e9), alone)
        batch[0] += 1
        products_seconds += time.perf_counter() - now

    handles = (
        model.model.register_forward_pre_hook(before, with_kwargs=True),
        model.model.register_forward_hook(after, with_kwargs=True),
    )
    whole, tokens = 1e9, 0
    for _ in range(rounds + 1):  # the first one warms up
        batch[0], products_seconds = 0, 0.0
        begun = time.perf_counter()
        tokens = int(predict_all(model, inputs).tokens.sum())
        whole = min(whole, time.perf_counter() - begun - products_seconds)
    for handle in handles:
        handle.remove()
    limit, operations = sum(bare.values()), 2 * sum(adds.values())
    rows = [
        ("matrix products of the same shapes", limit),
        ("forward pass", sum(forward.values())),
        ("predict_all: tokenise, pad, forward pass, softmax", whole),
    ]
    table(
        ("what", "s", "tokens/s", "GFLOP/s of products", "share of the products' speed"),
        [
            (name, f"{s:.3f}", f"{tokens / s:,.0f}", f"{operations / s / 1e9:.1f}", f"{limit / s:.1%}")
            for name, s in rows
        ],
    )


def against_choices(model: TransformerClassifier, inputs: Sequence[Input], choices: Sequence[str], rounds: int) -> None:
    """Print the speed of `predict_all` as it comes, which is warm by now, and in other ways."""
    network, used = model.model, model.model.config._attn_implementation  # noqa: SLF001
    compiled: Any = torch.compile(network, dynamic=True)
    reference, rows = predict_all(model, inputs).probabilities, []
    margins = np.diff(np.sort(reference)[:, -2:]).ravel()
    for name in (used, *choices):
        network.set_attn_implementation(name if name in ("eager", "sdpa") else used)
        model.model = compiled if name == COMPILED else network
        model.precision = "bf16" if name == "bf16" else "fp32"
        try:
            first, *times = [timed(lambda: predict_all(model, inputs)) for _ in range(rounds + 1)]
            differing = predict_all(model, inputs).probabilities.argmax(1) != reference.argmax(1)
        except torch._dynamo.exc.TorchDynamoException as problem:  # noqa: SLF001
            print(f"{name}: left out, {str(problem).splitlines()[0]}")
            continue
        rows.append((name, first, min(times), differing))
    model.model, model.precision = network, "fp32"
    network.set_attn_implementation(used)
    header = ["predict_all with", "first pass, s", "s", "times the first row", "labels that differ"]
    lines = [
        [name, f"{first:.2f}", f"{best:.2f}", f"{rows[0][2] / best:.2f}", str(differing.sum())]
        for name, first, best, differing in rows
    ]
    if any(differing.any() for *_, differing in rows):
        header.append("margin over 1e-3")
        for line, (*_, differing) in zip(lines, rows, strict=True):
            line.append(str((differing & (margins > 1e-3)).sum()))
    table(header, lines)


def products(config: Any) -> Callable[[int, int], float]:
    """Return what runs the products of a batch of rows x width alone and gives their seconds."""
    layers, hidden, inner = config.num_hidden_layers, config.hidden_size, config.intermediate_size
    heads = config.num_attention_heads
    weights = [
        ([torch.randn(hidden, hidden) for _ in range(4)], torch.randn(hidden, inner), torch.randn(inner, hidden))
        for _ in range(layers)
    ]

    def run(rows: int, width: int) -> float:
        size, head = rows * width, hidden // heads
        x, wide = torch.randn(size, hidden), torch.randn(size, inner)
        query, key = torch.randn(rows * heads, width, head), torch.randn(rows * heads, head, width)
        scores, narrow, mixed = torch.empty(rows * heads, width, width), torch.empty_like(x), torch.empty_like(query)
        torch.bmm(query, key, out=scores)
        begun = time.perf_counter()
        for square, up, down in weights:
            for weight in square:
                torch.mm(x, weight, out=narrow)
            torch.bmm(query, key, out=scores)
            torch.bmm(scores, query, out=mixed)
            torch.mm(x, up, out=wide)
            torch.mm(wide, down, out=narrow)
        return time.perf_counter() - begun

    return run


class Clock:
    """Adds up the time that is spent in named parts; what a part calls counts for that alone."""

    def __init__(self) -> None:
        self.times: dict[str, float] = defaultdict(float)
        self.within, self.last = [REST], time.perf_counter()

    def enter(self, name: str) -> None:
        """Begin a part within the present one."""
        self._charge()
        self.within.append(name)

    def leave(self) -> None:
        """End the present part."""
        self._charge()
        self.within.pop()

    def _charge(self) -> None:
        now = time.perf_counter()
        self.times[self.within[-1]] += now - self.last
        self.last = now

    def around(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose time counts for a part."""

        @wraps(work)
        def timed(*values: Any, **named: Any) -> Any:
            self.enter(name)
            try:
                found = work(*values, **named)
            finally:
                self.leave()
            if name == PARTS["crt.studies.cells.load_predictor"]:
                found.model.register_forward_pre_hook(lambda *_: self.enter(FORWARD))
                found.model.register_forward_hook(lambda *_: self.leave())
            return found

        return timed


def parts_of(arguments: Sequence[str], folder: Path) -> dict[str, float]:
    """Run evaluate on a fresh store; return the seconds of its parts."""
    with fresh_store(folder), ExitStack() as stack:
        clock = Clock()
        for place, name in PARTS.items():
            stack.enter_context(patch(place, clock.around(name, pkgutil.resolve_name(place))))
        clock.last = time.perf_counter()
        evaluate(arguments)
        clock.leave()
    return dict(clock.times)


if __name__ == "__main__":
    main()
