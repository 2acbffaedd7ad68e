"""Provenance: a cell is known by what its numbers depend on, and each fact counts wherever its row says."""

from dataclasses import replace

import pandas as pd
import pytest

from crt import provenance
from crt.catalogue import TASKS
from crt.errors import TrackingError
from crt.perturbations import PERTURBATIONS, Loaded, load
from crt.perturbations.own_words import OwnWords
from crt.provenance import FACTS, Fact, Setting, fingerprint, like_the_newest, params, signature
from crt.records import CLEAN, Cell, Degree
from crt.reporting.card import card
from crt.resources import Table
from crt.scoring.evidence import Evidence
from crt.scoring.slices import LIBRARIES, RESOURCES
from crt.scoring.summary import Comparison, latest
from crt.studies.compare import select

SPANS = [
    (CLEAN, "clean_acc"),
    (CLEAN, "clean_macro_f1"),
    ("all", "perturbed_acc"),
    ("all", "acc_drop"),
    ("all", "attack_success_rate"),
    ("space", "acc_drop"),
]
"""The intervals that a card shows."""
CELL = Cell("bert", "tnews", "synonym", 0.15, 13)
TABLE = Table("synonym", {"喜欢": ("喜爱",)}, "5" * 64, modified=False)
WORDS = Table("words", {"小米": ()}, "7" * 64, modified=True)
SYNONYM = Loaded(PERTURBATIONS["synonym"], lambda _: (), TABLE)
SETTING = Setting(
    examples="e", split="test", pairs=True, fields="both", predictor="p", loaded=SYNONYM, seen=None,
    fact_resources=RESOURCES, fact_libraries=LIBRARIES,
)  # fmt: skip


def key(cell: Cell = CELL, **changes: object) -> str:
    """Return the fingerprint of a cell whose setting has some changes."""
    return fingerprint(cell, replace(SETTING, **changes))


DEPENDS = {
    "model": {"cell": replace(CELL, model="macbert")},
    "data set": {"cell": replace(CELL, dataset="ocnli")},
    "perturbation": {"cell": replace(CELL, perturbation="shape")},
    "prob": {"cell": replace(CELL, prob=0.1500001)},
    "seed": {"cell": replace(CELL, seed=42)},
    "a degree in place of a prob": {"cell": Degree("bert", "tnews", "synonym", 0.15, 13, 20)},
    "another degree": {"cell": Degree("bert", "tnews", "synonym", 0.3, 13, 20)},
    "samples": {"cell": Degree("bert", "tnews", "synonym", 0.15, 13, 21)},
    "examples": {"examples": "f"},
    "predictor": {"predictor": "q"},
    "fields": {"fields": "first"},
    "table": {"loaded": replace(SYNONYM, table=replace(TABLE, sha256="6" * 64))},
    "no table": {"loaded": replace(SYNONYM, table=None)},
    "words to protect": {"loaded": replace(SYNONYM, words=OwnWords(protect=WORDS))},
    "the only words": {"loaded": replace(SYNONYM, words=OwnWords(only=WORDS))},
    "both": {"loaded": replace(SYNONYM, words=OwnWords(WORDS, WORDS))},
    "other words": {"loaded": replace(SYNONYM, words=OwnWords(protect=replace(WORDS, sha256="8" * 64)))},
    "the clean cell": {"loaded": None},
    "the clean cell, leakage known": {"loaded": None, "seen": "000"},
    "the clean cell, leakage": {"loaded": None, "seen": "010"},
    "ways to evade": {"loaded": replace(SYNONYM, ways=("listed",))},
    "other ways to evade": {"loaded": replace(SYNONYM, ways=("listed", "space"))},
    "no library": {"loaded": replace(SYNONYM, perturbation=replace(PERTURBATIONS["synonym"], libraries=()))},
}


def test_fingerprint_depends_on_each_fact(monkeypatch):
    """A change of any fact that the numbers depend on gives another key, and no two changes give the same."""
    keys = {"nothing": key(), **{name: key(**change) for name, change in DEPENDS.items()}}
    monkeypatch.setattr(provenance, "SCORING_VERSION", provenance.SCORING_VERSION + 1)
    keys["scoring"] = key()
    monkeypatch.undo()
    monkeypatch.setattr(provenance, "version", lambda _: "0.0.0")
    keys["library version"] = key()
    assert len(set(keys.values())) == len(keys)
    assert all(len(value) == 16 and int(value, 16) >= 0 for value in keys.values())


SAME = {
    "another object": {"cell": replace(CELL), "loaded": replace(SYNONYM)},
    "the wording of the summary": {
        "loaded": replace(SYNONYM, perturbation=replace(PERTURBATIONS["synonym"], summary="x"))
    },
    "whether the table is the shipped one": {"loaded": replace(SYNONYM, table=replace(TABLE, modified=True))},
}


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_fingerprint_depends_on_nothing_else(change):
    """What has no influence on the numbers has none on the key: nothing is measured again without need."""
    assert key(**change) == key()


def test_fingerprint_of_clean_cells_and_whole_probs(monkeypatch):
    """A clean cell does not depend on the fields, and a prob of 1 is the same as one of 1.0."""
    clean = {"cell": Cell("bert", "tnews", CLEAN, 0.0, 0), "loaded": None}
    assert key(**clean) == key(**clean, fields="second")
    assert key(cell=replace(CELL, prob=1)) == key(cell=replace(CELL, prob=1.0))
    before = key(loaded=load("space"), cell=replace(CELL, perturbation="space"))
    monkeypatch.setattr(provenance, "version", lambda _: "0.0.0")
    assert key(loaded=load("space"), cell=replace(CELL, perturbation="space")) == before


def test_fingerprint_covers_the_readings(monkeypatch):
    """Where sites depend on how characters are read, another file of readings has the cell measured again."""
    pinyin, space = load("pinyin"), load("space")
    before = key(loaded=pinyin), key(loaded=space)
    shipped = dict(provenance.manifest())
    monkeypatch.setattr(provenance, "manifest", lambda: shipped | {"readings.json": "0" * 64})
    assert key(loaded=pinyin) != before[0]
    assert key(loaded=space) == before[1]


def test_fingerprint_stays_what_it_was(monkeypatch):
    """The key of a known cell is a constant: another one would have every stored cell measured again."""
    monkeypatch.setattr(provenance, "SCORING_VERSION", 1)
    monkeypatch.setattr(provenance, "version", lambda _: "1")
    monkeypatch.setattr(provenance, "manifest", lambda: {"readings.json": "1"})
    cell = Cell("rule", "tnews", "space", 0.05, 13)
    assert key(cell=cell, loaded=load("space")) == "51ed7dcf625a5733"
    assert key(cell=Cell("rule", "tnews", CLEAN, 0.0, 0), loaded=None) == "4aa7da2710e0a204"
    assert key(cell=Cell("rule", "tnews", "swap", 0.3, 13), loaded=load("swap")) == "5e1798a2ce1db543"


def test_a_fact_counts_in_five_places(monkeypatch):
    """One row more of the table is part of the key, a param, what must agree, the signature, and the card of a version."""
    fact = Fact("moon", lambda _: "full", "moon", lambda _: "full", within=("dataset",), mark="moon", each="dataset")
    before = key()
    monkeypatch.setattr(provenance, "FACTS", (*FACTS, fact))
    assert key() != before
    assert params(SETTING)["moon"] == "full"
    rows = [
        {
            "key": "k",
            "run_id": str(seed),
            "model": "m",
            "dataset": "d",
            "perturbation": "space",
            "prob": 0.1,
            "seed": seed,
        }
        | {"clean_acc": 0.9, "perturbed_acc": 0.8, "acc_drop": 0.1, "num_examples": 9.0, "moon": moon}
        for seed, moon in ((1, "new"), (2, "full"))
    ]
    cells = pd.DataFrame(rows)
    with pytest.raises(TrackingError, match=r"moon of d differs: new \(m, 9 examples\); full \(m, 9 examples\)"):
        select(cells)
    assert "moon:d@full" in signature(cells[1:])
    newest = Comparison.of(latest(like_the_newest(cells)))
    assert list(newest.cells["seed"]) == [2]
    spans = [
        {"perturbation": p, "metric": m, "value": 0.5, "low": 0.4, "high": 0.6, "prob": 0.1 * (p == "space")}
        for p, m in SPANS
    ]
    evidence = Evidence(intervals=pd.DataFrame(spans).assign(model="m", dataset="d"))
    text = card("crt-sample/1", TASKS["sample"], {}, {"test": (newest, evidence)})
    assert "moon:d@full" in text


def test_the_cutter_is_told_and_changes_no_key(monkeypatch):
    """What cut the texts is a param of the cells that depend on words; both cutters give the same words, so the same key."""
    before = key()
    for name in ("jieba 0.42.1", "rjieba 0.2.2"):
        monkeypatch.setattr(provenance, "cutter", lambda name=name: name)
        assert params(SETTING)["cutter"] == params(replace(SETTING, loaded=None))["cutter"] == name
        assert "cutter" not in params(replace(SETTING, loaded=load("space")))
        assert key() == before


@pytest.mark.parametrize("fact", FACTS, ids=[fact.name for fact in FACTS])
def test_each_fact_counts_somewhere(fact):
    """A row of the table says of what it is a part: of the key, with a value, of the signature, or of the params."""
    assert bool(fact.key) == bool(fact.value)
    assert fact.key or fact.mark or fact.param
