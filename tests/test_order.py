"""The text decides: what becomes of an input hangs neither on its row nor on its file."""

import csv
import json
import random
from dataclasses import replace

import pandas as pd
import pytest
from strategies import loaded

from crt.models.augmentation import Augmenter
from crt.perturbations import PERTURBATIONS
from crt.perturbations.engine import find_sites, perturb_all, perturb_to_degree
from crt.tasks import Source, find_task, labels_of, load_split

TEXTS = (
    "房间很干净，服务也很好，早餐丰富。",
    "这个电影很无聊，我看了一半就走了。",
    "网络安全的未来在于发展，不在于限制。",
    "房间很干净，服务也很好，早餐丰富。",
    "前台态度一般，但是价格便宜。",
    "朋友们都很喜欢这家饭店的牛肉。",
)
ROWS = [
    {"text": text, "other": TEXTS[-1 - row], "label": ("差", "好")[row % 2], "note": f"第{row}行"}
    for row, text in enumerate(TEXTS)
]


def as_csv(path, rows):
    """Write rows as CSV, with the columns in the order of the first one."""
    with path.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([list(rows[0]), *(list(row.values()) for row in rows)])
    return path.with_suffix(".csv")


def as_json(path, rows):
    """Write rows as one array with the columns turned around."""
    turned = [dict(reversed(row.items())) for row in rows]
    path.with_suffix(".json").write_text(json.dumps(turned, ensure_ascii=False), encoding="utf-8")
    return path.with_suffix(".json")


def as_parquet(path, rows):
    """Write rows as Parquet."""
    pd.DataFrame(rows).to_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def as_test_file(path, rows):
    """Write rows as the test file of a folder that has a training file too."""
    folder = path.with_name(f"{path.name}-data")
    folder.mkdir()
    as_csv(folder / "train", ROWS)
    return as_csv(folder / "test", rows).parent


OTHERS = {
    "reversed": (as_csv, ROWS[::-1]),
    "shuffled": (as_csv, random.Random(5).sample(ROWS, len(ROWS))),
    "cut": (as_csv, ROWS[2:5]),
    "array of objects": (as_json, ROWS),
    "Parquet": (as_parquet, ROWS[::-1]),
    "folder with splits": (as_test_file, ROWS),
    "without a column that is not read": (as_csv, [{k: v for k, v in row.items() if k != "note"} for row in ROWS]),
}


def examples(path, *, pair):
    """Read the only, or the test, split of a user's own data."""
    task = find_task(str(path), text_pair="other" if pair else None)
    task = replace(task, labels=labels_of(task, Source()))
    return load_split(task, task.eval_split, Source())


def perturbed(rows, name):
    """Return what each input becomes, at a prob and to a degree; equal inputs must become the same."""
    sites = find_sites(rows, loaded(name).find)
    texts = {}
    for result in (
        perturb_all(sites, name=name, prob=0.5, seed=13),
        perturb_to_degree(sites, name=name, degree=0.2, seed=13, sample=3),
    ):
        for row, after in zip(rows, result.inputs, strict=True):
            texts.setdefault(row.input, {}).setdefault(id(result), set()).add(after)
    assert all(len(after) == 1 for found in texts.values() for after in found.values())
    return {value: [after for (after,) in found.values()] for value, found in texts.items()}


@pytest.mark.parametrize("pair", [False, True], ids=["texts", "pairs"])
@pytest.mark.parametrize("other", OTHERS)
def test_equal_texts_get_equal_edits_in_every_file(other, pair, tmp_path):
    """A text becomes the same in a file that is reversed, shuffled, cut or laid out otherwise, under every perturbation."""
    write, rows = OTHERS[other]
    first = examples(as_csv(tmp_path / "first", ROWS), pair=pair).examples
    second = examples(write(tmp_path / "second", rows), pair=pair).examples
    assert {row.id for row in first}.isdisjoint(row.id for row in second)
    for name in PERTURBATIONS:
        before, after = perturbed(first, name), perturbed(second, name)
        assert after == {value: texts for value, texts in before.items() if value in after}


@pytest.mark.parametrize("other", [name for name in OTHERS if name != "cut"])
def test_a_limit_takes_the_same_texts_from_every_file(other, tmp_path):
    """`max_samples` draws by the text: which are taken does not hang on the file."""
    write, rows = OTHERS[other]
    first, second = (
        examples(write(tmp_path / name, rows), pair=False)
        for name, write, rows in (("first", as_csv, ROWS), ("second", write, rows))
    )
    for count in range(1, len(ROWS)):
        one, two = (sorted(row.input for row in split.limited(count).examples) for split in (first, second))
        assert one == two


def test_augmentation_knows_no_order(tmp_path):
    """In each epoch a training text becomes the same, wherever it stands."""
    rows = examples(as_csv(tmp_path / "first", ROWS), pair=False).examples
    one, two = (Augmenter(part, ("space", "shape"), prob=0.5, share=0.5, seed=1) for part in (rows, rows[::-1]))
    assert one.inputs(3) == two.inputs(3)[::-1]
    assert one.inputs(3) != [row.input for row in rows]
