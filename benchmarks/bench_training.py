"""crt's training loop against transformers.Trainer: the same weights, examples, batch size, input length and optimizer.

    python benchmarks/bench_training.py [--model FOLDER] [--task tnews] [--examples 2000] [--batch 32] [--rounds 2]

Both train one epoch on tokenised inputs, padded in each batch to its longest input, rounded up to a multiple of 8 tokens.
They take turns; the best of the rounds counts. The time is that of the training steps: selection, saving and tokenising
are left out on both sides. Tokens are those without padding; the waste is the share of padding among all tokens that go
through the model. Trainer is measured as it comes, in random order, and with `group_by_length`.

Without --model: a BERT of 4 layers x 384 with random weights. Data from $CRT_DATA_DIR, else the built-in rows.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch
from transformers import (
    AutoModelForSequenceClassification,
    DataCollatorWithPadding,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from benchmarks.common import data, machine, parsed, parser, table
from benchmarks.encoders import MAX_LENGTH, Measured, counted, save_bert
from crt.catalogue import TASKS, Task
from crt.models import PredictOptions
from crt.models.checkpoint import WIDTH, load_tokenizer
from crt.models.processes import start
from crt.models.recipe import TrainOptions
from crt.models.training import EpochRecord, train
from crt.models.transformer import encode
from crt.tasks import Source, Split, load_training


def main() -> None:
    """Train in turn with each loop."""
    arguments = parser(__doc__)
    arguments.add_argument("--model")
    arguments.add_argument("--task", default="tnews")
    arguments.add_argument("--examples", type=int, default=2000)
    arguments.add_argument("--batch", type=int, default=32)
    arguments.add_argument("--rounds", type=int, default=2)
    options = parsed(arguments, examples=24, batch=4, rounds=1)
    task = TASKS[options.task]
    examples, selection = load_training(task, Source(data()))
    examples, selection = examples.limited(options.examples), selection.limited(8)
    with tempfile.TemporaryDirectory() as folder:
        inputs = [example.input for example in examples.examples]
        size = "tiny" if options.small else "small"
        spec = options.model or save_bert(options.task, inputs, size, Path(folder) / "random")
        loops: dict[str, Callable[[], Measured]] = {
            "transformers.Trainer": lambda: by_trainer(task, examples, spec, options.batch, "random", folder),
            "transformers.Trainer, group_by_length": lambda: by_trainer(
                task, examples, spec, options.batch, "group_by_length", folder
            ),
            "crt": lambda: by_crt(task, examples, selection, spec, options.batch, Path(folder) / "out"),
        }
        best: dict[str, Measured] = {}
        for _ in range(options.rounds):
            for name, loop in loops.items():
                found = loop()
                best[name] = max(best.get(name, found), found, key=lambda measured: measured.speed)
    first = best["transformers.Trainer"].speed
    print(
        f"{options.task}, {len(inputs)} examples in batches of {options.batch}, fp32, {torch.get_num_threads()} threads; "
        f"{machine('torch', 'transformers', 'accelerate')}\n"
    )
    table(
        ("loop", "tokens/s", "padding waste", "times Trainer"),
        [
            (name, f"{m.speed:,.0f}", f"{1 - m.tokens / m.padded:.1%}", f"{m.speed / first:.2f}")
            for name, m in best.items()
        ],
    )


def by_crt(task: Task, examples: Split, selection: Split, spec: str, batch: int, folder: Path) -> Measured:
    """Train one epoch with crt."""
    options = TrainOptions(model=spec, train_batch_size=batch, predict=PredictOptions(MAX_LENGTH))
    with counted(spec, training=True) as measured:
        for record in train(task, examples, selection, start("fp32"), options, folder):
            if isinstance(record, EpochRecord):
                measured.seconds = record.seconds
    return measured


def by_trainer(task: Task, examples: Split, spec: str, batch: int, order: str, folder: str) -> Measured:
    """Train one epoch with Trainer, with the recipe of crt."""
    recipe = TrainOptions()
    tokenizer = load_tokenizer(spec, MAX_LENGTH)
    encoded = encode(tokenizer, [example.input for example in examples.examples], MAX_LENGTH)
    rows = [{**row, "labels": e.label} for row, e in zip(encoded.features, examples.examples, strict=True)]
    steps = -(-len(rows) // batch)
    settings = TrainingArguments(
        output_dir=folder, per_device_train_batch_size=batch, num_train_epochs=1, learning_rate=recipe.learning_rate,
        weight_decay=recipe.weight_decay, warmup_steps=int(steps * recipe.warmup_ratio), seed=recipe.seed,
        max_grad_norm=recipe.max_grad_norm, optim="adamw_torch_fused", train_sampling_strategy=order, save_strategy="no", logging_strategy="no",
        report_to="none", disable_tqdm=True, use_cpu=not torch.cuda.is_available(),
        dataloader_pin_memory=torch.cuda.is_available(),
    )  # fmt: skip
    model = AutoModelForSequenceClassification.from_pretrained(
        spec, num_labels=len(task.labels), trust_remote_code=False
    )
    collator = DataCollatorWithPadding(tokenizer, pad_to_multiple_of=WIDTH)
    clock = Clock()
    trainer = Trainer(model, settings, data_collator=collator, train_dataset=rows, callbacks=[clock])
    trainer.remove_callback(PrinterCallback)
    with counted(spec, training=True) as measured:
        trainer.train()
    measured.seconds = clock.seconds
    return measured


class Clock(TrainerCallback):
    """Times the steps of a Trainer, what it sets up before and saves afterwards left out."""

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Start."""
        self.seconds = -time.perf_counter()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Stop."""
        self.seconds += time.perf_counter()


if __name__ == "__main__":
    main()
