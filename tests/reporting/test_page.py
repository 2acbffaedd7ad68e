"""The page: whole, escaped, small, asking nothing of a network, and in a browser as good as on paper."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product

import pandas as pd
import pytest

from crt.reporting.page import Report, page
from crt.reporting.page import examples as browser
from crt.reporting.page.examples import island, stretches
from crt.reporting.page.sections import glance
from crt.reporting.table import PaperTable, paper_table
from crt.reporting.verdict import Verdict
from crt.scoring.summary import Comparison, summary_table

KEYS = ("model", "dataset", "perturbation", "prob")
EMPTY = pd.DataFrame()
NAME = "<script>alert(1)</script>&\"'</style>\u202etxt\u202c\x00😀<!--"
NASTY = NAME + "\ud800"
SHOWN = (
    NASTY.replace("\u202e", "U+202E").replace("\u202c", "U+202C").replace("\x00", "U+0000").replace("\ud800", "U+D800")
)
"""What a reader sees of it."""
PERTURBED = ("homophone", "shape", "traditional", "space", "punctuation", "synonym", "ime", "pinyin", "split", "width")
VOID = {"meta", "link", "input", "wbr", "br"}


def cells(models=("a", "b"), datasets=("d",), perturbations=("homophone", "space"), probs=(0.05, 0.3)):
    """Return stored cells of a grid."""
    keys = product(models, datasets, perturbations, probs, (1, 2))
    rows = [
        dict(zip((*KEYS, "seed"), key, strict=True))
        | {"acc_drop": key[3] / 3 + 0.01 * key[4], "perturbed_acc": 0.9 - key[3] / 3, "attack_success_rate": 0.2}
        | {"site_rate": 1.0, "changed_rate": 0.8, "edit_rate": key[3], "truncated_rate": 0.0}
        for key in keys
    ]
    clean = [
        {"model": m, "dataset": d, "perturbation": "clean", "prob": 0.0, "seed": 0, "clean_acc": 0.9}
        for m, d in product(models, datasets)
    ]
    return pd.DataFrame(clean + rows)


def example(number=0, **values):
    """Return a stored example pair."""
    found = {
        "model": "a",
        "dataset": "d",
        "perturbation": "homophone",
        "prob": 0.3,
        "seed": 1,
        "id": f"d/test/{number}",
    }
    found |= {"original": ["这家酒店很好"], "perturbed": ["这家九店很好"], "edits": [[0, 2, 3, "酒", "九"]]}
    found |= {"gold": "positive", "clean_label": "positive", "clean_prob": 0.93}
    return found | {"perturbed_label": "negative", "perturbed_prob": 0.61, "flipped": True} | values


def told(*sentences) -> Verdict:
    """Return a verdict."""
    table = PaperTable(
        "verdict", ("data set", "model", "n"), (("d", "a", "600"),), frozenset(), "Drops in points.", "s"
    )
    return Verdict(sentences, table)


def report(found=None, **values) -> Report:
    """Return a report of some cells, with statistics made up from them."""
    found = cells() if found is None else found
    summary = summary_table(found)
    rows = summary.to_dict("records")
    keys = [{key: row[key] for key in KEYS} for row in rows]
    ends = {"low": 0.01, "high": 0.2, "p": 0.001, "p_holm": 0.012}
    tests = [
        k
        | ends
        | {
            "drop": row["acc_drop_mean"],
            "n": 600,
            "family": 4,
            "lost": 30,
            "gained": 4,
            "effect": 0.4,
            "significant": k["prob"] > 0.1,
        }
        for k, row in zip(keys, rows, strict=True)
    ]
    spans = [k | {"metric": "acc_drop", "value": 0.1, "low": 0.05, "high": 0.15} for k in keys]
    groups = [
        k | ends | {"slice": "length", "group": g, "n": n, "drop": 0.2, "rest": 0.1, "difference": 0.1, "small": n < 30}
        | {"significant": g == "long", "p_holm": 0.01 if g == "long" else 0.4}
        for k in keys for g, n in (("short", 50), ("long", 60), ("tiny", 12))
    ]  # fmt: skip
    nothing = dict.fromkeys(("difference", "low", "high", "p", "p_holm"), float("nan"))
    groups = [g | nothing if g["small"] else g for g in groups]
    duels = [
        ends | {"dataset": d, "model": "a", "other": "b", "perturbation": p, "prob": q, "difference": 0.1, "n": 600}
        | {"outcome": outcome, "metric": "perturbed_acc", "significant": outcome != "tie"}
        for d in dict.fromkeys(found["dataset"]) for (p, q), outcome in zip(product(("homophone", "space"), (0.05, 0.3)), ("win", "win", "tie", "loss"), strict=True)
    ]  # fmt: skip
    leakage = pd.DataFrame(
        {
            "dataset": ["d"],
            "model": ["a"],
            "num_examples": [600],
            "seen_in_training_rate": [float("nan")],
            "trained_on_rate": [0.25],
        }
    )
    whole = {
        "title": "d, e: 2 models", "verdict": told("Homophones hurt.", "Spaces less."), "summary": summary,
        "tables": (paper_table(replace(Comparison.of(found), signature="crt:1|seeds:1,2"), "perturbed_acc"),), "intervals": pd.DataFrame(spans),
        "tests": pd.DataFrame(tests), "duels": pd.DataFrame(duels), "pairs": pd.DataFrame(duels[::4]), "slices": pd.DataFrame(groups),
        "examples": [example(n, model=m) for m in ("a", "b") for n in range(15)], "leakage": leakage,
        "notes": ("Holm over 8 tests.",), "measured": {"signature": "crt:1|seeds:1,2", "command": "mlflow run . -e compare"},
    }  # fmt: skip
    return Report(**(whole | values))


class Document(HTMLParser):
    """A page: its elements by tag, the texts of each, and whether its elements nest."""

    def __init__(self, text):
        """Read a page."""
        super().__init__()
        self.elements, self.open, self.texts, self.faults = [], [], {}, []
        self.feed(text)
        self.close()
        assert not self.faults
        assert not self.open

    def handle_starttag(self, tag, attrs):
        """Enter an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        """Take an empty element of a drawing."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        """Leave an element."""
        if not self.open or self.open.pop() != tag:
            self.faults.append((tag, self.getpos()))

    def handle_data(self, data):
        """Take a text, for every element it stands in."""
        for tag in set(self.open):
            self.texts.setdefault(tag, []).append(data)

    def text(self, tag):
        """Return all text below elements of a tag."""
        return "".join(self.texts.get(tag, []))

    def attributes(self, name):
        """Return all values of an attribute."""
        return [values[name] for _, values in self.elements if name in values]


@pytest.fixture(scope="module")
def whole():
    """A page with everything."""
    return page(report(cells(datasets=("d", "e"))))


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out the curves, which take most of the time."""
    monkeypatch.setattr("crt.reporting.page.sections.dose_panels", lambda *_: [])


def test_structure(whole):
    """Elements nest, ids are unique, every link of the contents and of the drawings has its target."""
    document = Document(whole)
    ids = document.attributes("id")
    assert len(ids) == len(set(ids))
    links = document.attributes("href") + document.attributes("xlink:href")
    assert {link.removeprefix("#") for link in links if link != "data:,"} <= set(ids)
    assert document.text("h1") == "d, e: 2 models"
    assert "Homophones hurt." in document.text("p")
    assert len([tag for tag, _ in document.elements if tag == "h2"]) == len(
        [t for t, _ in document.elements if t == "section"]
    )


def test_asks_nothing_of_a_network(whole):
    """The page names no address but those of XML namespaces, and forbids its own requests."""
    assert "default-src 'none'" in whole
    assert set(re.findall(r"https?://[^\s\"'<]+", whole)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert not re.search(r"@import|url\((?!#)|\bsrc=", whole)


def test_numbers_of_the_sections(whole):
    """Stars, best values, matrix, groups and leakage say what the frames say."""
    text = Document(whole).text("main")
    assert "2 won · 1 tied · 1 lost" in text
    assert "1 won · 1 tied · 2 lost" in text
    assert "10.0* [1.0, 20.0]" in text
    assert "−10.0* [−20.0, −1.0]" in text
    assert "characters and words that sound the same: 权利 -> 权力" in Document(whole).attributes("title")
    assert "8 of 32 tested groups" not in text
    assert "16 of 32 tested groups differ significantly" in text
    assert "16 groups are too small for a test" in text
    assert "unknown" in text
    assert text.index("long") < text.index("short")


def test_same_report_same_page(whole):
    """Nothing of the clock or of chance is in a page, and its report is as before."""
    given = report(cells(datasets=("d", "e")))
    summary, slices = given.summary.copy(), given.slices.copy()
    assert page(given) == whole
    pd.testing.assert_frame_equal(given.summary, summary)
    pd.testing.assert_frame_equal(given.slices, slices)


def test_texts_stay_texts():
    """Whatever a name or a text holds, it is shown and never becomes an element."""
    found = cells(models=(NAME, "b"), datasets=(NAME,))
    pair = {"original": [f"一{NASTY}"], "perturbed": [f"衣{NASTY}"], "edits": [[0, 0, 1, "一", "衣"]], "id": NASTY}
    nasty = report(
        found, title=NASTY, verdict=told(NASTY), notes=(NASTY,), measured={NASTY: NASTY}, examples=[example(model=NASTY, **pair)]
    )  # fmt: skip
    text = page(nasty)
    text.encode("utf-8")
    document, plain = Document(text), Document(page(report(cells(models=("c", "b")))))
    assert {tag for tag, _ in document.elements} == {tag for tag, _ in plain.elements}
    for place in ("title", "h1", "p", "li", "dt"):
        assert SHOWN in document.text(place), place
    for place in ("th", "h3"):
        assert SHOWN.removesuffix("U+D800") in document.text(place), place
    data = re.search(r'<script type="application/json" id="examples-data">(.*?)</script>', text, re.DOTALL)
    stored = json.loads(data[1])
    assert stored["rows"][0]["fields"] == [[["一", "衣"], SHOWN]]
    assert stored["values"]["model"] == [SHOWN]
    assert "<" not in data[1]


def test_stretches_count_code_points():
    """Edits are found behind characters that take two units in a browser, and nothing of them is invisible."""
    edits = [[1, 2, "好", "号"], [3, 3, "", "\u200b"], [4, 5, "x", ""]]
    assert stretches("😀好吃啊x!", edits) == ["😀", ["好", "号"], "吃", ["", "U+200B"], "啊", ["x", ""], "!"]


def test_long_stretches_are_shortened():
    """Of a long text without edits both ends are shown."""
    (text,) = stretches("始" + "长" * 1000 + "终", [])
    assert text[0] == "始"
    assert text[-1] == "终"
    assert len(text) <= browser.STRETCH + 3


def test_a_large_example_leaves_room_for_the_others(monkeypatch):
    """One that does not fit is left out, and those behind it are shown all the same."""
    monkeypatch.setattr(browser, "BYTES", 2000)
    huge = example(0, original=["好" * 10], perturbed=["好" * 10], gold="大" * 5000)
    assert island([huge, example(1), example(2)])[1] == 2


def test_examples_are_taken_in_turns(monkeypatch, undrawn):
    """What does not fit is left out evenly among the cells, and the page says how many are."""
    examples = [example(n, model=m) for m in ("a", "b") for n in range(50)]
    monkeypatch.setattr(browser, "BYTES", 4000)
    data, held = island(examples)
    rows = json.loads(data)["rows"]
    assert 2 < held == len(rows) < 100
    assert [row["at"][0] for row in rows[:4]] == [0, 1, 0, 1]
    assert f"{100 - held} of 100 examples are left out" in page(report(examples=examples))


FRAMES = ("intervals", "tests", "duels", "pairs", "slices", "leakage")


@pytest.mark.parametrize("frame", FRAMES)
def test_an_empty_frame(frame, undrawn):
    """A page without a frame is whole, and says what is missing where it would stand."""
    Document(page(report(**{frame: EMPTY})))


def test_nothing_but_the_grid():
    """One model and no statistics: the page says why sections have nothing to show."""
    found = cells(models=("a",))
    bare = report(found, **dict.fromkeys(FRAMES, EMPTY), examples=[], notes=(), measured={}, tables=(), verdict=told())
    text = Document(page(bare)).text("main")
    for line in (
        "There is one model",
        "without slices",
        "No tests were computed",
        "no stored examples",
        "not recorded",
    ):
        assert line in text
    assert "standard deviation over seeds" in text


def test_undefined_is_a_dash():
    """A metric that was never defined leaves a dash in the heat map and no curve, not a zero."""
    found = cells(models=("a",), datasets=("d",))
    found.loc[found["perturbation"] == "space", ["acc_drop", "perturbed_acc", "attack_success_rate"]] = None
    text = Document(page(report(found))).text("td")
    assert "–" in text
    assert "nan" not in text.lower()


def test_ten_thousand_cells_stay_small(undrawn):
    """A page of 10,000 cells is below 10 MB: lists are cut, and the page says so."""
    small = report(cells(("a",), ("d", "e"), PERTURBED, (0.05, 0.1, 0.15, 0.3)))

    def many(frame):
        return pd.concat([frame.assign(model=f"model-{n}") for n in range(60)], ignore_index=True)

    (one,) = small.tables
    table = replace(one, rows=tuple((d, f"model-{n}", *rest) for n in range(60) for d, _, *rest in one.rows))
    frames = {key: many(getattr(small, key)) for key in ("summary", "intervals", "tests", "slices")}
    assert 2 * len(frames["summary"]) > 9_500  # of two seeds
    long = [example(n, original=["长" * 400], perturbed=["长" * 400], edits=[]) for n in range(9_600)]
    text = page(replace(small, **frames, tables=(table,) * 3, examples=long))
    assert len(text.encode()) < 6_500_000
    assert "more rows are left out here" in text


def test_a_panel_is_small():
    """20 panels of 60 lines fit beside all else."""
    from crt.reporting.drawing import inline
    from crt.reporting.figures import dose_panels

    found = report(cells(tuple(f"model-{n}" for n in range(60)), ("d",), ("space",), (0.05, 0.1, 0.15, 0.3)))
    ((_, _, figure),) = dose_panels(found.summary, "acc_drop", found.intervals)
    assert len(inline(figure, "x", "y").encode()) * 20 < 3_000_000


def test_the_glance_ranks_models():
    """Within a data set the most accurate model under perturbation stands first."""
    found = cells(("a", "b"), ("d",), ("space",), (0.3,))
    found.loc[(found["model"] == "b") & (found["perturbation"] == "space"), "perturbed_acc"] = 0.99
    text = glance(report(found).summary)
    assert text.index(">b<") < text.index(">a<")
