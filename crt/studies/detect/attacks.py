"""Texts that are labelled with the attack that made them, split by their source (TCAB, Asthana et al., 2022)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crt import randomness
from crt.errors import DataError, one_of
from crt.perturbations import Loaded
from crt.perturbations.engine import find_sites, perturb_all
from crt.reading import read_rows
from crt.records import CLEAN, Example, Input

ATTACK = "attack"
"""What every attack is called where the task is to detect it."""

PARTS: Mapping[str, float] = {"train": 0.6, "validation": 0.2, "test": 0.2}
"""Share of the texts in each part."""

TCAB_COLUMNS = ("original_text", "perturbed_text", "attack_name", "status")
"""The columns that are needed of TCAB's published files; the others are not read."""


@dataclass(frozen=True, slots=True)
class Attacked:
    """A text as it was or as an attack left it."""

    input: Input
    """What a detector sees."""
    attack: str
    """Name of the perturbation or attack, or CLEAN."""
    source: Input
    """The text before the attack."""

    @property
    def group(self) -> str:
        """What must stay in one part: the source text itself, of a pair its premise."""
        return self.source[0]


def from_perturbations(
    examples: Sequence[Example], loaded: Iterable[Loaded], *, prob: float, seed: int
) -> Iterator[tuple[int, Attacked]]:
    """Yield each example as it is, and as each perturbation changes it, with its row; unchanged texts are no attacks."""
    for row, example in enumerate(examples):
        yield row, Attacked(example.input, CLEAN, example.input)
    for perturbation in loaded:
        name = perturbation.perturbation.name
        inputs = perturb_all(find_sites(examples, perturbation.find), name=name, prob=prob, seed=seed).inputs
        for row, (example, value) in enumerate(zip(examples, inputs, strict=True)):
            if value != example.input:
                yield row, Attacked(value, name, example.input)


def from_file(path: Path) -> list[Attacked]:
    """Read a file in TCAB's published columns: successful attacks, and each original once as a clean text.

    Raises:
        DataError: a column is missing, or no attack succeeded.
    """
    found: dict[tuple[str, str], Attacked] = {}
    for row in read_rows(path):
        missing = [name for name in TCAB_COLUMNS if name not in row.values]
        if missing:
            fault = one_of(f"{row.where}: no column '{missing[0]}'", missing[0], row.values, "The file has")
            raise DataError(f"{fault}; TCAB's files have {', '.join(TCAB_COLUMNS)}")
        original, perturbed, name, status = (str(row.values[column]) for column in TCAB_COLUMNS)
        if status in ("success", CLEAN):
            found.setdefault((original, CLEAN), Attacked((original,), CLEAN, (original,)))
            if status == "success" and perturbed != original:
                found.setdefault((perturbed, name), Attacked((perturbed,), name, (original,)))
    texts = list(found.values())
    if not any(text.attack != CLEAN for text in texts):
        raise DataError(f"{path}: holds no attack with status 'success' that changed its text")
    return texts


SOURCES = 3
"""Source texts that each attack must have in each part: the detectors are chosen in as many folds."""


def split(texts: Sequence[Attacked], *, seed: int) -> dict[str, list[Attacked]]:
    """Deal the texts to PARTS, all that come from one source to the same one.

    Sources are taken in the order of a draw that depends on the seed and the text alone, until a part is full.

    Raises:
        DataError: an attack, or the clean text, has fewer than SOURCES source texts in a part.
    """
    sizes = Counter(text.group for text in texts)
    groups = list(sizes)
    draws = randomness.uniforms(
        [randomness.base(seed, "detection", group) for group in groups], np.zeros(len(groups), np.int64)
    )
    bounds = np.cumsum(list(PARTS.values())) * len(texts)
    part_of, done = {}, 0
    for _, group in sorted(zip(draws.tolist(), groups, strict=True)):
        # a group goes where its middle falls, so that a long last one does not empty the part behind it
        part_of[group] = list(PARTS)[int(np.searchsorted(bounds[:-1], done + sizes[group] / 2, side="right"))]
        done += sizes[group]
    parts: dict[str, list[Attacked]] = {name: [] for name in PARTS}
    for text in texts:
        parts[part_of[text.group]].append(text)
    for name, rows in parts.items():
        found = Counter(attack for attack, _ in {(text.attack, text.group) for text in rows})
        for attack in sorted({text.attack for text in texts}):
            if found[attack] < SOURCES:
                raise DataError(
                    f"part '{name}' has {found[attack]} source texts of '{attack}' ({len(sizes)} in all), and {SOURCES} are "
                    f"needed; give more texts or a higher prob, or leave {attack} out"
                )
    return parts


def downsampled(texts: Sequence[Attacked], *, labelling: bool, seed: int) -> list[int]:
    """Return the rows to train on: of the clean texts no more than there are attacks, for labelling than the most frequent has."""
    attacks = Counter(text.attack for text in texts if text.attack != CLEAN)
    limit = max(attacks.values()) if labelling else attacks.total()
    clean = [row for row, text in enumerate(texts) if text.attack == CLEAN]
    if len(clean) > limit:
        keys = [randomness.base(*texts[row].input) for row in clean]
        clean = [clean[k] for k in randomness.smallest(keys, limit, key=f"downsample {seed}")]
    return sorted([*clean, *(row for row, text in enumerate(texts) if text.attack != CLEAN)])


def labels_of(texts: Sequence[Attacked], *, labelling: bool) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the label of each text and the names: clean and attack, or clean and each attack in order of appearance."""
    names = (CLEAN, *dict.fromkeys(t.attack for t in texts if t.attack != CLEAN)) if labelling else (CLEAN, ATTACK)
    index = {name: number for number, name in enumerate(names)}
    labels = [index[text.attack] if labelling else int(text.attack != CLEAN) for text in texts]
    return np.array(labels, dtype=np.int64), names
