"""A candidate against a baseline: what changes on the clean texts and under each perturbation, and for which texts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from crt.errors import TrackingError
from crt.provenance import signature
from crt.records import CLEAN, REGISTERED
from crt.reporting.spreadsheet import write_csv
from crt.reporting.table import PaperTable
from crt.scoring.contrasts import CLEAN_ACC, PERTURBED_ACC, against
from crt.scoring.stacked import ALL, GROUP, Stacked
from crt.scoring.statistics import ALPHA, Resampling, SignFlips, flips_for, holm
from crt.scoring.summary import DASH, in_order
from crt.studies.compare import select
from crt.studies.evidence import read_stacked
from crt.studies.outputs import Files, formats
from crt.studies.results import staged

if TYPE_CHECKING:
    from crt.tracking.runs import MlflowTracker

TEXTS = "texts_fixed_and_broken.csv"
FILES = Files(
    "versus",
    {
        TEXTS: "the texts that only the candidate, or only the baseline, has right",
        **formats("table_versus_*", "the candidate against the baseline", ".csv", ".md", ".tex"),
    },
)

FIXED, BROKEN = "fixed", "broken"
"""Right by the candidate alone, right by the baseline alone."""


def chosen(
    cells: pd.DataFrame, baseline: str, candidate: str, *, datasets: Sequence[str] = (), split: str = ""
) -> pd.DataFrame:
    """Return the cells of two models, which are called by what was asked for.

    Args:
        cells: oldest first.
        baseline: a name, a spec or the fingerprint of a predictor, see `choice.CALLED`; an alias is looked up.
        candidate: likewise.
        datasets: only these; none: all.
        split: see `compare.select`.

    Raises:
        TrackingError: there are no cells of one of them, it stands for several models, or they were not measured alike.
    """
    parts = []
    for spec in (baseline, candidate):
        found = select(cells, models=[_version(spec)], datasets=datasets, split=split)
        names = sorted(set(found["model"]))
        if len(names) > 1:
            raise TrackingError(
                f"'{spec}' stands for several models ({', '.join(names)}); name a version, like models:/NAME/3"
            )
        parts.append(found.assign(model=spec))
    return select(pd.concat(parts, ignore_index=True), split=split)


def _version(spec: str) -> str:
    """Return the spec of the version that an alias points to; any other spec as it is."""
    if not (spec.startswith(REGISTERED) and "@" in spec):
        return spec
    from crt.tracking import registry

    return registry.resolve(spec).source


def write(
    tracker: "MlflowTracker", cells: pd.DataFrame, folder: Path, baseline: str, candidate: str
) -> list[PaperTable]:
    """Write the table of each data set, and the list of texts, into a folder and to the run; return the tables.

    Args:
        tracker: of the run of the comparison.
        cells: from `chosen`.
        folder: made if it does not exist.
        baseline: what the one model is called.
        candidate: what the other is called.

    Raises:
        TrackingError: there is no data set that both were measured on.
    """
    tables, texts = [], []
    for dataset, models in read_stacked(cells).items():
        if {baseline, candidate} <= set(models):
            new, old = models[candidate], models[baseline]
            changed = pd.DataFrame(_changed(new, old)).assign(dataset=dataset)
            mark = signature(cells[cells["dataset"] == dataset])
            tables.append(replace(_table(dataset, new, old, changed, names=(baseline, candidate)), signature=mark))
            texts.append(changed[changed["what"] != ""])
    if not tables:
        raise TrackingError(f"no data set has cells of both {baseline} and {candidate}; evaluate both on one")
    with staged(tracker, folder, FILES) as staging:
        write_csv(pd.concat(texts, ignore_index=True), staging / TEXTS)
        for table in tables:
            write_csv(table.csv(), staging / f"table_{table.metric}.csv")
            (staging / f"table_{table.metric}.md").write_text(table.markdown(), encoding="utf-8")
            (staging / f"table_{table.metric}.tex").write_text(table.latex(), encoding="utf-8")
    return tables


def _changed(new: Stacked, old: Stacked) -> Iterator[dict[str, object]]:
    """Yield each text of each pair of cells, clean ones included, with both labels and what became of it."""
    pairs = new.cells.reset_index().merge(old.cells.reset_index(), on=[*GROUP, "seed"], suffixes=("", "_old"))
    clean = pairs.drop_duplicates(["train_seed", "train_seed_old"]).assign(perturbation=CLEAN, prob=0.0, seed=0)
    for pair in pd.concat([clean, pairs]).to_dict("records"):
        label = "clean" if pair["perturbation"] == CLEAN else "perturbed"
        mine, theirs = new.rows[pair["index"]], old.rows[pair["index_old"]]
        keys = {name: pair[name] for name in (*GROUP, "seed")}
        seeds = {"candidate_train_seed": pair["train_seed"], "baseline_train_seed": pair["train_seed_old"]}
        columns = (mine["id"], mine["gold"], mine[label], theirs[label])
        for id_, gold, now, before in zip(*columns, strict=True):
            what = FIXED if now == gold != before else BROKEN if now != gold == before else ""
            yield {**keys, "what": what, "id": id_, "gold": gold, "baseline": before, "candidate": now, **seeds}


def _table(dataset: str, new: Stacked, old: Stacked, changed: pd.DataFrame, *, names: tuple[str, str]) -> PaperTable:
    """Return a row for the clean texts and for each perturbation and prob: both accuracies, difference, texts fixed and broken."""
    duels = _duels(new, old)
    rows = []
    for duel in in_order(duels).to_dict("records"):
        perturbation, prob = duel["perturbation"], duel["prob"]
        of = changed[(changed["perturbation"] == perturbation) & (changed["prob"] == prob)]
        cells = of.groupby(["seed", "candidate_train_seed", "baseline_train_seed"]).ngroups
        accuracies = [(of[name] == of["gold"]).mean() for name in ("baseline", "candidate")]
        counts = [(of["what"] == what).sum() / cells for what in (FIXED, BROKEN)]
        rows.append(
            (
                dataset, perturbation, f"{prob:g}" if prob else DASH, *(f"{100 * value:.1f}" for value in accuracies),
                f"{100 * duel['difference']:z.1f}",
                # in brackets: a spreadsheet program computes what begins with a minus
                f"[{100 * duel['low']:z.1f}, {100 * duel['high']:z.1f}]{'*' if duel['p_holm'] < ALPHA else ''}",
                *(f"{count:.1f}" for count in counts),
            )
        )  # fmt: skip
    header = ("data set", "perturbation", "prob", "baseline", "candidate", "difference", "95 % interval", FIXED, BROKEN)
    baseline, candidate = names
    caption = (
        f"Accuracy of {candidate} (candidate) and {baseline} (baseline) on {dataset} in percent, with the paired difference "
        f"and its bootstrap interval over texts; fixed: texts that only the candidate has right, broken: only the baseline, "
        f"means over seeds. *: p < {ALPHA} (sign flips) after Holm's correction for {len(duels)} tests."
    )
    return PaperTable(f"versus_{dataset}", header, tuple(rows), frozenset(), caption, "")


def _duels(new: Stacked, old: Stacked) -> pd.DataFrame:
    """Return the paired differences of the accuracies, clean and of each perturbation and prob, with p_holm; see `against`."""
    count = int(new.clusters.max()) + 1
    flips = SignFlips(count, flips=flips_for(1 + len(new.cells[GROUP].drop_duplicates())))
    found, _ = against(new, old, Resampling(count), flips)
    shown = found["metric"].isin([CLEAN_ACC, PERTURBED_ACC]) & (found["perturbation"] != ALL)
    return found[shown].assign(p_holm=holm(found.loc[shown, "p"].to_numpy(dtype=float)))
