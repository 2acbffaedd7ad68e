"""crt.perturbations: the cases of the reference protocol, and those that a careless finder gets wrong."""

import pytest
from golden_cases import GOLDEN, mark, texts_of, to_do, unmarked
from strategies import loaded

from crt.perturbations import PERTURBATIONS, load
from crt.perturbations import text as words
from crt.perturbations.engine import find_sites, perturb_all
from crt.records import Example
from crt.resources import Table


def finders():
    """Yield each finder of the golden places with its marked texts."""
    for names, places in GOLDEN["places"].items():
        for name in names.split(" and "):
            yield name, loaded(name).find, places
    for name, case in GOLDEN["places with a table"].items():
        entries = {key: tuple(options) for key, options in case["table"].items()}
        yield name, PERTURBATIONS[name].finder(Table(name, entries, "", modified=True)), case["places"]


def cases(key):
    """Return perturbation, text and result of each golden pair."""
    return [(name, text, result) for name, pairs in GOLDEN[key].items() for text, result in pairs]


def results(name, text, *, prob, seeds):
    """Return the texts that some seeds give."""
    sites = find_sites([Example("task/test/0", (text,), 0)], loaded(name).find)
    return {perturb_all(sites, name=name, prob=prob, seed=seed)[0].input[0] for seed in range(seeds)}


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_every_perturbation_has_golden_cases(name):
    """No entry of PERTURBATIONS is without places and without an example that a person has read."""
    assert name in {placed for placed, _, _ in finders()}, to_do(name)
    assert texts_of(name)


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_whoever_cuts_words_says_so(name, monkeypatch):
    """Where sites hang on the words of a text, a new version of jieba has the cells measured again; elsewhere it has not."""
    cutter, used = words._cutter(), []
    monkeypatch.setattr(words, "_cutter", lambda: used.append(name) or cutter)
    find = load(name).find
    for text in texts_of(name):
        find(text)
    listed = "jieba" in PERTURBATIONS[name].libraries
    todo = f"{'add' if used else 'drop'} jieba in the libraries of {name} in crt/perturbations/__init__.py"
    assert listed == bool(used), todo


@pytest.mark.parametrize(
    ("name", "find", "marked"), [(name, find, marked) for name, find, places in finders() for marked in places]
)
def test_places(name, find, marked):
    """Sites are exactly where a reader marked them: no number, Latin word, emoji, title or part of a word is touched."""
    text = unmarked(marked)
    assert mark(text, find(text)) == marked


@pytest.mark.parametrize(("name", "text", "result"), cases("becomes"))
def test_becomes(name, text, result):
    """With every site edited the text is this one, whatever the seed."""
    assert results(name, text, prob=1.0, seeds=5) == {result}


@pytest.mark.parametrize(("name", "text", "result"), cases("may become"))
def test_may_become(name, text, result):
    """The result is among those that the seeds give, and so is the text itself."""
    assert {text, result} <= results(name, text, prob=0.5, seeds=500)
