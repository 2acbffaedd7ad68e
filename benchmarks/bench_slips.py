"""How many edits of `ime` an input method would give: counted apart from the builder of the table.

    python benchmarks/bench_slips.py [--prob 0.15] [--seed 1]

An edit is a word for another one, both in the dictionary, or a character for another one where it is typed alone; the letters
differ by one key at most, which holds for every fuzzy sound too. All else no input method gives.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from rapidfuzz.distance import Levenshtein

from benchmarks.common import load, machine, parsed, parser, table
from crt.perturbations import load as load_perturbation
from crt.perturbations.engine import find_sites, perturb_all
from crt.perturbations.sound import sounds
from crt.perturbations.text import dictionary, tokens, words
from crt.records import Edit
from crt.resources import read_json, resource_dir

KINDS = ("a word", "a character typed alone", "no input method gives it")
TASKS = ("chnsenticorp", "ocnli")


@cache
def letters() -> dict[str, set[str]]:
    """Return the letters of each character, in any way in which it is read."""
    data = read_json(resource_dir() / "readings.json")
    found: dict[str, set[str]] = defaultdict(set)
    for sound, chars in data["characters"].items():
        for char in chars:
            found[char].add(sound[:-1])
    for key in data["phrases"]:
        char, sound = key.split("/")
        found[char].add(sound[:-1])
    return found


def spellings(text: str, heard: Sequence[str]) -> set[str]:
    """Return the ways in which a text may be typed: as it is read where that is known, else in any way."""
    ways = [{sound[:-1]} if sound else letters()[char] for char, sound in zip(text, heard, strict=True)]
    return {"".join(way) for way in product(*ways)}


def kind(text: str, edit: Edit) -> str:
    """Return what an edit of a text is, one of KINDS."""
    heard = [sound for word in sounds(tokens(text)) for sound in word]
    old, new = spellings(edit.old, heard[edit.start : edit.end]), spellings(edit.new, [""] * len(edit.new))
    whole = (edit.start, edit.end) in words(text) and edit.new in dictionary()
    if not whole or min(Levenshtein.distance(one, other) for one in old for other in new) > 1:
        return KINDS[2]
    return KINDS[0] if len(edit.old) > 1 else KINDS[1]


def main() -> None:
    """Count the kinds on each data set, and print the shares."""
    arguments = parser(__doc__)
    arguments.add_argument("--prob", type=float, default=0.15, help="share of the sites that are edited")
    arguments.add_argument("--seed", type=int, default=1, help="of the draws")
    arguments.add_argument("--texts", type=int, default=300, help="how many of each data set")
    options = parsed(arguments, texts=20)
    rows = []
    for task in TASKS:
        examples = load(task, options.texts).examples
        sites = find_sites(examples, load_perturbation("ime").find)
        perturbed = perturb_all(sites, name="ime", prob=options.prob, seed=options.seed)
        counts = Counter(
            kind(example.input[edit.field], edit)
            for example, row in zip(examples, perturbed, strict=True)
            for edit in row.edits
        )
        shares = (f"{counts[name] / counts.total():.1%}" for name in KINDS)
        rows.append((task, f"{counts.total():,}", *shares))
    print(f"ime, prob {options.prob}, seed {options.seed}; {machine('jieba')}\n")
    table(("data set", "edits", *KINDS), rows)


if __name__ == "__main__":
    main()
