"""How this room compiles, and how many threads compiled code may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba

__all__ = ["compiled", "threaded", "threads"]

# Compiled once and kept on disk. Divisions are checked by the code itself where they can be by zero.
compiled: Any = numba.njit(cache=True, error_model="numpy")
threaded: Any = numba.njit(cache=True, error_model="numpy", parallel=True)


@contextmanager
def threads(n: int | None) -> Iterator[None]:
    """Run with `n` threads (numba's own number if None, or if `n` is more), then go back to as many as before.

    >>> with threads(1):
    ...     numba.get_num_threads()
    1
    """
    before = numba.get_num_threads()
    numba.set_num_threads(before if n is None else max(1, min(n, numba.config.NUMBA_NUM_THREADS)))
    try:
        yield
    finally:
        numba.set_num_threads(before)
