"""How much of real text each table reaches: the numbers that resources/README.md gives."""

import re
from pathlib import Path

import pytest
from strategies import loaded

from crt.catalogue import TASKS
from crt.perturbations.engine import find_sites
from crt.perturbations.text import HAN
from crt.records import Example
from crt.tasks import Source, load_split

REAL = Source(Path(__file__).parents[3] / "shared/data")
pytestmark = pytest.mark.skipif(not REAL.data_dir.is_dir(), reason="the published data are not at hand")


@pytest.fixture(scope="module")
def texts():
    """Return 500 reviews and 500 sentences of OCNLI, each an example of its own."""
    found = {}
    for name in ("chnsenticorp", "ocnli"):
        split = load_split(TASKS[name], TASKS[name].eval_split, REAL).limited(500)
        found[name] = [Example(f"{name}/x/{row}", (example.input[0],), 0) for row, example in enumerate(split.examples)]
    return found


def reach(name, examples):
    """Return the share of Han characters that stand at a site, and the share of texts with a site."""
    sites = find_sites(examples, loaded(name).find)
    covered = sum(site.end - site.start for site in sites.sites)
    han = sum(len(re.findall(f"[{HAN}]", example.input[0])) for example in examples)
    return covered / han, float((sites.count > 0).mean())


@pytest.mark.parametrize(
    ("name", "characters", "reviews", "sentences"),
    [
        ("homophone", 0.70, 0.99, 0.99),
        ("shape", 0.70, 0.99, 0.99),
        ("ime", 0.10, 0.90, 0.70),
        ("synonym", 0.05, 0.95, 0.75),
        ("synonym_all", 0.05, 0.95, 0.75),
        ("colloquial", 0.15, 0.95, 0.70),
        ("martian", 0.40, 0.99, 0.99),
        ("split", 0.40, 0.99, 0.95),
        ("pinyin", 0.85, 0.99, 0.99),
        ("letters", 0.35, 0.99, 0.90),
        ("signs", 0.50, 0.99, 0.95),
        ("fuzzy", 0.40, 0.99, 0.95),
    ],
)
def test_reach(texts, name, characters, reviews, sentences):
    """At least so many characters of reviews, reviews, and sentences of OCNLI are reached."""
    share, hit = reach(name, texts["chnsenticorp"])
    assert share >= characters
    assert hit >= reviews
    assert reach(name, texts["ocnli"])[1] >= sentences
