"""RobTest: how often is a model right on several samples of a text, and how often on all of them, degree by degree?

Definitions: `crt/studies/worst_case/scoring.py`; what differs from the original: docs/protocols.md.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crt.grid import Degrees, format_prob
from crt.models import PredictOptions
from crt.perturbations import Loaded
from crt.perturbations.engine import PerturbedInputs, Sites, asked, find_sites, perturb_to_degree
from crt.provenance import of_perturbation
from crt.records import Degree, MeasurementRecord
from crt.reporting.markdown import table as markdown
from crt.reporting.spreadsheet import write_csv
from crt.resources import rows_digest
from crt.scoring.summary import DASH, NO_EFFECT, UNTOUCHED, in_order, no_effect
from crt.studies import cells
from crt.studies.answers import Answers
from crt.studies.cells import Group, Tracker, each, params_of
from crt.studies.outcomes import example_pairs, outcome_columns, outcome_of
from crt.studies.outputs import Files, formats
from crt.studies.results import staged
from crt.studies.worst_case.scoring import Sampled, folded, folded_share, score, surviving
from crt.tasks import Source
from crt.tracking.history import CHECKSUMS, stored_outcomes

if TYPE_CHECKING:
    from accelerate import Accelerator

    from crt.tracking.runs import MlflowTracker

CASES = {"average": "average_case", "worst": "worst_case", "surviving": "worst_case_surviving"}
"""The curves that get a score, and their columns."""

COLUMNS = (
    "model", "dataset", "perturbation", "degree", "realised_degree", "short_of_sites_rate", "site_rate", "samples",
    "mean_distinct_samples", "num_examples", "clean_acc", *CASES.values(),
)  # fmt: skip
"""Of the table of degrees."""

FILES = Files(
    "worst_case",
    {
        "worst_case.csv": "the scores of each degree",
        "worst_case_scores.csv": "the score of each curve",
        "worst_case_matched.csv": "the perturbations beside each other at each degree",
        "worst_case.md": "all three",
        **formats("worst_case", "average and worst case over the degree", ".svg", ".png"),
    },
)


SCORES = (
    "average: mean accuracy over the samples; worst: share of the texts that are right in every sample; surviving: the same at this "
    "and every smaller degree. Each is one number for all degrees: RobTest weighs the smallest degree 1/2, the next one 1/4 and so "
    "on. raw is that sum, as RobTest gives it, which cannot reach 1; without raw it is divided by what a model gets that is "
    "always right (1 - 1/2^k for k degrees), so that 1 is the best."
)
"""What the numbers of the scores are, as text below their table."""

MATCHED = (
    "At one degree every perturbation edits the same share of the characters, so the drops (clean accuracy minus average case, as "
    "fractions) can be compared where realised degree is about the degree; where it is well below, most texts have too few sites "
    "(short of sites rate). per percent: points of the drop for a percent of the characters edited; an edit of a word is one."
)
"""The same of `matched_table`."""


def run(
    scope: Degrees,
    source: Source,
    options: PredictOptions,
    accelerator: "Accelerator",
    tracker: Tracker,
    *,
    force: bool = False,
) -> dict[str, tuple[str, ...]]:
    """Measure every degree that is not stored yet; return the keys of all of them, each with its model as asked for.

    Args:
        scope: what to measure.
        source: where the published data sets are read from.
        options: how transformers predict.
        accelerator: device and processes; every process must call this.
        tracker: where degrees are stored; only that of the main process is used.
        force: measure the stored degrees again.
    """
    return cells.run(scope, partial(_measure, scope), _told, source, options, accelerator, tracker, force=force)


def _measure(
    scope: Degrees, group: Group, loaded: Sequence[Loaded], pending: dict[Degree, str]
) -> Iterator[MeasurementRecord]:
    """Yield the pending degrees of a group; what all degrees of a perturbation have in common is predicted once."""
    answers = Answers(group.predictor, [example.input for example in group.split.examples])
    for perturbation, here in each(loaded, pending):
        yield from _of_perturbation(scope, group, perturbation, here, answers)


def _of_perturbation(
    scope: Degrees, group: Group, perturbation: Loaded, pending: dict[Degree, str], answers: Answers
) -> Iterator[MeasurementRecord]:
    """Yield the pending degrees of one perturbation; what they need is freed before the next one begins."""
    sites = find_sites(group.split.examples, perturbation.find, fields=scope.fields)
    drawn = {degree: [_draw(sites, degree, number) for number in range(degree.samples)] for degree in pending}
    batch = answers.extended([value for rows in drawn.values() for row in rows for value in row.inputs])
    table = perturbation.table
    for degree, samples in drawn.items():
        yield MeasurementRecord(
            pending[degree],
            degree,
            params_of(group, scope, perturbation),
            *_scored(degree, group, sites, samples, batch, from_table=table is not None),
            modified=table is not None and table.modified,
        )


def _draw(sites: Sites, degree: Degree, sample: int | Sequence[int]) -> PerturbedInputs:
    return perturb_to_degree(
        sites, name=degree.perturbation, degree=degree.degree, seed=degree.seed, sample=sample
    )  # fmt: skip


def _scored(
    degree: Degree,
    group: Group,
    sites: Sites,
    samples: Sequence[PerturbedInputs],
    answers: Answers,
    *,
    from_table: bool,
) -> tuple[dict[str, float], list[dict[str, object]], dict[str, list[object]]]:
    """Return the scores of a degree, and example pairs and outcomes: those of the worst sample of each text."""
    examples = group.split.examples
    gold = np.array([example.label for example in examples], dtype=np.int64)
    probabilities = np.stack([answers.of(sample.inputs).probabilities for sample in samples])
    right = probabilities.argmax(axis=2) == gold
    of_gold = probabilities[:, np.arange(len(gold)), gold]
    # a wrong sample comes before a right one, then the one whose true label is least probable
    worst = _draw(sites, degree, np.lexsort((of_gold, right), axis=0)[0].tolist())
    clean = answers.of([example.input for example in examples])
    after = answers.of(worst.inputs)
    outcome = outcome_of(examples, group.task.labels, worst, clean, after, from_table=from_table)
    texts = list(zip(*(sample.inputs for sample in samples), strict=True))
    hits = [
        {text for text, hit in zip(row, marks, strict=True) if hit}
        for row, marks in zip(texts, right.T.tolist(), strict=True)
    ]
    sampled = Sampled(
        clean_right=clean.probabilities.argmax(axis=1) == gold,
        distinct=np.array([len(set(row)) for row in texts], dtype=np.int64),
        right=np.array([len(row) for row in hits], dtype=np.int64),
        characters=sites.length,
        sites=sites.count,
        asked=asked(sites, degree.degree),
        edits=worst.edits,
    )
    counts = {
        "characters": sampled.characters,
        "asked": sampled.asked,
        "distinct_samples": sampled.distinct,
        "right_samples": sampled.right,
    }
    columns = outcome_columns(outcome) | {name: list(values.tolist()) for name, values in counts.items()}
    return score(sampled), example_pairs(outcome, examples, worst), columns


def _told(metrics: Mapping[str, float]) -> str:
    if no_effect(metrics.get("realised_degree")):
        return f"accuracy {metrics['clean_acc']:.4f}, {UNTOUCHED}"
    average, worst = metrics["average_case"], metrics["worst_case"]
    return f"accuracy {metrics['clean_acc']:.4f} -> average case {average:.4f}, worst case {worst:.4f}"


def publish(tracker: "MlflowTracker", keys: Collection[str], folder: Path, *, figures: bool) -> str:
    """Write the tables and the figure of the stored degrees into a folder and to the run; return the scores in Markdown.

    Args:
        tracker: of the run of the study.
        keys: of all degrees of one model on one data set.
        folder: made if it does not exist.
        figures: draw it.
    """
    stored = in_order(tracker.cells(keys, Degree.kind))
    stored = stored.assign(worst_case_surviving=_survival(stored))
    scores = scores_table(stored)
    table = stored.reindex(columns=list(COLUMNS))
    matched = matched_table(stored)
    idle = no_effect(table["realised_degree"])
    of_scores = _shown(scores, idle.groupby(table["perturbation"], sort=False).all().to_numpy(), *scores.columns[1:])
    shown = f"{of_scores}\n{SCORES}\n\n{_shown(matched)}\n{MATCHED}\n"
    note = f"{shown}\n{_shown(table.drop(columns=['model', 'dataset']), idle.to_numpy(), *CASES.values())}"
    first = stored.iloc[0]
    with staged(tracker, folder, FILES) as staging:
        write_csv(table, staging / "worst_case.csv")
        write_csv(scores, staging / "worst_case_scores.csv")
        write_csv(matched, staging / "worst_case_matched.csv")
        (staging / "worst_case.md").write_text(note, encoding="utf-8")
        if figures:
            from crt.reporting.drawing import save_as
            from crt.reporting.study_figures import degree_curves

            figure = degree_curves(table, f"{first['model']} on {first['dataset']}")
            save_as(figure, staging / "worst_case", ".svg", ".png")
    metrics = {
        f"{row['perturbation']}_{name}": row[name] for row in scores.to_dict("records") for name in scores.columns[1:]
    }
    metrics |= {name: float(first[name]) for name in ("clean_acc", "num_examples")}
    tracker.log_study(_params(stored), metrics, note)
    return shown


def scores_table(stored: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of each perturbation: for each of CASES the folded share, and as `<case>_raw` RobTest's own sum.

    Args:
        stored: columns perturbation and degree, and those of CASES.
    """
    rows = []
    for perturbation, group in stored.groupby("perturbation", sort=False):
        curves = {case: dict(zip(group["degree"], group[column], strict=True)) for case, column in CASES.items()}
        shares = {case: folded_share(curve) for case, curve in curves.items()}
        raw = {f"{case}_raw": folded(curve) for case, curve in curves.items()}
        rows.append({"perturbation": perturbation, **shares, **raw})
    return pd.DataFrame(rows)


def matched_table(stored: pd.DataFrame) -> pd.DataFrame:
    """Return the perturbations at the same dose: for each degree what each costs on average, the dearest first.

    Args:
        stored: columns perturbation, degree, realised_degree, short_of_sites_rate, clean_acc, average_case.

    Returns:
        Columns perturbation, degree, realised_degree, short_of_sites_rate, drop (clean accuracy minus average case) and
        per_percent (points of the drop for a percent of the characters that was edited; missing where nothing was).
    """
    drop, realised = stored["clean_acc"] - stored["average_case"], stored["realised_degree"]
    table = stored[["perturbation", "degree", "realised_degree", "short_of_sites_rate"]]
    table = table.assign(drop=drop, per_percent=drop / realised.where(realised > 0))
    return table.sort_values(["degree", "drop"], ascending=[True, False], ignore_index=True)


def _survival(stored: pd.DataFrame) -> list[float]:
    """Return, for each row, the share of the texts that survive its degree and all smaller ones of its perturbation."""
    shares: list[float] = []
    for _, group in stored.groupby("perturbation", sort=False):
        outcomes = stored_outcomes(group)
        shares += surviving(np.array([table["right_samples"] == table["distinct_samples"] for table in outcomes]))
    return shares


def _params(stored: pd.DataFrame) -> dict[str, str]:
    """Return the params that all degrees share, and digests: what ends in `_digest` must agree where models are compared."""
    first = stored.iloc[0]
    own = ("key", "run_id", "artifacts", "perturbation", *CHECKSUMS.values(), *of_perturbation())
    facts = stored.drop(columns=list(own), errors="ignore")
    shared = facts.loc[:, facts.eq(facts.iloc[0]).all()].iloc[0]
    params = {str(name): value for name, value in shared.items() if isinstance(value, str)}
    params["degrees"] = ",".join(format_prob(degree) for degree in sorted(set(stored["degree"])))
    params |= {"samples": str(first["samples"]), "perturbation_seed": str(first["seed"])}
    how = ("degrees", "samples", "perturbation_seed", "fields", "scoring_version")
    params["protocol_digest"] = rows_digest([name, params[name]] for name in how)
    sources = stored.reindex(columns=["perturbation", *of_perturbation()]).fillna("").drop_duplicates()
    for perturbation, *source in sources.itertuples(index=False):
        params[f"{perturbation}_digest"] = rows_digest([source])
    return params


def _shown(table: pd.DataFrame, idle: NDArray[np.bool_] | None = None, *cases: str) -> str:
    """Return a table in Markdown: fractions with four digits, other numbers as they are, what is missing as a dash.

    Args:
        table: a column perturbation, and numbers.
        idle: bool[n], the rows in which no text was changed.
        cases: the columns that have no number there.
    """
    whole = {"degree", "samples", "num_examples"}
    texts = {
        name: column.map("{:g}".format if name in whole else "{:.4f}".format).where(column.notna(), DASH)
        for name, column in table.drop(columns="perturbation").items()
    }
    idle = np.zeros(len(table), dtype=bool) if idle is None else idle
    texts |= {name: texts[name].mask(idle, NO_EFFECT) for name in cases}
    rows = pd.DataFrame({"perturbation": table["perturbation"], **texts})
    foot = f"\n{UNTOUCHED}.\n" if idle.any() else ""
    return f"{markdown([str(name).replace('_', ' ') for name in rows], rows.to_numpy().tolist())}{foot}"
