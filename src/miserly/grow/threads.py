"""How many threads compiled code may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba

__all__ = ["threads"]


@contextmanager
def threads(n: int | None) -> Iterator[None]:
    """Run with `n` threads (all of numba's if None, or if `n` is more), and leave numba's setting as it was.

    >>> with threads(1):
    ...     numba.get_num_threads()
    1
    """
    if n is None:
        yield
        return
    before = numba.get_num_threads()
    numba.set_num_threads(max(1, min(n, numba.config.NUMBA_NUM_THREADS)))
    try:
        yield
    finally:
        numba.set_num_threads(before)
