"""The data sets of the catalogue and of the user: their labels, their splits and their examples."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from crt import randomness
from crt.catalogue import ABSENT, ALIASES, TASKS, Task
from crt.errors import DataError, UnknownName, nearest, one_of, unknown
from crt.files import exists, neighbour
from crt.labels import collected, folded, label_map_for, label_of, spellings
from crt.reading import READERS, SUFFIXES, Row, read_hub, read_rows, stem_of
from crt.records import Example, Input
from crt.resources import rows_digest

SELECTION = "selection"
"""Asks for the split that the best epoch is chosen on: validation, or what is held out of train."""

HELD_OUT = 0.05
"""Share of the training texts that select the best epoch where validation is the split that is reported."""


SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "dev", "valid", "val", "eval", "evaluation"),
    "test": ("test", "testing"),
}
"""What the splits are called by people."""

COMMON = frozenset(["data", "dataset", "all", *(name for names in SPLITS.values() for name in names)])
"""Names that say nothing of the data in a file or folder."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Source:
    """Where to read the published data sets from."""

    data_dir: Path | None = None
    """Folder that holds `chnsenticorp/`, `ocnli/` and `tnews/` in the published formats; None: the hub."""
    revision: str | None = None
    """Revision of the hub data set."""
    rows: Sequence[Row] | None = None
    """The rows of the user's own data, where they are in memory already; None: they are in files."""


@dataclass(frozen=True, slots=True)
class Split:
    """The usable rows of one split."""

    task: str
    """Name of the task."""
    name: str
    """Name of the split."""
    examples: tuple[Example, ...]
    """In file order."""
    unlabelled: int
    """Rows dropped for want of a label."""

    def digest(self) -> str:
        """Return 16 hexadecimal digits of the SHA-256 over ids, inputs and labels."""
        return rows_digest([example.id, example.input, example.label] for example in self.examples)

    def where(self, keep: Callable[[Example], bool]) -> "Split":
        """Return the split with only the examples to keep."""
        return Split(self.task, self.name, tuple(e for e in self.examples if keep(e)), self.unlabelled)

    def limited(self, count: int | None) -> "Split":
        """Return a subset of at most `count` examples, drawn by their inputs; a smaller count gives a subset of a larger one."""
        if count is None or count >= len(self.examples):
            return self
        rows = randomness.smallest([example.key for example in self.examples], count, key="subset")
        return Split(self.task, self.name, tuple(self.examples[row] for row in rows), self.unlabelled)


def find_task(
    dataset: str, *, text: str = "text", text_pair: str | None = None, label: str = "label", name: str | None = None
) -> Task:
    """Return the task of a name in TASKS, or that of the user's own file or folder.

    A folder holds `train`, `validation` (or `dev`) and `test` files; a single file serves as the only split.

    Args:
        dataset: a key of TASKS or ALIASES, or a path.
        text: column of the text in the user's own files.
        text_pair: column of the second text, for sentence pairs.
        label: column of the label.
        name: what the user's own data are called; None: as their file or folder is, behind the folder that holds it
            where that is one of COMMON.

    Raises:
        UnknownName: neither a known name nor an existing path.
        DataError: the folder holds no usable file, two of the columns are one, or the name cannot be used.
    """
    known = ALIASES.get(dataset, dataset)
    if known in TASKS:
        if name not in (None, known):
            raise DataError(f"name={name} is for your own data; {known} keeps its name")
        return TASKS[known]
    path = Path(dataset)
    if not exists(path):
        raise UnknownName(_no_data_set(path))
    own = name or _own_name(path.resolve())
    if own in TASKS or own in ALIASES:
        raise DataError(f"{path}: '{own}' is the name of a known data set; give your own data another one with name=")
    if not own.strip() or "/" in own:
        raise DataError(f"name='{own}' can be no name of a data set; give it letters, and no /")
    columns = {"text_column": text, "text_pair_column": text_pair, "label_column": label}
    for one, other in combinations(columns, 2):
        if columns[one] == columns[other]:
            raise DataError(f"{path}: {one} and {other} both name '{columns[one]}'; name the column of each")
    files = {"all": path.name} if path.is_file() else _split_files(path)
    root = path if path.is_dir() else path.parent
    return replace(own_task(own, files, text=text, text_pair=text_pair, label=label), root=root)


def own_task(name: str, files: Mapping[str, str], *, text: str, text_pair: str | None, label: str) -> Task:
    """Return the task of the user's own data; see `find_task` for the arguments."""
    return Task(
        name=name,
        summary="the user's own data",
        labels=(),
        fields=((text,),) if text_pair is None else ((text,), (text_pair,)),
        files=files,
        eval_split=next((split for split in ("test", "validation", "all") if split in files), "test"),
        unlabelled=ABSENT,
        label_column=label,
    )


def _own_name(path: Path) -> str:
    name = stem_of(path) if path.is_file() else path.name
    return f"{path.parent.name}-{name}" if name.lower() in COMMON and path.parent.name else name


def _no_data_set(path: Path) -> str:
    """Return the message for what is neither a known name nor a path."""
    near, known = neighbour(path, "file or folder"), nearest(str(path), TASKS)
    if near and (known is None or len(path.parts) > 1 or path.name.lower().endswith(SUFFIXES)):
        return f"{path}: no such file or folder; did you mean {near}?"
    return f"{unknown('data set', str(path), TASKS)}, or the path of your own file or folder"


def probing(task: Task) -> Task:
    """Return the task; the user's own file with the columns of HANS is read as HANS is."""
    if task.root is None or len(task.files) != 1 or task.name in TASKS:
        return task
    columns = read_rows(task.root / task.files[task.train_split])[0].values
    if not set(TASKS["hans"].group_columns) <= set(columns):
        return task
    hans = TASKS["hans"]
    return replace(
        task,
        fields=hans.fields,
        label_column=hans.label_column,
        id_columns=hans.id_columns,
        group_columns=hans.group_columns,
    )


def _split_files(folder: Path) -> dict[str, str]:
    """Return the file of each split in the user's own folder."""
    files: dict[str, str] = {}
    for split, stems in (("train", ("train",)), ("validation", ("validation", "dev")), ("test", ("test",))):
        found = [name for stem in stems for suffix in SUFFIXES if (folder / (name := stem + suffix)).is_file()]
        if len(found) > 1:
            raise DataError(f"{folder}: {' and '.join(found)} are both the '{split}' split; keep one of them")
        if found:
            files[split] = found[0]
    if not files:
        there = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        raise DataError(
            f"{folder}: holds no train, validation (or dev) or test file ({', '.join(READERS)}, a text file also packed as .gz); "
            f"it holds {there}"
        )
    return files


def labels_of(task: Task, source: Source) -> tuple[str, ...]:
    """Return the labels of a task; those of the user's own data are collected from its training file, and told.

    Integers are put in numeric order, other labels in code point order.

    Raises:
        DataError: there are fewer than two, or what is a label cannot be told without asking.
    """
    if task.labels:
        return task.labels
    counts = collected(_rows(task, task.train_split, source), task.label_column, task.unlabelled)
    if len(counts) < 2:
        raise DataError(f"{task.name}: column '{task.label_column}' holds {[*counts]}; two labels are needed")
    told = ", ".join(f"{label} ({count:,})" for label, count in [*counts.items()][:20])
    log.info("%s: %d classes: %s%s", task.name, len(counts), told, ", …" if len(counts) > 20 else "")
    return tuple(counts)


def with_labels(task: Task, source: Source) -> Task:
    """Return the task with its labels; see `labels_of`."""
    return replace(task, labels=labels_of(task, source))


def load_split(task: Task, split: str, source: Source) -> Split:
    """Read one split of a task whose labels are known.

    Raises:
        DataError: the split does not exist, has no labels, lacks a column or holds an unknown label.
    """
    if split == SELECTION:
        return load_training(task, source)[1]
    examples = []
    unlabelled = 0
    index = {label: number for number, label in enumerate(task.labels)}
    alike, respelled = spellings(task.labels), dict[str, str]()
    rows = _rows(task, split, source)
    for number, row in enumerate(rows):
        label = label_of(row, task.label_column)
        label = task.codes.get(label, label)
        if label not in index and (other := alike.get(folded(label))):
            respelled[label], label = other, other
        if label not in index:
            if label not in task.unlabelled:
                raise _no_label(task, rows, row, label)
            unlabelled += 1
            continue
        number_in_source = next((row.values[c] for c in task.id_columns if c in row.values), number)
        inputs = tuple(_field(task, row, columns) for columns in task.fields)
        groups = tuple(_field(task, row, (column,)) for column in task.group_columns)
        examples.append(Example(f"{task.name}/{split}/{number_in_source}", inputs, index[label], groups))
    for label, other in respelled.items():
        log.info("%s: label '%s' of '%s' is read as '%s'", task.name, label, split, other)
    if unlabelled and examples:
        log.info("%s: %d rows of '%s' have no label and are left out", task.name, unlabelled, split)
    if not examples:
        others = [name for name in task.files if name not in (split, *task.without_labels)]
        raise DataError(
            f"{task.name}: the {unlabelled:,} rows of '{split}' have no labels; ask for another split ({', '.join(others)})"
        )
    twice = [id_ for id_, count in Counter(example.id for example in examples).items() if count > 1]
    if twice:
        raise DataError(
            f"{task.name}, split '{split}': column {' or '.join(task.id_columns)} repeats '{twice[0].rpartition('/')[2]}'"
        )
    return Split(task.name, split, tuple(examples), unlabelled)


def check_split(task: Task, split: str, source: Source) -> None:
    """Make sure that a split exists, as far as that can be told without reading it.

    Raises:
        DataError: it does not; the message says which splits or which folder there should be.
    """
    if split == SELECTION and "train" in task.files:
        split = "validation" if task.selects_on_validation else "train"
    if split not in task.files:
        known = (*task.files, SELECTION) if "train" in task.files else tuple(task.files)
        meant = next((ours for ours, names in SPLITS.items() if split.lower() in names), split)
        raise DataError(one_of(f"{task.name} has no split '{split}'", meant, known, "It has"))
    if source.rows is not None:
        return
    root = task.root or source.data_dir
    if root is None and task.hub is None:
        raise DataError(
            f"{task.name} is on no hub that could be read; give data_dir=FOLDER, which holds {task.files[split]}"
        )
    if root is not None and not (root / task.files[split]).is_file():
        raise DataError(
            f"{root / task.files[split]}: no such file; data_dir must be the folder that holds chnsenticorp/, ocnli/, "
            "tnews/, hans/ and chinese_nli_probing/ in their published formats"
        )


def load_training(task: Task, source: Source) -> tuple[Split, Split]:
    """Return what to train on and what to choose the best epoch on, which is never the split that is reported.

    Where validation is reported, `HELD_OUT` of the training texts (of the premises, for pairs) are set aside: a text
    is never on both sides.
    """
    if "train" not in task.files:
        raise DataError(
            f"{task.name} has no training file; give a folder that holds train.csv, and test.csv to report on"
        )
    train = load_split(task, "train", source)
    if task.selects_on_validation:
        return train, load_split(task, "validation", source)
    groups = sorted({example.input[0] for example in train.examples})
    if len(groups) < 2:
        raise DataError(f"{task.name}: the training rows share one text; there is nothing to choose the best epoch on")
    count = max(1, round(HELD_OUT * len(groups)))
    held = {groups[row] for row in randomness.smallest(groups, count, key="selection")}
    selection = train.where(lambda example: example.input[0] in held)
    return train.where(lambda example: example.input[0] not in held), replace(selection, name=task.selection_split)


def seen_in_training(task: Task, source: Source, split: str = "") -> frozenset[Input] | None:
    """Return the inputs that models are trained on when they are evaluated on a split, or None where those are not at hand."""
    if split == SELECTION and not task.selects_on_validation:
        return frozenset(example.input for example in load_training(task, source)[0].examples)
    root = task.root or source.data_dir
    if "train" not in task.files or (root is not None and not (root / task.files["train"]).is_file()):
        return None
    return frozenset(tuple(_field(task, row, c) for c in task.fields) for row in _rows(task, "train", source))


def input_digest(value: Input) -> str:
    """Return 16 hexadecimal digits that tell an input, all of its fields, from others."""
    return rows_digest([value])


def _rows(task: Task, split: str, source: Source) -> list[Row]:
    """Read the rows of a split; only a published split may lack the column of the labels."""
    check_split(task, split, source)
    root = task.root or source.data_dir
    if root is None and task.hub is not None:
        return read_hub(task.hub.repository, task.hub.config, split, source.revision)
    rows = list(source.rows) if source.rows is not None else read_rows((root or Path()) / task.files[split])
    if task.hub is None and not any(task.label_column in row.values for row in rows):
        raise _no_column(task, rows[0], (task.label_column,))
    return rows


def _field(task: Task, row: Row, columns: Sequence[str]) -> str:
    for column in columns:
        if column in row.values:
            value = row.values[column]
            if not isinstance(value, str):
                raise DataError(f"{row.where}: column '{column}' holds {value!r}, which is no text")
            return value
    raise _no_column(task, row, columns)


def _no_label(task: Task, rows: Sequence[Row], row: Row, label: str) -> DataError:
    """Return the error for a label that the task has not; where a file has none of them, they are those of a model."""
    names = ", ".join(task.labels[:20]) + (", …" if len(task.labels) > 20 else "")
    held = sorted({label_of(one, task.label_column) for one in rows} - task.unlabelled)
    if task.name in TASKS or "train" in task.files or set(held) & set(task.labels):
        hint = "; leave it empty where there is no label" if label == "-1" else ""
        return DataError(
            f"{row.where}: label '{label}' is none of the {len(task.labels)} labels of {task.name} ({names}){hint}"
        )
    shown = ", ".join(f"'{name}'" for name in held[:20]) + (", …" if len(held) > 20 else "")
    return DataError(
        f"{row.where}: label '{label}' is unknown: the model's labels are {names}, the file holds {shown}; if they mean the "
        f"same, give {label_map_for(task.labels, held)}"
    )


def _no_column(task: Task, row: Row, columns: Sequence[str]) -> DataError:
    """Return the error for a column that is missing; of the user's own data it says which option names another."""
    fault = f"{row.where}: no column '{' or '.join(columns)}' for {task.name}"
    message = one_of(fault, (*columns, "")[0], row.values, "The file has")
    if task.name in TASKS or task.group_columns:
        return DataError(message)
    texts = ("text_column", "text_pair_column")
    option = "label_column" if columns == (task.label_column,) else texts[task.fields.index(tuple(columns))]
    return DataError(f"{message}; name the right one with {option}=")


def slug(name: str) -> str:
    """Return a name as MLflow takes it for a model or an alias."""
    return "".join(character if character.isalnum() or character in "-_" else "-" for character in name)
