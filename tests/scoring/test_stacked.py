"""Intervals, tests and weak spots of outcomes that are made by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from crt.records import Example
from crt.scoring.evidence import weigh
from crt.scoring.slices import SLICES, facts_of, groups_of
from crt.scoring.stacked import against, against_clean, intervals, stack
from crt.scoring.statistics import Resampling, mcnemar
from crt.scoring.weak_spots import weak_spots

LABELS = ["a", "b", "c"]


def outcomes(gold, clean, perturbed, **columns):
    """Return the stored columns of a cell."""
    n = len(gold)
    frame = {"id": [f"t/{i}" for i in range(n)], "gold": list(gold), "clean": list(clean), "perturbed": list(perturbed)}
    frame |= {"changed": [int(a != b) for a, b in zip(clean, perturbed, strict=True)], "sites": [1] * n}
    frame |= {"length": list(range(n)), "max_prob_clean": [0.9] * n}
    return pd.DataFrame(frame | columns)


def facts(n, clusters=None, **columns):
    """Return facts of examples, each a cluster of its own unless told otherwise."""
    return pd.DataFrame({"cluster": [str(c) for c in (clusters if clusters is not None else range(n))], **columns})


def cells(*keys):
    """Return the keys of cells: perturbation, prob, seed, train_seed."""
    return pd.DataFrame(keys, columns=["perturbation", "prob", "seed", "train_seed"])


@pytest.fixture
def random_stack():
    """Four cells of one perturbation over 200 random examples of three labels, two trainings with two seeds each."""
    rng = np.random.default_rng(0)
    keys = cells(*[("space", 0.3, seed, train) for train in ("1", "2") for seed in (13, 42)])
    gold = rng.choice(LABELS, 200)
    cleans = {t: np.where(rng.random(200) < 0.8, gold, rng.choice(LABELS, 200)) for t in ("1", "2")}
    frames = [
        outcomes(gold, cleans[t], np.where(rng.random(200) < 0.8, cleans[t], rng.choice(LABELS, 200)))
        for t in keys["train_seed"]
    ]
    return stack(keys, frames, facts(200)), frames


def test_without_resampling_the_values_are_the_metrics(random_stack):
    """Each value is the plain mean over the cells of what scikit-learn and a count give."""
    stacked, frames = random_stack
    found = intervals(stacked, Resampling(200)).set_index(["perturbation", "metric"])["value"]
    clean = [np.mean(f["gold"] == f["clean"]) for f in frames]
    after = [np.mean(f["gold"] == f["perturbed"]) for f in frames]
    assert found["space", "perturbed_acc"] == pytest.approx(np.mean(after))
    assert found["clean", "clean_acc"] == pytest.approx(np.mean(clean))
    assert found["space", "acc_drop"] == pytest.approx(np.mean(np.subtract(clean, after)))
    assert found["space", "robustness_score"] == pytest.approx(np.mean(np.divide(after, clean)))
    f1 = [f1_score(f["gold"], f["perturbed"], average="macro") for f in frames]
    assert found["space", "perturbed_macro_f1"] == pytest.approx(np.mean(f1))
    asr = []
    for f in frames:
        attacked = f[(f["gold"] == f["clean"]) & (f["changed"] == 1)]
        asr.append(np.mean(attacked["gold"] != attacked["perturbed"]))
    assert found["space", "attack_success_rate"] == pytest.approx(np.mean(asr))


def test_an_interval_is_that_of_a_plain_loop(random_stack):
    """Drawing examples one by one, all cells together, gives the same interval up to the noise of both."""
    stacked, frames = random_stack
    row = intervals(stacked, Resampling(200)).set_index(["perturbation", "metric"]).loc[("space", "acc_drop")]
    rng, drops = np.random.default_rng(1), []
    for _ in range(1000):
        rows = rng.integers(0, 200, 200)
        drawn = [f.iloc[rows] for f in frames]
        drops.append(np.mean([np.mean(f["gold"] == f["clean"]) - np.mean(f["gold"] == f["perturbed"]) for f in drawn]))
    assert [row["low"], row["high"]] == pytest.approx(np.quantile(drops, [0.025, 0.975]), abs=0.01)


def test_training_seeds_weigh_alike():
    """A training that was measured with three seeds counts as much as one with a single seed."""
    gold = ["a"] * 4
    right, wrong = outcomes(gold, gold, gold), outcomes(gold, gold, ["b"] * 4)
    keys = cells(*[("space", 0.3, seed, "1") for seed in (1, 2, 3)], ("space", 0.3, 1, "2"))
    found = intervals(stack(keys, [right, right, right, wrong], facts(4)), Resampling(4))
    value = found.set_index(["perturbation", "metric"])["value"]
    assert value["space", "perturbed_acc"] == 0.5


def test_repeated_texts_are_one_cluster():
    """An example that stands there ten times makes nothing more certain."""
    rng = np.random.default_rng(0)
    gold = np.repeat(["a"] * 40, 10)
    after = np.repeat(rng.choice(["a", "b"], 40), 10)
    width = {}
    for name, clusters in (("own", range(400)), ("text", np.repeat(range(40), 10))):
        stacked = stack(cells(("space", 0.3, 1, "")), [outcomes(gold, gold, after)], facts(400, clusters))
        found = intervals(stacked, Resampling(len(set(clusters)))).set_index(["perturbation", "metric"])
        width[name] = found.loc[("space", "perturbed_acc"), "high"] - found.loc[("space", "perturbed_acc"), "low"]
    assert width["text"] > 2.5 * width["own"]


def test_a_drop_counts_if_every_seed_shows_it():
    """The p-value of a row is the largest one of its seeds, and seeds that point both ways are no finding."""
    gold = np.array(["a"] * 100)
    worse, much_worse = gold.copy(), gold.copy()
    worse[:6], much_worse[:30] = "b", "b"
    keys = cells(("space", 0.3, 1, ""), ("space", 0.3, 2, ""))
    row = against_clean(
        stack(keys, [outcomes(gold, gold, much_worse), outcomes(gold, gold, worse)], facts(100)), Resampling(100)
    ).iloc[0]
    assert row["p"] == pytest.approx(mcnemar(np.array([6]), np.array([0]))[0])
    assert (row["drop"], row["lost"], row["gained"], row["effect"], row["tests"]) == (0.18, 18, 0, 0.5, 2)
    clean = worse
    mixed = stack(keys, [outcomes(gold, clean, much_worse), outcomes(gold, clean, gold)], facts(100))
    assert against_clean(mixed, Resampling(100)).iloc[0]["p"] == 1.0


def test_two_models_are_compared_seed_by_seed():
    """Only what both were measured at is compared; a model against itself is a tie, against a broken one it wins."""
    gold = np.array(["a"] * 50)
    good = outcomes(gold, gold, gold)
    bad = outcomes(gold, gold, ["b"] * 50)
    one = stack(cells(("space", 0.3, 1, "1"), ("space", 0.3, 2, "1")), [good, good], facts(50))
    other = stack(cells(("space", 0.3, 1, ""), ("shape", 0.3, 1, "")), [bad, bad], facts(50))
    found = against(one, other, Resampling(50)).set_index("perturbation")
    assert list(found.index) == ["clean", "space"]
    assert found.loc["space", ["difference", "low", "high", "lost", "gained", "tests"]].tolist() == [1, 1, 1, 50, 0, 1]
    assert found.loc["space", "p"] < 1e-10
    assert found.loc["clean", "p"] == 1.0
    duels = weigh({"t": {"one": one, "other": other}}).duels.set_index("perturbation")["outcome"]
    assert duels.to_dict() == {"clean": "tie", "space": "win"}
    turned = weigh({"t": {"other": other, "one": one}}).duels.set_index("perturbation")["outcome"]
    assert turned.to_dict() == {"clean": "tie", "space": "loss"}


def test_models_without_a_common_cell_are_not_compared():
    """Nothing is said of two models that were measured at different doses."""
    gold = ["a"] * 5
    one = stack(cells(("space", 0.3, 1, "")), [outcomes(gold, gold, gold)], facts(5))
    other = stack(cells(("space", 0.1, 1, "")), [outcomes(gold, gold, gold)], facts(5))
    assert against(one, other, Resampling(5)).empty


def test_the_weak_spot_is_found():
    """Of 200 texts the 60 with a negation lose half their answers: that slice, and no other, breaks the model."""
    rng = np.random.default_rng(0)
    gold = np.array(["a"] * 200)
    negated = np.arange(200) < 60
    after = np.where(negated & (np.arange(200) % 2 == 0), "b", gold)
    order = rng.permutation(200)
    frame = outcomes(gold, gold, after[order], length=rng.permutation(200))
    evidence = weigh({"t": {"m": stack(cells(("space", 0.3, 1, "")), [frame], facts(200, negation=negated[order]))}})
    first = evidence.slices.iloc[0]
    assert (first["slice"], first["group"], first["n"], first["significant"]) == ("negation", "yes", 60, True)
    assert (first["drop"], first["rest"]) == (0.5, 0.0)
    assert first["low"] > 0.3
    assert not evidence.slices["significant"][1:].any()


def test_of_two_halves_the_worse_one_is_shown():
    """A slice with two groups gives one row; with more, or with a small one, all of them."""
    gold = np.array(["a"] * 100)
    after = np.where(np.arange(100) < 30, "b", gold)
    some = facts(100, negation=np.arange(100) < 50, crossing=np.arange(100) < 20)
    found = weak_spots(stack(cells(("space", 0.3, 1, "")), [outcomes(gold, gold, after)], some), Resampling(100))
    assert found[found["slice"] == "negation"]["group"].tolist() == ["yes"]
    small = found[found["slice"] == "crossing words"]
    assert set(small["group"]) == {"yes", "no"}
    assert small["small"].all()
    assert small["p"].isna().all()
    assert len(found[found["slice"] == "length"]) == 4


def test_a_few_texts_are_no_slice():
    """Sixty pairs of two premises are two texts: nothing is tested; what has no group is not the rest."""
    gold = np.array(["a"] * 120)
    after = np.where(np.arange(120) < 20, "b", gold)
    clusters = np.repeat([0, 1], 60)
    some = facts(120, clusters, negation=clusters)
    found = weak_spots(stack(cells(("space", 0.3, 1, "")), [outcomes(gold, gold, after)], some), Resampling(2))
    assert found["small"].all()
    sides = [None] * 40 + ["first"] * 80
    stacked = stack(cells(("space", 0.3, 1, "")), [outcomes(gold, gold, after, changed_fields=sides)], facts(120))
    assert "side perturbed" not in set(weak_spots(stacked, Resampling(120))["slice"])


def test_nothing_is_weighed():
    """Of no cells there is no evidence, and of a single text no slice; neither is an error."""
    assert weigh({}).slices.empty
    gold = ["a"]
    one = weigh({"t": {"m": stack(cells(("space", 0.3, 1, "")), [outcomes(gold, gold, gold)], facts(1))}})
    assert one.slices.empty
    assert one.tests["p_holm"].tolist() == [1.0]


def test_slices_are_taken_at_the_largest_prob():
    """Each perturbation is sliced at its own strongest dose, and all of them together."""
    gold = np.array(["a"] * 80)
    after = np.where(np.arange(80) < 40, "b", gold)
    keys = cells(("space", 0.05, 1, ""), ("space", 0.3, 1, ""), ("shape", 0.3, 1, ""))
    same, worse = outcomes(gold, gold, gold), outcomes(gold, gold, after)
    stacked = stack(keys, [worse, same, worse], facts(80, negation=np.arange(80) < 40))
    found = weak_spots(stacked, Resampling(80)).query("slice == 'negation'").set_index("perturbation")
    assert found["drop"].to_dict() == {"all": 0.5, "shape": 1.0, "space": 0.0}
    assert "sites" not in set(weak_spots(stacked, Resampling(80)).query("perturbation == 'all'")["slice"])


FACTS = [
    ("这部电影不好看", {"negation": 1, "latin_or_digit": 0.0, "traditional": 0.0}),
    ("非常好看", {"negation": 0}),
    ("這部電影", {"traditional": 0.5}),
    ("iPhone手机12", {"latin_or_digit": 0.8}),
    ("银行行长", {"polyphone": 0.75}),
    ("饕餮", {"uncommon": 1.0}),
    ("肯定比如今好", {"crossing": 1}),
    ("", {"latin_or_digit": 0.0, "crossing": 0, "polyphone": 0.0}),
]


@pytest.mark.parametrize(("text", "wanted"), FACTS)
def test_facts(text, wanted):
    """What is counted in a text."""
    found = facts_of([Example("t/0", (text,), 0)], None)
    assert {name: found[name][0] for name in wanted} == pytest.approx(wanted)
    assert "seen" not in found
    assert "overlap" not in found


def test_facts_of_pairs():
    """A pair belongs to the cluster of its premise, and has an overlap; what was seen is seen as a whole pair."""
    pairs = [("甲乙", "甲"), ("甲乙", "丙"), ("丁", "丁")]
    found = facts_of([Example(f"t/{i}", pair, 0) for i, pair in enumerate(pairs)], frozenset({("丁", "丁")}))
    assert found["cluster"][0] == found["cluster"][1] != found["cluster"][2]
    assert found["overlap"] == [0.5, 0.0, 1.0]
    assert found["seen"] == [0, 0, 1]


def test_groups():
    """Bands say their bounds, quarters what they hold; equal values are never divided."""
    rows = pd.DataFrame(
        {
            "latin_or_digit": [0.0, 0.05, 0.1, 1.0],
            "max_prob_clean": [0.4, 0.5, 0.89, 0.9],
            "length": [3, 3, 3, 9],
            "changed_fields": [None, "first", "second", "both"],
        }
    )
    found = {name: list(groups) for name, groups in groups_of(rows).items()}
    assert found["Latin or digits"] == ["none", "under 10 %", "10 % and more", "10 % and more"]
    assert found["clean confidence"] == ["under 50 %", "50 to 70 %", "70 to 90 %", "90 % and more"]
    assert found["length"] == ["3", "3", "3", "9"]
    assert found["side perturbed"][1:] == ["first text only", "second text only", "both texts"]
    assert set(found) <= set(SLICES)
