"""Tables of model against model: one number for each pair, and how many of the duels behind it were won."""

from collections.abc import Mapping

import pandas as pd

from crt.reporting.table import PaperTable, correction
from crt.scoring.contrasts import ATTACK, CLEAN_ACC, PERTURBED_ACC
from crt.scoring.evidence import Evidence
from crt.scoring.stacked import ALL
from crt.scoring.statistics import ALPHA
from crt.scoring.summary import DASH

TITLES: Mapping[str, str] = {PERTURBED_ACC: "accuracy", ATTACK: "attack success rate"}
"""The metrics that models are compared by in a table, and what they are called."""

_TURNED = {"win": "loss", "loss": "win", "tie": "tie"}


def both_ways(duels: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of duels or pairs, and the same seen from the other model."""
    ends = {"difference": -duels["difference"], "low": -duels["high"], "high": -duels["low"]}
    turned = duels.assign(
        model=duels["other"], other=duels["model"], outcome=duels["outcome"].map(_TURNED), **ends
    )  # fmt: skip
    return pd.concat([duels, turned], ignore_index=True)


def won(duels: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return how many duels in a metric each model won, tied and lost: dataset, model, other, win, tie, loss.

    Those in accuracy are over the clean texts too; a mean over perturbations is no duel.
    """
    metrics = (CLEAN_ACC, metric) if metric == PERTURBED_ACC else (metric,)
    rows = both_ways(duels[duels["metric"].isin(metrics) & (duels["perturbation"] != ALL)])
    counted = rows.assign(**{outcome: (rows["outcome"] == outcome).astype(int) for outcome in _TURNED})
    return counted.groupby(["dataset", "model", "other"], sort=False)[list(_TURNED)].sum().reset_index()


def pair_tables(evidence: Evidence, signature: str) -> tuple[PaperTable, ...]:
    """Return for each data set and metric how much the model of the row has more than that of the column.

    Args:
        evidence: with duels and pairs; where there are none there are no tables.
        signature: see `PaperTable`.
    """
    if evidence.pairs.empty:
        return ()
    tables = []
    for (dataset, metric), group in evidence.pairs.groupby(["dataset", "metric"], sort=False):
        if metric not in TITLES:
            continue
        duels = evidence.duels[evidence.duels["dataset"] == dataset]
        counts = won(duels, str(metric)).set_index(["model", "other"])
        found = both_ways(group).set_index(["model", "other"])
        models = list(dict.fromkeys([*group["model"], *group["other"]]))
        rows = tuple(
            (
                str(dataset), model, f"{group['n'].iloc[0]:,}",
                *(_pair(found.loc[model, other], counts.loc[model, other]) if (model, other) in found.index else DASH
                  for other in models),
            )
            for model in models
        )  # fmt: skip
        name = "wins" if metric == PERTURBED_ACC else f"wins_{metric}"
        caption = (
            f"{TITLES[str(metric)].capitalize()} of the model of the row less that of the column on {dataset}, in points, mean "
            "over what both were measured at, with its 95 % interval; *: p "
            f"< {ALPHA} {correction(group, 'pairs and metrics of a data set')}; ≈: the interval lies within "
            f"{100 * evidence.margin:g} points of 0 on both sides. Behind it wins/ties/losses in the single duels, which "
            f"depend on each other ({correction(duels, 'duels of a data set')})."
        )
        header = ("data set", "model", "n", *models)
        tables.append(PaperTable(f"{name}_{dataset}", header, rows, frozenset(), caption, signature))
    return tuple(tables)


def _pair(row: pd.Series, count: pd.Series) -> str:
    mark = "*" if row["significant"] else " ≈" if row["alike"] else ""
    number = f"{100 * row['difference']:z.1f}{mark} [{100 * row['low']:z.1f}, {100 * row['high']:z.1f}]"
    return f"{number} {count['win']}/{count['tie']}/{count['loss']}"
