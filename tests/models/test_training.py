"""The training loop."""

import platform
import re
from contextlib import nullcontext
from dataclasses import asdict
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from conftest import SAMPLES, train_tiny
from safetensors.torch import load_file

from crt.catalogue import TASKS
from crt.errors import ModelError
from crt.models import PredictOptions, load_predictor
from crt.models.augmentation import Augmenter
from crt.models.loop import Loop
from crt.models.recipe import TrainOptions
from crt.models.resuming import StateFile
from crt.models.training import Checkpoint, EpochRecord, StepRecord, _new_model, train
from crt.tasks import Source, load_training

TASK = TASKS["chnsenticorp"]
HOST = re.sub(r"\W", "-", platform.node())


@pytest.fixture
def splits():
    """Training and selection rows."""
    return load_training(TASK, Source(SAMPLES))


def recipe(**options):
    """A quick recipe."""
    return TrainOptions(**{"model": "tiny", "learning_rate": 1e-3, "predict": PredictOptions(max_length=64), **options})


def test_records(splits, tmp_path, accelerator):
    """Training yields rising steps, one record an epoch, and last the checkpoint of the best epoch."""
    records = list(train(TASK, *splits, accelerator, recipe(num_train_epochs=3, train_batch_size=12), tmp_path))
    steps = [r.step for r in records if isinstance(r, StepRecord)]
    epochs = [r for r in records if isinstance(r, EpochRecord)]
    assert steps == sorted(steps)
    assert steps[-1] == 3 * 4
    assert [r.epoch for r in epochs] == [1, 2, 3]
    assert isinstance(records[-1], Checkpoint)
    assert records[-1].epoch.selection["accuracy"] == max(r.selection["accuracy"] for r in epochs)
    assert (tmp_path / "model.safetensors").is_file()


def test_loss_falls(splits, tmp_path, accelerator):
    """The loop learns: the loss on the training rows falls far below that of guessing."""
    records = list(train(TASK, *splits, accelerator, recipe(num_train_epochs=15), tmp_path))
    assert [r for r in records if isinstance(r, StepRecord)][-1].loss < 0.5 * np.log(2)


def test_same_seed_same_weights(tmp_path, accelerator):
    """Two runs with a seed give equal weights; another seed gives others."""
    one, two, other = (
        load_file(train_tiny("ocnli", tmp_path / name, accelerator, seed=seed) / "model.safetensors")
        for name, seed in (("one", 1), ("two", 1), ("other", 2))
    )
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_an_epoch_has_every_row_once(splits, accelerator):
    """The batches of an epoch are a partition of the rows, in another order each epoch."""
    model, tokenizer = _new_model(TASK, splits[0], recipe())
    loop = Loop(model, tokenizer, splits[0], accelerator, recipe(train_batch_size=5, gradient_accumulation_steps=2))
    epochs = [[row for step in loop.plan(epoch) for batch in step for row in batch] for epoch in (1, 2, 1)]
    assert all(sorted(rows) == list(range(len(splits[0].examples))) for rows in epochs)
    assert epochs[0] == epochs[2] != epochs[1]


def test_accumulation_is_only_a_matter_of_memory(splits, accelerator):
    """One batch of 8 and two batches of 4 accumulated give the same gradient step, up to rounding."""
    rows = list(range(8))
    results = []
    for batches in ([rows], [rows[:4], rows[4:]], [rows[:7], rows[7:]]):
        torch.manual_seed(0)
        model, tokenizer = _new_model(TASK, splits[0], recipe())
        loop = Loop(model, tokenizer, splits[0], accelerator, recipe(warmup_ratio=0))
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        loss, _ = loop.step(batches)
        results.append((loss, torch.cat([p.detach().flatten() for p in model.parameters()])))
    for (loss, weights), (next_loss, next_weights) in pairwise(results):
        assert loss == pytest.approx(next_loss, rel=1e-5)
        torch.testing.assert_close(weights, next_weights, atol=2e-4, rtol=0)


def test_a_loss_that_is_no_number(splits, tmp_path, accelerator):
    """Training that diverges stops with the step and what to change."""
    with pytest.raises(ModelError, match=r"the loss of tiny is nan at step \d+ of \d+; lower the learning rate"):
        list(train(TASK, *splits, accelerator, recipe(num_train_epochs=3, learning_rate=1e30), tmp_path))


@pytest.mark.parametrize("spec", ["rule", "embedding:org/encoder", "zeroshot:org/model"])
def test_what_needs_no_training(spec, splits, tmp_path, accelerator):
    """A kind of model that takes its labels from the data set is refused before anything is loaded, with the way out."""
    with pytest.raises(ModelError, match=f"needs no training: evaluate it with model={spec}"):
        list(train(TASK, *splits, accelerator, recipe(model=spec), tmp_path))


def test_augmentation_is_a_function_of_epoch_and_example(splits):
    """About the share is perturbed, anew in each epoch, and an example's text does not depend on the others."""
    examples = splits[0].examples
    augmenter = Augmenter(examples, ("homophone", "space"), prob=0.5, share=0.5, seed=42)
    first, again, second = augmenter.inputs(1), augmenter.inputs(1), augmenter.inputs(2)
    assert first == again
    assert first != second
    changed = [value != example.input for value, example in zip(first, examples, strict=True)]
    assert 0.25 < np.mean(changed) < 0.75
    part = Augmenter(examples[5:10], ("homophone", "space"), prob=0.5, share=0.5, seed=42)
    assert part.inputs(1) == first[5:10]
    everything = Augmenter(examples, ("space",), prob=1.0, share=1.0, seed=42).inputs(1)
    assert all(value != example.input for value, example in zip(everything, examples, strict=True))


def test_an_augmented_model_says_so(splits, tmp_path, accelerator):
    """Its name in the tables and its configuration tell it from its plain twin."""
    options = recipe(augment=("homophone",), num_train_epochs=1)
    *_, checkpoint = train(TASK, *splits, accelerator, options, tmp_path)
    assert checkpoint.base_model == "tiny+homophone"
    assert '"crt_augment": "homophone at 0.15 of 0.5"' in (tmp_path / "config.json").read_text(encoding="utf-8")


def told(records):
    """Return records as plain values, without what a clock says."""
    plain = [asdict(record) for record in records[:-1]]
    return [{k: v for k, v in row.items() if k not in ("seconds", "tokens_per_second")} for row in plain]


@pytest.mark.parametrize(("broken_after", "augment"), [(1, ("homophone",)), (2, ())])
def test_a_training_that_was_broken_off_gives_what_an_unbroken_one_gives(
    splits, tmp_path, accelerator, broken_after, augment
):
    """Going on after an epoch, and some steps of the next, yields the same records and weights to the last bit."""
    options = recipe(num_train_epochs=2, augment=augment, warmup_ratio=0.3)
    unbroken = list(train(TASK, *splits, accelerator, options, tmp_path / "unbroken"))
    records = train(TASK, *splits, accelerator, options, tmp_path / "broken", states=tmp_path / "states")
    while not (isinstance(record := next(records), EpochRecord) and record.epoch == broken_after):
        pass
    next(records)
    records.close()
    torch.manual_seed(0)
    assert len(list((tmp_path / "states").iterdir())) == 1
    steps = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Loop, "step", lambda loop, rows, step=Loop.step: steps.append(rows) or step(loop, rows))
        resumed = list(
            train(TASK, *splits, accelerator, options, tmp_path / "resumed", states=tmp_path / "states", resume=True)
        )
    assert told(resumed) == told(unbroken)
    assert len(steps) == (2 - broken_after) * unbroken[-1].epoch.step // unbroken[-1].epoch.epoch
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("unbroken", "resumed"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not list((tmp_path / "states").iterdir())


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"learning_rate": 2e-3}, {"augment": ("space",)}, {"num_train_epochs": 3}]
)
def test_another_training_does_not_go_on_from_a_state(splits, tmp_path, accelerator, caplog, other):
    """With another setting, or other data, there is no state, and the training starts with the first epoch."""
    states = tmp_path / "states"
    records = train(TASK, *splits, accelerator, recipe(num_train_epochs=2), tmp_path, states=states)
    while not isinstance(next(records), EpochRecord):
        pass
    records.close()
    options, data = recipe(**{"num_train_epochs": 2, **other}), splits
    for data in (splits, (splits[0].limited(20), splits[1])) if "seed" in other else (splits,):
        caplog.clear()
        with caplog.at_level("INFO", logger="crt"):
            next(train(TASK, *data, accelerator, options, tmp_path, states=states, resume=True))
        assert "it starts with the first epoch" in caplog.text


def test_a_state_is_pointed_out_or_refused(splits, tmp_path, accelerator, caplog):
    """Without `resume` a state is named but not used; one that cannot be read is an error that says what to do."""
    states = tmp_path / "states"

    def start(**options):
        return train(TASK, *splits, accelerator, recipe(num_train_epochs=2), tmp_path, states=states, **options)

    records = start()
    while not isinstance(next(records), EpochRecord):
        pass
    records.close()
    with caplog.at_level("INFO", logger="crt"):
        assert next(start()).step == 1
    assert "resume=true would go on from it" in caplog.text
    (file,) = states.iterdir()
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"cannot be read .* delete it to start at the first epoch"):
        next(start(resume=True))


def test_what_a_killed_training_left_half_written_is_deleted(splits, tmp_path, accelerator):
    """The next training in the folder, of whatever settings, deletes it, and keeps whole states of others."""
    states = tmp_path / "states"
    states.mkdir()
    (states / f".0123456789abcdef.pt.{HOST}.99999999.partial").write_bytes(b"half")
    (states / "0123456789abcdef.pt").write_bytes(b"whole")
    next(train(TASK, *splits, accelerator, recipe(), tmp_path, states=states))
    assert [path.name for path in states.iterdir()] == ["0123456789abcdef.pt"]


def test_the_best_epoch_predicts_without_its_file(splits, tmp_path, accelerator, monkeypatch):
    """What comes last predicts, to the last bit, as the saved checkpoint of the best epoch, saved or not."""
    found = []
    for folder in (tmp_path, None):
        scores = iter([0.9, 0.5])
        monkeypatch.setattr("crt.models.training._select", lambda *_, s=scores: {"accuracy": next(s), "macro_f1": 0.0})
        *_, best = train(TASK, *splits, accelerator, recipe(num_train_epochs=2), folder)
        assert best.epoch.epoch == 1
        found.append(best.predictor)
    found.append(load_predictor(str(tmp_path), TASK, accelerator, PredictOptions(max_length=64)))
    inputs = [example.input for example in splits[1].examples]
    one, two, three = (predictor.predict(inputs).probabilities for predictor in found)
    assert (one == three).all()
    assert (two == three).all()


def test_an_odd_length_has_positions_for_what_fills_it_up(tmp_path, accelerator):
    """A tiny model whose longest input is no multiple of the width of a batch reads an input of that length."""
    folder = train_tiny("tnews", tmp_path / "odd", accelerator, predict=PredictOptions(max_length=60))
    predictor = load_predictor(str(folder), TASKS["tnews"], accelerator, PredictOptions())
    assert predictor.predict([("他" * 100,)]).tokens.tolist() == [58]


def test_a_full_disk_does_not_stop_a_training(splits, tmp_path, accelerator, caplog, monkeypatch):
    """Where a state cannot be kept a warning says so, the one before stays, and the checkpoint comes all the same."""

    def full(state, file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    *_, checkpoint = train(TASK, *splits, accelerator, recipe(), tmp_path, states=tmp_path / "states")
    assert isinstance(checkpoint, Checkpoint)
    assert "No space left on device" in caplog.text
    assert not list((tmp_path / "states").iterdir())


def test_nothing_is_left_of_a_state(tmp_path, accelerator):
    """Removing a state takes along what killed processes had half written, and leaves the states of other trainings alone."""
    for name in ("ours.pt", f".ours.pt.{HOST}.99999999.partial", "other.pt"):
        (tmp_path / name).touch()
    StateFile(tmp_path, "ours", accelerator).remove()
    assert [file.name for file in tmp_path.iterdir()] == ["other.pt"]


@pytest.mark.parametrize("world", [2, 3, 4])
def test_processes_share_out_every_row_once(splits, accelerator, monkeypatch, world):
    """Of uneven batches, and of those with fewer rows than processes, each row counts once over all processes."""
    model, tokenizer = _new_model(TASK, splits[0], recipe())
    loop = Loop(model, tokenizer, splits[0], accelerator, recipe())
    monkeypatch.setattr("crt.models.loop.collate", lambda _, features, __: {"features": features})
    number = {id(feature): row for row, feature in enumerate(loop.encoded.features)}
    batch, seen = [], []

    def forward(features):
        batch[:] = [number[id(feature)] for feature in features]
        return SimpleNamespace(logits=torch.zeros(len(features), 2))

    loop.model = forward
    for rows in ([5], [3, 1], [7, 2, 9, 4, 8]):
        losses = []
        for rank in range(world):
            loop.accelerator = SimpleNamespace(
                process_index=rank, num_processes=world, device="cpu", autocast=nullcontext, backward=lambda _: None
            )
            losses.append(loop._backward(rows, len(rows)))
            seen += batch if losses[-1] else []
        assert np.mean(losses) == pytest.approx(np.log(2))
        assert sorted(seen) == sorted(rows)
        seen.clear()
