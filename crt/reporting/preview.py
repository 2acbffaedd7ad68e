"""How a perturbation looks, before it is trusted: the edits marked in the text, and how far each one reaches."""

import re
from collections.abc import Sequence

import pandas as pd

from crt.perturbations import Loaded
from crt.perturbations.engine import find_sites
from crt.perturbations.text import HAN
from crt.records import Edit, Example, Perturbed

_HAN = re.compile(f"[{HAN}]")


def marked(original: str, edits: Sequence[Edit]) -> str:
    """Return a text with its edits in brackets: 环[境→竟], 电[+ ]影, [早→]餐; characters without a width as U+200B."""
    parts, at = [], 0
    for edit in edits:
        new = "".join(char if char.isprintable() else f"U+{ord(char):04X}" for char in edit.new)
        parts.append(original[at : edit.start] + (f"[{edit.old}→{new}]" if edit.old else f"[+{new}]"))
        at = edit.end
    return "".join([*parts, original[at:]])


def shown(name: str, example: Example, perturbed: Perturbed) -> str:
    """Return a line for each field of a perturbed example, with the perturbation and its count of edits in front."""
    head = f"{name} ({len(perturbed.edits)} of {perturbed.sites} sites)"
    fields = (
        marked(text, [edit for edit in perturbed.edits if edit.field == index])
        for index, text in enumerate(example.input)
    )
    return "\n".join(f"{head}\t{text}" for text in fields)


def reach(perturbations: Sequence[Loaded], examples: Sequence[Example]) -> pd.DataFrame:
    """Return a row for each perturbation: its table, and how much of some examples it can edit.

    Columns: perturbation, keys and options (of its table, missing without one), texts (share with at least one site),
    sites (for 100 Han characters), what (its summary).
    """
    characters = sum(len(_HAN.findall(text)) for example in examples for text in example.input)
    rows = []
    for loaded in perturbations:
        sites = find_sites(examples, loaded.find)
        entries = loaded.table.entries if loaded.table else None
        rows.append(
            {
                "perturbation": loaded.perturbation.name,
                "keys": len(entries) if entries else None,
                "options": sum(map(len, entries.values())) if entries else None,
                "texts": float((sites.count > 0).mean()) if len(examples) else None,
                "sites": 100 * len(sites.sites) / characters if characters else None,
                "what": loaded.perturbation.summary,
            }
        )
    return pd.DataFrame(rows)
