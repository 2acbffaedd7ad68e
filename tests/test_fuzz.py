"""Random Unicode and broken files through the whole product: nothing executes, all ends in a right result or a clear error.

`pytest -m slow tests/test_fuzz.py` runs 10,000 texts; the usual tests a few hundred.
"""

import json
import random
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer, decoders
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import RobertaProcessing
from tokenizers.trainers import BpeTrainer
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForSequenceClassification

from crt.errors import CrtError, ModelError, ResourceError
from crt.models import PredictOptions, load_predictor, predict_all
from crt.models.tiny import build_tiny
from crt.perturbations import PERTURBATIONS, load
from crt.perturbations.engine import find_sites, perturb_all
from crt.reading import read_rows
from crt.records import Example
from crt.reporting.page.examples import browser
from crt.reporting.table import PaperTable
from crt.resources import OwnTable, load_table, resource_dir
from crt.scoring.slices import facts_of
from crt.tasks import TASKS

PLANES = ((0x20, 0x7F), (0xA0, 0x24F), (0x370, 0x52F), (0x590, 0x6FF), (0x2000, 0x2BFF), (0x3000, 0x30FF))
PLANES += ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xD800, 0xDFFF), (0xE000, 0xF8FF), (0xF900, 0xFFFF), (0, 0x1F))
PLANES += ((0x10000, 0x1FAFF), (0x20000, 0x323AF), (0xE0000, 0xE01EF), (0x10FF00, 0x10FFFF))
HOSTILE = (
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "=cmd|' /C calc'!A0", "@SUM(1+1)*cmd|' /C calc'!A0",
    r"\input{/etc/passwd}", r"\write18{id}", "$x$ % & # _ {} ~ ^", "../../etc/passwd", "%s%n", "{{7*7}}", "\u202eevil",
    "电影\0好看", "𠀀" * 40, "👨‍👩‍👧", "a\u0301" * 20, "",
)  # fmt: skip


def texts(count):
    """Return random texts of every plane, mixed with frequent Chinese words and with what attacks programs."""
    rng = random.Random(0)
    words = ["这部电影", "喜欢", "不", "头发", "非常", "理发店", "安全", "5G", "2018年"]
    found = list(HOSTILE)
    while len(found) < count:
        parts = []
        for _ in range(rng.randint(1, 12)):
            low, high = rng.choice(PLANES)
            parts.append(rng.choice((rng.choice(words), chr(rng.randint(low, high)), rng.choice(HOSTILE[:8]))))
        found.append("".join(parts))
    return found


COUNTS = [300, pytest.param(10_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
def test_texts_through_all_perturbations(count):
    """The edits of every perturbation, applied to the text, give what it returns; twice the same."""
    examples = [Example(f"fuzz/{number}", (text,), 0) for number, text in enumerate(texts(count))]
    for name in PERTURBATIONS:
        sites = find_sites(examples, load(name).find)
        rows = perturb_all(sites, name=name, prob=0.5, seed=1)
        assert rows.inputs == perturb_all(sites, name=name, prob=0.5, seed=1).inputs
        for example, row in zip(examples, rows, strict=True):
            text = example.input[0]
            for edit in reversed(row.edits):
                assert text[edit.start : edit.end] == edit.old
                text = text[: edit.start] + edit.new + text[edit.end :]
            assert (text,) == row.input
    assert all(len(column) == count for column in facts_of(examples, frozenset()).values())


def pieces(labels):
    """Return a model and a tokenizer of words and their pieces that knows few characters."""
    return build_tiny([("电影好movies",)], dict(enumerate(labels)), 64)


def byte_pairs(labels):
    """Return a model and a tokenizer of pairs of bytes, which knows every character."""
    learned = Tokenizer(BPE())
    learned.pre_tokenizer, learned.decoder = ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = BpeTrainer(
        vocab_size=400, special_tokens=marks, initial_alphabet=ByteLevel.alphabet(), show_progress=False
    )
    learned.train_from_iterator(["这部电影非常好看", "a fine movie, 2018年", *HOSTILE[:4]], trainer)
    learned.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    names = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), marks, strict=True))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=learned, model_max_length=64, cls_token="<s>", sep_token="</s>", **names
    )
    config = RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=66, type_vocab_size=1, id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )  # fmt: skip
    return RobertaForSequenceClassification(config), tokenizer


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("task", ["tnews", "ocnli"])
@pytest.mark.parametrize("make", [pieces, byte_pairs])
def test_texts_through_both_tokenizers(make, task, count, accelerator, tmp_path):
    """Word pieces and pairs of bytes read every text, alone and as a pair, and give probabilities."""
    for part in make(TASKS[task].labels):
        part.save_pretrained(tmp_path)
    found = texts(count)
    inputs = [(text,) for text in found] if task == "tnews" else list(zip(found, reversed(found), strict=True))
    predictor = load_predictor(str(tmp_path), TASKS[task], accelerator, PredictOptions(max_length=64))
    answers = predict_all(predictor, inputs)
    assert np.isfinite(answers.probabilities).all()
    assert answers.probabilities.sum(axis=1) == pytest.approx(np.ones(count), abs=1e-5)
    assert bool(answers.unknown.any()) == (make is pieces)


def test_a_checkpoint_runs_no_code_of_its_own(tiny_checkpoint, accelerator, tmp_path, monkeypatch):
    """A configuration that names a program in the checkpoint, or a file outside of it, is refused without a question."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    for kind, settings in {
        "code": {
            "model_type": "evil",
            "auto_map": {"AutoConfig": "evil.C", "AutoModelForSequenceClassification": "evil.C"},
        },
        "outside": {"model_type": "evil", "auto_map": {"AutoConfig": "../evil.C"}},
    }.items():
        folder = tmp_path / kind
        shutil.copytree(tiny_checkpoint, folder)
        for place in (folder, tmp_path):
            (place / "evil.py").write_text(
                f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass C: pass\n", encoding="utf-8"
            )
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        (folder / "config.json").write_text(json.dumps(config | settings), encoding="utf-8")
        with pytest.raises(ModelError, match=kind):
            load_predictor(str(folder), TASKS["tnews"], accelerator, PredictOptions())
    assert not (tmp_path / "ran").exists()


class Tags(HTMLParser):
    """Collects the names of the elements of a page."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def handle_starttag(self, tag, attrs):
        """Note the element, which must have no handler of events."""
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)


@pytest.mark.parametrize("count", COUNTS)
def test_texts_through_the_page_and_latex(count):
    """No text becomes an element, a script or a command."""
    found = texts(count)
    keys = {"model": "m", "dataset": "d", "perturbation": "space", "prob": 0.3, "seed": 1, "gold": "x", "flipped": True}
    keys |= {"clean_label": "x", "clean_prob": 0.9, "perturbed_label": "y", "perturbed_prob": 0.8, "edits": []}
    pairs = [{**keys, "id": str(k), "original": [text], "perturbed": [text]} for k, text in enumerate(found)]
    markup = str(browser(pairs))
    markup.encode("utf-8")
    parser = Tags()
    parser.feed(markup)
    assert not parser.seen & {"img", "iframe", "object", "svg", "a"}
    assert markup.count("<script") == 1
    island = re.search(r"<script[^>]*>(.*?)</script>", markup, re.DOTALL)[1]
    assert json.loads(island)
    table = PaperTable("m", ("a", "b"), tuple((text, "1") for text in found), frozenset(), found[4], "s")
    rows = [line.removesuffix(" & 1 \\\\") for line in table.latex().split("\n") if line.endswith(" & 1 \\\\")]
    assert len(rows) > 0.9 * count
    for row in rows:
        assert not re.search(r"[\\$%#_^~&]", re.sub(r"\$\\pm\$|\\text[a-z]+\{\}|\\[%&#_{}$]", "", row)), row
    assert "<script>" not in table.markdown()


def mutated(content, rng):
    """Return bytes with a few of them cut out, doubled or changed."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(data)) if data else 0
        action = rng.randrange(3)
        if action == 0:
            del data[at : at + rng.randint(1, 40)]
        elif action == 1:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
        elif data:
            data[min(at, len(data) - 1)] = rng.randrange(256)
    return bytes(data)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet"])
def test_malformed_files(suffix, tmp_path):
    """A damaged file is read, or refused with an error of ours that names it."""
    rng, good = random.Random(suffix), tmp_path / f"good{suffix}"
    frame = pd.DataFrame({"text": ["这部电影，很好", 'a "quoted" one', "第三\n行"] * 4, "label": ["0", "1", "0"] * 4})
    if suffix == ".parquet":
        frame.to_parquet(good)
    elif suffix in (".csv", ".tsv"):
        frame.to_csv(good, index=False, sep="\t" if suffix == ".tsv" else ",")
    else:
        frame.to_json(good, orient="records", lines=suffix == ".jsonl", force_ascii=False)
    refused = 0
    for number in range(150):
        path = tmp_path / f"bad{number}{suffix}"
        path.write_bytes(mutated(good.read_bytes(), rng))
        try:
            assert read_rows(path)
        except CrtError as error:
            refused += path.name in str(error) or pytest.fail(f"{path.name} is not named: {error}")
    assert refused


def test_mutated_tables(tmp_path):
    """A damaged resource table is read as a table, or refused with an error that names it; it never crashes a finder."""
    rng = random.Random(1)
    content = (resource_dir() / "perturbations" / "emoji.json").read_bytes()
    refused = 0
    for number in range(60):
        path = tmp_path / f"bad{number}.json"
        path.write_bytes(mutated(content, rng))
        try:
            load("emoji", OwnTable(path)).find("牛年大吉，这部电影很好看")
        except ResourceError as error:
            refused += path.name in str(error) or pytest.fail(f"{path.name} is not named: {error}")
    assert refused
    with pytest.raises(ResourceError):
        load_table("emoji", tmp_path / ".." / "nothing.json")
