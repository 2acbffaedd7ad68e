"""The golden cases: texts of each perturbation that a person has read."""

import json
from pathlib import Path

FILES = [
    json.loads(file.read_text(encoding="utf-8")) for file in sorted((Path(__file__).parent / "golden").glob("*.json"))
]
GOLDEN = {
    kind: {name: cases for file in FILES for name, cases in file.get(kind, {}).items()}
    for kind in ("places", "places with a table", "becomes", "may become")
}


def to_do(name):
    """Return what to do about a perturbation that lacks golden cases."""
    return f'{name} lacks golden cases; add "{name}" to "places" and to "may become" in tests/golden/{name}.json'


def texts_of(name):
    """Return the texts in which a person saw that the perturbation has a site."""
    texts = [text for text, result in GOLDEN["may become"].get(name, ()) if text != result]
    assert texts, to_do(name)
    return texts


def mark(text, sites):
    """Return the text with brackets around what may be replaced and bars where something may be inserted."""
    parts, at = [], 0
    for site in sites:
        parts += [text[at : site.start], f"[{text[site.start : site.end]}]" if site.start < site.end else "|"]
        at = site.end
    return "".join([*parts, text[at:]])


def unmarked(marked):
    """Return the text of a golden place."""
    return marked.translate(dict.fromkeys(map(ord, "[]|")))
