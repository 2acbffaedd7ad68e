"""One tool at work, in the environment of that tool; imports nothing of crt for the peers.

A request comes as JSON on standard input, the measurements of each family leave as JSON on standard output. Start-up
(dictionaries, models, tables) is over before the clock runs: every family has perturbed a short text by then.
"""

import contextlib
import importlib.util
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

Texts = list[tuple[str, str]]
"""Name and text; only crt uses the name."""

WARM_UP: Texts = [("warm/up/0", "今天的电影真好看，我们都很喜欢。")]


class Cell(NamedTuple):
    """What one pass over the texts gives."""

    outputs: list[str]
    edits: int | None = None
    sites: int | None = None


class Way(NamedTuple):
    """A family of a tool: what it does once for all cells, and what it does for a cell of a prob and a seed."""

    cell: Callable[[Any, float, int], Cell]
    find: Callable[[Texts], Any] | None = None


def one_by_one(make: Callable[[float, int], Callable[[str], str]], *, seeded: bool = True) -> Way:
    """Return the way of a tool that takes a text at a time.

    Every generator it might draw from is seeded before the pass; if not `seeded`, as a new process finds it.
    """

    def cell(texts: Texts, prob: float, seed: int) -> Cell:
        perturb = make(prob, seed)
        state = seed if seeded else None
        random.seed(state)
        if importlib.util.find_spec("numpy"):
            import numpy as np

            np.random.seed(state)  # noqa: NPY002  the generator that JioNLP draws from
        return Cell([perturb(text) for _, text in texts])

    return Way(cell)


def nlpcda(probs: list[float]) -> Iterator[tuple[str, Way]]:
    """Yield the families of nlpcda; it returns the original first, so two texts are asked for."""
    import nlpcda as peer

    for family, name in {
        "homophone": "Homophone",
        "equivalent": "EquivalentChar",
        "swap": "CharPositionExchange",
        "delete": "RandomDeleteChar",
        "synonym": "Similarword",  # the last: its words join the dictionary of jieba
    }.items():
        tools = {prob: getattr(peer, name)(create_num=2, change_rate=prob) for prob in probs}

        def make(prob: float, _: int, tools: dict[float, Any] = tools) -> Callable[[str], str]:
            return lambda text: str(tools[prob].replace(text)[-1])

        yield family, one_by_one(make)


def jionlp(_: list[float]) -> Iterator[tuple[str, Way]]:
    """Yield the families of JioNLP; it returns nothing where it fails to change a text."""
    import jionlp as peer

    def augment(function: Callable[..., list[str]], ratio: str, *, seeded: bool = True, **fixed: float) -> Way:
        def make(prob: float, seed: int) -> Callable[[str], str]:
            options = {"augmentation_num": 1, "seed": seed, ratio: prob, **fixed}
            return lambda text: (function(text, **options) or [text])[0]

        return one_by_one(make, seeded=seeded)

    yield "homophone", augment(peer.homophone_substitution, "homo_ratio")
    yield "swap", augment(peer.swap_char_position, "swap_ratio")
    yield "swap, its own seed only", augment(peer.swap_char_position, "swap_ratio", seeded=False)
    yield "delete", augment(peer.random_add_delete, "delete_ratio", add_ratio=0)
    for mode in ("char", "word"):
        convert = one_by_one(lambda *_, mode=mode: lambda text: peer.sim2tra(text, mode))
        yield f"traditional, whole text by {mode}", convert


def opencc(_: list[float]) -> Iterator[tuple[str, Way]]:
    """Yield the conversion that crt's sites come from, alone: it has no prob."""
    from opencc import OpenCC

    for configuration in ("s2t", "s2tw"):
        convert = OpenCC(configuration).convert
        yield f"traditional, whole text, {configuration}", one_by_one(lambda *_, convert=convert: convert)


def crt(_: list[float]) -> Iterator[tuple[str, Way]]:
    """Yield the families of crt that load."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from crt.perturbations import load
    from crt.perturbations.engine import Sites, find_sites, perturb_all
    from crt.records import Example

    def way(family: str) -> Way:
        finder = load(family).find

        def find(texts: Texts) -> Sites:
            return find_sites([Example(name, (text,), 0) for name, text in texts], finder)

        def cell(sites: Sites, prob: float, seed: int) -> Cell:
            done = perturb_all(sites, name=family, prob=prob, seed=seed)
            return Cell([text for (text,) in done.inputs], int(done.edits.sum()), int(done.sites.sum()))

        return Way(cell, find)

    for family in ("homophone", "shape", "traditional", "synonym", "swap", "delete"):
        try:
            yield family, way(family)
        except Exception as problem:  # noqa: BLE001  a family that does not load must not hide the others
            yield family, failing(problem)


def crt_jieba(probs: list[float]) -> Iterator[tuple[str, Way]]:
    """Yield the homophones of crt as they are where rjieba is not installed."""
    sys.modules["rjieba"] = None  # type: ignore[assignment]
    _, way = next(crt(probs))
    yield "homophone, without rjieba", way


def failing(problem: Exception) -> Way:
    """Return a way that fails."""

    def fail(*_: object) -> Cell:
        raise problem

    return Way(fail)


def measure(way: Way, request: dict[str, Any], *, grid: bool) -> dict[str, Any]:
    """Return the times of a family and what it made of the texts, in their order and in reverse."""
    texts, prob, seed = request["texts"], request["prob"], request["seeds"][0]
    find = way.find or (lambda texts: texts)
    way.cell(find(WARM_UP), prob, seed)
    clock = time.perf_counter
    started = clock()
    prepared = find(texts)
    found = clock()
    cell = way.cell(prepared, prob, seed)
    done = clock()
    for cell_prob in request["probs"] if grid else ():
        for cell_seed in request["seeds"]:
            way.cell(prepared, cell_prob, cell_seed)
    end = clock()
    backwards = way.cell(find(texts[::-1]), prob, seed).outputs[::-1]
    return {
        "find": found - started if way.find else None,
        "cell": done - found,
        "grid": found - started + end - done if grid else None,
        **cell._asdict(),
        "reversed": backwards,
    }


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    answer: dict[str, Any] = {}
    with contextlib.redirect_stdout(sys.stderr):
        for family, way in globals()[request["tool"]](sorted({request["prob"], *request["probs"]})):
            try:
                answer[family] = measure(way, request, grid=family not in request["no_grid"])
            except Exception as problem:  # noqa: BLE001  the other families are still to be measured
                answer[family] = {"error": f"{type(problem).__name__}: {problem}".strip(": ")}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
