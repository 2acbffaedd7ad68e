"""The example browser of a page: which pairs it holds, and how a pair becomes kept and edited stretches."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from crt.reporting.page.markup import Html, name_of, note, tag, visible

BYTES = 3_000_000
"""Size of the examples of a page; more are left out, evenly among the cells."""
STRETCH = 240
"""Characters of a stretch without edits that are shown; of a longer one the middle is left out."""
FILTERS = {"model": "Model", "dataset": "Data set", "perturbation": "Perturbation", "prob": "Prob"}
"""What can be chosen, and its label."""

Stretch = str | list[str]
"""Text that was kept, or what stood there before and after an edit."""


def stretches(original: str, edits: Sequence[Sequence[Any]]) -> list[Stretch]:
    """Return a field as kept texts and [old, new] pairs, in which no character is invisible.

    Args:
        original: the field before the edits.
        edits: start, end, old and new of each, by position; in code points, as Python counts them.
    """
    parts: list[Stretch] = []
    at = 0
    for start, end, old, new in edits:
        if start > at:
            parts.append(_shortened(visible(original[at:start])))
        parts.append([_named(old), _named(new)])
        at = end
    if at < len(original):
        parts.append(_shortened(visible(original[at:])))
    return parts


def _shortened(text: str) -> str:
    half = STRETCH // 2
    return text if len(text) <= STRETCH else f"{text[:half]} … {text[-half:]}"


def _named(text: str) -> str:
    return "".join(char if char.isprintable() else name_of(char) for char in text)


def island(examples: Sequence[Mapping[str, Any]]) -> tuple[str, int]:
    """Return examples as JSON that may stand in an element `script`, and how many are in it.

    They come in turns: the first of each cell, then the second of each, until `BYTES` are full.
    """
    seen: Counter[tuple[object, ...]] = Counter()
    turns = []
    for number, example in enumerate(examples):
        cell = (*(example[key] for key in FILTERS), example["seed"])
        turns.append((seen[cell], number))
        seen[cell] += 1
    values = {key: list(dict.fromkeys(str(example[key]) for example in examples)) for key in FILTERS}
    places = {key: {name: place for place, name in enumerate(names)} for key, names in values.items()}
    kept: list[str] = []
    size = 0
    for _, number in sorted(turns):
        text = json.dumps(_record(examples[number], places), ensure_ascii=False, separators=(",", ":"))
        more = len(text.encode()) + 1
        if size + more > BYTES:
            continue  # a smaller one may still have room
        size += more
        kept.append(text)
    head = json.dumps({key: list(map(visible, names)) for key, names in values.items()}, ensure_ascii=False)
    data = f'{{"values":{head},"rows":[{",".join(kept)}]}}'
    return data.replace("<", "\\u003c"), len(kept)


def _record(example: Mapping[str, Any], places: Mapping[str, Mapping[str, int]]) -> dict[str, object]:
    fields = [
        stretches(text, [edit[1:] for edit in example["edits"] if edit[0] == index])
        for index, text in enumerate(example["original"])
    ]
    return {
        "at": [places[key][str(example[key])] for key in FILTERS],
        "seed": example["seed"],
        "id": visible(str(example["id"])),
        "gold": visible(str(example["gold"])),
        "clean": [visible(str(example["clean_label"])), example["clean_prob"]],
        "perturbed": [visible(str(example["perturbed_label"])), example["perturbed_prob"]],
        "flipped": example["flipped"],
        "fields": fields,
    }


def browser(examples: Sequence[Mapping[str, Any]]) -> Html:
    """Return the example browser: its controls, the place of the examples, and their data for `page.js`."""
    if not examples:
        return note("There are no stored examples for these cells.")
    data, held = island(examples)
    controls = [
        tag("label", tag("span", label), tag("select", tag("option", "all", value=""), name=key))
        for key, label in FILTERS.items()
    ]
    search = tag("label", tag("span", "Text"), Html('<input type="search" name="text" autocomplete="off">'))
    flipped = tag("label", Html('<input type="checkbox" name="flipped">'), " turned wrong only", class_="check")
    form = tag(
        "form", *controls, search, flipped, tag("button", "Reset", type="reset"), id="filters", hidden=True
    )  # fmt: skip
    pager = tag(
        "nav",
        tag("button", "← Previous", type="button", id="previous"),
        tag("span", id="count", role="status"),
        tag("button", "Next →", type="button", id="next"),
        id="pager", hidden=True, aria_label="Pages of examples",
    )  # fmt: skip
    left = len(examples) - held
    parts = [
        form,
        tag("noscript", note("The example browser needs JavaScript; everything else on this page does not.")),
        tag("div", id="examples"),
        pager,
        note(f"{left:,} of {len(examples):,} examples are left out to keep this page small.") if left else Html(""),
        tag("script", Html(data), type="application/json", id="examples-data"),
    ]
    return Html("\n".join(parts))
