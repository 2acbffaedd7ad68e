"""Whether a model does what the cases of a behaviour suite expect (CheckList, Ribeiro et al., ACL 2020).

Other than in CheckList, an INV case passes only where the label stays; a probability tolerance is an explicit part of the
case. A DIR case that cannot fail does not apply and leaves the denominator, as there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from crt.records import Input
from crt.suites import TYPES, Case

PASSED, FAILED, NOT_APPLICABLE, DISPUTED, NO_ANSWER = (
    "passed", "failed", "not applicable", "disputed", "execution failure",
)  # fmt: skip
STATUSES = (PASSED, FAILED, NOT_APPLICABLE, DISPUTED, NO_ANSWER)

REPORT = (
    "id", "type", "original", "changed", "before_p", "after_p", "passed", "expected", "capability", "target",
    "tolerance", "status", "reason",
)  # fmt: skip
"""Columns of the report, a row for each case."""

SLACK = 1e-9
"""A probability that moved by less did not move: scores are rounded by whoever gave them, sums by the machine."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model says of one input."""

    label: str
    """The predicted label."""
    probabilities: Mapping[str, float]
    """By label."""


def judge(case: Case, before: Answer | None, after: Sequence[Answer | None]) -> dict[str, object]:
    """Return the row of a case in the report.

    Args:
        case: what is expected.
        before: the answer to the original; None: the model gave none.
        after: the answers to the variants.

    Returns:
        The columns of REPORT. Of several variants that which fails, or moves the probability most, is shown. `passed` is
        None where the case does not apply or an answer is missing: neither is a wrong answer.
    """
    row: dict[str, object] = {
        "id": case.id,
        "type": case.type,
        "original": "\n".join(case.original),
        "capability": case.capability,
        "tolerance": case.tolerance,
        "reason": case.reason,
        "expected": expectation(case),
        "target": case.target or case.expected,
    }
    if before is None or None in after:
        which = case.changed[list(after).index(None)] if before is not None else ()
        return row | {"changed": "\n".join(which), "status": NO_ANSWER}
    answers = [answer for answer in after if answer is not None]
    target = case.target or case.expected or before.label
    moves = [answer.probabilities[target] - before.probabilities[target] for answer in answers]
    if case.type == "MFT":
        verdicts = [before.label == case.expected]
    elif case.type == "INV":
        moves_of_label = [answer.probabilities[before.label] - before.probabilities[before.label] for answer in answers]
        verdicts = [
            answer.label == before.label or (case.tolerance > 0 and abs(move) <= case.tolerance)
            for answer, move in zip(answers, moves_of_label, strict=True)
        ]
    else:
        sign = 1 if case.must == "not_rise" else -1
        verdicts = [sign * move <= case.tolerance + SLACK for move in moves]
    worst = min(range(len(answers)), key=lambda k: (verdicts[k], -abs(moves[k])), default=None)
    row |= {"target": target, "before_p": before.probabilities[target]}
    if worst is not None:
        row |= {"changed": "\n".join(case.changed[worst]), "after_p": answers[worst].probabilities[target]}
    if not applies(case, before.probabilities[target]):
        return row | {"status": NOT_APPLICABLE}
    passed = all(verdicts)
    return row | {"passed": passed, "status": DISPUTED if case.disputed else PASSED if passed else FAILED}


def applies(case: Case, before: float) -> bool:
    """Tell whether a case can fail: what is certain cannot rise, what is impossible cannot fall, no change changes nothing."""
    if case.type == "DIR":
        return before < 1 - case.tolerance if case.must == "not_rise" else before > case.tolerance
    return case.type == "MFT" or any(variant != case.original for variant in case.changed)


def expectation(case: Case) -> str:
    """Return in words what a case expects."""
    if case.type == "MFT":
        return case.expected
    if case.type == "INV":
        return "the label stays"
    return f"P({case.target}) does {case.must.replace('_', ' ')}"


def given_answers(case: Case, labels: Sequence[str]) -> tuple[Answer, ...]:
    """Return the answers that given scores, probabilities of the target, stand for: it is predicted from 0.5 on."""
    (other,) = (label for label in labels if label != case.target)
    return tuple(
        Answer(case.target if score >= 0.5 else other, {case.target: score, other: 1 - score}) for score in case.scores
    )


def report(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Return the rows of `judge` as a table with the columns of REPORT."""
    return pd.DataFrame(list(rows), columns=list(REPORT))


def pass_rates(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return, for each value of a column of the report, how its cases ended.

    Returns:
        Columns: `by`, passed, total (passed and failed: what counts), pass_rate (missing without a case that counts), and
        the number of cases of each other status.
    """
    counts = pd.crosstab(table[by], table["status"]).reindex(columns=list(STATUSES), fill_value=0)
    order = [name for name in TYPES if name in counts.index] if by == "type" else list(dict.fromkeys(table[by]))
    counts = counts.loc[order]
    total = counts[PASSED] + counts[FAILED]
    rates = pd.DataFrame(
        {"passed": counts[PASSED], "total": total, "pass_rate": counts[PASSED] / total.where(total > 0)}
    )
    return rates.join(counts[[NOT_APPLICABLE, DISPUTED, NO_ANSWER]]).rename_axis(by).reset_index()


def changes(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Return the cases that count in both reports and failed in one, with what became of them.

    Returns:
        Columns id, capability, type, change (fixed, newly broken or still failing), original, changed, reason.
    """
    both = old[["id", "status"]].merge(new, on="id", suffixes=("_old", ""))
    names = {(FAILED, PASSED): "fixed", (PASSED, FAILED): "newly broken", (FAILED, FAILED): "still failing"}
    both["change"] = [names.get(pair) for pair in zip(both["status_old"], both["status"], strict=True)]
    columns = ["id", "capability", "type", "change", "original", "changed", "reason"]
    return both[both["change"].notna()][columns].reset_index(drop=True)


def as_answers(
    inputs: Sequence[Input], labels: Sequence[str], probabilities: Sequence[Sequence[float]]
) -> dict[Input, Answer | None]:
    """Return the answer to each input; a row of NaN is none."""
    return {
        value: None
        if row[0] != row[0]
        else Answer(labels[max(range(len(row)), key=row.__getitem__)], dict(zip(labels, row, strict=True)))
        for value, row in zip(inputs, probabilities, strict=True)
    }
