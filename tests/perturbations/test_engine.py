"""crt.perturbations: what holds for every entry of PERTURBATIONS, whatever the text."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from golden_cases import texts_of
from hypothesis import given
from hypothesis import strategies as st
from strategies import PROPERTY, WORDS, degrees, examples, inputs, loaded, probs, samples, seeds, texts

from crt.perturbations import PERTURBATIONS
from crt.perturbations.engine import (
    FIELDS,
    choose,
    choose_to_degree,
    find_sites,
    perturb,
    perturb_all,
    perturb_to_degree,
)
from crt.randomness import base, uniforms
from crt.records import Example, Perturbed, Site
from crt.resources import load_table

every = pytest.mark.parametrize("name", PERTURBATIONS)
with_table = pytest.mark.parametrize(
    "name", [name for name, p in PERTURBATIONS.items() if p.table == name and not p.takes_words]
)


def run(name, rows, *, prob, seed, fields="both"):
    """Perturb examples with a perturbation of the table."""
    return list(perturb_all(find_sites(rows, loaded(name).find, fields=fields), name=name, prob=prob, seed=seed))


def run_to(degree, name, rows, *, seed, sample=0, fields="both"):
    """Perturb examples to a degree with a perturbation of the table."""
    sites = find_sites(rows, loaded(name).find, fields=fields)
    return list(perturb_to_degree(sites, name=name, degree=degree, seed=seed, sample=sample))


def example(*fields, row=0):
    """Return an example with these fields."""
    return Example(f"task/test/{row}", fields, 0)


def characters(*options):
    """Return a finder for which every character is a site with these options."""
    return lambda text: tuple(Site(at, at + 1, options) for at in range(len(text)))


def without(text, spans):
    """Return the stretches of a text that lie outside some spans."""
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


# Sites


@every
@PROPERTY
@given(texts)
def test_sites_are_sorted_disjoint_and_inside(name, text):
    """No two sites overlap or share a start, all lie inside the text, and the finder is pure."""
    sites = loaded(name).find(text)
    bounds = [0, *(bound for site in sites for bound in (site.start, site.end)), len(text)]
    assert bounds == sorted(bounds)
    assert len({site.start for site in sites}) == len(sites)
    assert loaded(name).find(text) == sites


@every
@PROPERTY
@given(texts)
def test_every_option_changes_the_text(name, text):
    """A site has at least one option, none twice, and none that leaves the text as it is."""
    for site in loaded(name).find(text):
        assert site.options
        assert len(set(site.options)) == len(site.options)
        assert text[site.start : site.end] not in site.options


@every
def test_every_perturbation_finds_something(name):
    """No property below is empty: the texts that are drawn have sites, its own golden ones."""
    nothing = [text for text in texts_of(name) if not loaded(name).find(text)]
    assert not nothing, f"{name} has no site in {nothing}; mend its finder or its cases in tests/golden/"


def test_a_text_is_searched_once():
    """A text that occurs several times, in whatever field, is handed to the finder once."""
    asked = []

    def find(text):
        asked.append(text)
        return (Site(0, 0, ("x",)),)

    sites = find_sites([example("甲", "乙"), example("乙", "甲", row=1), example("甲", row=2)], find)
    assert asked == ["甲", "乙"]
    assert sites.count.tolist() == [2, 2, 1]
    assert list(zip(sites.owner, sites.field, sites.start, strict=True)) == [
        (0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (2, 0, 0),
    ]  # fmt: skip


# Edits


@every
@PROPERTY
@given(examples(), seeds)
def test_prob_0_is_the_identity(name, rows, seed):
    """Nothing is edited, and the sites are counted all the same."""
    sites = find_sites(rows, loaded(name).find)
    expected = [Perturbed(row.input, (), count) for row, count in zip(rows, sites.count, strict=True)]
    assert run(name, rows, prob=0.0, seed=seed) == expected


@every
@PROPERTY
@given(examples(), seeds)
def test_prob_1_edits_every_site(name, rows, seed):
    """Every site of every field becomes an edit with one of its options."""
    for row, result in zip(rows, run(name, rows, prob=1.0, seed=seed), strict=True):
        sites = [(field, site) for field, text in enumerate(row.input) for site in loaded(name).find(text)]
        assert result.sites == len(result.edits) == len(sites)
        for edit, (field, site) in zip(result.edits, sites, strict=True):
            assert (edit.field, edit.start, edit.end) == (field, site.start, site.end)
            assert edit.new in site.options


@every
@PROPERTY
@given(examples(), probs, seeds)
def test_the_edits_give_the_text(name, rows, prob, seed):
    """The edits, made one by one from the last to the first, turn the original into the result."""
    for row, result in zip(rows, run(name, rows, prob=prob, seed=seed), strict=True):
        assert list(result.edits) == sorted(result.edits, key=lambda edit: (edit.field, edit.start))
        fields = list(row.input)
        for edit in reversed(result.edits):
            text = fields[edit.field]
            assert text[edit.start : edit.end] == edit.old
            fields[edit.field] = text[: edit.start] + edit.new + text[edit.end :]
        assert result.input == tuple(fields)


@every
@PROPERTY
@given(examples(), probs, seeds)
def test_the_text_outside_the_edits_is_untouched(name, rows, prob, seed):
    """What lies between the edits stands in the result as it stood in the original."""
    for row, result in zip(rows, run(name, rows, prob=prob, seed=seed), strict=True):
        for field, (before, after) in enumerate(zip(row.input, result.input, strict=True)):
            edits = [edit for edit in result.edits if edit.field == field]
            moved, shift = [], 0
            for edit in edits:
                moved.append((edit.start + shift, edit.start + shift + len(edit.new)))
                shift += len(edit.new) - (edit.end - edit.start)
            assert without(before, [(edit.start, edit.end) for edit in edits]) == without(after, moved)


@every
@PROPERTY
@given(examples(), probs, probs, seeds)
def test_edits_grow_with_prob(name, rows, one, other, seed):
    """The edits at a lower prob are a subset of those at a higher one, options included."""
    few, more = (run(name, rows, prob=prob, seed=seed) for prob in sorted((one, other)))
    assert all(set(less.edits) <= set(result.edits) for less, result in zip(few, more, strict=True))


# Independence


@every
@PROPERTY
@given(examples(), probs, seeds, st.data())
def test_other_examples_change_nothing(name, rows, prob, seed, data):
    """An example gets the same edits in any order, in any subset, alone and twice."""
    expected = run(name, rows, prob=prob, seed=seed)
    chosen = data.draw(st.lists(st.sampled_from(range(len(rows))), max_size=6)) if rows else []
    assert run(name, [rows[row] for row in chosen], prob=prob, seed=seed) == [expected[row] for row in chosen]


@every
@PROPERTY
@given(inputs, probs, seeds, st.sampled_from(sorted(FIELDS)))
def test_one_example_is_perturbed_as_among_others(name, value, prob, seed, fields):
    """`perturb` gives the element of `perturb_all`."""
    one = perturb(example(*value), loaded(name).find, name=name, prob=prob, seed=seed, fields=fields)
    rows = [example("安全", row=1), example(*value), example("未来", "未来", row=2)]
    assert run(name, rows, prob=prob, seed=seed, fields=fields)[1] == one


@every
@PROPERTY
@given(inputs, probs, seeds)
def test_equal_inputs_get_equal_edits(name, value, prob, seed):
    """Neither the id, with its task, split and row, nor the label has a part in the edits."""
    rows = [Example("task/test/0", value, 0), Example("other/train/7", value, 1)]
    first, second = run(name, rows, prob=prob, seed=seed)
    assert first == second


def test_a_premise_draws_anew_with_each_hypothesis():
    """The key holds both fields: two pairs that share a field share about a quarter of its edits at prob 0.5."""
    text = "字" * 4000
    for rows in ([example(text, "甲"), example(text, "乙")], [example("甲", text), example("乙", text)]):
        found = perturb_all(find_sites(rows, characters("词")), name="x", prob=0.5, seed=13)
        one, other = ({edit.start for edit in result.edits if edit.old == "字"} for result in found)
        assert abs(len(one & other) - 1000) <= 4 * 750**0.5


@every
def test_the_fields_of_a_pair_draw_independently(name):
    """The same text in both fields gets edits at places of its own: which are taken is uncorrelated (4 errors)."""
    text = "。".join(texts_of(name))
    places = [site.start for site in loaded(name).find(text)]
    rows = [example(*[f"{text}\n{row}"] * 2) for row in range(ceil(1000 / len(places)))]
    taken = np.zeros((2, len(rows), len(text) + 9))
    for row, result in enumerate(run(name, rows, prob=0.5, seed=13)):
        for edit in result.edits:
            taken[edit.field, row, edit.start] = 1
    first, second = taken[:, :, places].reshape(2, -1)
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / len(first) ** 0.5


@every
@PROPERTY
@given(inputs, probs, seeds)
def test_fields_choose_what_is_perturbed(name, value, prob, seed):
    """`first` and `second` make exactly the edits that `both` makes there; a single text is its first field."""
    both, first, second = (run(name, [example(*value)], prob=prob, seed=seed, fields=f)[0] for f in FIELDS)
    assert first.edits == tuple(edit for edit in both.edits if edit.field == 0)
    assert second.edits == tuple(edit for edit in both.edits if edit.field == 1)
    assert first.sites + second.sites == both.sites
    assert first.input[1:] == value[1:]
    assert second.input[0] == value[0]


@with_table
@PROPERTY
@given(
    examples(), probs, seeds, st.sampled_from(WORDS), st.lists(texts.filter(bool), min_size=1, max_size=3, unique=True)
)
def test_a_new_entry_leaves_other_sites_as_they_were(name, rows, prob, seed, key, options):
    """With one more entry in the table, every site that is still there gets the edit, or none, that it got before."""
    table = load_table(name)
    table = replace(table, entries={**table.entries, key: tuple(options)})
    find = PERTURBATIONS[name].finder(table)
    before = run(name, rows, prob=prob, seed=seed)
    after = perturb_all(find_sites(rows, find), name=name, prob=prob, seed=seed)
    for row, old, new in zip(rows, before, after, strict=True):
        for field, text in enumerate(row.input):
            kept = {(field, site.start) for site in set(loaded(name).find(text)) & set(find(text))}
            edits = [[edit for edit in result.edits if (edit.field, edit.start) in kept] for result in (old, new)]
            assert edits[0] == edits[1]


@with_table
def test_a_new_entry_adds_its_site(name):
    """The entry becomes a site of its own, and all other sites stay."""
    text = "我很喜欢这个电影，龘，网络安全在发展"
    table = load_table(name)
    find = PERTURBATIONS[name].finder(replace(table, entries={**table.entries, "龘": ("龖",)}))
    assert set(find(text)) == {*loaded(name).find(text), Site(text.index("龘"), text.index("龘") + 1, ("龖",))}


# Frequencies and degenerate calls


@pytest.mark.parametrize("count", range(1, 7))
def test_ranks_follow_their_weights(count):
    """Rank r of an option is picked with weight 1 / (r + 1): 20,000 draws are within 4 standard errors."""
    rows = [example(text * 2000) for text in "一二三四五六七八九十"]
    options = tuple("甲乙丙丁戊己"[:count])
    results = perturb_all(find_sites(rows, characters(*options)), name="x", prob=1.0, seed=13)
    picked = "".join(result.input[0] for result in results)
    weights = 1 / np.arange(1, count + 1)
    for option, share in zip(options, weights / weights.sum(), strict=True):
        assert abs(picked.count(option) - 20_000 * share) <= 4 * (20_000 * share * (1 - share)) ** 0.5


@pytest.mark.parametrize("prob", [0.05, 0.15, 0.3, 0.9])
def test_the_share_of_edits_is_prob(prob):
    """Of 20,000 sites the share that is edited is prob within 4 standard errors, and which option hangs not on it."""
    rows = [example(text * 2000) for text in "一二三四五六七八九十"]
    results = perturb_all(find_sites(rows, characters("甲", "乙")), name="x", prob=prob, seed=13)
    edits = [edit for result in results for edit in result.edits]
    assert abs(len(edits) - 20_000 * prob) <= 4 * (20_000 * prob * (1 - prob)) ** 0.5
    first = sum(edit.new == "甲" for edit in edits)
    assert abs(first - len(edits) * 2 / 3) <= 4 * (len(edits) * 2 / 9) ** 0.5


@pytest.mark.parametrize("field", [0, 1])
def test_the_key_of_a_draw_is_the_documented_one(field):
    """A site is edited if the draw of (seed, perturbation, input, field) at its start is below prob."""
    text = "字" * 1000
    row = ("", text) if field else (text,)
    sites = find_sites([example(*row)], characters("甲"))
    draws = uniforms(base(13, "x", base(*row), field), np.arange(1000))
    assert choose(sites, name="x", prob=0.3, seed=13)[0].tolist() == np.flatnonzero(draws < 0.3).tolist()


@pytest.mark.parametrize("change", [{"seed": 14}, {"name": "y"}, {"text": "词"}])
def test_seed_name_and_input_draw_independently(change):
    """Another seed, perturbation or input shares about a quarter of the places at prob 0.5, no more."""

    def taken(*, seed=13, name="x", text="字"):
        sites = find_sites([example(text * 4000)], characters("甲"))
        return set(choose(sites, name=name, prob=0.5, seed=seed)[0].tolist())

    assert taken() == taken()
    assert abs(len(taken() & taken(**change)) - 1000) <= 4 * 750**0.5


@every
def test_nothing_to_perturb(name):
    """No examples, empty texts and texts without a site come back as they are."""
    assert run(name, [], prob=1.0, seed=1) == []
    rows = [example(""), example("", "", row=1), example("@OK #2018# 👍🏽\0\ud800", row=2)]
    assert run(name, rows, prob=1.0, seed=1) == [Perturbed(row.input, (), 0) for row in rows]


@pytest.mark.parametrize(
    ("sites", "result"),
    [
        ((), "安全"),
        ((Site(0, 0, ("x",)),), "x安全"),
        ((Site(2, 2, ("x",)),), "安全x"),
        ((Site(0, 2, ("",)),), ""),
        ((Site(0, 1, ("",)), Site(1, 1, ("xy",)), Site(2, 2, ("z",))), "xy全z"),
        ((Site(0, 1, ("全",)), Site(1, 2, ("安",))), "全安"),
    ],
)
def test_edits_at_the_borders(sites, result):
    """Insertions at both ends, deletions, neighbours and swaps are made where they stand."""
    assert perturb(example("安全"), lambda _text: sites, name="x", prob=1.0, seed=1).input == (result,)


# Degrees


@every
@PROPERTY
@given(examples(), degrees, seeds, samples, st.sampled_from(sorted(FIELDS)))
def test_a_degree_is_a_count_of_edits(name, rows, degree, seed, sample, fields):
    """An example gets ceil(degree x characters of the perturbed fields) edits, or all it has sites for."""
    for row, result in zip(rows, run_to(degree, name, rows, seed=seed, sample=sample, fields=fields), strict=True):
        characters = sum(len(text) for field, text in enumerate(row.input) if field in FIELDS[fields])
        assert len(result.edits) == min(ceil(Fraction(str(degree)) * characters), result.sites)
        assert {edit.field for edit in result.edits} <= set(FIELDS[fields])


@every
@PROPERTY
@given(examples(), degrees, degrees, seeds, samples)
def test_edits_grow_with_the_degree(name, rows, one, other, seed, sample):
    """The edits of a sample at a lower degree are a subset of those at a higher one, options included."""
    few, more = (run_to(degree, name, rows, seed=seed, sample=sample) for degree in sorted((one, other)))
    assert all(set(less.edits) <= set(result.edits) for less, result in zip(few, more, strict=True))


@every
@PROPERTY
@given(examples(), degrees, seeds, samples)
def test_the_edits_of_a_degree_give_the_text(name, rows, degree, seed, sample):
    """Each edit stands at a site and has one of its options; made from the last to the first they give the result."""
    for row, result in zip(rows, run_to(degree, name, rows, seed=seed, sample=sample), strict=True):
        fields, sites = list(row.input), [{s[:2]: s for s in loaded(name).find(text)} for text in row.input]
        assert list(result.edits) == sorted(result.edits, key=lambda edit: (edit.field, edit.start))
        for edit in reversed(result.edits):
            assert edit.new in sites[edit.field][edit.start, edit.end].options
            text = fields[edit.field]
            fields[edit.field] = text[: edit.start] + edit.new + text[edit.end :]
        assert result.input == tuple(fields)


@every
@PROPERTY
@given(examples(), degrees, seeds, st.lists(samples, min_size=5, max_size=5), st.data())
def test_samples_of_other_examples_change_nothing(name, rows, degree, seed, chosen, data):
    """An example gets the same edits in any order, in any subset and alone, whichever samples the others are."""
    expected = run_to(degree, name, rows, seed=seed, sample=chosen[: len(rows)])
    for row in data.draw(st.permutations(range(len(rows)))):
        assert run_to(degree, name, [rows[row]], seed=seed, sample=chosen[row]) == [expected[row]]


@pytest.mark.parametrize(
    ("characters", "degree", "edits"),
    [(100, 0.07, 7), (3, 0.1, 1), (10, 0.3, 3), (11, 0.3, 4), (1, 0.05, 1), (20, 0.6, 12), (5, 1.0, 5), (5, 0.0, 0)],
)
def test_degrees_by_hand(characters, degree, edits):
    """A part of an edit is a whole one, an error of floating point is none: 0.07 * 100 asks for 7 edits, not 8."""
    sites = find_sites(
        [example("字" * characters)], lambda text: tuple(Site(at, at, ("x",)) for at in range(len(text)))
    )
    assert perturb_to_degree(sites, name="x", degree=degree, seed=1, sample=0).edits.tolist() == [edits]


def test_the_fields_of_a_pair_share_a_degree():
    """The sites of both fields are ranked together: half of 40 characters are 20 edits, wherever they fall."""
    sites = find_sites([example("字" * 30, "字" * 10)], characters("甲"))
    per_field = [
        [sum(edit.field == field for edit in result.edits) for field in (0, 1)]
        for result in (perturb_to_degree(sites, name="x", degree=0.5, seed=1, sample=k)[0] for k in range(50))
    ]
    assert {first + second for first, second in per_field} == {20}
    assert len({first for first, _ in per_field}) > 1


def test_the_key_of_a_degree_is_the_documented_one():
    """The sites of the smallest draws of (seed, perturbation, input, field, sample) are edited."""
    sites = find_sites([example("字" * 1000)], characters("甲", "乙"))
    draws = uniforms(base(13, "x", base("字" * 1000), 0, 4), np.arange(1000))
    taken, ranks = choose_to_degree(sites, name="x", degree=0.3, seed=13, sample=[4])
    assert taken.tolist() == sorted(np.argsort(draws)[:300].tolist())
    picks = uniforms(base(13, "x", base("字" * 1000), 0, 4), taken, stream=1)
    assert ranks.tolist() == (picks >= 2 / 3).astype(int).tolist()


def test_samples_draw_independently():
    """Two samples, and a sample and the draw of the grid, share about a quarter of the places at half of them."""
    sites = find_sites([example("字" * 4000)], characters("甲"))

    def taken(sample):
        return set(choose_to_degree(sites, name="x", degree=0.5, seed=13, sample=[sample])[0].tolist())

    grid = set(choose(sites, name="x", prob=0.5, seed=13)[0].tolist())
    for one, other in ((taken(0), taken(1)), (taken(0), grid)):
        assert abs(len(one & other) - 1000) <= 4 * 750**0.5


@every
def test_nothing_to_perturb_to_a_degree(name):
    """No examples, empty texts and texts without a site come back as they are, also among others."""
    assert run_to(0.5, name, [], seed=1) == []
    rows = [example(""), example("", "", row=1), example("@OK #2018# 👍🏽\0\ud800", row=2)]
    expected = [Perturbed(row.input, (), 0) for row in rows]
    assert run_to(0.5, name, rows, seed=1) == expected
    assert run_to(0.5, name, [*rows, example("我很喜欢这个电影", row=3)], seed=1)[:3] == expected
