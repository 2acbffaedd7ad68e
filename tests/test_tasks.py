"""crt.tasks: published files, the hub and the user's own files give the same, complete, rightly labelled examples."""

import csv
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import datasets
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import PROPERTY

from crt.catalogue import TASKS
from crt.errors import DataError, UnknownName
from crt.randomness import base, uniforms
from crt.reading import READERS
from crt.records import Example
from crt.resources import resource_dir
from crt.tasks import Source, Split, find_task, labels_of, load_split, load_training, seen_in_training

SAMPLES = Source(data_dir=resource_dir() / "samples")
REAL = Source(data_dir=Path(__file__).parents[2] / "shared/data")
CODES = ["100", "101", "102", "103", "104", "106", "107", "108", "109", "110", "112", "113", "114", "115", "116"]
NLI = ["neutral", "entailment", "contradiction"]

needs_real_data = pytest.mark.skipif(not REAL.data_dir.is_dir(), reason="the published data are not at hand")


def json_lines(rows):
    """Return rows as JSON lines without a last newline, as CLUE publishes them."""
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def write(folder, files):
    """Write files below a folder and return the source that reads them."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode())
    return Source(data_dir=folder)


def write_own(path, rows):
    """Write rows in the format of the suffix: a user's own file."""
    columns = list(rows[0])
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([columns, *(row.values() for row in rows)])
    elif path.suffix == ".tsv":
        lines = [columns, *(map(str, row.values()) for row in rows)]
        path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
    elif path.suffix == ".parquet":
        pd.DataFrame(rows).to_parquet(path)
    else:
        path.write_text(json_lines(rows), encoding="utf-8")
    return path


def load(name, split="test", source=SAMPLES, **columns):
    """Return a split of a task whose labels are looked up first, as the studies do it."""
    task = find_task(str(name), **columns)
    return load_split(replace(task, labels=labels_of(task, source)), split, source)


def values(split):
    """Return input and label of each example."""
    return [(example.input, example.label) for example in split.examples]


# The catalogue


def faults(task):
    """Return what is wrong with a data set of the catalogue, each fault with the file to mend."""
    return [
        *(f"{task.name}: {fault}; edit crt/catalogue.py" for fault in faults_of_entry(task)),
        *(f"{task.name}: {fault}; edit resources/samples/{file}" for file, fault in faults_of_samples(task)),
    ]


def faults_of_entry(task):
    """Return what the entry itself gets wrong."""
    splits, labels = set(task.files), set(task.labels)
    holds = {
        f"eval_split is none of its splits ({', '.join(task.files)})": task.eval_split in splits,
        "eval_split is published without labels": task.eval_split not in task.without_labels,
        f"without_labels may name {', '.join(task.files)} only": splits.issuperset(task.without_labels),
        f"a file has none of the suffixes {', '.join(READERS)}": all(
            Path(f).suffix in READERS for f in task.files.values()
        ),
        "needs two labels or more": len(labels) > 1,
        "a label stands there twice": len(labels) == len(task.labels),
        "a label is one that stands for none": labels.isdisjoint(task.unlabelled),
        "a code leads to what is no label": labels.issuperset(task.codes.values()),
        "a code is another label": all(task.codes.get(label, label) == label for label in labels),
        "needs one or two fields, each with the names of its column": len(task.fields) in (1, 2) and all(task.fields),
        "needs a summary of one line": bool(task.summary) and "\n" not in task.summary,
        "needs a licence, be it 'none stated'": bool(task.licence),
        "needs a citation": bool(task.citation) or task.root == SAMPLES.data_dir,  # what is built in is ours
    }
    return [fault for fault, right in holds.items() if not right]


def faults_of_samples(task):
    """Yield file and fault of each split whose sample rows are missing, unreadable or poor."""
    for split, file in task.files.items():
        if not (SAMPLES.data_dir / file).is_file():
            yield file, f"'{split}' has no sample rows"
            continue
        try:
            found = {task.labels[example.label] for example in load_split(task, split, SAMPLES).examples}
        except DataError as error:
            if split not in task.without_labels or "have no labels" not in str(error):
                yield file, f"the sample rows of '{split}' cannot be read ({error})"
            continue
        if split in task.without_labels:
            yield file, f"the sample rows of '{split}' have labels, the split is published without"
        elif missing := [label for label in task.labels if label not in found]:
            yield file, f"'{split}' has no sample row for {', '.join(missing)}"


@pytest.mark.parametrize("name", TASKS)
def test_the_catalogue_is_sound(name):
    """Splits, labels and codes agree, licence and source are named, and sample rows of each split show every label."""
    assert not faults(TASKS[name]), "\n".join(faults(TASKS[name]))


@pytest.mark.parametrize(
    ("name", "changes", "fault"),
    [
        ("tnews", {"eval_split": "dev"}, "eval_split is none of its splits (train, validation, test)"),
        ("tnews", {"eval_split": "test"}, "eval_split is published without labels"),
        ("tnews", {"without_labels": ("test", "dev")}, "without_labels may name train, validation, test only"),
        ("tnews", {"without_labels": ()}, "the sample rows of 'test' cannot be read"),
        ("tnews", {"without_labels": ("test", "train")}, "the sample rows of 'train' have labels"),
        ("tnews", {"files": {"validation": "tnews/dev"}}, "a file has none of the suffixes .csv"),
        ("tnews", {"files": {"validation": "tnews/dev.xls"}}, "a file has none of the suffixes .csv"),
        ("tnews", {"files": {"validation": "tnews/more.json"}}, "'validation' has no sample rows"),
        ("tnews", {"labels": (*TASKS["tnews"].labels, "news_more")}, "'train' has no sample row for news_more"),
        ("tnews", {"labels": (*TASKS["tnews"].labels, "news_story")}, "a label stands there twice"),
        ("tnews", {"labels": (*TASKS["tnews"].labels, "-1")}, "a label is one that stands for none"),
        ("tnews", {"labels": ("news_story",)}, "needs two labels or more"),
        ("tnews", {"codes": {"117": "news_more"}}, "a code leads to what is no label"),
        ("tnews", {"codes": {"news_car": "news_edu"}}, "a code is another label"),
        ("tnews", {"codes": {}}, "is none of the 15 labels of tnews"),
        ("tnews", {"label_column": "topic"}, "the 75 rows of 'train' have no labels"),
        ("tnews", {"fields": (("title",),)}, "no column 'title' for tnews"),
        ("tnews", {"fields": ((),)}, "needs one or two fields"),
        ("hans", {"group_columns": ("genre",)}, "no column 'genre' for hans"),
        ("tnews", {"summary": ""}, "needs a summary"),
        ("tnews", {"licence": ""}, "needs a licence"),
        ("tnews", {"citation": ""}, "needs a citation"),
        ("sample", {"licence": ""}, "needs a licence"),
    ],
)
def test_nonsense_in_the_catalogue_is_seen(name, changes, fault):
    """Each kind of wrong entry is a fault, which ends in the file to mend."""
    found = faults(replace(TASKS[name], **changes))
    assert any(fault in each for each in found)
    assert all(re.search(r"; edit (crt/catalogue\.py|resources/samples/\S+)$", each) for each in found)


# The published formats


def test_chnsenticorp_files_are_read_without_quoting(tmp_path):
    """A text that starts with a quote swallows no line; columns are chosen by name, whatever their order."""
    source = write(
        tmp_path,
        {
            "chnsenticorp/train.tsv": 'label\ttext_a\n1\t"很好\n0\t差"\n1\t好\n',
            "chnsenticorp/dev.tsv": "\ufeffqid\tlabel\ttext_a\r\n0\t1\t好\u200b\r\n1\t0\t 差",
            "chnsenticorp/test.tsv": "qid\ttext_a\n0\t好\n1\t差\n",
        },
    )
    train, validation = (load("chnsenticorp", split, source) for split in ("train", "validation"))
    assert values(train) == [(('"很好',), 1), (('差"',), 0), (("好",), 1)]
    assert values(validation) == [(("好\u200b",), 1), ((" 差",), 0)]
    assert [example.id for example in validation.examples] == ["chnsenticorp/validation/0", "chnsenticorp/validation/1"]
    with pytest.raises(DataError, match=r"the 2 rows of 'test' have no labels; ask for another split \(train, valid"):
        load("chnsenticorp", "test", source)


def test_tnews_codes_become_labels(tmp_path):
    """Every code of labels.json is the label at its place, and the odd characters of the titles stay."""
    rows = [
        {"label": code, "label_desc": "?", "sentence": f"\u200b{code}\u2028\ufeff ", "keywords": ""} for code in CODES
    ]
    split = load("tnews", "validation", write(tmp_path, {"tnews/dev.json": json_lines(rows)}))
    assert values(split) == [((f"\u200b{code}\u2028\ufeff ",), index) for index, code in enumerate(CODES)]


def test_tnews_labels_are_in_the_published_order():
    """Code and name of each label are those of the published labels.json."""
    lines = (resource_dir() / "samples/tnews/labels.json").read_text(encoding="utf-8").splitlines()
    published = {row["label"]: row["label_desc"] for row in map(json.loads, lines)}
    assert list(published) == CODES
    assert tuple(published.values()) == TASKS["tnews"].labels
    assert all(TASKS["tnews"].codes[code] == label for code, label in published.items())


def test_ocnli_rows_without_a_majority_are_dropped_and_counted(tmp_path):
    """Label "-" is no class; ids are those of the data, so they outlive dropped rows."""
    rows = [
        {"sentence1": "他来了", "sentence2": f"假设{number}", "label": label, "genre": None, "id": number}
        for number, label in enumerate(["neutral", "-", "contradiction", "-", "entailment"])
    ]
    split = load("ocnli", "validation", write(tmp_path, {"ocnli/dev.json": json_lines(rows)}))
    assert [(example.id, example.input[1], example.label) for example in split.examples] == [
        ("ocnli/validation/0", "假设0", 0),
        ("ocnli/validation/2", "假设2", 2),
        ("ocnli/validation/4", "假设4", 1),
    ]
    assert split.unlabelled == 2


ROWS = {
    ("chnsenticorp", "train"): (48, 0),
    ("chnsenticorp", "validation"): (24, 0),
    ("chnsenticorp", "test"): (32, 0),
    ("tnews", "train"): (75, 0),
    ("tnews", "validation"): (45, 0),
    ("ocnli", "train"): (45, 0),
    ("ocnli", "validation"): (34, 2),
    ("hans", "train"): (18, 0),
    ("hans", "validation"): (30, 0),
    ("chinese_hans", "validation"): (25, 0),
    ("sample", "train"): (480, 0),
    ("sample", "validation"): (100, 0),
    ("sample", "test"): (220, 0),
}
"""Rows with a label and without one in each sample that has labels, counted in the files."""


def test_every_sample_is_counted():
    """ROWS has the sample of each split that is published with labels, and no other."""
    labelled = {
        (task.name, split) for task in TASKS.values() for split in task.files if split not in task.without_labels
    }
    differ = ", ".join(f"{name} {split}" for name, split in sorted(labelled ^ set(ROWS)))
    assert not differ, f"{differ}: count the rows and edit ROWS in tests/test_tasks.py"


@pytest.mark.parametrize(("name", "split"), ROWS)
def test_the_samples_are_read_whole(name, split):
    """Every row of a built-in sample is an example or counted; ids are distinct."""
    loaded = load(name, split)
    assert (len(loaded.examples), loaded.unlabelled) == ROWS[name, split], (
        "set the numbers of ROWS in tests/test_tasks.py"
    )
    assert len({example.id for example in loaded.examples}) == len(loaded.examples)
    assert all(len(example.input) == len(TASKS[name].fields) for example in loaded.examples)


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("hans", {"lexical_overlap", "subsequence", "constituent"}),
        ("chinese_hans", {"lexical_overlap", "subsequence-constituent"}),
    ],
)
def test_the_samples_of_probing_sets_hold_every_group(name, groups):
    """Each heuristic has sample rows of each label; CRLF, as the Chinese pairs have it, sticks to no value."""
    for split in TASKS[name].files:
        found = {(example.groups[0], example.label) for example in load(name, split).examples}
        assert found == {(group, label) for group in groups for label in range(len(TASKS[name].labels))}


@needs_real_data
@pytest.mark.parametrize(
    ("name", "split", "usable", "unlabelled", "counts"),
    [
        ("chnsenticorp", "train", 9600, 0, [4801, 4799]),
        ("chnsenticorp", "validation", 1200, 0, [607, 593]),
        ("chnsenticorp", "test", 1200, 0, [592, 608]),
        ("tnews", "train", 53360, 0, [1111, 4081, 4976, 3991, 5200, 2107, 4118, 3437, 5955, 3632, 3368, 4851, 257, 2886, 3390]),
        ("tnews", "validation", 10000, 0, [215, 736, 910, 767, 956, 378, 791, 646, 1089, 716, 693, 905, 45, 494, 659]),
        ("ocnli", "train", 50437, 49, [17182, 16779, 16476]),
        ("ocnli", "validation", 2950, 50, [1103, 947, 900]),
    ],
)  # fmt: skip
def test_the_published_data_are_read_whole(name, split, usable, unlabelled, counts):
    """The published files give every usable row and the class counts of their documentation."""
    loaded = load(name, split, REAL)
    labels = [example.label for example in loaded.examples]
    assert (len(labels), loaded.unlabelled) == (usable, unlabelled)
    assert [labels.count(label) for label in range(len(counts))] == counts


@needs_real_data
def test_the_published_leak_is_seen():
    """331 of the 1,200 test texts of ChnSentiCorp also stand in its training split."""
    seen = seen_in_training(TASKS["chnsenticorp"], REAL)
    assert sum(example.input in seen for example in load("chnsenticorp", "test", REAL).examples) == 331


@needs_real_data
@pytest.mark.parametrize("name", ["tnews", "ocnli"])
def test_a_published_test_split_has_no_labels(name):
    """The CLUE test files are refused with the splits to ask for instead."""
    with pytest.raises(DataError, match=r"have no labels; ask for another split \(train, validation\)"):
        load(name, "test", REAL)


# The hub


def hub_data(columns, **labels):
    """Return an in-memory hub data set; `labels` turns a column into a ClassLabel with these names."""
    data = datasets.Dataset.from_dict(columns)
    for column, names in labels.items():
        data = data.cast_column(column, datasets.ClassLabel(names=names))
    return data


@pytest.fixture
def hub(monkeypatch):
    """A hub that holds what the test puts into it, by (repository, config, split), and remembers the revisions."""
    store = {"revisions": []}

    def load_dataset(repository, config, *, split, revision):
        store["revisions"].append(revision)
        return store[repository, config, split]

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return store


def test_hub_and_file_give_the_same_chnsenticorp(hub, tmp_path):
    """Plain integer labels and the hub's column name give the examples of the published file, ids included."""
    hub["lansinuote/ChnSentiCorp", None, "test"] = hub_data({"text": ["好", '"差'], "label": [1, 0]})
    local = write(tmp_path, {"chnsenticorp/test.tsv": 'label\ttext_a\n1\t好\n0\t"差\n'})
    assert load("chnsenticorp", "test", Source()) == load("chnsenticorp", "test", local)


def test_hub_and_file_give_the_same_tnews(hub, tmp_path):
    """The hub's class codes, whose names are the published codes, give the examples of the published file."""
    titles = [f"标题{code}" for code in reversed(CODES)]
    hub["clue/clue", "tnews", "validation"] = hub_data(
        {"sentence": titles, "label": list(reversed(range(15))), "idx": list(range(15))}, label=CODES
    )
    rows = [{"label": code, "sentence": title} for code, title in zip(reversed(CODES), titles, strict=True)]
    local = write(tmp_path, {"tnews/dev.json": json_lines(rows)})
    assert load("tnews", "validation", Source()) == load("tnews", "validation", local)


def test_hub_and_file_give_the_same_ocnli(hub, tmp_path):
    """The hub leaves out rows without a majority and the file marks them: the examples and their ids are the same."""
    gold = ["contradiction", "-", "neutral", "-", "entailment"]
    rows = [{"sentence1": "前提", "sentence2": f"假设{i}", "label": label, "id": i} for i, label in enumerate(gold)]
    kept = [row for row in rows if row["label"] != "-"]
    hub["clue/clue", "ocnli", "validation"] = hub_data(
        {
            "sentence1": [row["sentence1"] for row in kept],
            "sentence2": [row["sentence2"] for row in kept],
            "label": [NLI.index(row["label"]) for row in kept],
            "idx": [row["id"] for row in kept],
        },
        label=NLI,
    )
    remote = load("ocnli", "validation", Source())
    local = load("ocnli", "validation", write(tmp_path, {"ocnli/dev.json": json_lines(rows)}))
    assert remote.examples == local.examples
    assert remote.digest() == local.digest()
    assert (remote.unlabelled, local.unlabelled) == (0, 2)


def test_class_names_win_over_class_codes(hub):
    """A hub data set whose classes stand in another order is mapped by name, never by number."""
    hub["clue/clue", "ocnli", "validation"] = hub_data(
        {"sentence1": ["甲", "乙"], "sentence2": ["丙", "丁"], "label": [0, 2], "idx": [0, 1]},
        label=["entailment", "neutral", "contradiction"],
    )
    assert [example.label for example in load("ocnli", "validation", Source()).examples] == [1, 2]


def test_unlabelled_hub_rows_are_refused(hub):
    """Label -1 of a hub test split is no label, so the whole split is refused."""
    hub["clue/clue", "tnews", "test"] = hub_data(
        {"sentence": ["甲", "乙"], "label": [-1, -1], "idx": [0, 1]}, label=CODES
    )
    with pytest.raises(DataError, match="the 2 rows of 'test' have no labels"):
        load("tnews", "test", Source())


def test_the_revision_is_handed_on(hub):
    """The hub is asked for the revision of the source."""
    hub["lansinuote/ChnSentiCorp", None, "test"] = hub_data({"text": ["好"], "label": [1]})
    load("chnsenticorp", "test", Source(revision="b0c4c11"))
    assert hub["revisions"] == ["b0c4c11"]


@pytest.mark.parametrize("error", [ConnectionError("no route\nto host"), FileNotFoundError("x"), ValueError("x" * 999)])
def test_an_unreachable_hub_is_answered_with_the_way_without_it(error, monkeypatch):
    """Whatever the hub's client raises becomes one short line that names the data set and data_dir."""

    def load_dataset(*_args, **_settings):
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(DataError) as caught:
        load("tnews", "validation", Source())
    message = str(caught.value)
    assert message.startswith(f"clue/clue (tnews): cannot be loaded from the hub ({type(error).__name__}: ")
    assert "data_dir=FOLDER" in message
    assert "\n" not in message
    assert len(message) < 500


# The user's own files

SUFFIXES = [".csv", ".tsv", ".jsonl", ".json", ".parquet"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_own_file_is_read_in_every_format(suffix, tmp_path):
    """A file of any known format is a data set named after it; its labels are collected and sorted."""
    rows = [
        {"text": text, "label": label} for text, label in [('"好,吃', "pos"), ("差", "neg"), (" 还行\u200b", "mid")]
    ]
    split = load(write_own(tmp_path / f"mine{suffix}", rows), "all")
    assert values(split) == [(('"好,吃',), 2), (("差",), 1), ((" 还行\u200b",), 0)]
    assert [example.id for example in split.examples] == ["mine/all/0", "mine/all/1", "mine/all/2"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_own_pairs_and_integer_labels(suffix, tmp_path):
    """Columns are chosen by name; integer labels are the same in every format and sorted as numbers."""
    rows = [{"标签": label, "后": f"b{label}", "前": f"a{label}"} for label in (10, 9, 2, 0)]
    path = write_own(tmp_path / f"mine{suffix}", rows)
    task = find_task(str(path), text="前", text_pair="后", label="标签")
    assert labels_of(task, Source()) == ("0", "2", "9", "10")
    split = load(path, "all", text="前", text_pair="后", label="标签")
    assert values(split) == [(("a10", "b10"), 3), (("a9", "b9"), 2), (("a2", "b2"), 1), (("a0", "b0"), 0)]


@pytest.mark.parametrize(
    ("suffix", "missing"),
    [(".csv", ""), (".tsv", ""), (".jsonl", None), (".jsonl", ""), (".parquet", None)],
)
@pytest.mark.parametrize("labels", [(0, 1), ("neg", "pos")], ids=["numbers", "words"])
def test_own_rows_without_a_label_are_dropped_and_counted(suffix, missing, labels, tmp_path):
    """An absent label makes no class of its own, nor decimals of the other labels; the rows keep their numbers."""
    cells = [labels[0], missing, labels[1]]
    split = load(write_own(tmp_path / f"mine{suffix}", [{"text": "好", "label": label} for label in cells]), "all")
    assert [(example.id, example.label) for example in split.examples] == [("mine/all/0", 0), ("mine/all/2", 1)]
    assert split.unlabelled == 1


def own(folder, labels, name="mine.csv"):
    """Write an own file with these labels and return its path."""
    return write_own(folder / name, [{"text": f"好{row}", "label": label} for row, label in enumerate(labels)])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_blanks_make_no_class(suffix, tmp_path):
    """Blanks of any width around a label, and a byte-order mark, are no part of it."""
    path = own(tmp_path, ["0", "1 ", "\u30000\u3000", "\ufeff1", "\u200b0\xa0"], f"mine{suffix}")
    assert labels_of(find_task(str(path)), Source()) == ("0", "1")
    assert [example.label for example in load(path, "all").examples] == [0, 1, 0, 1, 0]


def test_classes_are_told_with_their_counts(tmp_path, caplog):
    """Labels that are collected are shown with the number of their rows, the first twenty of them."""
    with caplog.at_level("INFO", "crt"):
        labels_of(find_task(str(own(tmp_path, ["1", "0 ", "1", "-", ""]))), Source())
        labels_of(find_task(str(own(tmp_path, list(range(30)), "many.csv"))), Source())
    many = ", ".join(f"{number} (1)" for number in range(20))
    assert caplog.messages == ["mine: 2 classes: 0 (1), 1 (2)", f"many: 30 classes: {many}, …"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_dash_is_no_label_of_own_data(suffix, tmp_path, caplog):
    """Label "-" marks rows without a majority, as in the published pairs; how many they are is told."""
    path = own(tmp_path, ["neutral", "-", "entailment", " - "], f"mine{suffix}")
    with caplog.at_level("INFO", "crt"):
        split = load(path, "all")
    assert ([example.label for example in split.examples], split.unlabelled) == ([1, 0], 2)
    assert "mine: 2 rows of 'all' have no label and are left out" in caplog.messages


def test_a_dash_is_a_label_beside_a_plus(tmp_path):
    """Plus and minus are a pair; and what a model calls a label is one."""
    path = own(tmp_path, ["+", "-", "+"])
    assert values(load(path, "all")) == [(("好0",), 0), (("好1",), 1), (("好2",), 0)]
    task = replace(find_task(str(own(tmp_path, ["a", "-"]))), labels=("-", "a"))
    assert [example.label for example in load_split(task, "all", Source()).examples] == [1, 0]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("labels", [(0, -1, 1), (-1, 14, 3, -1)])
def test_minus_one_is_asked_about(suffix, labels, tmp_path):
    """Beside labels from 0 on, -1 may be a class or the mark of no label: it is neither dropped nor made a class."""
    path = own(tmp_path, labels, f"mine{suffix}")
    rest = ", ".join(str(label) for label in sorted(set(labels)) if label >= 0)
    with pytest.raises(DataError) as caught:
        load(path, "all")
    place = f", {'row' if suffix == '.parquet' else 'line'} "
    assert str(caught.value).startswith(f"{path}{place}")
    count = "2 rows" if labels.count(-1) == 2 else "1 row"
    assert f"label '-1' ({count}) beside {rest} may be a class" in str(caught.value)
    assert "write its name in place of -1, else leave the label empty or remove the rows" in str(caught.value)


@pytest.mark.parametrize("labels", [("-1", "1"), ("-1", "-2", "0"), ("-1", "a", "b")])
def test_minus_one_may_be_a_class(labels, tmp_path):
    """Where only two labels are left, or they are no numbers from 0 on, -1 is a label like others."""
    assert "-1" in labels_of(find_task(str(own(tmp_path, labels))), Source())


def test_minus_one_of_no_class_is_answered_with_what_to_do(tmp_path):
    """In a file for evaluation it is none of the labels, and the message says how a row without a label is marked."""
    task = replace(find_task(str(own(tmp_path, ["0", "-1"]))), labels=("0", "1"))
    with pytest.raises(DataError, match=r"line 3: label '-1' is none of the 2 labels of mine \(0, 1\); leave it empty"):
        load_split(task, "all", Source())


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["Positive", "negative", "positive", "positive"],
         "line 4: label 'positive' (2 rows) is 'Positive' (1 row, first in {path}, line 2) in another spelling"),
        (["1", "0", "1.0"], "line 4: label '1.0' (1 row) is '1' (1 row, first in {path}, line 2) in another spelling"),
        (["１", "0", "1"], "line 2: label '１' (1 row) is '1' (1 row, first in {path}, line 4) in another spelling"),
        (["so so", "so  so"], "line 2: label 'so so' (1 row) is 'so  so' (1 row, first in {path}, line 3) in another"),
    ],
)  # fmt: skip
def test_two_spellings_of_a_label_are_asked_about(labels, message, tmp_path):
    """Labels that differ in case, width, inner blanks or decimals are named, with how often each stands there."""
    path = own(tmp_path, labels)
    with pytest.raises(DataError) as caught:
        labels_of(find_task(str(path)), Source())
    assert message.format(path=path) in str(caught.value)
    assert "write both in one way, or rename one of them" in str(caught.value)


def test_another_spelling_of_a_known_label_is_read_and_told(tmp_path, caplog):
    """Where the labels are known, from training or from a model, one that differs in its spelling alone is that label."""
    write(tmp_path, {"train.csv": "label,text\nPositive,一\nnegative,二\n", "test.csv": "label,text\npositive,三\n"})
    with caplog.at_level("INFO", "crt"):
        assert values(load(tmp_path, "test")) == [(("三",), 0)]
    assert f"{tmp_path.name}: label 'positive' of 'test' is read as 'Positive'" in caplog.messages
    task = replace(find_task(str(own(tmp_path, ["ENTAILMENT", "Neutral"]))), labels=tuple(NLI))
    assert [example.label for example in load_split(task, "all", Source()).examples] == [1, 0]
    task = replace(find_task(str(own(tmp_path, ["A", "a", "Ａ"]))), labels=("a", "A"))
    with pytest.raises(DataError, match=r"line 4: label 'Ａ' is none of the 2 labels of mine \(a, A\)$"):
        load_split(task, "all", Source())


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_list_is_no_label(suffix, tmp_path):
    """A label that is a list of labels is refused where it stands."""
    with pytest.raises(DataError, match=r"column 'label' holds .*0.*, which is no label"):
        load(own(tmp_path, [[0], [1]], f"mine{suffix}"), "all")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["b", "a"], ("a", "b")),
        (["1", "0"], ("0", "1")),
        (["10", "9", "-2"], ("-2", "9", "10")),
        (["10", "9", "x"], ("10", "9", "x")),
        (["好", "差", "Z", "a"], ("Z", "a", "好", "差")),
        (["--2", "3"], ("--2", "3")),
        (["00001", "1", "01", "0001", "001", "000001"], ("000001", "00001", "0001", "001", "01", "1")),
    ],
)
def test_own_labels_have_one_order(found, expected, tmp_path):
    """Integers are in numeric order, other labels in code point order, and nothing hangs on the order of the rows."""
    for labels in (found, found[::-1]):
        path = write_own(tmp_path / "mine.tsv", [{"label": label, "text": "好"} for label in labels])
        assert labels_of(find_task(str(path)), Source()) == expected


@pytest.mark.parametrize("name", TASKS)
def test_known_labels_are_not_collected(name):
    """A known task has its labels, in their order, without any file."""
    assert labels_of(TASKS[name], Source(data_dir=Path("/nowhere"))) == TASKS[name].labels


FOLDER = {
    "train.csv": "label,text\nb,一\na,二\nc,三\n",
    "dev.tsv": "label\ttext\na\t四\n",
    "test.jsonl": '{"label": "c", "text": "五"}',
    "notes.txt": "",
}


@pytest.mark.parametrize(
    ("files", "splits", "eval_split", "selects"),
    [
        (["train.csv"], ["train"], "test", False),
        (["test.jsonl"], ["test"], "test", False),
        (["train.csv", "dev.tsv"], ["train", "validation"], "validation", False),
        (["train.csv", "test.jsonl"], ["train", "test"], "test", False),
        (["train.csv", "dev.tsv", "test.jsonl", "notes.txt"], ["train", "validation", "test"], "test", True),
    ],
)
def test_a_folder_has_the_splits_of_its_files(files, splits, eval_split, selects, tmp_path):
    """Files named train, dev or validation, and test are the splits; the last of them is reported."""
    write(tmp_path, {name: FOLDER[name] for name in files})
    task = find_task(str(tmp_path))
    assert list(task.files) == splits
    assert (task.eval_split, task.selects_on_validation, task.train_split) == (eval_split, selects, splits[0])


def test_a_folder_is_read_by_the_labels_of_its_training_file(tmp_path):
    """Labels come from train, and the index of a label is the same in every split, whatever its format."""
    write(tmp_path, FOLDER)
    found = {split: values(load(tmp_path, split)) for split in ("train", "validation", "test")}
    assert found["train"] == [(("一",), 1), (("二",), 0), (("三",), 2)]
    assert found["validation"] == [(("四",), 0)]
    assert found["test"] == [(("五",), 2)]


def test_validation_and_dev_are_one_split(tmp_path):
    """A folder may call the split by either name; two files for one split are refused."""
    write(tmp_path, {"train.csv": FOLDER["train.csv"], "dev.csv": "label,text\na,一\n"})
    assert find_task(str(tmp_path)).files["validation"] == "dev.csv"
    write(tmp_path, {"validation.csv": "label,text\na,一\n"})
    with pytest.raises(DataError, match=r"validation\.csv and dev\.csv are both the 'validation' split"):
        find_task(str(tmp_path))


def test_one_file_is_for_evaluation(tmp_path):
    """Training on a single file would report on the rows it was trained on: a folder is asked for."""
    path = write_own(tmp_path / "mine.csv", [{"text": "好", "label": "a"}, {"text": "差", "label": "b"}])
    task = find_task(str(path))
    with pytest.raises(DataError, match=r"mine has no training file; give a folder that holds train\.csv"):
        load_training(replace(task, labels=labels_of(task, Source())), Source())


def test_a_label_called_none_is_a_label(tmp_path):
    """Only an absent value is no label: "None" and "nan" are names like others, as in stance data."""
    rows = [{"text": "好", "label": label} for label in ("Favor", "None", "nan")]
    split = load(write_own(tmp_path / "mine.csv", rows), "all")
    assert ([example.label for example in split.examples], split.unlabelled) == ([0, 1, 2], 0)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("own/test.csv", "own-test"),
        ("own/Dev.tsv", "own-Dev"),
        ("own/data.csv.gz", "own-data"),
        ("own/reviews.csv", "reviews"),
        ("own/reviews.jsonl.gz", "reviews"),
        ("own/test.reviews.csv", "test.reviews"),
        ("own/tests.csv", "tests"),
    ],
)
def test_a_file_gives_its_name(path, name, tmp_path):
    """A name that any data could have stands behind that of its folder; other names stay as they are."""
    write(tmp_path, {path: "label,text\n1,好\n"})
    assert find_task(str(tmp_path / path)).name == name


@pytest.mark.parametrize(
    ("path", "name"), [("hotel", "hotel"), ("hotel/data", "hotel-data"), ("hotel/test", "hotel-test")]
)
def test_a_folder_gives_its_name(path, name, tmp_path, monkeypatch):
    """The same holds for a folder, also where it is the working folder."""
    write(tmp_path, {f"{path}/test.csv": "label,text\n1,好\n"})
    assert find_task(str(tmp_path / path)).name == name
    monkeypatch.chdir(tmp_path / path)
    assert find_task(".").name == name


def test_own_data_may_be_given_a_name(tmp_path):
    """A given name is that of the task and of the ids; it is free of those of known data sets, and is for own data only."""
    path = own(tmp_path, ["0", "1"], "test.csv")
    split = load_split(replace(find_task(str(path), name="hotel"), labels=("0", "1")), "all", Source())
    assert [example.id for example in split.examples] == ["hotel/all/0", "hotel/all/1"]
    assert find_task("chsenticorp", name="chnsenticorp") is TASKS["chnsenticorp"]
    with pytest.raises(DataError, match="name=hotel is for your own data; tnews keeps its name"):
        find_task("tnews", name="hotel")
    for name in ("a/b", " "):
        with pytest.raises(DataError, match=f"name='{name}' can be no name of a data set"):
            find_task(str(path), name=name)
    with pytest.raises(DataError, match="'tnews' is the name of a known data set; give your own data another one with"):
        find_task(str(path), name="tnews")


def test_packed_splits_and_workbooks_are_found(tmp_path):
    """A folder may hold its splits in any format; the same split in two is refused."""
    write(tmp_path, {"test.csv": "label,text\na,四\n"})
    (tmp_path / "train.csv.gz").write_bytes(gzip.compress(FOLDER["train.csv"].encode("gb18030")))
    pd.DataFrame({"label": ["b"], "text": ["五"]}).to_excel(tmp_path / "dev.xlsx", index=False)
    splits = {split: values(load(tmp_path, split)) for split in ("train", "validation", "test")}
    assert splits == {
        "train": [(("一",), 1), (("二",), 0), (("三",), 2)],
        "validation": [(("五",), 1)],
        "test": [(("四",), 0)],
    }
    write(tmp_path, {"train.csv": FOLDER["train.csv"]})
    with pytest.raises(DataError, match=r"train\.csv and train\.csv\.gz are both the 'train' split"):
        find_task(str(tmp_path))


# Faults


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": "label"}, "text_column and label_column both name 'label'"),
        ({"text_pair": "label"}, "text_pair_column and label_column both name 'label'"),
        ({"text_pair": "text"}, "text_column and text_pair_column both name 'text'"),
        ({"label": "text"}, "text_column and label_column both name 'text'"),
    ],
)
def test_a_column_is_one_thing(columns, message, tmp_path):
    """The label is never part of the input, and a text is no pair with itself."""
    path = own(tmp_path, ["0", "1"])
    with pytest.raises(DataError, match=f"mine.csv: {message}; name the column of each"):
        find_task(str(path), **columns)


@pytest.mark.parametrize(
    ("name", "columns", "content", "message"),
    [
        ("mine.csv", {}, "label,text\n1,好\n", "column 'label' holds ['1']; two labels are needed"),
        ("mine.csv", {}, "label,text\n,好\n", "column 'label' holds []; two labels are needed"),
        ("mine.csv", {}, "标签,text\n1,好\n", "mine.csv, line 2: no column 'label' for mine. The file has 标签, text; name the right one with label_column="),
        ("mine.csv", {"label": "y"}, "label,text\n1,好\n", "mine.csv, line 2: no column 'y' for mine. The file has label, text; name the right one with label_column="),
        ("mine.csv", {"text": "x"}, "label,text\n1,好\n0,差\n", "mine.csv, line 2: no column 'x' for mine. The file has label, text; name the right one with text_column="),
        ("mine.csv", {"text": "Text"}, "label,text\n1,好\n0,差\n", "mine.csv, line 2: no column 'Text' for mine; did you mean 'text'? The file has label, text; name the right one with text_column="),
        ("mine.csv", {"text_pair": "z"}, "label,text\n1,好\n0,差\n", "mine.csv, line 2: no column 'z' for mine. The file has label, text; name the right one with text_pair_column="),
        ("mine.csv", {}, "label,text\n1,好\n0,差,坏\n", "mine.csv, line 3: 3 columns, the header has 2 (label, text)"),
        ("mine.jsonl", {}, '{"label": 1, "text": "好"}\n{"label": 0}', "mine.jsonl, line 2: no column 'text' for mine. The file has label; name the right one with text_column="),
        ("mine.jsonl", {}, '{"label": 1, "text": "好"}\n{"label": 0, "text": 5}', "mine.jsonl, line 2: column 'text' holds 5, which is no text"),
        ("mine.jsonl", {}, '{"label": 1, "text": "好"}\n{"label": 0, "text": null}', "mine.jsonl, line 2: column 'text' holds None, which is no text"),
    ],
)  # fmt: skip
def test_a_bad_own_file_is_refused(name, columns, content, message, tmp_path):
    """The message names the file, the line and the column, and what the file has instead."""
    write(tmp_path, {name: content})
    with pytest.raises(DataError) as caught:
        load(tmp_path / name, "all", **columns)
    assert message in str(caught.value)


def test_an_unknown_label_is_shown_with_file_line_and_value(tmp_path):
    """A label of no class stops the run: it is never dropped or made into a class."""
    source = write(
        tmp_path,
        {"tnews/dev.json": json_lines([{"label": "100", "sentence": "甲"}, {"label": "999", "sentence": "乙"}])},
    )
    with pytest.raises(DataError) as caught:
        load("tnews", "validation", source)
    assert str(caught.value).startswith(
        f"{tmp_path}/tnews/dev.json, line 2: label '999' is none of the 15 labels of tnews (news_story, "
    )


def test_a_label_that_training_never_saw_is_refused(tmp_path):
    """A test label without a training row is shown with its line and the labels there are."""
    write(tmp_path, FOLDER | {"test.jsonl": '{"label": "c", "text": "五"}\n{"label": "d", "text": "六"}'})
    with pytest.raises(DataError, match=r"test\.jsonl, line 2: label 'd' is none of the 3 labels .* \(a, b, c\)"):
        load(tmp_path, "test")


def test_a_repeated_id_is_refused(tmp_path):
    """Two rows of one number would be one example: the column is named."""
    rows = [{"sentence1": "甲", "sentence2": "乙", "label": "neutral", "id": 7}] * 2
    with pytest.raises(DataError, match="ocnli, split 'validation': column id or idx repeats '7'"):
        load("ocnli", "validation", write(tmp_path, {"ocnli/dev.json": json_lines(rows)}))


@pytest.mark.parametrize(
    ("name", "split", "message"),
    [
        (
            "chnsenticorp",
            "dev",
            r"chnsenticorp has no split 'dev'; did you mean 'validation'\? It has train, validation, test, selection",
        ),
        ("chnsenticorp", "Valid", r"no split 'Valid'; did you mean 'validation'\?"),
        ("chnsenticorp", "tset", r"no split 'tset'; did you mean 'test'\?"),
        ("tnews", "training", r"no split 'training'; did you mean 'train'\?"),
        ("chinese_hans", "test", r"no split 'test'\. It has validation$"),
        ("tnews", "train", r"tnews/train\.json: no such file; data_dir must be the folder that holds chnsenticorp/"),
    ],
)
def test_a_missing_split_is_refused(name, split, message, tmp_path):
    """A split that does not exist, or whose file is missing, is answered with what would be right."""
    with pytest.raises(DataError, match=message):
        load(name, split, Source(data_dir=tmp_path))


def test_a_folder_without_a_split_is_refused(tmp_path):
    """An empty folder is answered with the names that are looked for."""
    with pytest.raises(
        DataError, match=r"holds no train, validation \(or dev\) or test file \(\.csv, .*; it holds nothing$"
    ):
        find_task(str(tmp_path))
    write(tmp_path, {"Train.csv": "", "reviews.csv": ""})
    with pytest.raises(DataError, match=r"; it holds Train\.csv, reviews\.csv$"):
        find_task(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tnew", "did you mean 'tnews'?"),
        ("no/such.csv", "or the path of your own file or folder"),
        ("x" * 300, "or the path of your"),
        ("reviwes.csv", "reviwes.csv: no such file or folder; did you mean reviews.csv?"),
        ("reviwes", "reviwes: no such file or folder; did you mean reviews?"),
        ("own/tset.csv", "own/tset.csv: no such file or folder; did you mean own/test.csv?"),
        ("own/ocnli.csv", "or the path of your own file or folder"),
        ("ocnil", "did you mean 'ocnli'?"),
    ],
)
def test_an_unknown_name_is_refused(name, hint, tmp_path, monkeypatch):
    """Neither a known name nor a path: the nearest name or path, and the other way, are shown."""
    write(tmp_path, {"reviews.csv": "", "reviews/train.csv": "", "own/test.csv": "", "ocnil.d/train.csv": ""})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownName) as caught:
        find_task(name)
    assert hint in str(caught.value)


def test_the_spelling_of_the_reference_protocol_is_known():
    """`chsenticorp` is the name that the reference protocol uses."""
    assert find_task("chsenticorp") is TASKS["chnsenticorp"]


# Subsets and selection


def split_of(rows):
    """Return a split with these numbers as texts; its ids are those of a file that holds them in this order."""
    return Split("task", "test", tuple(Example(f"task/test/{k}", (f"{row}",), 0) for k, row in enumerate(rows)), 0)


@PROPERTY
@given(st.integers(0, 40).flatmap(lambda count: st.permutations(range(count))), st.data())
def test_limits_are_nested_and_know_no_order(rows, data):
    """A smaller limit chooses a subset, in file order, and the order of the rows does not choose."""
    few, more = sorted((data.draw(st.integers(0, 50)), data.draw(st.integers(0, 50))))
    split = split_of(rows)
    small, large = split.limited(few), split.limited(more)
    assert len(small.examples) == min(few, len(rows))
    assert set(small.examples) <= set(large.examples) <= set(split.examples)
    assert list(small.examples) == [example for example in split.examples if example in small.examples]
    assert set(values(split_of(sorted(rows)).limited(few))) == set(values(small))
    assert split.limited(None) == split


def test_limits_are_frozen():
    """The examples of a limit are those with the smallest draws of ("subset", key of the input), in every version."""
    draws = {row: uniforms(base("subset", base(f"{row}")), 0) for row in range(100)}
    chosen = sorted(sorted(draws, key=draws.get)[:5])
    assert chosen == [33, 35, 42, 47, 49]
    assert values(split_of(range(100)).limited(5)) == values(split_of(chosen))


def test_repeated_inputs_are_limited_in_their_order():
    """Equal inputs have equal draws: where not all of them fit, the first ones are taken."""
    split = split_of("甲乙甲乙甲")
    assert [example.id[-1] for example in split.limited(4).examples] in (["0", "1", "2", "3"], ["0", "1", "2", "4"])
    taken = split.limited(1).examples[0]
    assert taken.id == f"task/test/{'甲乙'.index(taken.input[0])}"


def test_digests_tell_splits_apart():
    """The digest changes with an id, a text, a label or the order, and with nothing else."""
    one, two = split_of([1, 2]), split_of([2, 1])
    assert one.digest() == replace(one, unlabelled=7).digest()
    others = [
        two,
        one.where(lambda example: example.id.endswith("1")),
        replace(one, examples=tuple(replace(example, label=1) for example in one.examples)),
        replace(one, examples=tuple(replace(example, input=("\ud800",)) for example in one.examples)),
    ]
    assert len({split.digest() for split in (one, *others)}) == 5


def ocnli(count):
    """Return the text of a training file in which three hypotheses share each premise."""
    return json_lines(
        {"sentence1": f"前提{row // 3}", "sentence2": f"假设{row}", "label": NLI[row % 3], "id": row}
        for row in range(count)
    )


def premises(split):
    """Return the distinct premises of a split."""
    return {example.input[0] for example in split.examples}


@pytest.mark.parametrize(("rows", "held"), [(6, 1), (30, 1), (90, 2), (3000, 50)])
def test_selection_is_held_out_by_premise(rows, held, tmp_path):
    """Where validation is reported, a twentieth of the premises of train, at least one, is set aside with all its rows."""
    train, selection = load_training(TASKS["ocnli"], write(tmp_path, {"ocnli/train.50k.json": ocnli(rows)}))
    assert premises(train).isdisjoint(premises(selection))
    assert len(premises(selection)) == held
    assert len(selection.examples) == 3 * held
    assert len(train.examples) == rows - 3 * held
    assert (train.name, selection.name) == ("train", "held out of train")


def test_selection_is_stable(tmp_path):
    """Another order of the rows sets the same premises aside; more rows change only how many of the old ones."""

    def held(name, rows):
        source = write(tmp_path / name, {"ocnli/train.50k.json": rows})
        return premises(load_training(TASKS["ocnli"], source)[1])

    few, more = held("few", ocnli(1500)), held("more", ocnli(3000))
    assert held("turned", "\n".join(reversed(ocnli(1500).split("\n")))) == few
    old = more & {f"前提{number}" for number in range(500)}
    assert old <= few or few <= old


def test_equal_texts_are_never_on_both_sides(tmp_path):
    """Repeated titles of TNEWS stay together."""
    rows = [{"label": CODES[row % 15], "sentence": f"标题{row % 400}"} for row in range(1600)]
    train, selection = load_training(TASKS["tnews"], write(tmp_path, {"tnews/train.json": json_lines(rows)}))
    assert {e.input for e in train.examples}.isdisjoint(e.input for e in selection.examples)
    assert len(selection.examples) % 4 == 0


def test_a_free_validation_split_selects():
    """Where test is reported, validation chooses the best epoch and train stays whole."""
    train, selection = load_training(TASKS["chnsenticorp"], SAMPLES)
    assert (train, selection) == (load("chnsenticorp", "train"), load("chnsenticorp", "validation"))


def test_a_single_premise_cannot_select(tmp_path):
    """Rows that share one premise are refused: nothing could be set aside."""
    source = write(tmp_path, {"ocnli/train.50k.json": ocnli(3)})
    with pytest.raises(DataError, match="ocnli: the training rows share one text"):
        load_training(TASKS["ocnli"], source)


def test_what_training_saw(tmp_path):
    """The inputs of train, unlabelled ones included; nothing is known where there is no such split."""
    rows = [
        {"sentence1": "甲", "sentence2": "乙", "label": label, "id": row} for row, label in enumerate(["neutral", "-"])
    ]
    source = write(tmp_path, {"ocnli/train.50k.json": json_lines(rows)})
    assert seen_in_training(TASKS["ocnli"], source) == {("甲", "乙")}
    path = write_own(tmp_path / "mine.csv", [{"label": "1", "text": "好"}])
    assert seen_in_training(find_task(str(path)), Source()) is None
