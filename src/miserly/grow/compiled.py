"""How this room compiles, and how many threads compiled code may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba import config

__all__ = ["SMALL", "compiled", "threaded", "threads"]

SMALL = 1 << 20  # values

# Compiled once and kept on disk. Divisions are checked by the code itself where they can be by zero.
compiled: Any = numba.njit(cache=True, error_model="numpy")
threaded: Any = numba.njit(cache=True, error_model="numpy", parallel=True)


@contextmanager
def threads(n: int | None, size: int = SMALL) -> Iterator[None]:
    """Run with `n` threads (numba's own number if None, at most all it has), then as many as before.

    Work on fewer than `SMALL` values is done by one thread: starting more would take longer.

    >>> with threads(2, size=100):
    ...     numba.get_num_threads()
    1
    """
    before = numba.get_num_threads()
    most: int = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    wanted = before if n is None else max(1, min(n, most))
    numba.set_num_threads(1 if size < SMALL else wanted)
    try:
        yield
    finally:
        numba.set_num_threads(before)
