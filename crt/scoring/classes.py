"""What becomes of each label: how many of its examples are still found, and how often it is given."""

import pandas as pd

from crt.scoring.stacked import GROUP, Stacked
from crt.scoring.summary import by_seed

WHEN = ("clean", "perturbed")


def classes(stacked: Stacked) -> pd.DataFrame:
    """Return recall and frequency of each label, clean and perturbed, by perturbation and prob; means over seeds.

    Columns: perturbation, prob, label, n (examples of gold), recall_clean, recall_perturbed, recall_drop, predicted_clean,
    predicted_perturbed (shares of all examples), predicted_shift (perturbed minus clean). A recall of a label that gold
    has not is missing.
    """
    labels = sorted({str(label) for frame in stacked.rows for name in ("gold", *WHEN) for label in frame[name]})
    found = pd.concat(
        [_of_cell(frame, labels) for frame in stacked.rows], keys=range(len(stacked.rows)), names=["cell"]
    )
    rows = found.reset_index().join(stacked.cells, on="cell").drop(columns="cell")
    names = list(found)
    keys = [*GROUP, "label"]
    means = by_seed(rows, GROUP, names, also=("label",)).groupby(keys, sort=False)[names].mean()
    table = means.reindex(pd.MultiIndex.from_frame(rows[keys].drop_duplicates())).reset_index()
    table.insert(3, "n", table.pop("n").astype(int))
    table.insert(6, "recall_drop", table["recall_clean"] - table["recall_perturbed"])
    return table.assign(predicted_shift=table["predicted_perturbed"] - table["predicted_clean"])


def _of_cell(frame: pd.DataFrame, labels: list[str]) -> pd.DataFrame:
    """Return a row for each label from the outcomes of a cell."""
    gold = frame["gold"]
    found = pd.DataFrame({"n": gold.value_counts()}, index=pd.Index(labels, name="label")).fillna(0)
    for when in WHEN:
        found[f"recall_{when}"] = (frame[when] == gold).groupby(gold).mean()
    for when in WHEN:
        found[f"predicted_{when}"] = frame[when].value_counts(normalize=True).reindex(labels, fill_value=0)
    return found
