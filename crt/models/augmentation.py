"""Training on perturbed texts, the simplest defence: each epoch another share of the examples, perturbed anew."""

from collections.abc import Sequence

import numpy as np

from crt import randomness
from crt.perturbations import load
from crt.perturbations.engine import find_sites, perturb_all
from crt.records import Example, Input


class Augmenter:
    """Perturbs a share of the training examples; what becomes of one depends on seed, epoch and its input alone."""

    def __init__(
        self, examples: Sequence[Example], names: Sequence[str], *, prob: float, share: float, seed: int
    ) -> None:
        """Find the sites of every perturbation once.

        Args:
            examples: to train on.
            names: of the perturbations; an example that is drawn gets one of them.
            prob: share of the sites that are edited, 0..1.
            share: of the examples that are perturbed in an epoch, 0..1.
            seed: of the training.

        Raises:
            UnknownName: there is no such perturbation.
        """
        self.examples, self.names, self.prob, self.share, self.seed = examples, names, prob, share, seed
        self.sites = [find_sites(examples, load(name).find) for name in names]

    def inputs(self, epoch: int) -> list[Input]:
        """Return the input of every example in an epoch."""
        key = randomness.base("augment", self.seed, epoch)
        bases = [randomness.base(key, example.key) for example in self.examples]
        place = np.zeros(len(bases), dtype=np.int64)
        drawn = randomness.uniforms(bases, place) < self.share
        which = (randomness.uniforms(bases, place, stream=1) * len(self.names)).astype(np.int64)
        inputs = [example.input for example in self.examples]
        for number, (name, sites) in enumerate(zip(self.names, self.sites, strict=True)):
            perturbed = perturb_all(sites, name=name, prob=self.prob, seed=key).inputs
            for row in np.flatnonzero(drawn & (which == number)).tolist():
                inputs[row] = perturbed[row]
        return inputs
