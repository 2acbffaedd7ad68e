"""Uniform draws as a pure function of a key: no stream, no state.

A draw depends on its key and its position alone, so nothing depends on the order of the examples, on the batch, on
the subset or on the number of processes. Keys are hashed with BLAKE2b; positions are mixed in with the finaliser of
SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from json.encoder import encode_basestring_ascii

import numpy as np
from numpy.typing import ArrayLike, NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)


@lru_cache(maxsize=1 << 16)
def base(*key: str | int) -> int:
    """Return the 64-bit base of a key; parts are kept apart, so ("ab", "c") and ("a", "bc") differ."""
    # the JSON list of the parts; json.dumps would take several times as long
    parts = [encode_basestring_ascii(part) if isinstance(part, str) else str(part) for part in key]
    return int.from_bytes(blake2b(f"[{','.join(parts)}]".encode(), digest_size=8).digest(), "little")


@np.errstate(over="ignore")  # modulo 2**64 is meant; numpy warns where base and position are scalars
def uniforms(bases: ArrayLike, positions: ArrayLike, *, stream: int = 0) -> NDArray[np.float64]:
    """Return draws in [0, 1), one for each pair of base and position.

    Args:
        bases: uint64, broadcast against `positions`; each from `base`.
        positions: non-negative integers.
        stream: 0 or 1; two independent draws are to be had at every position.
    """
    counter = np.asarray(positions).astype(np.uint64) * np.uint64(2) + np.uint64(stream + 1)
    z = np.asarray(bases, dtype=np.uint64) + counter * _GOLDEN
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    z = z ^ (z >> _S31)
    draws: NDArray[np.float64] = (z >> _S11).astype(np.float64) * 2.0**-53
    return draws


def smallest(names: Sequence[str | int], count: int, *, key: str) -> list[int]:
    """Return the indices, in ascending order, of the `count` names with the smallest draw; of equal names the first ones.

    The choice is nested (a smaller count chooses a subset), and which names it takes does not depend on their order.
    """
    draws = uniforms([base(key, name) for name in names], np.zeros(len(names), dtype=np.int64))
    return sorted(np.argsort(draws, kind="stable")[:count].tolist())
