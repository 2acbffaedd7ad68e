"""Tests of two conditions over the same examples: clean against perturbed, model against model, a model against one label.

A condition has a rate in each cell: hits among the examples that count. What is tested is the difference of two rates, averaged
over the perturbation seeds within a training seed, then over training seeds, and added up within clusters, by sign flips; each
seed alone is told beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crt.records import CLEAN
from crt.scoring.metrics import ratio
from crt.scoring.stacked import ALL, GROUP, Stacked, means
from crt.scoring.statistics import Floats, Resampling, SignFlips, bounds, cohens_g, mcnemar, summed

CLEAN_ACC, PERTURBED_ACC, DROP, ATTACK = "clean_acc", "perturbed_acc", "acc_drop", "attack_success_rate"
"""The metrics that models are compared by, keys of METRICS."""

Answers = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rates:
    """A condition: in each cell the share of hits among the examples that count."""

    hits: NDArray[np.float64]
    """float64[k, n]; 0 where an example does not count."""
    counted: NDArray[np.float64]
    """float64[k, n]: 1 or 0."""

    @classmethod
    def of(cls, hits: NDArray[np.generic], counted: NDArray[np.generic] | None = None) -> "Rates":
        """Take hits and the examples that count; None: all of them."""
        whole = np.ones(hits.shape) if counted is None else counted.astype(np.float64)
        return cls(hits.astype(np.float64), whole)


@dataclass(frozen=True, slots=True)
class Means:
    """Which cells are averaged for each row of a result."""

    keys: pd.DataFrame
    """The g rows: perturbation and prob."""
    weights: Floats
    """float64[k, g]: the share of each cell."""

    @classmethod
    def of(cls, cells: pd.DataFrame) -> "Means":
        """Return a row for each perturbation and prob."""
        groups, weights = means(cells, np.eye(len(cells)))
        return cls(groups, weights)

    def over_perturbations(self) -> "Means":
        """Return a row for each prob: the mean of its perturbations."""
        rows = self.keys[self.keys["perturbation"] != CLEAN]
        probs = rows["prob"].drop_duplicates()
        weights = [self.weights[:, rows.index[rows["prob"] == prob]].mean(axis=1) for prob in probs]
        return Means(pd.DataFrame({"perturbation": ALL, "prob": probs.to_numpy()}), np.stack(weights, axis=1))

    def over_all(self) -> "Means":
        """Return one row, of prob 0: the mean of all perturbations and probs."""
        perturbed = (self.keys["perturbation"] != CLEAN).to_numpy()
        weights = self.weights[:, perturbed].mean(axis=1, keepdims=True)
        return Means(pd.DataFrame({"perturbation": [ALL], "prob": [0.0]}), weights)


def against_clean(stacked: Stacked, draws: Resampling, flips: SignFlips) -> pd.DataFrame:
    """Test for each perturbation and prob whether the model is right less often, or more often, than when clean.

    Columns: perturbation, prob, n (examples), drop with low, high and error (its standard error), lost and gained (examples,
    mean over the seeds), effect (Cohen's g), seeds (how many), p.
    """
    cells, clean, after = stacked.cells, stacked.right_clean, stacked.right_perturbed
    of = Means.of(cells)
    found = _tested(of, Rates.of(clean), Rates.of(after), stacked, draws, flips)
    lost, gained = (clean & ~after).sum(axis=1), (after & ~clean).sum(axis=1)
    found = found.rename(columns={"difference": "drop"})
    found["lost"], found["gained"] = lost @ of.weights, gained @ of.weights
    found["effect"] = [cohens_g(a, b) for a, b in zip(found["lost"], found["gained"], strict=True)]
    found["seeds"] = np.count_nonzero(of.weights, axis=0)
    return found


def each_seed(stacked: Stacked) -> pd.DataFrame:
    """Return McNemar's exact test of clean against perturbed within each cell: it takes examples for independent.

    Columns: perturbation, prob, seed, train_seed, n, drop, lost, gained, effect, p.
    """
    clean, after = stacked.right_clean, stacked.right_perturbed
    lost, gained = (clean & ~after).sum(axis=1), (after & ~clean).sum(axis=1)
    return stacked.cells.assign(
        n=len(stacked.gold), drop=(lost - gained) / len(stacked.gold), lost=lost, gained=gained,
        effect=[cohens_g(a, b) for a, b in zip(lost, gained, strict=True)], p=mcnemar(lost, gained),
    )  # fmt: skip


def against(model: Stacked, other: Stacked, draws: Resampling, flips: SignFlips) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Test which of two models has the higher accuracy, the larger drop, and the higher attack success rate.

    Every training seed of one meets every training seed of the other, within one (prob, seed) that both were measured at.

    Returns:
        A row for each metric, perturbation and prob, for the clean texts, and for the mean of the perturbations at a prob
        (`all`); and one for each metric that was perturbed, the mean over perturbations and probs. Columns: metric,
        perturbation, prob, n, difference (of the rates, model minus other) with low, high and error, p.
    """
    pairs = model.cells.reset_index().merge(
        other.cells.reset_index(), on=[*GROUP, "seed"], suffixes=("", "_other"), validate="many_to_many"
    )
    if pairs.empty:
        return pd.DataFrame(), pd.DataFrame()
    pairs["train_seed"] = pairs["train_seed"].astype(str) + "/" + pairs["train_seed_other"].astype(str)
    once = pairs.drop_duplicates("train_seed").assign(perturbation=CLEAN, prob=0.0)
    clean = Means.of(once)
    one, two = (_right_clean(of, once[column]) for of, column in ((model, "index"), (other, "index_other")))
    single = [_tested(clean, one, two, model, draws, flips).assign(metric=CLEAN_ACC)]
    over_all = []
    for metric, one, two in _perturbed(model, other, pairs):
        defined = np.flatnonzero(one.counted.any(axis=1) & two.counted.any(axis=1))
        if not len(defined):
            continue
        first, second = (Rates(of.hits[defined], of.counted[defined]) for of in (one, two))
        by_group = Means.of(pairs.iloc[defined])
        single += [
            _tested(of, first, second, model, draws, flips).assign(metric=metric)
            for of in (by_group, by_group.over_perturbations())
        ]
        over_all.append(_tested(by_group.over_all(), first, second, model, draws, flips).assign(metric=metric))
    return pd.concat(single, ignore_index=True), pd.concat(over_all, ignore_index=True)


def _right_clean(of: Stacked, cells: pd.Series) -> Rates:
    return Rates.of(of.right_clean[cells.to_numpy()])


def _perturbed(model: Stacked, other: Stacked, pairs: pd.DataFrame) -> Iterator[tuple[str, Rates, Rates]]:
    """Yield the metrics of perturbed texts with the rates of both models, a row for each pair of cells."""
    both = [(model, pairs["index"].to_numpy()), (other, pairs["index_other"].to_numpy())]
    right = [of.right_perturbed[cells] for of, cells in both]
    clean = [of.right_clean[cells] for of, cells in both]
    yield PERTURBED_ACC, Rates.of(right[0]), Rates.of(right[1])
    drops = [before.astype(float) - after for before, after in zip(clean, right, strict=True)]
    yield DROP, Rates.of(drops[0]), Rates.of(drops[1])
    attacked = [before & of.changed[cells] for (of, cells), before in zip(both, clean, strict=True)]
    lost = [tried & ~after for tried, after in zip(attacked, right, strict=True)]
    yield ATTACK, Rates.of(lost[0], attacked[0]), Rates.of(lost[1], attacked[1])


def _tested(of: Means, one: Rates, two: Rates, stacked: Stacked, draws: Resampling, flips: SignFlips) -> pd.DataFrame:
    """Test the difference of two rates: perturbation, prob, n, difference, low, high, error, p of each row.

    The share of a cluster in the difference is that of its hits above what the rate of both conditions together expects: the
    shares add up to the difference, and have no tendency to either side if the rates are equal.
    """
    columns = [summed(part.T, stacked.clusters) for part in (one.hits, one.counted, two.hits, two.counted)]
    hits, counted, others, other_counted = columns
    pooled = ratio((hits + others).sum(axis=0), (counted + other_counted).sum(axis=0))
    parts = (hits - pooled * counted) / counted.sum(axis=0) - (others - pooled * other_counted) / other_counted.sum(
        axis=0
    )
    a, b, c, d = np.split(draws.sums(np.hstack(columns)), 4, axis=1)
    drawn = _weighted(ratio(a, b) - ratio(c, d), of.weights)
    shares = parts @ of.weights
    spans = bounds(drawn)
    deviation = shares - shares.mean(axis=0)
    return of.keys.assign(
        n=len(stacked.gold), difference=shares.sum(axis=0), low=spans[:, 0], high=spans[:, 1],
        error=np.sqrt((deviation**2).sum(axis=0)), p=flips.p(shares),
    )  # fmt: skip


def _weighted(values: Floats, weights: Floats) -> Floats:
    """Return the weighted means of each row, undefined values (NaN) left out: float64[r, g] of [r, k] and [k, g]."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0) @ weights, defined @ weights)


@dataclass(frozen=True, slots=True)
class Level:
    """What a model reaches on the clean texts, beside what always giving the most frequent label of these texts reaches."""

    n: int
    """Examples."""
    clean_acc: float
    """A mean over training seeds."""
    majority: float
    """Accuracy of the most frequent label."""
    above: float
    """The difference of the two."""
    low: float
    high: float
    """Ends of its interval."""
    p: float
    """One-sided: is the model above?"""
    one_label: bool
    """The model gives every text the same label, in each of its trainings."""


def above_majority(stacked: Stacked, draws: Resampling, flips: SignFlips) -> Level:
    """Compare a model on the clean texts with always giving their most frequent label."""
    once = stacked.cells.drop_duplicates("train_seed").assign(perturbation=CLEAN, prob=0.0)
    cells = once.index.to_numpy()
    frequent = stacked.gold == np.bincount(stacked.gold).argmax()
    one, two = Rates.of(stacked.right_clean[cells]), Rates.of(np.tile(frequent, (len(cells), 1)))
    row = _tested(Means.of(once), one, two, stacked, draws, flips).to_dict("records")[0]
    above, p, majority = float(row["difference"]), float(row["p"]) / 2, float(frequent.mean())
    return Level(
        n=len(stacked.gold),
        clean_acc=majority + above,
        majority=majority,
        above=above,
        low=row["low"],
        high=row["high"],
        p=p if above > 0 else 1 - p,  # the flips are as often on one side as on the other
        one_label=bool((stacked.clean == stacked.clean[:, :1]).all()),
    )
