"""Loading checkpoints: what would only seem to work is refused, in one line that says what to do."""

import json
import pickle
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import SAMPLES, train_tiny
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    GPT2Config,
    GPT2ForSequenceClassification,
    GPT2LMHeadModel,
)

from crt.catalogue import TASKS
from crt.errors import ModelError
from crt.models import PredictOptions, load_predictor
from crt.models.checkpoint import check_tokenizer, load_model, load_tokenizer
from crt.models.tiny import build_tiny
from crt.models.training import TrainOptions, train
from crt.models.zeroshot import prompt_of
from crt.tasks import Source, load_training

TNEWS, REVIEWS, PAIRS = TASKS["tnews"], TASKS["chnsenticorp"], TASKS["ocnli"]
TITLES = [("股市今日大涨，银行股领先",), ("高考",), ("高考改革方案公布了吗？",)]
OPTIONS = PredictOptions(max_length=64)


@pytest.fixture
def copy(tiny_checkpoint, tmp_path):
    """A copy of the checkpoint of a classifier, to be damaged."""
    return shutil.copytree(tiny_checkpoint, tmp_path / "copy")


@pytest.fixture
def tokenizer():
    """A tokenizer that knows the characters of a prompt."""
    prompt = prompt_of(REVIEWS)
    return build_tiny([(prompt.template + "".join(prompt.words),)], {0: "a", 1: "b"}, 512)[1]


def generator(folder, tokenizer, kind=GPT2LMHeadModel, **config):
    """Save a tiny causal model of random weights; return its folder."""
    torch.manual_seed(0)
    shape = {"vocab_size": len(tokenizer), "n_positions": 512, "n_embd": 32, "n_layer": 2, "n_head": 2}
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    kind(GPT2Config(**shape | ends | config)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def start(spec, accelerator, task=TNEWS, max_length=64):
    """Train a checkpoint for the first steps."""
    options = TrainOptions(model=str(spec), predict=PredictOptions(max_length=max_length))
    return next(train(task, *load_training(task, Source(SAMPLES)), accelerator, options, None))


def without_tokenizer(folder):
    """Take the tokenizer out of a checkpoint folder; return the vocabulary in the order of its numbers."""
    vocabulary = AutoTokenizer.from_pretrained(folder).get_vocab()
    for file in folder.glob("tokenizer*"):
        file.unlink()
    return sorted(vocabulary, key=vocabulary.__getitem__)


def test_a_folder_without_tokenizer(copy, accelerator, tmp_path, tokenizer):
    """The library would read every text as unknown tokens: refused wherever a model is loaded."""
    without_tokenizer(copy)
    for spec in (str(copy), f"embedding:{copy}"):
        with pytest.raises(
            ModelError, match=r"the folder holds no tokenizer, .* put the tokenizer\.json or vocab\.txt"
        ):
            load_predictor(spec, TNEWS, accelerator, OPTIONS, Source(SAMPLES))
    with pytest.raises(ModelError, match="the folder holds no tokenizer"):
        start(copy, accelerator)
    (copy / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "BertTokenizer"}'
    )  # says which, but not what it knows
    with pytest.raises(ModelError, match="the folder holds no tokenizer"):
        load_predictor(str(copy), TNEWS, accelerator, OPTIONS)
    folder = generator(tmp_path / "lm", tokenizer)
    without_tokenizer(folder)
    with pytest.raises(ModelError, match="the folder holds no tokenizer"):
        load_predictor(f"zeroshot:{folder}", REVIEWS, accelerator, OPTIONS)


def test_a_list_of_words_is_a_tokenizer(tiny_checkpoint, copy, accelerator):
    """Many checkpoints have no tokenizer.json but the vocab.txt of BERT: the answers are the same."""
    words = without_tokenizer(copy)
    (copy / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    both = [load_predictor(str(folder), TNEWS, accelerator, OPTIONS) for folder in (tiny_checkpoint, copy)]
    one, other = (predictor.predict(TITLES) for predictor in both)
    assert other.unknown.tolist() == one.unknown.tolist()
    np.testing.assert_array_equal(other.probabilities, one.probabilities)


def resized(folder, rows):
    """Give the model of a checkpoint so many embeddings."""
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    model.resize_token_embeddings(rows, mean_resizing=False)
    model.save_pretrained(folder)


@pytest.mark.parametrize("multiple", [64, 128, 1000])
def test_a_table_that_is_rounded_up(copy, accelerator, multiple):
    """A table of embeddings may have some more rows than there are tokens."""
    known = len(AutoTokenizer.from_pretrained(copy))
    resized(copy, -(-known // multiple) * multiple)
    load_predictor(str(copy), TNEWS, accelerator, OPTIONS)


def test_the_tokenizer_of_another_model(copy, accelerator, tokenizer):
    """One that knows far less than the model is not the model's, nor is one that knows special tokens alone."""
    resized(copy, 2 * len(AutoTokenizer.from_pretrained(copy)) + 1000)
    for spec in (str(copy), f"embedding:{copy}"):
        with pytest.raises(
            ModelError, match=r"the tokenizer of model .* knows \d+ tokens, the model [\d,]+: it is another"
        ):
            load_predictor(spec, TNEWS, accelerator, OPTIONS, Source(SAMPLES))
    with pytest.raises(ModelError, match="it is another model's"):
        start(copy, accelerator)
    model, nothing = build_tiny([], {0: "a", 1: "b"}, 64)
    with pytest.raises(ModelError, match="knows 5 tokens, the model 5"):
        check_tokenizer("m", model, nothing)


@pytest.mark.parametrize(("task", "least"), [(TNEWS, 3), (PAIRS, 5)])
def test_a_length_without_room_for_text(copy, accelerator, task, least):
    """Beside [CLS] and [SEP] there must be room for one token of each text; the message says what works."""
    message = f"max_length {least - 1} leaves model .* no room for text .* give max_length={least} or more"
    with pytest.raises(ModelError, match=message):
        load_tokenizer(str(copy), least - 1, len(task.fields))
    load_tokenizer(str(copy), least, len(task.fields))
    options = PredictOptions(max_length=least - 1)
    with pytest.raises(ModelError, match=message):
        load_predictor(f"embedding:{copy}", task, accelerator, options, Source(SAMPLES))
    for spec in ("tiny", copy):
        with pytest.raises(ModelError, match=message):
            start(spec, accelerator, task, least - 1)


def test_the_least_length_reads_one_token(copy, accelerator):
    """What is refused is below what works: one token of the text is read."""
    with pytest.raises(ModelError, match="give max_length=3 or more"):
        load_predictor(str(copy), TNEWS, accelerator, PredictOptions(max_length=1))
    predictor = load_predictor(str(copy), TNEWS, accelerator, PredictOptions(max_length=3))
    assert predictor.predict(TITLES).tokens.tolist() == [1, 1, 1]


def test_a_prompt_takes_one_token_of_a_text(tmp_path, accelerator, tokenizer):
    """A prompt cuts each text by itself: there one token works."""
    folder = generator(tmp_path / "lm", tokenizer)
    predictor = load_predictor(f"zeroshot:{folder}", REVIEWS, accelerator, PredictOptions(max_length=1))
    assert predictor.predict([("请选出",)]).tokens.tolist() == [1]
    with pytest.raises(ModelError, match="give max_length=1 or more"):
        load_tokenizer(str(folder), 0, texts=0)


def test_a_tokenizer_without_pad_token(copy, accelerator):
    """Batches are filled up with it: the message says how to get one."""
    tokenizer = AutoTokenizer.from_pretrained(copy)
    tokenizer.pad_token = None
    tokenizer.save_pretrained(copy)
    for spec in (str(copy), f"embedding:{copy}"):
        with pytest.raises(ModelError, match=r"has no pad token, .* tokenizer\.pad_token = tokenizer\.eos_token"):
            load_predictor(spec, TNEWS, accelerator, OPTIONS, Source(SAMPLES))
    with pytest.raises(ModelError, match="has no pad token"):
        start(copy, accelerator)


def test_tokens_without_embedding(copy, accelerator):
    """Tokens that were added without resizing the model are refused before anything is predicted."""
    tokenizer = AutoTokenizer.from_pretrained(copy)
    known = len(tokenizer)
    tokenizer.add_tokens(["银行股", "改革方案"])
    tokenizer.save_pretrained(copy)
    message = rf"has 2 tokens \(银行股, 改革方案\) beyond the {known} that the model has embeddings for"
    for spec in (str(copy), f"embedding:{copy}"):
        with pytest.raises(ModelError, match=message):
            load_predictor(spec, TNEWS, accelerator, OPTIONS, Source(SAMPLES))
    with pytest.raises(ModelError, match=message):
        start(copy, accelerator)
    resized(copy, len(tokenizer))
    load_predictor(str(copy), TNEWS, accelerator, OPTIONS)


def test_a_pad_token_that_nothing_needs(tmp_path, accelerator, tokenizer):
    """Many language models have a pad token without embedding; prompts are not filled up, so it does no harm."""
    rows = len(tokenizer)
    tokenizer.add_special_tokens({"pad_token": "<pad>"})
    folder = generator(tmp_path / "lm", tokenizer, vocab_size=rows)
    assert load_predictor(f"zeroshot:{folder}", REVIEWS, accelerator, OPTIONS).predict(
        [("请选出",)]
    ).tokens.tolist() == [3]
    with pytest.raises(ModelError, match=r"has 1 tokens \(<pad>\) beyond"):
        load_predictor(f"embedding:{folder}", REVIEWS, accelerator, OPTIONS, Source(SAMPLES))


def test_a_decoder_that_does_not_know_its_pad_token(tmp_path, accelerator, tokenizer):
    """It learns it from the tokenizer, and answers for a text in a batch as for the text alone."""
    labels = {"id2label": {0: "negative", 1: "positive"}, "label2id": {"negative": 0, "positive": 1}}
    folder = generator(tmp_path / "decoder", tokenizer, GPT2ForSequenceClassification, **labels)
    assert json.loads((folder / "config.json").read_text()).get("pad_token_id") is None
    predictor = load_predictor(str(folder), REVIEWS, accelerator, OPTIONS)
    inputs = [("请从",), ("请从正面和负面中选出",)]
    found = predictor.predict(inputs).probabilities
    model = GPT2ForSequenceClassification.from_pretrained(folder).eval()
    for row, (text,) in enumerate(inputs):
        with torch.inference_mode():
            alone = model(**predictor.tokenizer(text, return_tensors="pt")).logits[0].softmax(-1)
        assert found[row] == pytest.approx(alone.numpy(), abs=1e-5)


def pickled(folder, save=torch.save):
    """Keep the weights of a checkpoint as most downloaded ones do, in a pickle; return them."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    save(weights, folder / "pytorch_model.bin")
    return weights


def in_shards(weights, file):
    """Save weights in two pickles and an index."""
    names = {name: f"pytorch_model-0000{1 + number % 2}-of-00002.bin" for number, name in enumerate(weights)}
    for shard in set(names.values()):
        torch.save({name: weights[name] for name in weights if names[name] == shard}, file.parent / shard)
    index = {"metadata": {"total_size": sum(weight.nbytes for weight in weights.values())}, "weight_map": names}
    (file.parent / "pytorch_model.bin.index.json").write_text(json.dumps(index))


def the_old_way(weights, file):
    """Save weights as torch did before it used zip files."""
    torch.save(weights, file, _use_new_zipfile_serialization=False)


def old_names(weights, file):
    """Save weights under the names that TensorFlow gave them, as the first Chinese checkpoints have them."""
    names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for new, old in names.items():
        weights = {name.replace(new, old): weight for name, weight in weights.items()}
    torch.save(weights, file)


@pytest.mark.parametrize("save", [torch.save, the_old_way, in_shards, old_names])
def test_pickled_weights(tiny_checkpoint, copy, accelerator, save):
    """They give the model that they were made of: the same fingerprint, the same answers."""
    pickled(copy, save)
    one, other = (load_predictor(str(folder), TNEWS, accelerator, OPTIONS) for folder in (tiny_checkpoint, copy))
    assert other.fingerprint == one.fingerprint
    np.testing.assert_array_equal(other.predict(TITLES).probabilities, one.predict(TITLES).probabilities)


class Payload:
    """What makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("save", [torch.save, the_old_way, lambda value, file: file.write_bytes(pickle.dumps(value))])
def test_a_pickle_that_holds_code(copy, tmp_path, accelerator, save):
    """It is refused without being run, and the message does not tell how to run it."""
    mark = tmp_path / "mark"
    save(pickled(copy) | {"payload": Payload(mark)}, copy / "pytorch_model.bin")
    for spec in (str(copy), f"embedding:{copy}"):
        with pytest.raises(ModelError, match=r"pytorch_model\.bin is damaged, or holds more than tensors") as error:
            load_predictor(spec, TNEWS, accelerator, OPTIONS, Source(SAMPLES))
        assert "weights_only" not in str(error.value)
    with pytest.raises(ModelError, match="holds more than tensors"):
        start(copy, accelerator)
    assert not mark.exists()
    pickle.loads(pickle.dumps(Payload(mark)))
    assert mark.exists()


@pytest.mark.parametrize("content", [b"", b"no weights"])
def test_a_damaged_pickle(copy, accelerator, content):
    """What is no file of weights is one line, not a traceback."""
    pickled(copy)
    (copy / "pytorch_model.bin").write_bytes(content)
    with pytest.raises(ModelError, match="no usable weights"):
        load_predictor(str(copy), TNEWS, accelerator, OPTIONS)


def test_weights_of_another_model(copy, accelerator):
    """Training would start from random weights where names or shapes do not fit: refused; a new head is none of that."""
    weights = {name: weight.clone() for name, weight in load_file(copy / "model.safetensors").items()}

    def keep(changed):
        save_file(changed, copy / "model.safetensors", metadata={"format": "pt"})

    start(copy, accelerator, REVIEWS)  # 2 labels for 15
    keep({name: weight for name, weight in weights.items() if "classifier" not in name and "pooler" not in name})
    start(copy, accelerator)
    keep({f"module.{name}": weight for name, weight in weights.items()})
    with pytest.raises(
        ModelError, match=r"the weights are not those of a BertForSequenceClassification .* are missing, like"
    ):
        start(copy, accelerator)
    table = "bert.embeddings.word_embeddings.weight"
    keep(weights | {table: weights[table][:-1].clone()})
    shape = list(weights[table].shape)
    message = re.escape(f"{table} has the shape {[shape[0] - 1, shape[1]]}, not {shape}")
    with pytest.raises(ModelError, match=message):
        start(copy, accelerator)
    with pytest.raises(ModelError, match=message):
        load_predictor(str(copy), TNEWS, accelerator, OPTIONS)


def test_more_labels_than_outputs(copy, accelerator):
    """A config.json whose labels are not those of the head is told by the shapes."""
    edit_config(copy, id2label={str(number): str(number) for number in range(3)})
    with pytest.raises(ModelError, match=r"classifier\.bias has the shape \[15\], not \[3\]"):
        load_predictor(str(copy), TNEWS, accelerator, OPTIONS)


HUGE = [
    {"num_hidden_layers": 10**6},
    {"num_hidden_layers": 10**6, "hidden_size": 2, "num_attention_heads": 1, "intermediate_size": 1},
    {"hidden_size": 4 * 10**6},
    {"max_position_embeddings": 10**12},
]


@pytest.mark.parametrize("change", HUGE, ids=str)
def test_a_config_that_is_too_large_for_the_weights(copy, accelerator, change):
    """It is refused before memory or an hour goes into it, also where a new head would excuse other shapes."""
    edit_config(copy, **change)
    with pytest.raises(ModelError, match=r"config\.json describes a model that is too large for the weights beside it"):
        load_predictor(str(copy), TNEWS, accelerator, OPTIONS)
    with pytest.raises(ModelError, match="too large for the weights"):
        load_model(str(copy), num_labels=2)


FOREIGN = [
    {"_attn_implementation": "flash_attention_2"},
    {"attn_implementation": "somebody/kernels"},
    {"output_attentions": True, "output_hidden_states": True},
    {"return_dict": False},
    {"fusion_config": {"x": 1}, "distributed_config": {"tp_size": 2}},
    {"torch_dtype": "float16"},
    {"dtype": "bfloat16"},
    {"auto_map": {"AutoModelForSequenceClassification": "own.Model"}},
]


@pytest.mark.parametrize("change", FOREIGN, ids=str)
def test_what_a_config_has_no_say_in(tiny_checkpoint, copy, accelerator, change):
    """How a model is run is not for its checkpoint to decide: the answers are those of the plain one."""
    edit_config(copy, **change)
    one, other = (load_predictor(str(folder), TNEWS, accelerator, OPTIONS) for folder in (tiny_checkpoint, copy))
    assert other.fingerprint == one.fingerprint
    np.testing.assert_array_equal(other.predict(TITLES).probabilities, one.predict(TITLES).probabilities)


@pytest.mark.parametrize(
    ("config", "named"), [({"quant_method": "gptq"}, "gptq"), ({"load_in_4bit": True}, "quantization_config")]
)
def test_quantized_weights(copy, accelerator, config, named):
    """They are no plain numbers: refused with their kind."""
    edit_config(copy, quantization_config=config)
    with pytest.raises(ModelError, match=rf"are quantized \({named}.*\); give the checkpoint that they were made from"):
        load_predictor(str(copy), TNEWS, accelerator, OPTIONS)


@pytest.mark.parametrize("kept", [(), ("config.json", "model.safetensors")])
def test_an_adapter(copy, accelerator, kept):
    """Whether there is a model beside it or not, the message says how to make a whole one."""
    for file in copy.iterdir():
        if file.name not in kept:
            file.unlink()
    (copy / "adapter_config.json").write_text('{"peft_type": "LORA", "base_model_name_or_path": "bert-base-chinese"}')
    message = r"is an adapter \(PEFT\), .* model\.merge_and_unload\(\)\.save_pretrained\(FOLDER\)"
    for spec in (str(copy), f"embedding:{copy}"):
        with pytest.raises(ModelError, match=message):
            load_predictor(spec, TNEWS, accelerator, OPTIONS, Source(SAMPLES))
    with pytest.raises(ModelError, match=message):
        load_model(str(copy), num_labels=2)


def edit_config(folder, **changes):
    """Change fields of a checkpoint's config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


HEADS = [
    ({"id2label": {"0": "LABEL_0"}}, "has one output, a regression model"),
    ({"problem_type": "regression"}, "has outputs that are numbers, a regression model"),
    ({"problem_type": "multi_label_classification"}, "gives several labels at a time"),
]


@pytest.mark.parametrize(("change", "message"), HEADS, ids=str)
def test_heads_that_do_not_choose_a_label(copy, accelerator, tmp_path, change, message):
    """What answers with a number, or with several labels, is refused; a classifier that is trained from it is none of these."""
    if "id2label" in change:
        weights = {name: weight.clone() for name, weight in load_file(copy / "model.safetensors").items()}
        weights |= {f"classifier.{part}": weights[f"classifier.{part}"][:1].clone() for part in ("weight", "bias")}
        save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    edit_config(copy, **change)
    for label_map in ({}, {"LABEL_0": "news_tech"}):
        with pytest.raises(ModelError, match=message):
            load_predictor(str(copy), TNEWS, accelerator, replace(OPTIONS, label_map=label_map))
    folder = train_tiny("tnews", tmp_path / "trained", accelerator, model=str(copy))
    assert load_predictor(str(folder), TNEWS, accelerator, OPTIONS).labels == TNEWS.labels
