"""The blind audit: people judge original and perturbed side by side, not knowing which perturbation made the pair."""

# ruff: noqa: PD011  the values of a row of a file are no array

import csv
import json
import logging
import unicodedata
from collections.abc import Mapping, Sequence
from hashlib import sha256
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from crt.errors import DataError, one_of
from crt.files import write_files
from crt.grid import format_prob
from crt.perturbations import Loaded
from crt.perturbations.engine import find_sites, perturb_all
from crt.randomness import base, smallest
from crt.reading import Row, read_rows
from crt.records import Example, Input
from crt.reporting.markdown import Markdown
from crt.reporting.markdown import table as markdown
from crt.reporting.spreadsheet import defused, write_csv
from crt.scoring.summary import in_order, mean_std
from crt.studies.outputs import Files, formats
from crt.studies.results import staged

log = logging.getLogger(__name__)

QUESTIONS: Mapping[str, str] = {
    "same_label": "does the perturbed text still mean the same, as far as its label goes?",
    "would_write": "could a person have written it like this?",
    "readable": "can it be understood without the original?",
}
"""What a reader answers of each pair."""

ANSWERS: Mapping[str, float] = {"yes": 1, "y": 1, "1": 1, "是": 1, "no": 0, "n": 0, "0": 0, "否": 0}
"""How an answer may be written, in any case and width; a blank one is missing."""

SHEET, KEY, SCORES = "audit_sheet.csv", "audit_key.csv", "audit_scores"
"""The files of an audit; the scores come as CSV and Markdown."""

FILES = Files("audit", formats(SCORES, "what the readers say of each perturbation", ".csv", ".md"))
"""Those that the next scoring replaces; sheet and key are never replaced."""

# The draw stands last: some spreadsheet programs drop empty cells from the end of a row, and it is never empty.
SHEET_COLUMNS = ("pair", "original", "perturbed", *QUESTIONS, "draw")
KEY_COLUMNS = ("pair", "perturbation", "prob", "seed", "id", "gold", "draw")

ALL = "all"
"""The row of the scores over all perturbations."""


class Pair(NamedTuple):
    """One pair to be judged."""

    perturbation: str
    """Key of PERTURBATIONS."""
    example: Example
    """The original."""
    perturbed: Input
    """The input after its edits."""


def sheet(
    examples: Sequence[Example],
    labels: Sequence[str],
    perturbations: Sequence[Loaded],
    folder: Path,
    *,
    pairs: int,
    prob: float,
    seed: int,
) -> tuple[Path, Path]:
    """Write the sheet that readers fill in, and the key that says what stands in it; return both files.

    Both carry the digest of their draw. A cell that a spreadsheet program would compute is written with an apostrophe
    before it; `score` reads none of the cells that this can happen to.

    Args:
        examples: to draw from; their order does not matter.
        labels: of the task.
        perturbations: each gets its own draw; their order does not matter.
        folder: made if it does not exist.
        pairs: of each perturbation; fewer where fewer examples change.
        prob: share of the sites to edit, 0..1.
        seed: of the perturbations and of the draw.

    Raises:
        DataError: no example changes, or the folder holds a sheet or a key already.
        CrtError: the files cannot be written; then neither is there.
    """
    drawn = _draw(examples, perturbations, pairs=pairs, prob=prob, seed=seed)
    if not drawn:
        raise DataError(f"no example changes at prob {format_prob(prob)}; raise it, or name other perturbations")
    shown = [(str(n), _shown(pair.example.input), _shown(pair.perturbed)) for n, pair in enumerate(drawn, start=1)]
    facts = [
        (str(n), pair.perturbation, format_prob(prob), str(seed), pair.example.id, labels[pair.example.label])
        for n, pair in enumerate(drawn, start=1)
    ]
    # letters first: a spreadsheet program would read the digits 1234e567 as a number
    draw = f"draw-{sha256(json.dumps([shown, facts]).encode()).hexdigest()[:12]}"
    blank = [""] * len(QUESTIONS)
    files = (folder / SHEET, folder / KEY)
    for file in files:
        if file.exists():
            raise DataError(f"{file}: is there already and may hold answers; move it away or name another output_dir")
    rows = _csv(SHEET_COLUMNS, [(*row, *blank, draw) for row in shown])
    write_files(folder, {SHEET: rows, KEY: _csv(KEY_COLUMNS, [(*row, draw) for row in facts])})
    return files


def _draw(
    examples: Sequence[Example], perturbations: Sequence[Loaded], *, pairs: int, prob: float, seed: int
) -> list[Pair]:
    """Return pairs of all perturbations, shuffled; an input that stands there twice is drawn once."""
    distinct = list({example.input: example for example in reversed(examples)}.values())
    drawn: list[Pair] = []
    for loaded in perturbations:
        name = loaded.perturbation.name
        inputs = perturb_all(find_sites(distinct, loaded.find), name=name, prob=prob, seed=seed).inputs
        changed = [Pair(name, e, after) for e, after in zip(distinct, inputs, strict=True) if after != e.input]
        if len(changed) < pairs:
            log.info("%s changes %d of %d texts, so it has fewer pairs", name, len(changed), len(distinct))
        rows = smallest([pair.example.key for pair in changed], pairs, key=f"audit {seed} {name}")
        drawn += [changed[row] for row in rows]
    return sorted(drawn, key=lambda pair: base("audit order", seed, pair.perturbation, pair.example.key))


def _shown(fields: Input) -> str:
    """Return an input as a reader sees it: a text as it is, the two of a pair below each other."""
    if len(fields) == 1:
        return fields[0]
    return "\n".join(f"{part}: {text}" for part, text in zip(("premise", "hypothesis"), fields, strict=True))


def _csv(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([defused(cell) for cell in row] for row in rows)
    return f"\ufeff{text.getvalue()}"  # by this mark spreadsheet programs see that it is UTF-8


def score(key: Path, sheets: Sequence[Path]) -> pd.DataFrame:
    """Return what the readers say of each perturbation, and of all.

    Columns: perturbation; pairs (with at least one answer); for each question the share of yes, which is the mean of
    the shares of the readers; with several readers, for each question Cohen's kappa on the pairs that both answered,
    which is its mean over the pairs of readers if there are more than two. What is undefined is NaN.

    Args:
        key: of the draw.
        sheets: filled in, one for each reader.

    Raises:
        DataError: a file cannot be read, is of another draw, lacks or repeats a pair, or holds no or other answers.
    """
    repeated = [path for path in sheets if sheets.count(path) > 1]
    if repeated:
        raise DataError(f"{repeated[0]}: is listed twice; give one sheet for each reader")
    drawn = _by_pair(key, KEY_COLUMNS)
    answers = pd.concat(
        {reader: _answers(path, key, drawn) for reader, path in enumerate(sheets)}, names=["reader", "pair"]
    )
    names = answers.index.get_level_values("pair").map(
        {pair: row.values["perturbation"] for pair, row in drawn.items()}
    )
    table = in_order(pd.DataFrame([{"perturbation": name} | _summary(group) for name, group in answers.groupby(names)]))
    return pd.concat([table, pd.DataFrame([{"perturbation": ALL} | _summary(answers)])], ignore_index=True)


def _by_pair(path: Path, columns: Sequence[str]) -> dict[str, Row]:
    """Return the rows of a key or a sheet; blank ones, which spreadsheet programs leave behind, are dropped."""
    found: dict[str, Row] = {}
    for row in read_rows(path):
        lacking = [column for column in columns if column not in row.values]
        if lacking:
            fault = one_of(f"{path}: no column '{lacking[0]}'", lacking[0], row.values, "The file has")
            raise DataError(f"{fault}; expected {', '.join(columns)}, as the command audit wrote them")
        if not any(row.values.values()):
            continue
        pair = str(row.values["pair"]).strip()
        if pair in found:
            raise DataError(f"{row.where}: pair '{pair}' stands there for the second time; keep one of the rows")
        found[pair] = row
    return found


def _answers(path: Path, key: Path, drawn: Mapping[str, Row]) -> pd.DataFrame:
    """Return the answers of a reader: 1, 0 or NaN, a row for each pair and a column for each question."""
    rows = _by_pair(path, SHEET_COLUMNS)
    draws = {row.values["draw"] for row in drawn.values()}
    for pair, row in rows.items():
        if row.values["draw"] not in draws:
            raise DataError(
                f"{row.where}: is of {row.values['draw']}, but {key} is of {', '.join(map(str, draws))}; "
                "give the key that was written together with the sheet"
            )
        if pair not in drawn:
            raise DataError(f"{row.where}: pair '{pair}' is not in {key}; put the number back that stood there")
    missing = [pair for pair in drawn if pair not in rows]
    if missing:
        raise DataError(
            f"{path}: {len(missing)} of {len(drawn)} pairs are missing, the first is {missing[0]}; put the rows back, "
            "without answers if they were not judged"
        )
    answers = pd.DataFrame(
        [[_answer(rows[pair], question) for question in QUESTIONS] for pair in drawn], list(drawn), list(QUESTIONS)
    )
    if answers.isna().all(axis=None):
        raise DataError(f"{path}: holds no answers; write yes or no into the columns {', '.join(QUESTIONS)}")
    return answers


def _answer(row: Row, question: str) -> float:
    written = row.values[question]
    answer = unicodedata.normalize("NFKC", str(written)).strip().casefold()
    if answer and answer not in ANSWERS:
        raise DataError(
            f"{row.where}: column '{question}' holds '{written}'; write yes or no (y/n, 1/0, 是/否) or leave it blank"
        )
    return ANSWERS.get(answer, np.nan)


def _summary(answers: pd.DataFrame) -> dict[str, Any]:
    """Return a row of the scores from answers by reader and pair."""
    readers = answers.groupby(level="reader")
    row: dict[str, Any] = {"pairs": answers.dropna(how="all").index.get_level_values("pair").nunique()}
    row |= {question: readers[question].mean().mean() for question in QUESTIONS}
    if len(readers) > 1:
        row |= {f"kappa_{question}": _agreement(answers[question]) for question in QUESTIONS}
    return row


def _agreement(answers: pd.Series) -> float:
    """Return Cohen's kappa, or its mean over all pairs of readers; undefined if it is so for one of them."""
    readers = [answer.droplevel("reader") for _, answer in answers.groupby(level="reader")]
    return float(np.mean([cohen_kappa(first, second) for first, second in combinations(readers, 2)]))


def cohen_kappa(first: pd.Series, second: pd.Series) -> float:
    """Return Cohen's kappa of two readers on what both answered, with 1 and 0.

    NaN if they answered nothing in common, or both gave one and the same answer throughout.
    """
    both = first.notna() & second.notna()
    a, b = first[both], second[both]
    observed = (a == b).mean()
    expected = a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
    return float((observed - expected) / (1 - expected)) if expected < 1 else np.nan  # no answers: NaN < 1 is false


def score_table(scores: pd.DataFrame) -> str:
    """Return the scores in Markdown; what is undefined is a dash."""
    rows = [
        [str(name), str(pairs), *(mean_std(value, None, digits=2) for value in values)]
        for name, pairs, *values in scores.itertuples(index=False)
    ]
    return markdown(list(map(Markdown, scores.columns)), rows)  # the names are our own


def publish(scores: pd.DataFrame, folder: Path) -> None:
    """Write the scores into a folder, as CSV and Markdown.

    Raises:
        CrtError: they cannot be written.
    """
    with staged(None, folder, FILES) as staging:
        write_csv(scores, staging / f"{SCORES}.csv")
        (staging / f"{SCORES}.md").write_text(score_table(scores), encoding="utf-8")
