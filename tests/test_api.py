"""crt from Python: perturb, evaluate, compare and load, in memory and in the store."""

import logging
import os
import re
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import mlflow
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, SAMPLES
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from test_architecture import modules_after

import crt
from crt.catalogue import TASKS
from crt.errors import CrtError, DataError, ModelError, ResourceError, TrackingError, UnknownName
from crt.perturbations import find_perturbation, load

TEXTS = ["房间很干净", "服务周到", "隔音太差", "太失望了"] * 3
LABELS = ["good", "good", "bad", "bad"] * 3
SMALL = {"perturbations": ["homophone", "space"], "probs": [0.3], "seeds": [13, 42]}


def by_word(texts):
    """Return labels."""
    return ["bad" if "差" in text or "失望" in text else "good" for text in texts]


def test_the_package_is_light():
    """`import crt`, and looking at what it offers, load neither torch nor transformers nor mlflow nor pandas."""
    loaded, _ = modules_after("import crt; dir(crt); crt.__version__")
    assert not loaded & {"torch", "transformers", "mlflow", "pandas", "numpy"}


def test_every_name_is_there():
    """Each name of the package can be had, and no other."""
    assert all(getattr(crt, name) for name in crt.__all__)
    assert set(crt.__all__) <= set(dir(crt))
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        _ = crt.evalute


def test_perturb_gives_what_it_got():
    """A text, list, tuple or Series becomes the same kind of thing; the edits lead from one text to the other."""
    one = crt.perturb("房间很干净", "space", prob=1)
    assert re.sub(" ", "", one) == "房间很干净" != one
    assert crt.perturb(["房间很干净", "好"], "space", prob=1) == [one, "好"]
    assert crt.perturb(("房间很干净",), "space", prob=1) == (one,)
    series = crt.perturb(pd.Series(["房间很干净"], index=[7], name="t"), "space", prob=1)
    assert (series.name, series.to_dict()) == ("t", {7: one})
    assert crt.perturb([("房间很干净", "好")], "space", prob=1) == [(one, "好")]
    text, edits = crt.perturb("房间很干净", "space", prob=1, edits=True)
    for edit in reversed(edits):
        text = (
            text[: edit.start + edits.index(edit)] + edit.old + text[edit.start + edits.index(edit) + len(edit.new) :]
        )
    assert text == "房间很干净"
    assert crt.perturb([], "space") == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("好", "spcae"), CrtError, "unknown perturbation 'spcae'; did you mean 'space'"),
        ((["好", None], "space"), DataError, "text 1 is None, which is no text"),
        (("好", "no_such:f"), CrtError, "module no_such cannot be imported"),
    ],
)
def test_what_cannot_be_perturbed(arguments, error, message):
    """What is no text, or no perturbation, is said."""
    with pytest.raises(error, match=message):
        crt.perturb(*arguments)


def test_the_cells_are_those_of_the_command(invoke):
    """With the same settings `evaluate` gives the very cells, tables and sentences of the command, by key and by number."""
    grid = ("--perturbations", "homophone,space", "--prob", 0.3, "--seeds", "13,42", "--data_dir", SAMPLES)
    invoke("evaluate", "--dataset", "chnsenticorp", "--model", "rule", *grid, "--no_figures")
    tracked = crt.evaluate("rule", "chnsenticorp", data_dir=SAMPLES, tracking=True, **SMALL)
    assert len(mlflow.search_runs(filter_string="tags.`crt.kind` = 'cell'")) == len(tracked.cells)
    mine = crt.evaluate("rule", "chnsenticorp", data_dir=SAMPLES, **SMALL)
    stored = tracked.cells.set_index("key").loc[list(mine.cells["key"])]
    for column in set(mine.cells) - {"key", "run_id"}:
        assert mine.cells[column].fillna("-").tolist() == stored[column].fillna("-").tolist(), column
    assert mine.table() == tracked.table()
    assert mine.verdict == tracked.verdict


def test_below_the_active_run(store):
    """With tracking the cells belong to the run that is active, which stays open."""
    with mlflow.start_run() as run:
        found = crt.evaluate(by_word, (TEXTS, LABELS), tracking=True, **SMALL)
        assert mlflow.active_run().info.run_id == run.info.run_id
    children = mlflow.search_runs(filter_string=f"tags.`mlflow.parentRunId` = '{run.info.run_id}'")
    assert len(children) == len(found.cells) == 5


def state():
    """Return what a program may have set in its process."""
    import torch
    import transformers
    from accelerate.state import AcceleratorState

    loggers = {name: logging.getLogger(name).level for name in ("crt", "mlflow", "transformers", "")}
    handlers = {name: [*logging.getLogger(name).handlers] for name in loggers}
    return (
        dict(os.environ), signal.getsignal(signal.SIGTERM), loggers, handlers, sys.excepthook, logging.getLogRecordFactory(),
        transformers.logging.get_verbosity(), torch.get_num_threads(), sys.path[:], bool(AcceleratorState._shared_state),
    )  # fmt: skip


def test_nothing_is_written_or_changed(tmp_path, monkeypatch):
    """An evaluation leaves no file, no store, and the process as it was."""
    monkeypatch.chdir(tmp_path)
    before = state()
    found = crt.evaluate(by_word, (TEXTS, LABELS), **SMALL)
    assert found.verdict
    assert state() == before
    assert not [*tmp_path.iterdir()]


def test_forms_of_models_and_data(tmp_path):
    """A function, a pipeline, a method of it; texts and labels, a table, a file: the numbers are the same."""
    pipeline = make_pipeline(TfidfVectorizer(analyzer="char"), LogisticRegression()).fit(TEXTS, LABELS)
    frame = pd.DataFrame({"review": TEXTS, "stars": LABELS})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    columns = {"text_column": "review", "label_column": "stars"}
    results = [
        crt.evaluate(pipeline, (TEXTS, LABELS), **SMALL),
        crt.evaluate(pipeline.predict_proba, frame, **columns, **SMALL),
        crt.evaluate(lambda texts: [*pipeline.predict(texts)], tmp_path / "mine.csv", **columns, **SMALL),
    ]
    assert [result.cells["model"].iloc[0] for result in results] == ["Pipeline", "Pipeline", "<lambda>"]
    assert [result.cells["dataset"].iloc[0] for result in results] == ["data", "data", "mine"]
    accuracies = [result.cells["perturbed_acc"].dropna().tolist() for result in results]
    assert accuracies[0] == accuracies[1] == accuracies[2]


def test_pairs():
    """Pairs are tuples, in data and for the function."""
    pairs = [("他在吃饭", "吃饭"), ("他在吃饭", "睡觉")] * 3
    found = crt.evaluate(
        lambda pairs: ["in" if second in first else "out" for first, second in pairs],
        (pairs, ["in", "out"] * 3),
        **SMALL,
    )
    assert found.cells["clean_acc"].iloc[0] == 1
    assert found.cells["fields"].dropna().unique().tolist() == ["both"]


@pytest.mark.parametrize(
    ("model", "data", "error", "message"),
    [
        (by_word, (TEXTS, LABELS[1:]), DataError, "there are 12 texts and 11 labels"),
        (by_word, ("好", "good"), DataError, "data is a tuple; give a name like 'sample'"),
        (by_word, ([], []), DataError, "there are no texts to measure on"),
        (by_word, pd.DataFrame({"t": TEXTS, "label": LABELS}), DataError, "no column 'text' for data.*text_column="),
        (by_word, ([None, *TEXTS[1:]], LABELS), DataError, "data, row 0: column 'text' holds None, which is no text"),
        (7, (TEXTS, LABELS), ModelError, "a int is no model: give a spec, a predictor, a function"),
        ("", (TEXTS, LABELS), ModelError, "name a model for data"),
        (lambda texts: ["good"], (TEXTS, LABELS), ModelError, "gives 1 answers for a list of 4 texts"),
    ],
)
def test_what_cannot_be_evaluated(model, data, error, message):
    """What is wrong is said, with where it stands."""
    with pytest.raises(error, match=message):
        crt.evaluate(model, data, **SMALL)


def test_compare():
    """Results stand side by side under the names of their models; the same name twice, or other texts, is refused."""
    word = crt.evaluate(by_word, (TEXTS, LABELS), **SMALL)
    good = crt.evaluate(lambda texts: ["good"] * len(texts), (TEXTS, LABELS), model_name="always good", **SMALL)
    both = crt.compare(word, good)
    assert {row[1] for row in both.table().rows} == {"by_word", "always good"}
    assert "always good" in both._repr_html_()
    again = crt.evaluate(lambda texts: ["bad"] * len(texts), (TEXTS, LABELS), model_name="always good", **SMALL)
    with pytest.raises(TrackingError, match="models share a name"):
        crt.compare(good, again)
    with pytest.raises(TrackingError, match="data_digest of data differs"):
        crt.compare(word, crt.evaluate(by_word, (TEXTS[1:], LABELS[1:]), model_name="other", **SMALL))


def test_the_page(tmp_path):
    """All is written as one page, in a folder that is made."""
    file = crt.evaluate(by_word, (TEXTS, LABELS), **SMALL).page(tmp_path / "new" / "page.html")
    assert "<h1>by_word on data</h1>" in file.read_text(encoding="utf-8")


def test_a_loaded_model_is_evaluated(tiny_checkpoint):
    """A checkpoint has labels of its own; what is loaded can be asked, and evaluated under another name."""
    model = crt.load_model(str(tiny_checkpoint), max_length=64)
    assert model.labels == TASKS["tnews"].labels
    assert model.predict([("好",)]).probabilities.shape == (1, 15)
    found = crt.evaluate(model, "tnews", ["space"], [0.3], [1], data_dir=SAMPLES, model_name="mine")
    assert set(found.cells["model"]) == {"mine"}
    with pytest.raises(
        ModelError, match=r"tfidf has no labels of its own; say what it is for, like load_model\('tfidf'"
    ):
        crt.load_model("tfidf")
    assert crt.load_model("tfidf", "sample").name == "tfidf"


EXCITED = '''
def excited():
    """Exclamation marks for full stops: 。 -> ！"""
    return lambda text: [(at, at + 1, ("{mark}",)) for at, char in enumerate(text) if char == "。"]
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Write a module into the working folder; returns the name of its perturbation."""
    monkeypatch.chdir(tmp_path)

    def write(mark="！", text=EXCITED):
        Path("own_perturbation.py").write_text(text.format(mark=mark), encoding="utf-8")
        monkeypatch.delitem(sys.modules, "own_perturbation", raising=False)
        return "own_perturbation:excited"

    return write


def test_a_perturbation_of_ones_own(own):
    """It is named by its function, measured as the others are, and measured again when its source changes."""
    name = own()
    assert find_perturbation(name).summary == "Exclamation marks for full stops: 。 -> ！"
    assert crt.perturb("真好。", name, prob=1) == "真好！"
    keys = []
    for mark in "！！？":
        own(mark)
        keys.append(crt.evaluate(by_word, (["真好。", "太差。"], ["good", "bad"]), [name], [0.3], [1]).cells)
    marks = [cells["resources"].dropna().tolist() for cells in keys]
    assert marks[0] == marks[1] != marks[2]
    assert marks[0][0].startswith("source ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def excited():\n    return lambda text: [(1, 2, ('某',)), (0, 1, ('某',))]\n", "are not sorted, or overlap"),
        ("def excited():\n    return lambda text: [(0, 9, ('好',))]\n", "lie outside"),
        ("def excited():\n    return lambda text: [(0, 1, (text[0],))]\n", "one that changes nothing"),
    ],
)
def test_sites_from_outside_are_looked_at(own, text, message):
    """A finder that breaks what the engine builds on is an error that shows the text."""
    with pytest.raises(ResourceError, match=message):
        crt.perturb("真好。", own(text=text), prob=1)


def test_guards_hold_those_from_outside(own):
    """No site inside a number or a link, as for crt's own."""
    name = own(text="def excited():\n    return lambda text: [(k, k + 1, ('某',)) for k in range(len(text))]\n")
    assert "http://a.b/c" in crt.perturb("见http://a.b/c吧", name, prob=1)


def test_entry_points(monkeypatch, accelerator):
    """What an installed package offers is looked up by name, only where no built-in fits."""
    from crt.models import PredictOptions, kind_of, load_predictor

    def offered(group, name):
        found = {("crt.perturbations", "shout"): lambda: lambda text: [(0, 1, ("啊",))], ("crt.models", "mine"): given}
        point = SimpleNamespace(name=name, group=group, value="", load=lambda: found[group, name])
        return [point] if (group, name) in found else []

    def given(rest, task, accelerator, options, source):
        return SimpleNamespace(name=f"mine:{rest}", labels=task.labels)

    monkeypatch.setattr("crt.outside.entry_points", offered)
    assert crt.perturb("真好", "shout", prob=1) == "啊好"
    assert load_predictor("mine:x", TASKS["sample"], accelerator, PredictOptions()).name == "mine:x"
    assert kind_of("mine:x")[1] == "x"
    assert kind_of("other/model")[0].name == "checkpoint"
    with pytest.raises(UnknownName):
        load("shuot")


def blocks():
    """Return the code of docs/api.md."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.DOTALL)


def test_the_page_of_the_docs_runs(tmp_path, monkeypatch):
    """The code of docs/api.md runs from top to bottom in an empty folder, and names everything that crt offers."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, block in enumerate(blocks()):
        exec(compile(block, f"docs/api.md, block {number}", "exec"), names)
    sys.modules.pop("mine", None)
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert [name for name in crt.__all__ if name not in text and name not in ("Prediction", "Result")] == []
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {"report.html", "mine.py"}


def test_outcomes_are_numbers_and_names():
    """Outcomes in memory have the types of stored ones."""
    found = crt.evaluate(by_word, (TEXTS, LABELS), ["space"], [0.3], [1])
    frame = found.outcomes(found.cells[1:])[0]
    assert frame["gold"].tolist() == LABELS
    assert np.issubdtype(frame["changed"].dtype, np.number)
