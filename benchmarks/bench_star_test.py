"""How often a star stands for nothing, and how often a drop gets one: the test of `compare` on simulated answers.

    python benchmarks/bench_star_test.py [--texts 400] [--repeats 2000]

Answers are simulated, not measured. A text that the perturbation can turn goes one way, lost or gained, in every seed, with a
chance of its own, so that the seeds of a text are alike. In the scene `lost` 5 % of the answers differ within a seed, nearly all
of them lost, and two seeds correlate by .4; in `mixed` 8.5 % differ and the seeds correlate by .2, as for the keyword rules on
reviews. `size` is the share of stars at p < .05 where nothing is lost on average, with texts on their own and in clusters of two
to five that turn together; `power` the share where 4.5 points are lost, at .05 / 126 and at .05 / 18, the first step of Holm's
correction for so many tests. Beside the test of the mean over seeds stands the one it took the place of: the largest p of
McNemar's exact tests of each seed, all seeds to one side.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import machine, parsed, parser, table
from crt.scoring.statistics import ALPHA, SignFlips, mcnemar, summed

SEEDS = (1, 3, 5, 10)
SCENES = {"lost": (0.05, 0.4), "mixed": (0.085, 0.2)}
"""Share of the answers that differ from the clean ones within a seed, and how alike two seeds are."""
DROP = 0.045
"""The drop that is to be found."""
FAMILIES = (126, 18)
"""Tests that are corrected for."""
Answers = NDArray[np.int64]


def main() -> None:
    """Print size and power by scene and number of seeds."""
    arguments = parser(__doc__)
    arguments.add_argument("--texts", type=int, default=400)
    arguments.add_argument("--repeats", type=int, default=2000)
    options = parsed(arguments, texts=60, repeats=20)
    texts, repeats = options.texts, options.repeats
    error = np.sqrt(0.05 * 0.95 / repeats)
    print(
        f"{repeats:,} data sets of {texts} texts, standard error of a share of .05: {error:.4f}; {machine('numpy')}\n"
    )
    alone, together = np.arange(texts), np.repeat(np.arange(texts), 2 + np.arange(texts) % 4)[:texts]
    rows = []
    for scene in SCENES:
        for seeds in SEEDS:
            found = [stars(scene, 0.0, seeds, clusters, repeats, (1,)) for clusters in (alone, together)]
            found.append(stars(scene, DROP, seeds, alone, repeats, FAMILIES))
            rows.append((scene, str(seeds), *(f"{new:.3f} ({old:.3f})" for pairs in found for new, old in pairs)))
    print("mean over seeds (largest p of the seeds)\n")
    powers = (f"power at .05 / {tests}" for tests in FAMILIES)
    table(("scene", "seeds", "size", "size, clusters", *powers), rows)


def stars(
    scene: str, drop: float, seeds: int, clusters: NDArray[np.int64], repeats: int, families: tuple[int, ...]
) -> list[tuple[float, float]]:
    """Return for each family how often the mean over seeds, and the largest p of the seeds, gets a star."""
    generator = np.random.default_rng(0)
    flips = SignFlips(int(clusters.max()) + 1)
    answers = [differences(generator, scene, drop, seeds, clusters) for _ in range(repeats)]
    p = flips.p(summed(np.stack([found.mean(axis=0) for found in answers], axis=1), clusters))
    sums = np.stack([found.sum(axis=1) for found in answers])
    lost, gained = (np.stack([(sign * found > 0).sum(axis=1) for found in answers]) for sign in (1, -1))
    largest = np.where(np.abs(np.sign(sums).sum(axis=1)) == seeds, mcnemar(lost, gained).max(axis=1), 1.0)
    return [(float(np.mean(p < ALPHA / tests)), float(np.mean(largest < ALPHA / tests))) for tests in families]


def differences(
    generator: np.random.Generator, scene: str, drop: float, seeds: int, clusters: NDArray[np.int64]
) -> Answers:
    """Return simulated answers, clean less perturbed: int64[seeds, n] of -1, 0 and 1; those of a cluster are equally frail."""
    differing, alike = SCENES[scene]
    count, strength = int(clusters.max()) + 1, (1 - alike) / alike
    side = np.where(generator.random(count) < (1 + drop / differing) / 2, 1, -1)[clusters]
    frail = generator.beta(differing * strength, (1 - differing) * strength, size=count)[clusters]
    return np.asarray(side * (generator.random((seeds, len(clusters))) < frail))


if __name__ == "__main__":
    main()
