"""Behaviour suites: cases that say what a model must do on certain inputs, as data (CheckList, Ribeiro et al., ACL 2020).

A suite is a JSON file with named word lists and cases, whose texts may be templates, or the user's own file of another
format with a case a row. The expectations are fixed before a model is asked.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from crt.decoding import read_text
from crt.errors import DataError, one_of, unknown
from crt.reading import Row, read_rows, stem_of, suffix_of
from crt.records import Input
from crt.resources import resource_dir, rows_digest

TYPES = ("MFT", "INV", "DIR")
"""Minimum functionality: the expected label. Invariance: the label stays. Direction: a probability does not move so."""

DIRECTIONS = ("not_rise", "not_fall")
"""What the probability of the target of a DIR case must do."""

KEYS = frozenset(
    ["id", "type", "capability", "text", "changed", "expected", "target", "must", "tolerance", "disputed", "reason"]
)
"""What a case of a JSON suite may say."""

PLACEHOLDER = re.compile(r"\{(\w+)\}")

SURROGATE = re.compile(r"[\ud800-\udfff]")

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Case:
    """One expectation."""

    id: str
    type: str
    """One of TYPES."""
    capability: str
    """What it tests: negation, typos …"""
    original: Input
    """The input."""
    changed: tuple[Input, ...] = ()
    """For INV and DIR its variants; the case fails if one of them fails."""
    expected: str = ""
    """For MFT the label."""
    target: str = ""
    """For DIR the label whose probability is looked at; elsewhere the one whose probability is shown. With two labels
    the second one where nothing is said."""
    must: str = ""
    """For DIR one of DIRECTIONS."""
    tolerance: float = 0.0
    """How far a probability may move; for INV above 0 another label passes within it."""
    disputed: bool = False
    """Readers disagree: it is run and listed, not counted."""
    reason: str = ""
    """Why the expectation holds."""
    scores: tuple[float, ...] = ()
    """Given probabilities of the target, for the original and its variant, in place of a model."""


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases of a file."""

    name: str
    version: str
    """As the file says, else empty."""
    cases: tuple[Case, ...]
    """Templates expanded."""

    @property
    def digest(self) -> str:
        """16 hexadecimal digits over all that is expected: two runs may be compared where it is equal."""
        return rows_digest(
            [c.id, c.type, c.original, c.changed, c.expected, c.target, c.must, c.tolerance, c.disputed]
            for c in self.cases
        )

    @property
    def scored(self) -> bool:
        """Whether the probabilities are given."""
        return bool(self.cases) and bool(self.cases[0].scores)


def suite_path(task: str) -> Path:
    """Return the file of the suite that comes with crt for a task.

    Raises:
        DataError: there is none; the message lists those that there are.
    """
    path = resource_dir() / "suites" / f"{task}.json"
    if not path.is_file():
        known = sorted(file.stem for file in path.parent.glob("*.json"))
        fault = f"no behaviour suite comes with crt for '{task}'"
        raise DataError(f"{one_of(fault, task, known, 'There are')}; give suite=FILE")
    return path


def load_suite(path: Path, labels: Sequence[str], fields: int) -> Suite:
    """Read a suite and check every case.

    Args:
        path: a `.json` suite, or a file of another format that `crt.reading` knows, with a case a row.
        labels: of the task.
        fields: 1 for single texts, 2 for pairs.

    Raises:
        DataError: the message names the file, the case and what is wrong with it.
    """
    suite = _json_suite(path) if suffix_of(path) == ".json" else _row_suite(path)
    if len(labels) == 2:
        cases = (
            c if c.target or not (c.scores or c.type == "DIR") else replace(c, target=labels[1]) for c in suite.cases
        )
        suite = replace(suite, cases=tuple(cases))
    known: set[str] = set()
    for case in suite.cases:
        where = f"{path}: case '{SURROGATE.sub('�', case.id)}'"
        if case.id in known:
            raise DataError(f"{where}: the id stands there twice")
        known.add(case.id)
        for fault in _faults(case, labels, fields, scored=suite.scored):
            raise DataError(f"{where}: {fault}")
    if not suite.cases:
        raise DataError(f"{path}: holds no cases")
    return suite


def _faults(case: Case, labels: Sequence[str], fields: int, *, scored: bool) -> Iterator[str]:
    """Yield what is wrong with a case."""
    texts = (case.id, case.capability, case.reason, *case.original, *(part for value in case.changed for part in value))
    if broken := [text for text in texts if SURROGATE.search(text)]:
        yield f"{broken[0]!a} holds half a surrogate pair, which is no character and cannot be written to a file"
    if case.type not in TYPES:
        yield unknown("type", case.type, TYPES)
    widths = {len(value) for value in (case.original, *case.changed)}
    if widths != {fields}:
        more = "; write pairs as JSON, each text a list of two" if fields == 2 else ""
        yield f"has texts of {max(widths)} fields, the task has {fields}{more}"
    for name in ("expected", "target"):
        if (label := getattr(case, name)) and label not in labels:
            yield one_of(f"{name} '{label}' is no label", label, labels, "The labels are")
    if not 0 <= case.tolerance < 1:  # not true of NaN either
        yield f"tolerance {case.tolerance} is not within 0..1"
    yield from _faults_of_type(case)
    yield from _faults_of_scores(case, labels, scored=scored)


def _faults_of_type(case: Case) -> Iterator[str]:
    if case.type == "MFT" and (case.changed or not case.expected):
        yield "an MFT case needs `expected`, and no `changed`"
    if case.type != "MFT" and not case.changed:
        yield f"a {case.type} case needs `changed`" + (" or a template" if case.type == "INV" else "")
    if case.type == "DIR" and case.must not in DIRECTIONS:
        yield one_of(f"must is '{case.must}'", case.must, DIRECTIONS, "It is one of")
    if case.type == "DIR" and not case.target:
        yield "a DIR case on more than two labels needs `target`, the one whose probability is looked at"


def _faults_of_scores(case: Case, labels: Sequence[str], *, scored: bool) -> Iterator[str]:
    if bool(case.scores) != scored:
        yield "has no score, others have one" if scored else "has a score, others have none"
    if scored and len(labels) != 2:
        yield f"given scores need a task with two labels, this one has {len(labels)}"
    if scored and len(case.scores) != 1 + len(case.changed):
        yield f"needs {1 + len(case.changed)} scores: before_p{' and after_p' if case.changed else ''}"
    yield from (f"score {score} is no probability (0..1)" for score in case.scores if not 0 <= score <= 1)


def _json_suite(path: Path) -> Suite:
    text = read_text(path)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is no JSON suite ({error})") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or not isinstance(data.get("cases"), list):
        raise DataError(f"{path}: needs `schema`: {SCHEMA}, `version` and a list `cases`")
    lists = data.get("lists", {})
    if not isinstance(lists, dict) or not all(isinstance(entry, dict) for entry in data["cases"]):
        raise DataError(f"{path}: `lists` is an object of lists of words, and each of `cases` is an object")
    for name, words in lists.items():
        if (
            not isinstance(words, list)
            or not words
            or not all(isinstance(word, str) and word for word in words)
            or len(set(words)) < len(words)
        ):
            raise DataError(f"{path}: list '{name}' is empty, or holds a word twice or none: {words}")
    cases = [case for entry in data["cases"] for case in _expanded(path, entry, lists)]
    return Suite(stem_of(path), str(data.get("version", "")), tuple(cases))


def _expanded(path: Path, entry: Mapping[str, object], lists: Mapping[str, Sequence[str]]) -> Iterator[Case]:
    """Yield the cases of an entry: one, or one for each filling of its template; of an INV without variants, one."""
    where = f"{path}: case '{entry.get('id', '?')}'"
    stray = sorted(set(entry) - KEYS)
    if stray or not all(
        isinstance(entry.get(key), str) and entry[key] for key in ("id", "type", "capability", "reason")
    ):
        fault = "needs id, type, capability and reason as texts"
        raise DataError(f"{where}: {unknown('key', stray[0], KEYS) if stray else fault}")
    changed = entry.get("changed", [])
    if not isinstance(changed, list):
        raise DataError(f"{where}: `changed` is a list of texts")
    texts = [_input(where, value) for value in (entry.get("text"), *changed)]
    names = list(dict.fromkeys(name for text in texts for part in text for name in PLACEHOLDER.findall(part)))
    missing = [name for name in names if name not in lists]
    if missing:
        fault = one_of(f"there is no list '{missing[0]}'", missing[0], lists)
        raise DataError(f"{where}: {fault}")
    try:
        case = Case(
            str(entry["id"]), str(entry["type"]), str(entry["capability"]), (), (), str(entry.get("expected", "")),
            str(entry.get("target", "")), str(entry.get("must", "")), float(entry.get("tolerance", 0.0)),  # type: ignore[arg-type]
            bool(entry.get("disputed", False)), str(entry["reason"]),
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}: tolerance {entry.get('tolerance')!r} is no number") from error
    filled = [
        (words, tuple(_fill(text, dict(zip(names, words, strict=True))) for text in texts))
        for words in product(*(lists[name] for name in names))
    ]
    if case.type == "INV" and names and not changed:
        yield replace(case, original=filled[0][1][0], changed=tuple(inputs[0] for _, inputs in filled[1:]))
        return
    for words, (original, *variants) in filled:
        suffix = f"[{','.join(words)}]" if words else ""
        yield replace(case, id=case.id + suffix, original=original, changed=tuple(variants))


def _input(where: str, value: object) -> Input:
    parts = value if isinstance(value, list) else [value]
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise DataError(f"{where}: {value!r} is no text, nor a list of two")
    return tuple(parts)


def _fill(text: Input, words: Mapping[str, str]) -> Input:
    return tuple(PLACEHOLDER.sub(lambda match: words[match[1]], part) for part in text)


def _row_suite(path: Path) -> Suite:
    return Suite(stem_of(path), "", tuple(_row_case(row) for row in read_rows(path)))


def _row_case(row: Row) -> Case:
    """Return the case of a row: columns id, type, original (or text), changed, expected … and perhaps scores."""

    def text(*names: str) -> str:
        return next((str(v) for name in names if (v := row.values.get(name)) not in (None, "")), "")

    def number(name: str) -> float:
        try:
            return float(text(name))
        except ValueError:
            raise DataError(f"{row.where}: {name} {text(name)!r} is no number") from None

    if not (text("id") and text("original", "text")):
        raise DataError(f"{row.where}: needs the columns id, type and original")
    scores = [number(name) for name in ("before_p", "after_p") if text(name)]
    changed = ((text("changed"),),) if text("changed") else ()
    return Case(
        id=text("id"),
        type=text("type"),
        capability=text("capability") or "unnamed",
        original=(text("original", "text"),),
        changed=changed,
        expected=text("expected") if text("type") == "MFT" else "",
        target=text("target"),
        must=text("must"),
        tolerance=number("tolerance") if text("tolerance") else 0.0,
        disputed=text("disputed").casefold() in ("1", "true", "yes"),
        reason=text("reason"),
        scores=tuple(scores),
    )
