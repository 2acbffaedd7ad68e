"""The families of crt against nlpcda, JioNLP and OpenCC alone, on the same reviews: speed, reach, repeatability.

    python benchmarks/bench_peers.py [--texts 2400] [--tokenizer FOLDER] [--prob 0.15] [--cache FOLDER]

Each peer is installed in an environment of its own, below --cache (kept) or in a temporary folder. Every tool runs in
two processes, with start-up left out of the times (a short text has been perturbed before); the better time counts.
The garbage collector runs as it does in practice, unlike in timeit. A peer is seeded before each pass, so that it has
its best chance to repeat itself. Reviews from $CRT_DATA_DIR, validation and test, else the built-in rows.

nlpcda and JioNLP try again where a text came out unchanged, and nlpcda draws the original among its options. A swap
counts as two changed characters.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from rapidfuzz.distance import Levenshtein

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.common import machine, parsed, parser
from crt.catalogue import TASKS
from crt.resources import resource_dir
from crt.tasks import Source, load_split

PROBS, SEEDS = (0.05, 0.15, 0.30), (13, 42, 100)

PEERS = {
    "nlpcda": ("nlpcda==2.5.8", "jieba==0.42.1"),
    "jionlp": ("jionlp==1.5.31",),
    "opencc": (),
    "crt_jieba": (),
    "crt": (),
}
"""What each tool needs, by its name in peers/worker.py; without needs it runs in the environment of crt."""

LONG = 20
"""Seconds of a grid beyond which the second process does not repeat it."""

Row = tuple[str, str, dict[str, Any]]
"""Tool, family and what was measured, or why not."""


def main() -> None:
    """Measure every tool, then print a table for each question."""
    arguments = parser(__doc__)
    arguments.add_argument("--texts", type=int, default=2400, help="reviews, half of them of each split")
    arguments.add_argument("--tokenizer", type=Path, help="folder of a tokenizer, or a file with a token a line")
    arguments.add_argument("--prob", type=float, default=0.15, help="prob of the single pass")
    arguments.add_argument("--cache", type=Path, help="where the environments of the peers are kept")
    options = parsed(arguments, texts=8)
    peers = {tool: needs for tool, needs in PEERS.items() if not (options.small and needs)}  # small installs nothing
    texts = reviews(options.texts)
    with tempfile.TemporaryDirectory() as folder:
        tools = [tool for tool in peers if tool != "crt_jieba" or segmenter()]
        rows = [row for tool in tools for row in measured(tool, options.cache or Path(folder), texts, options.prob)]
    originals = [text for _, text in texts]
    needs = ", ".join(need for needs in peers.values() for need in needs)
    print(
        f"{len(texts)} reviews, prob {options.prob}; {machine('numpy', 'opencc', *segmenter())}{needs and f'; {needs}'}\n"
    )
    speed(rows, len(texts))
    reach(rows, originals, unknown_characters(options.tokenizer) if options.tokenizer else None)
    repeatability(rows)


def reviews(limit: int) -> list[tuple[str, str]]:
    """Return name and text of the reviews, without the outer white space that nlpcda would strip."""
    source = Source(Path(os.environ.get("CRT_DATA_DIR") or resource_dir() / "samples"))
    splits = [load_split(TASKS["chnsenticorp"], name, source) for name in ("validation", "test")]
    examples = [example for split in splits for example in split.limited(limit // 2).examples]
    return [(example.id, example.input[0].replace("\n", "").strip()) for example in examples]


def segmenter() -> list[str]:
    """Return the optional library that makes the words of crt, if it is installed."""
    import importlib.util

    return ["rjieba"] if importlib.util.find_spec("rjieba") else []


def measured(tool: str, folder: Path, texts: list[tuple[str, str]], prob: float) -> Iterator[Row]:
    """Yield what two processes measured of each family of a tool, or one row that says why there is none."""
    name = tool.split("_", maxsplit=1)[0]
    try:
        python = environment(tool, folder)
        request = {"tool": tool, "texts": texts, "prob": prob, "probs": PROBS, "seeds": SEEDS, "no_grid": []}
        first = ask(python, request)
        long = [family for family, row in first.items() if row.get("grid", 0) > LONG]
        second = ask(python, {**request, "no_grid": long})
    except subprocess.CalledProcessError as problem:
        lines = (problem.stderr or "").strip().splitlines() or ["no message"]
        yield name, "all", {"error": lines[-1][:200]}
        return
    for family, row in first.items():
        again = second[family]
        if "error" in row or "error" in again:
            yield name, family, {"error": row.get("error") or again["error"]}
            continue
        best = {key: min(filter(None, (row[key], again[key])), default=None) for key in ("find", "cell", "grid")}
        yield name, family, {**row, **best, "again": again["outputs"]}


def environment(tool: str, folder: Path) -> str:
    """Return the Python that a tool runs in; its environment is made if it is not there yet."""
    if not PEERS[tool]:
        return sys.executable
    home = folder / tool
    python, done = str(home / "bin" / "python"), home / "installed"
    if not done.exists():
        venv.create(home, clear=True, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PEERS[tool]]
        subprocess.run(install, check=True, capture_output=True, text=True)
        done.touch()
    return python


def ask(python: str, request: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the answer of a worker."""
    worker = Path(__file__).parent / "peers" / "worker.py"
    done = subprocess.run([python, worker], input=json.dumps(request), capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def speed(rows: list[Row], count: int) -> None:
    """Print how fast each family is, and the 9 cells of a grid against the homophones of the peers."""
    grids = {tool: row.get("grid") for tool, family, row in rows if family == "homophone"}

    def cells(row: dict[str, Any]) -> tuple[str, ...]:
        once = f"{count / row['cell']:,.0f}" if row["find"] else "-"
        ratios = [ratio(grids.get(tool), row["grid"]) for tool in ("nlpcda", "jionlp")]
        return f"{count / (row['cell'] + (row['find'] or 0)):,.0f}", once, f"{row['grid']:.2f}", *ratios

    heads = "texts/s", "texts/s, sites found", f"{len(PROBS) * len(SEEDS)} cells, s"
    table(rows, (*heads, "times nlpcda's homophone", "times JioNLP's homophone"), cells)


def reach(rows: list[Row], originals: list[str], unknown: Callable[[Iterable[str]], float | None] | None) -> None:
    """Print how much each family changes, and how much of what it writes the encoder does not know."""

    def cells(row: dict[str, Any]) -> tuple[str, ...]:
        pairs = list(zip(originals, row["outputs"], strict=True))
        changed = sum(Levenshtein.distance(old, new) for old, new in pairs) / sum(map(len, originals))
        share = unknown(char for old, new in pairs for char in written(old, new)) if unknown else None
        return (
            percent(changed),
            percent(row["edits"] / row["sites"] if row["sites"] else None),
            percent(sum(old != new for old, new in pairs) / len(pairs)),
            percent(share),
        )

    if unknown:
        print(
            f"Of the characters of the reviews themselves the encoder does not know {percent(unknown(''.join(originals)))}.\n"
        )
    table(rows, ("characters changed", "edits a site", "texts changed", "unknown among the written"), cells)


def written(old: str, new: str) -> str:
    """Return the characters of a text that stand in place of others, or are new."""
    return "".join(new[op.dest_start : op.dest_end] for op in Levenshtein.opcodes(old, new) if op.tag != "equal")


def unknown_characters(tokenizer: Path) -> Callable[[Iterable[str]], float | None]:
    """Return what computes the share of the characters that become an unknown token, white space left out."""
    if tokenizer.is_dir():
        from transformers import AutoTokenizer

        loaded = AutoTokenizer.from_pretrained(tokenizer, trust_remote_code=False)

        @cache
        def is_unknown(char: str) -> bool:
            return loaded.unk_token_id in loaded(char, add_special_tokens=False)["input_ids"]

    else:
        vocabulary = set(tokenizer.read_text(encoding="utf-8").splitlines())

        @cache
        def is_unknown(char: str) -> bool:
            return char not in vocabulary

    def share(chars: Iterable[str]) -> float | None:
        unknown = [is_unknown(char) for char in chars if not char.isspace()]
        return sum(unknown) / len(unknown) if unknown else None

    return share


def repeatability(rows: list[Row]) -> None:
    """Print for how many texts the output is the same in another order and in another process."""

    def same(row: dict[str, Any], other: str) -> str:
        pairs = list(zip(row["outputs"], row[other], strict=True))
        return percent(sum(a == b for a, b in pairs) / len(pairs))

    table(
        rows,
        ("same in reverse order", "same in a second process"),
        lambda row: (same(row, "reversed"), same(row, "again")),
    )


def table(rows: list[Row], heads: tuple[str, ...], cells: Callable[[dict[str, Any]], tuple[str, ...]]) -> None:
    """Print one table, with the reason in the place of the numbers where there are none."""
    print(f"| tool | family | {' | '.join(heads)} |\n| --- | --- |{' ---: |' * len(heads)}")
    for tool, family, row in rows:
        values = (row["error"], *[""] * (len(heads) - 1)) if "error" in row else cells(row)
        print(f"| {tool} | {family} | {' | '.join(values)} |")
    print()


def ratio(seconds: float | None, other: float) -> str:
    """Return how many times as long the one takes as the other, as text."""
    if seconds is None:
        return "-"
    times = seconds / other
    return f"{times:.{0 if times >= 10 else 1 if times >= 1 else 2}f}"


def percent(share: float | None) -> str:
    """Return a share as text."""
    return "-" if share is None else f"{share:.2%}".replace("%", " %")


if __name__ == "__main__":
    main()
