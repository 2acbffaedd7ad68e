"""The data sets of the catalogue and of the user: their labels, their splits and their examples."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crt import randomness
from crt.catalogue import ALIASES, EMPTY, TASKS, Task
from crt.errors import DataError, UnknownName, unknown
from crt.files import exists
from crt.reading import READERS, Row, read_hub, read_rows
from crt.records import Example, Input
from crt.resources import rows_digest

SELECTION = "selection"
"""Asks for the split that the best epoch is chosen on: validation, or what is held out of train."""

HELD_OUT = 0.05
"""Share of the training texts that select the best epoch where validation is the split that is reported."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where to read the published data sets from."""

    data_dir: Path | None = None
    """Folder that holds `chnsenticorp/`, `ocnli/` and `tnews/` in the published formats; None: the hub."""
    revision: str | None = None
    """Revision of the hub data set."""


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
        """Return a stable subset of at most `count` examples; a smaller count gives a subset of a larger one."""
        if count is None or count >= len(self.examples):
            return self
        rows = randomness.smallest([example.id for example in self.examples], count, key="subset")
        return Split(self.task, self.name, tuple(self.examples[row] for row in rows), self.unlabelled)


def find_task(name: str, *, text: str = "text", text_pair: str | None = None, label: str = "label") -> Task:
    """Return the task of a name in TASKS, or that of the user's own file or folder.

    A folder holds `train`, `validation` (or `dev`) and `test` files; a single file serves as the only split.

    Args:
        name: a key of TASKS or ALIASES, or a path.
        text: column of the text in the user's own files.
        text_pair: column of the second text, for sentence pairs.
        label: column of the label.

    Raises:
        UnknownName: neither a known name nor an existing path.
        DataError: the folder holds no usable file, or the training file cannot be read.
    """
    known = ALIASES.get(name, name)
    if known in TASKS:
        return TASKS[known]
    path = Path(name)
    if not exists(path):
        raise UnknownName(f"{unknown('data set', name, TASKS)}, or the path of your own file or folder")
    own = path.resolve().stem if path.is_file() else path.resolve().name
    if own in TASKS or own in ALIASES:
        raise DataError(f"{path}: '{own}' is the name of a known data set; give your own data another name")
    files = {"all": path.name} if path.is_file() else _split_files(path)
    return Task(
        name=own,
        summary="the user's own data",
        labels=(),
        fields=((text,),) if text_pair is None else ((text,), (text_pair,)),
        files=files,
        eval_split=next((split for split in ("test", "validation", "all") if split in files), "test"),
        unlabelled=EMPTY,
        label_column=label,
        root=path if path.is_dir() else path.parent,
    )


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
        found = [name for stem in stems for suffix in READERS if (folder / (name := stem + suffix)).is_file()]
        if len(found) > 1:
            raise DataError(f"{folder}: {' and '.join(found)} are both the '{split}' split; keep one of them")
        if found:
            files[split] = found[0]
    if not files:
        raise DataError(f"{folder}: holds no train, validation (or dev) or test file ({', '.join(READERS)})")
    return files


def labels_of(task: Task, source: Source) -> tuple[str, ...]:
    """Return the labels of a task; those of the user's own data are collected from its training file.

    Integers are put in numeric order, other labels in code point order.
    """
    if task.labels:
        return task.labels
    rows = _rows(task, task.train_split, source)
    names = {_label_text(row.values.get(task.label_column)) for row in rows} - task.unlabelled
    if len(names) < 2:
        raise DataError(f"{task.name}: column '{task.label_column}' holds {sorted(names)}; two labels are needed")
    if all(name.removeprefix("-").isdecimal() for name in names):
        return tuple(sorted(names, key=lambda name: (int(name), name)))
    return tuple(sorted(names))


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
    rows = _rows(task, split, source)
    for number, row in enumerate(rows):
        label = _label_text(row.values.get(task.label_column))
        label = task.codes.get(label, label)
        label = same_label(label, task.labels) or label
        if label in task.unlabelled:
            unlabelled += 1
            continue
        if label not in index:
            raise _strange_label(task, rows, row, label)
        number_in_source = next((row.values[c] for c in task.id_columns if c in row.values), number)
        inputs = tuple(_field(task, row, columns) for columns in task.fields)
        groups = tuple(_field(task, row, (column,)) for column in task.group_columns)
        examples.append(Example(f"{task.name}/{split}/{number_in_source}", inputs, index[label], groups))
    if not examples:
        raise DataError(
            f"{task.name}: the {unlabelled:,} rows of '{split}' have no labels; "
            f"ask for another split ({', '.join(s for s in task.files if s != split)})"
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
        raise DataError(
            f"{task.name} has no split '{split}'; it has {', '.join(task.files)}"
            + (f" and {SELECTION}" if "train" in task.files else "")
        )
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


def _rows(task: Task, split: str, source: Source) -> list[Row]:
    """Read the rows of a split; only a published split may lack the column of the labels."""
    check_split(task, split, source)
    root = task.root or source.data_dir
    if root is None and task.hub is not None:
        return read_hub(task.hub.repository, task.hub.config, split, source.revision)
    rows = read_rows((root or Path()) / task.files[split])
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


def _no_column(task: Task, row: Row, columns: Sequence[str]) -> DataError:
    return DataError(
        f"{row.where}: no column '{' or '.join(columns)}' for {task.name}; the file has {', '.join(row.values)}"
    )


def _label_text(value: object) -> str:
    """Return a label as text; a missing one, of whatever kind, is empty."""
    if value is None or value != value:  # noqa: PLR0124  NaN is how pandas says missing
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def same_label(name: str, labels: Sequence[str]) -> str | None:
    """Return the one of some labels that a name stands for: the same, else the only one that differs in case alone."""
    if name in labels:
        return name
    alike = [label for label in labels if label.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def label_map_for(theirs: Sequence[str], ours: Sequence[str]) -> str:
    """Return the option that calls a model's labels by ours: whole where LABEL_3 can only be 3, else with gaps to fill in."""
    numbers = {name: name.rpartition("_")[2] for name in theirs if name.upper().startswith("LABEL_")}
    if sorted(numbers.values()) == sorted(ours):
        return f"label_map={','.join(f'{name}={number}' for name, number in numbers.items())}"
    return f"label_map={','.join(f'{name}=TASK_LABEL' for name in theirs[:2])}{',…' if len(theirs) > 2 else ''}"


def _strange_label(task: Task, rows: Sequence[Row], row: Row, label: str) -> DataError:
    """Return the error for a label that the task has not; a single file has its labels from the model."""
    names = ", ".join(task.labels[:20]) + (", …" if len(task.labels) > 20 else "")
    if task.name in TASKS or "train" in task.files:
        return DataError(
            f"{row.where}: label '{label}' is none of the {len(task.labels)} labels of {task.name} ({names})"
        )
    held = sorted({_label_text(one.values.get(task.label_column)) for one in rows} - task.unlabelled)
    shown = ", ".join(f"'{name}'" for name in held[:20]) + (", …" if len(held) > 20 else "")
    return DataError(
        f"{row.where}: label '{label}' is unknown: the model's labels are {names}, the file holds {shown}; if they mean the "
        f"same, give {label_map_for(task.labels, held)}"
    )


def slug(name: str) -> str:
    """Return a name as MLflow takes it for a model or an alias."""
    return "".join(character if character.isalnum() or character in "-_" else "-" for character in name)
