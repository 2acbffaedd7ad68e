"""crt.reporting.preview: how a perturbation looks before it is trusted."""

import pytest

from crt.perturbations import load
from crt.perturbations.engine import perturb
from crt.records import Edit, Example
from crt.reporting.preview import marked, reach, shown


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("环境很好", [], "环境很好"),
        ("环境很好", [Edit(0, 1, 2, "境", "竟")], "环[境→竟]很好"),
        ("电影", [Edit(0, 1, 1, "", " ")], "电[+ ]影"),
        ("早餐", [Edit(0, 0, 1, "早", "")], "[早→]餐"),
        ("好看", [Edit(0, 1, 1, "", "\u200b")], "好[+U+200B]看"),
        ("安全吗", [Edit(0, 0, 2, "安全", "anquan"), Edit(0, 2, 3, "吗", "嘛")], "[安全→anquan][吗→嘛]"),
    ],
)
def test_marked(text, edits, expected):
    """Replacements, insertions, deletions and characters without a width can be told apart."""
    assert marked(text, edits) == expected


def test_shown():
    """Each field of a pair has its line, with the count of edits of both."""
    example = Example("a/b/0", ("好看", "真好"), 0)
    result = perturb(example, load("space").find, name="space", prob=1.0, seed=13)
    assert shown("space", example, result) == "space (2 of 2 sites)\t好[+ ]看\nspace (2 of 2 sites)\t真[+ ]好"


def test_reach():
    """Sites are counted for 100 Han characters, texts as a share; a perturbation without a table has no keys."""
    rows = reach([load("space"), load("emoji")], [Example("a/b/0", ("好看吗",), 0), Example("a/b/1", ("OK",), 0)])
    assert rows["texts"].tolist()[0] == 0.5
    assert rows["sites"].tolist()[0] == pytest.approx(100 * 2 / 3)
    assert rows["keys"].isna().tolist() == [True, False]


def test_reach_of_nothing():
    """Without examples a share is missing, not 0."""
    assert reach([load("space")], []).loc[0, ["texts", "sites"]].isna().all()
