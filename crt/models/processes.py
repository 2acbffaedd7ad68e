"""The few things that the processes of one run tell each other."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar, cast

import torch
import transformers
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import broadcast_object_list, gather_object

from crt.errors import CrtError, ModelError

T = TypeVar("T")

_FAILED, _SECONDS = "crt/failed", 5
"""Where the main process leaves word that it fails, and how long the others wait for it before they speak themselves."""

PRECISIONS = {"fp32": "no", "bf16": "bf16", "fp16": "fp16"}
"""Our names of a precision and Accelerate's."""


def start(precision: str = "auto") -> Accelerator:
    """Return the accelerator of this process; from here on transformers reports errors only.

    Args:
        precision: fp32, bf16, fp16, or auto: what the user's accelerate configuration says, else bf16 on a GPU that
            has it, else fp32.
    """
    # else MKL sums short and long products in another order on some CPUs, and a row depends on its batch and the threads
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
    # where a model of the hub has pickled weights only, transformers would ask a server elsewhere to convert them
    os.environ["DISABLE_SAFETENSORS_CONVERSION"] = "true"
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    if precision == "auto":
        configured = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
        fast = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
        chosen = "bf16" if configured == "no" and fast else configured
    else:
        chosen = PRECISIONS[precision]
    try:
        accelerator = Accelerator(mixed_precision=chosen)
    except ValueError as error:
        raise ModelError(f"precision {precision} is not supported on this device: {error}") from error
    # accelerate launch leaves a single CPU process one thread where the user says nothing
    unset = "1" if "ACCELERATE_MIXED_PRECISION" in os.environ else None
    alone = accelerator.device.type == "cpu" and accelerator.num_processes == 1
    if alone and os.environ.get("OMP_NUM_THREADS") in (None, unset):
        torch.set_num_threads(_cores())
    return accelerator


@contextmanager
def borrowed(precision: str = "auto", *, kept: bool = False) -> Iterator[Accelerator]:
    """Give the accelerator to a part of a program that is not ours, and leave its process as it was.

    Args:
        precision: see `start`.
        kept: something that needs the accelerator outlives the context.
    """
    environment, verbosity = dict(os.environ), transformers.logging.get_verbosity()
    bars = transformers.logging.is_progress_bar_enabled()
    threads, fresh = torch.get_num_threads(), not AcceleratorState._shared_state  # noqa: SLF001  nothing else tells
    try:
        yield start(precision)
    finally:
        if fresh and not kept:
            AcceleratorState._reset_state(reset_partial_state=True)  # noqa: SLF001  else the user's own would be refused
        torch.set_num_threads(threads)
        transformers.logging.set_verbosity(verbosity)
        if bars:
            transformers.logging.enable_progress_bar()  # type: ignore[no-untyped-call]
        os.environ.clear()
        os.environ.update(environment)


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def precision_of(accelerator: Accelerator) -> str:
    """Return our name of the precision in use."""
    return {theirs: ours for ours, theirs in PRECISIONS.items()}.get(accelerator.mixed_precision, "fp32")


def from_main(accelerator: Accelerator, produce: Callable[[], T]) -> T:
    """Run `produce` on the main process and return its result, or raise its error, on every process."""
    outcome: list[Any] = [None, None]
    if accelerator.is_main_process:
        try:
            outcome = [produce(), None]
        except CrtError as error:
            outcome = [None, error]
    broadcast_object_list(outcome)
    result, failure = outcome
    if failure is not None:
        raise failure
    return cast(T, result)


def must_say_why() -> bool:
    """Return whether this process, which is about to fail, must say why.

    The main one always must. Most errors meet every process alike, so another one speaks only if the main one does not
    fail within a few seconds: it may be waiting for this one.
    """
    main = os.environ.get("RANK", "0") == "0"
    try:
        address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        wait = timedelta(seconds=_SECONDS)
        store = torch.distributed.TCPStore(address, port, is_master=False, timeout=wait)  # type: ignore[attr-defined]
        if main:
            store.set(_FAILED, "1")
        else:
            store.wait([_FAILED], wait)
    except (KeyError, RuntimeError):  # nobody answers, so nobody else will say it
        return True
    return main


def gather(items: list[T]) -> list[T]:
    """Return the items of all processes, on every process."""
    return list(gather_object(items))
