"""How much of the texts was edited: at one prob some perturbations change a fifth of the characters, others hardly a text."""

from collections.abc import Mapping

import pandas as pd

from crt.scoring.stacked import GROUP, Stacked

DOSE = ("dataset", *GROUP)
"""What the edits depend on beside the seed: every model gets the same texts."""


def doses(summary: pd.DataFrame, datasets: Mapping[str, Mapping[str, Stacked]]) -> pd.DataFrame:
    """Return how much was edited on each data set under each perturbation at each prob.

    Args:
        summary: from `summary_table`.
        datasets: for each data set, by model, the cells that were measured; none: their outcomes were not read.

    Returns:
        Columns dataset, perturbation, prob, char_change (share of the characters, as `mean_char_change_ratio`), edited (share
        of the texts that one seed changes, a mean), edited_by_any (share that at least one of the seeds changes; missing where
        the outcomes were not read).
    """
    columns = {"mean_char_change_ratio_mean": "char_change", "changed_rate_mean": "edited"}
    values = summary.astype(dict.fromkeys(columns, float)).groupby(list(DOSE), sort=False)[list(columns)]
    found = values.mean().rename(columns=columns).reset_index()
    shares = {
        (dataset, *key): float(stacked.changed[rows.index].any(axis=0).mean())
        for dataset, models in datasets.items()
        for stacked in list(models.values())[::-1]  # the first model counts
        for key, rows in stacked.cells.groupby(GROUP)
    }
    keys = found[list(DOSE)].itertuples(index=False, name=None)
    return found.assign(edited_by_any=[shares.get(key, float("nan")) for key in keys])
