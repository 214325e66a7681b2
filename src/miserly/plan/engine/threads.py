"""Work on many rows in threads, for compiled code that releases the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

__all__ = ["pieces", "side_by_side"]

PARALLEL_ROWS = 2048  # fewer rows than this are not worth waking other threads for


def pieces(n: int, n_threads: int | None, n_rows: int) -> list[tuple[int, int]]:
    """`n` things cut into one piece per thread; one piece where there are few rows."""
    if n_rows < PARALLEL_ROWS:
        return [(0, n)]
    many = max(1, min(n_threads or os.cpu_count() or 1, n))
    cuts = np.linspace(0, n, many + 1).astype(int).tolist()
    return list(pairwise(cuts))


def side_by_side(work: Callable[[int, int], None], pieces: list[tuple[int, int]]) -> None:
    """Run each piece, in threads of its own if there are several: `work` releases the interpreter's lock."""
    if len(pieces) == 1:
        work(*pieces[0])
        return
    with ThreadPoolExecutor(len(pieces)) as pool:
        for done in [pool.submit(work, *piece) for piece in pieces]:
            done.result()
