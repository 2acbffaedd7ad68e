"""What outcomes made by hand say of labels, of the order of models, and of how much was edited."""

import numpy as np
import pandas as pd
import pytest
from test_stacked import LABELS, cells, facts, outcomes

from crt.scoring.classes import classes
from crt.scoring.doses import doses
from crt.scoring.ranks import rank_stability
from crt.scoring.stacked import stack

GOLD = ["a", "a", "a", "b"]
KEYS = cells(("space", 0.3, 13, None), ("space", 0.3, 42, None))


def test_labels_by_hand():
    """Two seeds: recall of a is 1 when clean, 2/3 and 1/3 when perturbed; c is given once and never true."""
    frames = [outcomes(GOLD, ["a", "a", "a", "a"], after) for after in (["a", "a", "b", "b"], ["a", "b", "c", "a"])]
    found = classes(stack(KEYS, frames, facts(4))).set_index("label")
    assert list(found.index) == LABELS
    assert found["n"].tolist() == [3, 1, 0]
    assert found.loc["a", ["recall_clean", "recall_perturbed", "recall_drop"]].tolist() == pytest.approx([1, 0.5, 0.5])
    assert found.loc["b", ["recall_clean", "recall_perturbed", "recall_drop"]].tolist() == pytest.approx([0, 0.5, -0.5])
    assert found.loc["c", ["recall_clean", "recall_perturbed", "recall_drop"]].isna().all()
    assert found["predicted_clean"].tolist() == [1, 0, 0]
    assert found["predicted_perturbed"].tolist() == pytest.approx([4 / 8, 3 / 8, 1 / 8])
    assert found["predicted_shift"].tolist() == pytest.approx([-4 / 8, 3 / 8, 1 / 8])


def test_the_order_of_models_is_that_of_a_plain_loop():
    """Two models that are close together: texts drawn one by one give the same shares up to the noise of both."""
    rng = np.random.default_rng(3)
    gold = rng.choice(LABELS, 150)
    models, right = {}, {}
    for name, share in (("weak", 0.6), ("strong", 0.75), ("close", 0.73)):
        said = np.where(rng.random(150) < share, gold, "d")
        after = [np.where(rng.random(150) < 0.9, said, "d") for _ in range(2)]
        models[name] = stack(KEYS, [outcomes(gold, said, one) for one in after], facts(150))
        right[name] = np.mean([one == gold for one in after], axis=0)
    found = rank_stability(models).set_index("perturbation")
    order = sorted(right, key=lambda name: -right[name].mean())
    assert found.loc["all", "order"] == " > ".join(order)
    drawn = [rng.integers(0, 150, 150) for _ in range(2000)]
    ranked = np.array([[right[name][rows].mean() for name in order] for rows in drawn])
    assert found.loc["all", "same_order"] == pytest.approx((np.diff(ranked) <= 0).all(axis=1).mean(), abs=0.04)
    assert found.loc["all", "same_best"] == pytest.approx((ranked[:, 0] >= ranked.max(axis=1)).mean(), abs=0.04)


def test_one_model_has_no_order_and_twins_share_the_place():
    """With a single model there is nothing to rank; of two that answer alike none is ever better."""
    one = stack(KEYS, [outcomes(GOLD, GOLD, GOLD)] * 2, facts(4))
    assert rank_stability({"one": one}).empty
    assert rank_stability({"one": one, "other": one})["same_order"].tolist() == [1, 1]


def test_models_are_ranked_over_what_they_have_in_common():
    """A model that was measured at one more dose is not compared over it."""
    wrong, half = ["b"] * 4, ["a", "b", "b", "b"]
    many = cells(("space", 0.3, 13, None), ("space", 0.5, 13, None))
    first = stack(many, [outcomes(GOLD, GOLD, GOLD), outcomes(GOLD, GOLD, wrong)], facts(4))
    second = stack(KEYS[:1], [outcomes(GOLD, GOLD, half)], facts(4))
    assert rank_stability({"second": second, "first": first})["order"].tolist()[1] == "first > second"
    apart = stack(cells(("shape", 0.3, 13, None)), [outcomes(GOLD, GOLD, half)], facts(4))
    assert rank_stability({"first": first, "apart": apart})["perturbation"].tolist() == ["clean"]


def test_texts_that_any_seed_edits():
    """Each seed edits one text of four, another one each: half of the texts are edited by any."""
    frames = [outcomes(GOLD, GOLD, GOLD) for _ in range(2)]
    for place, frame in enumerate(frames):
        frame["changed"] = np.arange(4) == place
    summary = pd.DataFrame(
        {
            "model": ["m", "n"], "dataset": "d", "perturbation": "space", "prob": 0.3,
            "mean_char_change_ratio_mean": [0.1, 0.1], "changed_rate_mean": [0.25, 0.25],
        }
    )  # fmt: skip
    found = doses(summary, {"d": {"m": stack(KEYS, frames, facts(4))}})
    assert found.to_dict("records") == [
        {"dataset": "d", "perturbation": "space", "prob": 0.3, "char_change": 0.1, "edited": 0.25, "edited_by_any": 0.5}
    ]
    assert doses(summary, {})["edited_by_any"].isna().all()
