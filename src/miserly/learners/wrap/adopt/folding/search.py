"""Bisection over float64: the largest number for which a monotone condition is true."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["largest_true"]

_LARGEST = np.finfo(np.float64).max


def largest_true(
    condition: Callable[[NDArray[np.float64]], NDArray[np.bool_]], n: int
) -> NDArray[np.float64]:
    """Find the largest float64 that meets each of `n` conditions, by bisection of bit patterns.

    Parameters
    ----------
    condition : callable
        Takes one number for each condition (n,) and returns which conditions are met. Each condition is true
        up to some number and false above it.
    n : int
        The number of conditions.

    Returns
    -------
    array of (n,)
        The largest finite number that meets each condition; -inf if no number does. For every finite `x` the
        condition is equivalent to ``x <= largest``.

    Examples
    --------
    >>> single = lambda x: x.astype(np.float32) <= np.float32(0.1)
    >>> found = largest_true(single, 1)
    >>> bool(single(found)[0]), bool(single(np.nextafter(found, 1.0))[0]), found[0] > 0.1
    (True, False, np.True_)
    """
    low, high = np.full(n, _key(-_LARGEST)), np.full(n, _key(_LARGEST))
    with np.errstate(over="ignore"):
        never = ~condition(_number(low))
        while (low < high).any():  # the condition holds at `low`, and above `high` it does not
            middle = (low >> 1) + (high >> 1) + ((low | high) & 1)  # rounded up; the sum may overflow
            met = condition(_number(middle))
            low, high = np.where(met, middle, low), np.where(met, high, middle - 1)
            high = np.maximum(low, high)
    found = _number(low)
    found[never] = -np.inf
    return found


def _key(x: float) -> int:
    """The rank of a float64 among all float64 numbers, as an integer."""
    bits = int(np.array(x).view(np.int64))
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)


def _number(keys: NDArray[np.int64]) -> NDArray[np.float64]:
    return (keys ^ ((keys >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))).view(np.float64)
