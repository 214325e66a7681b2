"""The rows of each leaf: one array of row numbers, each leaf a stretch of it in ascending order."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

__all__ = ["gather", "partition", "write_leaves"]

_CHUNK = 16384  # rows handled at a time by one thread


@njit(cache=True)
def partition(codes, goes_left, rows, spare):
    """Put the rows that go left first, both sides in their old order; gives how many they are."""
    if len(rows) > 2 * _CHUNK:
        return _partition_parallel(codes, goes_left, rows, spare)
    n_left = 0
    n_right = 0
    for j in range(len(rows)):
        i = rows[j]
        left = goes_left[codes[i]]
        rows[n_left] = i
        spare[n_right] = i
        n_left += left
        n_right += not left
    rows[n_left:] = spare[:n_right]
    return n_left


@njit(parallel=True, cache=True)
def _partition_parallel(codes, goes_left, rows, spare):
    m = len(rows)
    n_chunks = -(-m // _CHUNK)
    lefts = np.zeros(n_chunks, np.int64)
    for chunk in prange(n_chunks):
        n_left = 0
        for j in range(chunk * _CHUNK, min(m, (chunk + 1) * _CHUNK)):
            n_left += goes_left[codes[rows[j]]]
        lefts[chunk] = n_left
    total = lefts.sum()
    for chunk in prange(n_chunks):
        left = lefts[:chunk].sum()
        right = total + chunk * _CHUNK - left
        for j in range(chunk * _CHUNK, min(m, (chunk + 1) * _CHUNK)):
            i = rows[j]
            if goes_left[codes[i]]:
                spare[left] = i
                left += 1
            else:
                spare[right] = i
                right += 1
    for chunk in prange(n_chunks):
        last = min(m, (chunk + 1) * _CHUNK)
        rows[chunk * _CHUNK : last] = spare[chunk * _CHUNK : last]
    return total


@njit(cache=True)
def gather(words, width, rows, out):
    """The words of `rows`, side by side in `out`."""
    if len(rows) > 2 * _CHUNK:
        _gather_parallel(words, width, rows, out)
        return
    for j in range(len(rows)):
        for k in range(width):
            out[j * width + k] = words[np.int64(rows[j]) * width + k]


@njit(parallel=True, cache=True)
def _gather_parallel(words, width, rows, out):
    for j in prange(len(rows)):
        for k in range(width):
            out[j * width + k] = words[np.int64(rows[j]) * width + k]


@njit(parallel=True, cache=True)
def write_leaves(rows, first, last, node, leaf):
    """For every row, the tree node of the leaf it is in."""
    for k in prange(len(first)):
        for j in range(first[k], last[k]):
            leaf[rows[j]] = node[k]
