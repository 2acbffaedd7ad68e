"""Labels of a model and of a data set: the same by name, whatever their case, and never by position."""

import json
from dataclasses import replace

import pytest
import torch
from transformers import AutoModelForSequenceClassification

from crt.catalogue import TASKS
from crt.errors import DataError, ModelError
from crt.models import PredictOptions, load_predictor, match_labels
from crt.models.tiny import build_tiny
from crt.tasks import Source, find_task, labels_of, load_split

REVIEWS = [("房间很干净", "1"), ("书太差了", "0"), ("很好", "1"), ("不好", "0")]
PAIRS = [
    ("他在打球", "有人在运动", "entailment"),
    ("她在做饭", "她在睡觉", "contradiction"),
    ("他去北京", "很大", "neutral"),
]


def checkpoint(folder, labels, texts):
    """Save a tiny model with random weights for some labels; return its folder."""
    torch.manual_seed(0)
    model, tokenizer = build_tiny(texts, dict(enumerate(labels)), 128)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def file(path, rows, *fields):
    """Write rows as JSON lines."""
    lines = [json.dumps(dict(zip((*fields, "label"), row, strict=True)), ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def read(path, model, accelerator, label_map=None, **columns):
    """Read a file of the user's own with the labels of a model, as evaluate does; return model and examples."""
    task = find_task(path, **columns)
    predictor = load_predictor(model, task, accelerator, PredictOptions(label_map=label_map or {}))
    return predictor, load_split(replace(task, labels=predictor.labels), "all", Source()).examples


def test_numbers_for_a_model_without_names(tmp_path, accelerator):
    """The commonest pair: the message says whose labels are whose, and its label_map is what works."""
    model = checkpoint(tmp_path / "m", ["LABEL_0", "LABEL_1"], [(text,) for text, _ in REVIEWS])
    path = file(tmp_path / "good.jsonl", REVIEWS, "text")
    with pytest.raises(DataError) as error:
        read(path, model, accelerator)
    assert str(error.value).endswith(
        "line 1: label '1' is unknown: the model's labels are LABEL_0, LABEL_1, the file holds '0', '1'; if they mean the "
        "same, give label_map=LABEL_0=0,LABEL_1=1"
    )
    predictor, examples = read(path, model, accelerator, {"LABEL_0": "0", "LABEL_1": "1"})
    assert predictor.labels == ("0", "1")
    assert [example.label for example in examples] == [1, 0, 1, 0]


def test_names_for_a_model_without_names(tmp_path, accelerator):
    """Which of negative and positive LABEL_0 is nobody can tell: there the message leaves gaps."""
    model = checkpoint(tmp_path / "m", ["LABEL_0", "LABEL_1"], [(text,) for text, _ in REVIEWS])
    path = file(tmp_path / "good.jsonl", [(text, "pos" if label == "1" else "neg") for text, label in REVIEWS], "text")
    with pytest.raises(
        DataError, match=r"the file holds 'neg', 'pos'; .* label_map=LABEL_0=TASK_LABEL,LABEL_1=TASK_LABEL$"
    ):
        read(path, model, accelerator)


def test_a_folder_names_the_map_too(tmp_path):
    """Where the training file has the labels, the message of the model fills the map in as well."""
    file(tmp_path / "train.jsonl", REVIEWS, "text")
    task = find_task(str(tmp_path))
    task = replace(task, labels=labels_of(task, Source()))
    with pytest.raises(ModelError, match=r"label_map=LABEL_0=0,LABEL_1=1$"):
        match_labels("m", ("LABEL_0", "LABEL_1"), task, {})


@pytest.mark.parametrize("name", ["pairs.jsonl", "folder"])
def test_case_does_not_matter(tmp_path, accelerator, name):
    """A model that shouts its labels answers for a file that does not: the columns are those of the names."""
    labels = ["CONTRADICTION", "NEUTRAL", "ENTAILMENT"]
    model = checkpoint(tmp_path / "nli_caps", labels, [row[:2] for row in PAIRS])
    path = tmp_path / "pairs.jsonl"
    if name == "folder":
        (tmp_path / name).mkdir()
        path = tmp_path / name / "train.jsonl"
    file(path, PAIRS, "premise", "hypothesis")
    task = find_task(str(tmp_path / name), text="premise", text_pair="hypothesis")
    if "train" in task.files:
        task = replace(task, labels=labels_of(task, Source()))
    predictor = load_predictor(model, task, accelerator, PredictOptions())
    split = load_split(replace(task, labels=predictor.labels), task.train_split, Source())
    found = [predictor.labels[example.label].lower() for example in split.examples]
    assert found == ["entailment", "contradiction", "neutral"]
    plain = AutoModelForSequenceClassification.from_pretrained(model).eval()
    (value, *_) = [example.input for example in split.examples]
    with torch.inference_mode():
        answer = plain(**predictor.tokenizer(*value, return_tensors="pt")).logits[0].softmax(-1).tolist()
    (row,) = predictor.predict([value]).probabilities.tolist()
    assert dict(zip(map(str.upper, predictor.labels), row, strict=True)) == pytest.approx(
        dict(zip(labels, answer, strict=True)), abs=1e-6
    )


def test_a_test_file_in_another_case(tmp_path):
    """Labels of the training file and of the test file are the same by name, whatever their case."""
    file(tmp_path / "train.jsonl", [("好", "Good"), ("坏", "bad")], "text")
    file(tmp_path / "test.jsonl", [("好", "good"), ("坏", "BAD")], "text")
    task = find_task(str(tmp_path))
    task = replace(task, labels=labels_of(task, Source()))
    assert [example.label for example in load_split(task, "test", Source()).examples] == [0, 1]
    assert task.labels == ("Good", "bad")


def test_a_doubt_is_an_error(tmp_path):
    """Where two labels differ in case alone, only the exact name is one of them."""
    task = replace(TASKS["chnsenticorp"], labels=("A", "a"))
    assert match_labels("m", ("a", "A"), task, {}) == (("A", "a"), (1, 0))
    for found in (("a", "b"), ("a",), ("b", "c")):
        with pytest.raises(ModelError, match="missing: A"):
            match_labels("m", found, task, {})
    with pytest.raises(ModelError, match="missing: Ab, aB"):
        match_labels("m", ("ab",), replace(task, labels=("Ab", "aB")), {})
    own = replace(find_task(file(tmp_path / "x.jsonl", [("好", "aB"), ("坏", "AB")], "text")), labels=("ab", "AB"))
    with pytest.raises(DataError, match="label 'aB' is none of the 2 labels"):
        load_split(own, "all", Source())


def test_the_map_is_read_in_any_case():
    """What label_map calls a label of the model need not have its case."""
    task = TASKS["chnsenticorp"]
    label_map = {"label_0": "Positive", "Label_1": "NEGATIVE"}
    assert match_labels("m", ("LABEL_0", "LABEL_1"), task, label_map) == (("negative", "positive"), (1, 0))
