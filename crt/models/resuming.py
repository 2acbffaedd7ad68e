"""The state of a training between two epochs: what it takes to go on as if it had never been broken off.

A state lies in one file, which takes the place of the one before in a single step: a reader never meets half a state.
The file is named after a fingerprint of all that the result depends on, so a training with any other setting, data or
starting weights does not find it.
"""

import json
import logging
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from crt.errors import ModelError
from crt.files import remove_leftovers, replacing
from crt.models.checkpoint import weights_of
from crt.models.processes import from_main, gather

log = logging.getLogger(__name__)

State = dict[str, Any]
"""Plain values and tensors, by name: what `torch.load` reads without running code of the file."""


class StateFile:
    """Where the state of one training is kept."""

    def __init__(self, folder: Path, fingerprint: str, accelerator: Accelerator) -> None:
        """Take the folder, what the training is known by, and the processes; only the main one touches the file."""
        self.path, self.accelerator = folder / f"{fingerprint}.pt", accelerator

    def exists(self) -> bool:
        """Return, on every process, whether there is a state; what killed trainings left half written is deleted."""

        def found() -> bool:
            remove_leftovers(self.path.parent)
            return self.path.is_file()

        return from_main(self.accelerator, found)

    def read(self) -> State:
        """Return the state on every process, and set the generators of random numbers to where they stood.

        Raises:
            ModelError: the file cannot be read.
        """
        state: State = from_main(self.accelerator, self._load)
        _set_generators(self.accelerator.device, state.pop("generators")[self.accelerator.process_index])
        return state

    def write(self, state: State) -> None:
        """Keep a state in place of the one before; every process must call this.

        Where it cannot be written a warning says so, and training goes on: only a kill would lose more than before.
        """
        generators = gather([_generators(self.accelerator.device)])
        if self.accelerator.is_main_process:
            self._save({**state, "generators": generators})

    def remove(self) -> None:
        """Forget the state, and what processes that were killed had written of one."""
        if self.accelerator.is_main_process:
            self.path.unlink(missing_ok=True)
            remove_leftovers(self.path.parent)

    def _load(self) -> State:
        try:
            state: State = torch.load(self.path, map_location="cpu", weights_only=True)
        except Exception as error:  # torch raises whatever its readers raise
            raise ModelError(
                f"{self.path}: this state of a training cannot be read ({error}); delete it to start at the first epoch"
            ) from error
        return state

    def _save(self, state: State) -> None:
        try:
            with replacing(self.path) as (file,):
                torch.save(state, file)
        except (OSError, RuntimeError) as error:  # torch's writer hides what the system said
            log.warning(
                "%s: the state of this epoch cannot be kept (%s: %s); training goes on, but resume=true would not go on from here",
                self.path, type(error).__name__, " ".join(str(error).split())[:200],
            )  # fmt: skip


def fingerprint(facts: Mapping[str, object], model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> str:
    """Return 16 hexadecimal digits over plain facts, the weights that a training starts from, and its tokenizer."""
    digest = sha256(json.dumps(facts, sort_keys=True).encode())
    digest.update(tokenizer.backend_tokenizer.to_str().encode("utf-8", "surrogatepass"))
    for chunk in weights_of(model):
        digest.update(chunk)
    return digest.hexdigest()[:16]


def _generators(device: torch.device) -> list[torch.Tensor]:
    """Return the states of the generators that dropout draws from: of the CPU, and of the device if it is another."""
    states = [torch.get_rng_state()]
    return states if device.type == "cpu" else [*states, torch.get_device_module(device).get_rng_state()]


def _set_generators(device: torch.device, states: list[torch.Tensor]) -> None:
    torch.set_rng_state(states[0])
    if device.type != "cpu":
        torch.get_device_module(device).set_rng_state(states[1])
