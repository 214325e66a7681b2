"""Lists of numbers as the arrays of a file, and checks of what ties arrays to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanFormatError
from miserly.plan.store.container import Arrays

__all__ = ["bounds", "check_bounds", "check_codes", "floats", "ints", "joined", "read_bools"]


def bounds(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Where parts of these lengths begin when they lie end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def joined(parts: Sequence[Any]) -> NDArray[Any]:
    """Arrays end to end."""
    return np.concatenate(parts) if parts else np.zeros(0)


def floats(values: Sequence[float]) -> NDArray[np.float64]:
    """Numbers as float64."""
    return np.array(values, dtype=np.float64)


def ints(values: Sequence[int]) -> NDArray[np.int64]:
    """Numbers as int64."""
    return np.array(values, dtype=np.int64)


def read_bools(arrays: Arrays, name: str) -> NDArray[np.bool_]:
    """An array of zeros and ones as booleans."""
    if arrays[name].size and arrays[name].max() > 1:
        raise PlanFormatError(f"{name!r} must hold zeros and ones")
    return arrays[name].view(np.bool_)


def check_bounds(arrays: Arrays, name: str, total: int) -> None:
    """Refuse offsets that do not rise from 0 to `total`."""
    found = arrays[name]
    if not found.size or found[0] != 0 or found[-1] != total or (found[1:] < found[:-1]).any():
        raise PlanFormatError(f"the offsets {name!r} must rise from 0 to {total}")


def check_codes(arrays: Arrays, name: str, kinds: Mapping[int, str]) -> None:
    """Refuse numbers that stand for nothing."""
    if not set(np.unique(arrays[name]).tolist()) <= set(kinds):
        known = ", ".join(kinds[code] for code in sorted(kinds))
        raise PlanFormatError(f"{name!r} holds a kind that is not among {known}")
