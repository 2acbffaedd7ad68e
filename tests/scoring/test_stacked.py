"""Intervals, tests and weak spots of outcomes that are made by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from crt.records import Example
from crt.scoring.contrasts import against, against_clean, each_seed
from crt.scoring.evidence import NOT_ABOVE, ONE_LABEL, weigh
from crt.scoring.slices import SLICES, facts_of, groups_of
from crt.scoring.stacked import intervals, stack
from crt.scoring.statistics import Resampling, SignFlips, holm, mcnemar
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


def test_the_mean_over_seeds_is_tested():
    """Two seeds that lose 6 and 30 of 100 texts are one test of the mean; each seed alone stands beside it."""
    gold = np.array(["a"] * 100)
    worse, much_worse = gold.copy(), gold.copy()
    worse[:6], much_worse[:30] = "b", "b"
    keys = cells(("space", 0.3, 1, ""), ("space", 0.3, 2, ""))
    stacked = stack(keys, [outcomes(gold, gold, much_worse), outcomes(gold, gold, worse)], facts(100))
    row = against_clean(stacked, Resampling(100), SignFlips(100)).iloc[0]
    assert row[["n", "drop", "lost", "gained", "effect", "seeds"]].tolist() == pytest.approx([100, 0.18, 18, 0, 0.5, 2])
    assert row["p"] == 1 / 10_000
    assert row["error"] == pytest.approx((row["high"] - row["low"]) / 3.92, rel=0.1)
    alone = each_seed(stacked)
    assert alone["seed"].tolist() == [1, 2]
    assert alone["p"].tolist() == pytest.approx(mcnemar(np.array([30, 6]), np.array([0, 0])).tolist())


def test_seeds_that_disagree_add_nothing():
    """What one seed loses another gains: no text has a difference, and there is no finding."""
    gold, half = np.array(["a"] * 60), np.array(["b"] * 30 + ["a"] * 30)
    keys = cells(("space", 0.3, 1, "1"), ("space", 0.3, 1, "2"))
    mixed = stack(keys, [outcomes(gold, gold, half), outcomes(gold, half, gold)], facts(60))
    row = against_clean(mixed, Resampling(60), SignFlips(60)).iloc[0]
    assert (row["drop"], row["p"]) == (0, 1)


def test_repeated_texts_are_no_further_evidence():
    """Ten texts that are lost ten times each give the p-value of ten texts: 2 of 1,024 flips."""
    gold = np.array(["a"] * 200)
    after = np.where(np.arange(200) < 100, "b", gold)
    clusters = np.repeat(np.arange(20), 10)
    stacked = stack(cells(("space", 0.3, 1, "")), [outcomes(gold, gold, after)], facts(200, clusters))
    assert against_clean(stacked, Resampling(20), SignFlips(20))["p"].tolist() == [2 / 1024]


def test_two_models_are_compared_seed_by_seed():
    """Only what both were measured at is compared; a model against itself is a tie, against a broken one it wins."""
    gold = np.array(["a", "c"] * 25)
    good = outcomes(gold, gold, gold)
    bad = outcomes(gold, gold, ["b"] * 50)
    one = stack(cells(("space", 0.3, 1, "1"), ("space", 0.3, 2, "1")), [good, good], facts(50))
    other = stack(cells(("space", 0.3, 1, ""), ("shape", 0.3, 1, "")), [bad, bad], facts(50))
    duels, pairs = against(one, other, Resampling(50), SignFlips(50))
    assert duels[["metric", "perturbation"]].to_numpy().tolist() == [
        ["clean_acc", "clean"], ["perturbed_acc", "space"], ["perturbed_acc", "all"], ["acc_drop", "space"], ["acc_drop", "all"],
    ]  # fmt: skip
    assert duels.loc[1, ["n", "difference", "low", "high", "p"]].tolist() == [50, 1, 1, 1, 1 / 10_000]
    assert duels.loc[0, "p"] == 1.0
    assert pairs["metric"].tolist() == ["perturbed_acc", "acc_drop"]
    won = weigh({"t": {"one": one, "other": other}}).duels.set_index(["metric", "perturbation"])["outcome"]
    assert won.to_dict() == {
        ("clean_acc", "clean"): "tie", ("perturbed_acc", "space"): "win", ("perturbed_acc", "all"): "win",
        ("acc_drop", "space"): "win", ("acc_drop", "all"): "win",
    }  # fmt: skip
    turned = weigh({"t": {"other": other, "one": one}}).duels
    assert set(turned["outcome"]) == {"tie", "loss"}


def test_attack_success_is_compared_over_the_attacked():
    """One model loses 10 of 40 that it was right on, the other 10 of 80: a quarter against an eighth, with a plain interval."""
    gold = np.array(["a"] * 100)
    first = np.where(np.arange(100) < 40, "a", "b")
    second = np.where(np.arange(100) < 80, "a", "b")
    broken = [np.where(np.arange(100) < 10, "c", one) for one in (first, second)]
    made = [
        stack(cells(("space", 0.3, 1, "")), [outcomes(gold, clean, after, changed=1)], facts(100))
        for clean, after in zip((first, second), broken, strict=True)
    ]
    duels, _ = against(*made, Resampling(100), SignFlips(100))
    row = duels[duels["metric"] == "attack_success_rate"].iloc[0]
    assert row["difference"] == pytest.approx(0.25 - 0.125)
    rng, plain = np.random.default_rng(1), []
    for _ in range(2000):
        drawn = rng.integers(0, 100, 100)
        plain.append((drawn < 10).sum() / (drawn < 40).sum() - (drawn < 10).sum() / (drawn < 80).sum())
    assert [row["low"], row["high"]] == pytest.approx(np.quantile(plain, [0.025, 0.975]), abs=0.02)


def test_equal_attack_success_is_no_finding():
    """Models of unequal accuracy but equal attack success differ significantly about as often as alpha says."""
    rng, found = np.random.default_rng(0), []
    gold = np.array(["a"] * 300)
    for _ in range(60):
        made = []
        for level in (0.9, 0.5):
            clean = np.where(rng.random(300) < level, "a", "b")
            after = np.where((clean == "a") & (rng.random(300) < 0.2), "b", clean)
            made.append(stack(cells(("space", 0.3, 1, "")), [outcomes(gold, clean, after, changed=1)], facts(300)))
        duels, _ = against(*made, Resampling(300, resamples=10), SignFlips(300, flips=999))
        found.append(duels.set_index("metric").loc["attack_success_rate", "p"].iloc[0] < 0.05)
    assert np.mean(found) < 0.13


def test_models_without_a_common_cell_are_not_compared():
    """Nothing is said of two models that were measured at different doses."""
    gold = ["a"] * 5
    one = stack(cells(("space", 0.3, 1, "")), [outcomes(gold, gold, gold)], facts(5))
    other = stack(cells(("space", 0.1, 1, "")), [outcomes(gold, gold, gold)], facts(5))
    assert all(found.empty for found in against(one, other, Resampling(5), SignFlips(5)))


def random_models(count, size=120):
    """Return models of about 80 % accuracy that lose a few answers, over the same examples of two labels."""
    rng = np.random.default_rng(0)
    gold = np.array(["a", "b"] * (size // 2))
    wrong = np.where(gold == "a", "b", "a")
    keys = cells(*[(name, 0.3, seed, "") for name in ("space", "shape") for seed in (1, 2)])
    made = {}
    for number in range(count):
        clean = np.where(rng.random(size) < 0.8, gold, wrong)
        frames = [outcomes(gold, clean, np.where(rng.random(size) < 0.1, wrong, clean)) for _ in range(4)]
        made[f"m{number}"] = stack(keys, frames, facts(size))
    return made


def test_stars_do_not_depend_on_other_models_or_data_sets():
    """The tests of a model on a data set, the correction among them, are the same alone and beside all others."""
    models = random_models(4)
    alone = weigh({"t": {"m1": models["m1"]}}).tests
    beside = weigh({"t": models, "u": random_models(3, 60)}).tests
    pd.testing.assert_frame_equal(
        alone, beside[(beside["dataset"] == "t") & (beside["model"] == "m1")].reset_index(drop=True)
    )
    assert set(alone["family"]) == {2}


def test_duels_are_corrected_within_a_data_set():
    """The family of a duel is all duels of its data set, in each metric; that of a pair all pairs."""
    evidence = weigh({"t": random_models(3), "u": random_models(2)})
    sizes = {name: frame.groupby("dataset")["family"].first().to_dict() for name, frame in (("duels", evidence.duels), ("pairs", evidence.pairs))}  # fmt: skip
    assert sizes == {"duels": {"t": 3 * (1 + 3 * 3), "u": 1 + 3 * 3}, "pairs": {"t": 3 * 3, "u": 3}}
    for _, rows in evidence.duels.groupby("dataset"):
        assert rows["p_holm"].tolist() == pytest.approx(holm(rows["p"].to_numpy()).tolist())


def test_weak_models_stand_outside():
    """One label only, and no better than that: such models have intervals and a row that says why, and no test at all."""
    models = random_models(2)
    gold = np.array(["a", "b"] * 60)
    guess = np.where(np.arange(120) % 4 < 2, "a", "b")  # right on every other text
    keys = cells(("space", 0.3, 1, ""))
    models["constant"] = stack(keys, [outcomes(gold, ["a"] * 120, ["a"] * 120)], facts(120))
    models["guess"] = stack(keys, [outcomes(gold, guess, guess)], facts(120))
    evidence = weigh({"t": models})
    assert evidence.weak == {("t", "constant"): ONE_LABEL, ("t", "guess"): NOT_ABOVE}
    for frame in (evidence.tests, evidence.seeds, evidence.slices):
        assert set(frame["model"]) == {"m0", "m1"}
    assert set(evidence.duels["model"]) | set(evidence.duels["other"]) == {"m0", "m1"}
    rows = evidence.models.set_index("model")
    assert rows.loc["constant", ["n", "clean_acc", "majority", "above", "p"]].tolist() == [120, 0.5, 0.5, 0, 0.5]
    assert rows.loc["m0", "p"] < 0.001
    assert set(evidence.intervals["model"]) == set(models)


def test_alike_is_what_the_interval_shows():
    """A model that loses 1 of 400 texts is alike within a point, within half a point it is not shown to be."""
    gold = np.array(["a", "b"] * 200)
    after = np.where(np.arange(400) < 1, "b", gold)
    made = {"m": stack(cells(("space", 0.3, 1, "")), [outcomes(gold, gold, after)], facts(400))}
    assert weigh({"t": made}).tests["alike"].tolist() == [True]
    assert weigh({"t": made}, margin=0.005).tests["alike"].tolist() == [False]


def test_the_weak_spot_is_found():
    """Of 200 texts the 60 with a negation lose half their answers: that slice, and no other, breaks the model."""
    rng = np.random.default_rng(0)
    gold = np.where(np.arange(200) % 4 < 2, "a", "b")
    negated = np.arange(200) < 60
    after = np.where(negated & (np.arange(200) % 2 == 0), "c", gold)
    order = rng.permutation(200)
    gold, after = gold[order], after[order]
    frame = outcomes(gold, gold, after, length=rng.permutation(200))
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
    assert one.tests.empty
    assert one.weak == {("t", "m"): ONE_LABEL}


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
