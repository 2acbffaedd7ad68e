"""Transformers as predictors."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import SAMPLES, train_tiny
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, BertConfig, DebertaV2Config, GPT2Config, RobertaConfig

from crt.catalogue import TASKS
from crt.errors import ModelError
from crt.models import PredictOptions, load_predictor, match_labels, predict_all
from crt.models.checkpoint import WIDTH, check_length
from crt.models.transformer import encode, plan_batches
from crt.tasks import Source

OPTIONS = PredictOptions(max_length=64)
TITLES = [
    ("股市今日大涨，银行股领先",),
    ("高考",),
    ("他" * 100,),
    ("",),
    ("iPhone 😀\ud83d 新品",),
    ("高考改革方案公布了吗？",),
]


@pytest.fixture
def predictor(tiny_checkpoint, accelerator):
    """The trained tiny model."""
    return load_predictor(str(tiny_checkpoint), TASKS["tnews"], accelerator, OPTIONS)


@pytest.fixture
def copy(tiny_checkpoint, tmp_path):
    """A copy of the checkpoint, to be damaged."""
    return shutil.copytree(tiny_checkpoint, tmp_path / "copy")


def test_contract(predictor):
    """Probabilities have a row for each input and a column for each label, sum to 1 and can be repeated."""
    result = predictor.predict(TITLES)
    assert result.probabilities.shape == (len(TITLES), 15)
    assert result.probabilities.dtype == np.float32
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1, atol=1e-6)
    assert (predictor.predict(TITLES).probabilities == result.probabilities).all()
    assert predictor.predict([]).probabilities.shape == (0, 15)


def test_a_row_does_not_depend_on_the_others(predictor):
    """Alone, reversed or in another batch, an input gets the same probabilities to the last bit."""
    inputs = [(f"{topic}新闻{'很' * length}",) for topic in ("股市", "高考", "球赛") for length in range(40)]
    together = predictor.predict(inputs).probabilities
    assert (predictor.predict(inputs[::-1]).probabilities[::-1] == together).all()
    assert (np.concatenate([predictor.predict([value]).probabilities for value in inputs]) == together).all()


def test_tokens_are_counted(predictor):
    """Tokens leave the special ones out, unknown ones are those outside the vocabulary, and cut inputs are marked."""
    result = predictor.predict([("高考",), ("高\u4e02",), ("他" * 100,), ("",)])
    assert result.tokens.tolist() == [2, 2, 62, 0]
    assert result.unknown.tolist() == [0, 1, 0, 0]
    assert result.truncated.tolist() == [False, False, True, False]


def test_name_and_seed_come_from_the_checkpoint(predictor):
    """The tables call a model by its base model, not by the folder it stands in."""
    assert (predictor.name, predictor.train_seed) == ("tiny", 42)


def test_pairs_are_told_apart(tmp_path, accelerator):
    """The two texts of a pair reach the model as two segments, so that their order matters."""
    folder = train_tiny("ocnli", tmp_path / "pairs", accelerator)
    predictor = load_predictor(str(folder), TASKS["ocnli"], accelerator, OPTIONS)
    encoded = encode(predictor.tokenizer, [("甲乙", "丙")], 64)
    assert encoded.features[0]["token_type_ids"] == [0, 0, 0, 0, 1, 1]
    probabilities = predictor.predict([("他来了", "他没来"), ("他没来", "他来了")]).probabilities
    assert (probabilities[0] != probabilities[1]).any()


def test_fingerprint_covers_weights_and_settings(copy, accelerator):
    """Another weight, length or label order is another predictor; the same files elsewhere are the same one."""
    task = TASKS["tnews"]
    first = load_predictor(str(copy), task, accelerator, OPTIONS).fingerprint
    assert (
        load_predictor(str(shutil.copytree(copy, copy.parent / "b")), task, accelerator, OPTIONS).fingerprint == first
    )
    shorter = replace(OPTIONS, max_length=32)
    assert load_predictor(str(copy), task, accelerator, shorter).fingerprint != first
    weights = load_file(copy / "model.safetensors")
    weights["classifier.bias"][0] += 1e-6
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    assert load_predictor(str(copy), task, accelerator, OPTIONS).fingerprint != first


def test_labels_are_matched_by_name(copy, accelerator):
    """A model whose labels stand in another order gives the same answers; columns follow the task."""
    before = load_predictor(str(copy), TASKS["tnews"], accelerator, OPTIONS).predict(TITLES).probabilities
    order = list(range(15))[::-1]
    weights = load_file(copy / "model.safetensors")
    weights |= {f"classifier.{part}": weights[f"classifier.{part}"][order].clone() for part in ("weight", "bias")}
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    edit_config(copy, id2label={str(k): TASKS["tnews"].labels[old].upper() for k, old in enumerate(order)})
    after = load_predictor(str(copy), TASKS["tnews"], accelerator, OPTIONS).predict(TITLES).probabilities
    np.testing.assert_allclose(after, before, atol=1e-6)


@pytest.mark.parametrize(
    ("found", "label_map", "message"),
    [
        (("LABEL_0", "LABEL_1"), {}, "label_map=LABEL_0=TASK_LABEL,LABEL_1=TASK_LABEL"),
        (("positive", "neutral", "negative"), {}, "unknown: neutral; was it trained on another data set"),
        (("positive", "LABEL_9"), {"LABEL_9": "happy"}, "missing: negative"),
        (("positive", "LABEL_9"), {"LABEL_9": "positive"}, "two labels of model m have one name: positive, positive"),
        (("LABEL_0", "LABEL_1"), {"LABEL_2": "negative"}, "label_map names 'LABEL_2'"),
    ],
)
def test_labels_that_differ_are_refused(found, label_map, message):
    """Labels are never guessed from positions: the message names both lists and the way out."""
    with pytest.raises(ModelError) as error:
        match_labels("m", found, TASKS["chnsenticorp"], label_map)
    assert message in str(error.value)


def test_label_map_names_generic_labels():
    """With a map, generic labels are matched by the names it gives."""
    label_map = {"LABEL_0": "Positive", "LABEL_1": "negative"}
    task = TASKS["chnsenticorp"]
    assert match_labels("m", ("LABEL_0", "LABEL_1"), task, label_map) == (("negative", "positive"), (1, 0))
    assert match_labels("m", ("LABEL_0", "b"), replace(task, labels=()), {"LABEL_0": "a"}) == (("a", "b"), (0, 1))


def test_checkpoint_without_weights(copy, accelerator):
    """A folder without weights is an error that lists what it holds."""
    (copy / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"no usable weights .* the folder holds config\.json"):
        load_predictor(str(copy), TASKS["tnews"], accelerator, OPTIONS)


def test_encoder_without_head(copy, accelerator):
    """An encoder without a trained head would guess at random: it is refused with the command that trains one."""
    weights = {k: v for k, v in load_file(copy / "model.safetensors").items() if not k.startswith("classifier")}
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"no trained classification head .* crt train --dataset tnews"):
        load_predictor(str(copy), TASKS["tnews"], accelerator, OPTIONS)


def test_weights_that_are_no_numbers(copy, accelerator):
    """A model that answers NaN is reported with the input; nothing is scored."""
    weights = load_file(copy / "model.safetensors")
    weights["classifier.bias"][0] = float("nan")
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"NaN or infinity, .*\) for 1 of 1 inputs, the first of them \('高考',\)"):
        predict_all(load_predictor(str(copy), TASKS["tnews"], accelerator, OPTIONS), [("高考",)])


def test_a_name_that_is_too_long(accelerator):
    """A spec that no system takes for the name of a file is an unknown model like any other."""
    with pytest.raises(ModelError, match="no such folder, and the hub gives no weights"):
        load_predictor("x" * 300, TASKS["tnews"], accelerator, OPTIONS)


def test_unknown_hub_id(accelerator):
    """A hub id that is not available suggests the nearest known name and the way without the hub."""
    with pytest.raises(ModelError, match=r"did you mean 'bert-base-chinese'\? without the hub, give the folder"):
        load_predictor("bert-base-chinse", TASKS["tnews"], accelerator, OPTIONS)


def test_too_long_for_the_model(tiny_checkpoint, accelerator):
    """A max_length beyond what the model reads is refused instead of crashing in the forward pass."""
    with pytest.raises(ModelError, match="max_length 128 is more than"):
        load_predictor(str(tiny_checkpoint), TASKS["tnews"], accelerator, PredictOptions(max_length=128))


def test_too_long_for_a_model_whose_tokenizer_does_not_say(copy, accelerator):
    """Where the tokenizer knows no length, the table of positions of the model does."""
    path = copy / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    settings.pop("model_max_length")
    path.write_text(json.dumps(settings))
    load_predictor(str(copy), TASKS["tnews"], accelerator, OPTIONS)
    for spec in (str(copy), f"embedding:{copy}"):
        with pytest.raises(ModelError, match=r"max_length 65 is more than model .* reads; give max_length=64$"):
            load_predictor(spec, TASKS["tnews"], accelerator, PredictOptions(max_length=65), Source(SAMPLES))


SMALL = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 9}


@pytest.mark.parametrize(
    ("config", "room"),
    [
        (BertConfig(**SMALL, max_position_embeddings=64), 64),
        (BertConfig(**SMALL, max_position_embeddings=63), 56),  # filled up to 64 there would be none
        (RobertaConfig(**SMALL, max_position_embeddings=66, pad_token_id=1), 64),
        (GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=9, n_positions=64, pad_token_id=0), 64),
    ],
    ids=lambda value: getattr(value, "model_type", None),
)
def test_how_much_a_model_reads(config, room):
    """The longest input that passes the check can be read, filled up as it is in a batch; one token more is refused."""
    model = AutoModelForSequenceClassification.from_config(config).eval()
    check_length("m", model, room)
    model(torch.tensor([[3] * room]))
    with pytest.raises(ModelError, match=f"max_length {room + 1} is more than model m reads; give max_length={room}"):
        check_length("m", model, room + 1)
    with pytest.raises((IndexError, RuntimeError)):
        model(torch.tensor([[3] * (-(-(room + 1) // WIDTH) * WIDTH)]))


def test_a_model_without_positions_reads_any_length():
    """Where positions are relative no length is refused."""
    config = DebertaV2Config(**SMALL, max_position_embeddings=64, position_biased_input=False, relative_attention=True)
    check_length("m", AutoModelForSequenceClassification.from_config(config), 4096)


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_code_of_a_checkpoint_is_not_run(copy, accelerator, monkeypatch, file):
    """A checkpoint that brings code of its own is refused, and nobody is asked whether to run it."""
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("somebody was asked"))
    (copy / "own.py").write_text("raise SystemExit('the code ran')")
    kinds = {"AutoConfig": "own.C", "AutoModelForSequenceClassification": "own.M", "AutoTokenizer": ["own.T", "own.T"]}
    settings = json.loads((copy / file).read_text())
    kept = {name: value for name, value in settings.items() if name not in ("model_type", "tokenizer_class")}
    (copy / file).write_text(json.dumps({**kept, "auto_map": kinds}))
    if file == "tokenizer_config.json":
        load_predictor(str(copy), TASKS["tnews"], accelerator, OPTIONS)  # the library has a class for it
        return
    with pytest.raises(ModelError, match="no usable weights"):
        load_predictor(str(copy), TASKS["tnews"], accelerator, OPTIONS)


def test_plan_batches():
    """Every row is in one batch; a batch has one width and stays within the budget; widest first."""
    lengths = np.array([3, 17, 8, 9, 16, 1, 8, 8, 2, 5])
    assert plan_batches(lengths, 40) == [[1], [3, 4], [0, 2, 5, 6], [7, 8, 9]]


def edit_config(folder, **changes):
    """Change fields of a checkpoint's config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
