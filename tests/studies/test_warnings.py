"""What speaks against a model is told when it is measured, and stays with the version when it was trained."""

import mlflow
import pytest
from conftest import train_tiny
from transformers import AutoModelForSequenceClassification, AutoTokenizer

GRID = ("--perturbations", "space", "--prob", 0.3, "--seed", 13, "--no_figures")


@pytest.fixture(scope="module")
def reviewer(tmp_path_factory, accelerator):
    """A tiny model that has learnt the sample reviews."""
    return train_tiny("sample", tmp_path_factory.mktemp("reviews") / "m", accelerator, num_train_epochs=4)


def test_swapped_labels_are_told(invoke, reviewer, caplog):
    """The clean accuracy of a swapped label_map is far below guessing; that of the right one is not spoken of."""
    evaluate = ("evaluate", "--dataset", "sample", "--model", reviewer, *GRID)
    invoke(*evaluate)
    assert "swapped" not in caplog.text
    invoke(*evaluate, "--label_map", "negative=positive,positive=negative")
    assert "its labels may be swapped: look at label_map" in caplog.text


def test_unknown_tokens_are_told(invoke, tmp_path, reviewer, caplog):
    """A tokenizer that knows few of the characters is pointed out, in training too, and the share is stored."""
    tokenizer = AutoTokenizer.from_pretrained(reviewer)
    words = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    words = [word if number % 4 or number < 5 else f"[unused{number}]" for number, word in enumerate(words)]
    AutoModelForSequenceClassification.from_pretrained(reviewer).save_pretrained(tmp_path / "worn")
    (tmp_path / "worn" / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    invoke("evaluate", "--dataset", "sample", "--model", tmp_path / "worn", *GRID)
    assert "tiny on sample: 27.0% of the tokens are unknown to it" in caplog.text
    runs = mlflow.search_runs(search_all_experiments=True, filter_string="params.perturbation = 'clean'")
    assert runs["metrics.clean_unk_rate"].tolist() == pytest.approx([0.27], abs=5e-4)
    caplog.clear()
    invoke("train", "--dataset", "sample", "--model", tmp_path / "worn", "--max_length", 64, "--train_subset", 16)
    assert "of the tokens are unknown to it" in caplog.text


@pytest.mark.parametrize("rate", [1e-9, 1e-3])
def test_a_version_that_has_not_learnt_says_so(invoke, caplog, rate):
    """It may become the best for want of another; it is told, and stays with the version as a tag."""
    invoke(
        "train",
        "--dataset",
        "sample",
        "--model",
        "tiny",
        "--learning_rate",
        rate,
        "--num_train_epochs",
        3,
        "--max_length",
        64,
    )
    tag = mlflow.MlflowClient().get_model_version("crt-sample", "1").tags.get("crt.warning", "")
    assert ("it has not learnt the task" in caplog.text) is ("it has not learnt the task" in tag) is (rate < 1e-6)
