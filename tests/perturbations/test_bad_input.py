"""Texts that break careless programs: they pass through every perturbation, and what is no site stays."""

import pytest
from golden_cases import texts_of
from strategies import loaded

from crt.perturbations import PERTURBATIONS
from crt.perturbations.engine import perturb
from crt.records import Example, Perturbed

every = pytest.mark.parametrize("name", PERTURBATIONS)


def perturbed(name: str, text: str):
    """Return the text with every site edited."""
    return perturb(Example("a/b/0", (text,), 0), loaded(name).find, name=name, prob=1.0, seed=13)


@every
@pytest.mark.parametrize(
    "text", ["", " ", "\u3000\n\t ", "😀👍🏽👨‍👩‍👧", "\0", "\ud800\udfff", "\u202e\u202d\u200f", "\ufeff", "\uffff"]
)
def test_without_a_site(name, text):
    """An empty text, white space, emoji, NUL, lone surrogates, marks of direction: nothing to edit, nothing edited."""
    assert perturbed(name, text) == Perturbed((text,), (), 0)


@every
@pytest.mark.parametrize("strange", ["\0", "\ud800", "\u202e", "\u200f", "\u200d", "\uffff"])
def test_strange_code_points_among_words(name, strange):
    """They stand where they stood, in their number, and what is around them is perturbed all the same."""
    parts = texts_of(name) * 2
    result = perturbed(name, strange.join(parts))
    assert result.sites > 0
    kept = [edit for edit in result.edits if strange in edit.old]
    assert not kept
    assert result.input[0].count(strange) - sum(edit.new.count(strange) for edit in result.edits) == len(parts) - 1


@every
def test_a_very_long_text(name):
    """100,000 characters: each further part adds as many sites as the second one does."""
    part = "".join(f"。\n{text}" for text in texts_of(name))
    one, two, many = (len(loaded(name).find(part * times)) for times in (1, 2, 100_000 // len(part)))
    assert one > 0
    assert many - one == (two - one) * (100_000 // len(part) - 1)
