"""The grid: it names all of its faults at once, and its cells are identified by what their numbers depend on."""

from hashlib import sha256
from pathlib import Path

import pytest

from crt.catalogue import TASKS
from crt.errors import GridError
from crt.grid import (
    DEFAULT_PROBS,
    DEFAULT_SEEDS,
    Columns,
    Degrees,
    Grid,
    Shard,
    format_prob,
    measurement_params,
    measurement_title,
)
from crt.perturbations import PERTURBATIONS, REFERENCE_PERTURBATIONS, WAYS_TO_EVADE
from crt.records import CLEAN, Cell, Degree
from crt.resources import OwnTable

VALID = {"models": ("rule",), "datasets": ("tnews",)}

KNOWN = f"Known: {', '.join(sorted(PERTURBATIONS))}"
KNOWN_DATA = f"Known: {', '.join(sorted(TASKS))}"

FAULTS = {
    "no model": ({"models": ()}, ["the model list is empty"]),
    "no data set": ({"datasets": ()}, ["the data set list is empty"]),
    "no perturbation": ({"perturbations": ()}, ["the perturbation list is empty"]),
    "no prob": ({"probs": ()}, ["the prob list is empty"]),
    "no seed": ({"seeds": ()}, ["the seed list is empty"]),
    "a model twice": ({"models": ("a", "b", "a")}, ["model a is listed twice"]),
    "a prob twice, spelled otherwise": ({"probs": (0.1, 0.10)}, ["prob 0.1 is listed twice"]),
    "probs that are stored alike": ({"probs": (0.1234561, 0.1234562)}, ["prob 0.123456 is listed twice"]),
    "two seeds twice": ({"seeds": (1, 2, 1, 2)}, ["seed 1 is listed twice", "seed 2 is listed twice"]),
    "a data set by its other name": (
        {"datasets": ("chsenticorp", "chnsenticorp")},
        ["data sets 'chsenticorp' and 'chnsenticorp' are both called chnsenticorp in the table"],
    ),
    "an unknown data set": (
        {"datasets": ("tnew",)},
        [f"unknown data set 'tnew'; did you mean 'tnews'? {KNOWN_DATA}, or the path of your own file or folder"],
    ),
    "an unknown perturbation": (
        {"perturbations": ("homophon",)},
        [f"unknown perturbation 'homophon'; did you mean 'homophone'? {KNOWN}"],
    ),
    "a name like no other": (
        {"perturbations": ("xyz",)},
        [f"unknown perturbation 'xyz'. {KNOWN}"],
    ),
    "probs outside 0..1": (
        {"probs": (-0.1, 0.0, 1.0, 1.5, float("inf"), float("nan"))},
        [f"prob {prob} is outside 0..1" for prob in ("-0.1", "1.5", "inf", "nan")],
    ),
    "a negative seed": ({"seeds": (-1, 0)}, ["seed -1 is negative"]),
    "no examples": ({"limit": 0}, ["max_samples is 0; it must be at least 1"]),
    "unknown fields": (
        {"fields": "secnd"},
        ["unknown value of fields 'secnd'; did you mean 'second'? Known: both, first, second"],
    ),
    "the second text of single texts": (
        {"datasets": ("ocnli", "tnews"), "fields": "second"},
        ["fields is second, but tnews has one text an example: nothing would be perturbed"],
    ),
    "an unknown way to evade": (
        {"perturbations": ("evade",), "ways": ("homofone",)},
        [f"unknown way to evade 'homofone'; did you mean 'homophone'? Known: {', '.join(sorted(WAYS_TO_EVADE))}"],
    ),
    "ways of what is not measured": ({"ways": ("space",)}, ["ways is for evade, which is not among the perturbations"]),
    "a table of an unknown perturbation": (
        {"tables": {"shap": OwnTable(Path(__file__))}},
        [f"unknown perturbation 'shap'; did you mean 'shape'? {KNOWN} (in table=shap:{__file__})"],
    ),
    "a table where none is used": (
        {"tables": {"space": OwnTable(Path(__file__))}},
        [f"perturbation 'space' has no table (in table=space:{__file__})"],
    ),
    "a table that is not there": (
        {"tables": {"shape": OwnTable.of("+no.json")}},
        ["no.json: no such file (in table=shape:+no.json)"],
    ),
    "lists that are not there": (
        {"protect": Path("no.txt"), "only": Path("none.txt")},
        ["no.txt: no such file (in protect=no.txt)", "none.txt: no such file (in only=none.txt)"],
    ),
}


@pytest.mark.parametrize(("options", "faults"), FAULTS.values(), ids=FAULTS)
def test_each_fault(options, faults):
    """A fault is named with what is wrong, and with the nearest known name where there is one."""
    with pytest.raises(GridError) as caught:
        Grid(**VALID | options)
    assert list(caught.value.faults) == faults


def test_all_faults_at_once():
    """A grid with many faults names all of them in one message, with their number."""
    wrong = {
        "models": (),
        "datasets": ("tnew",),
        "perturbations": ("homophon", "spac"),
        "probs": (1.5, 0.1, 0.1),
        "seeds": (-1,),
        "limit": 0,
        "fields": "third",
        "tables": {"space": OwnTable(Path("no.json"))},
    }
    with pytest.raises(GridError) as caught:
        Grid(**wrong)
    message = str(caught.value)
    assert len(caught.value.faults) == 11
    assert message.startswith("11 faults in the options:\n  - ")
    assert message.count("\n  - ") == 11
    for name in ("tnews", "homophone", "space"):
        assert f"did you mean '{name}'?" in message


def test_one_fault_is_a_sentence():
    """A single fault is the whole message."""
    with pytest.raises(GridError) as caught:
        Grid(**VALID, limit=-3)
    assert str(caught.value) == "max_samples is -3; it must be at least 1"


def test_own_file_with_its_columns(tmp_path):
    """The path of a file is a data set, and its second text column makes it one of pairs."""
    file = tmp_path / "mine.csv"
    file.write_text("label,a,b\n0,x,y\n", encoding="utf-8")
    Grid(models=("rule",), datasets=(str(file),), fields="second", columns=Columns("a", "b", "label"))
    with pytest.raises(GridError, match="mine has one text"):
        Grid(models=("rule",), datasets=(str(file),), fields="second", columns=Columns("a", None, "label"))


def test_cells():
    """A perturbation has a cell for each prob and seed; the clean text has one, without either."""
    grid = Grid(**VALID)
    assert grid.perturbations == REFERENCE_PERTURBATIONS
    cells = grid.cells("bert", "tnews", "space")
    assert len(cells) == len(set(cells)) == 9
    assert {(cell.prob, cell.seed) for cell in cells} == {(p, s) for p in DEFAULT_PROBS for s in DEFAULT_SEEDS}
    assert {(cell.model, cell.dataset, cell.perturbation) for cell in cells} == {("bert", "tnews", "space")}
    assert grid.cells("bert", "tnews", CLEAN) == (Cell("bert", "tnews", CLEAN, 0.0, 0),)


DEGREE_FAULTS = {
    "no degree": ({"degrees": ()}, ["the degree list is empty"]),
    "a degree twice": ({"degrees": (0.1, 0.10)}, ["degree 0.1 is listed twice"]),
    "degrees outside 0..1, and 0": (
        {"degrees": (0.0, 1.0, 1.1, float("nan"))},
        [f"degree {d} is outside 0..1, or 0: the clean texts are measured anyway" for d in ("0.0", "1.1", "nan")],
    ),
    "no samples, a negative seed": (
        {"samples": 0, "seed": -1},
        ["samples is 0; it must be at least 1", "seed -1 is negative"],
    ),
    "what a grid refuses too": ({"perturbations": ("xyz",)}, [f"unknown perturbation 'xyz'. {KNOWN}"]),
}


@pytest.mark.parametrize(("options", "faults"), DEGREE_FAULTS.values(), ids=DEGREE_FAULTS)
def test_faults_of_degrees(options, faults):
    """The degrees of a worst case are checked before anything is loaded, as a grid is."""
    with pytest.raises(GridError) as caught:
        Degrees(**VALID | options)
    assert list(caught.value.faults) == faults


def test_degrees():
    """A perturbation has one measurement for each degree; the clean text has none of its own."""
    scope = Degrees(**VALID, degrees=(0.1, 0.5), samples=3, seed=7)
    assert scope.cells("bert", "tnews", "space") == tuple(
        Degree("bert", "tnews", "space", degree, 7, 3) for degree in (0.1, 0.5)
    )
    assert scope.cells("bert", "tnews", CLEAN) == ()


def test_names_of_measurements():
    """The params that name a measurement are its fields as text; its title leaves model and data set out."""
    degree = Degree("bert", "tnews", "space", 0.1 + 0.2, 1234567, 20)
    names = {"model": "bert", "dataset": "tnews", "perturbation": "space"}
    assert measurement_params(degree) == {**names, "degree": "0.3", "seed": "1234567", "samples": "20"}
    assert measurement_params(Cell("bert", "tnews", "space", 1.0, 13)) == {**names, "prob": "1", "seed": "13"}
    assert measurement_title(degree) == "space degree 0.3 seed 1234567 samples 20"
    assert measurement_title(Cell("bert", "tnews", CLEAN, 0.0, 0)) == CLEAN


@pytest.mark.parametrize(
    ("prob", "text"),
    [(0.0, "0"), (0.05, "0.05"), (0.15, "0.15"), (0.30, "0.3"), (0.1 + 0.2, "0.3"), (1.0, "1"), (1, "1")],
)
def test_format_prob(prob, text):
    """A prob has one spelling, whatever it was computed from."""
    assert format_prob(prob) == text
    assert float(format_prob(float(text))) == float(text)


@pytest.mark.parametrize("of", [1, 2, 4, 7, 64])
def test_every_cell_falls_to_one_shard(of):
    """Among any number of workers each fingerprint falls to exactly one, and none gets much more than its share."""
    keys = [sha256(str(number).encode()).hexdigest()[:16] for number in range(6400)]
    shards = [[key for key in keys if Shard(number, of).holds(key)] for number in range(1, of + 1)]
    assert sorted(key for shard in shards for key in shard) == sorted(keys)
    assert max(map(len, shards)) < 1.5 * len(keys) / of
