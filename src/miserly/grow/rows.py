"""The rows of each leaf: one array of row numbers, each leaf a stretch of it in ascending order."""

from __future__ import annotations

import numpy as np

from miserly.grow.compiled import compiled, prange, threaded

__all__ = ["gather", "partition", "write_leaves"]

_CHUNK = 8192  # rows handled at a time by one thread


@threaded
def partition(codes, goes_left, rows, spare):
    """Put the rows that go left first, both sides in their old order; gives how many they are.

    Every chunk is first divided within its own stretch of `spare`, then moved to where it belongs.
    """
    n_chunks = -(-len(rows) // _CHUNK)
    ends = np.zeros(n_chunks + 1, np.int64)  # of the left rows of the chunks so far
    for chunk in prange(n_chunks):
        ends[chunk + 1] = divide(codes, goes_left, rows, spare, chunk * _CHUNK)
    for chunk in range(n_chunks):
        ends[chunk + 1] += ends[chunk]
    for chunk in prange(n_chunks):
        move(rows, spare, chunk * _CHUNK, ends[chunk], ends[chunk + 1], ends[n_chunks])
    return ends[n_chunks]


@compiled
def divide(codes, goes_left, rows, spare, first):
    """Lefts to the front of a chunk of `spare`, rights to its back in reverse; both are always written."""
    n_left = first
    n_right = min(first + _CHUNK, len(rows)) - 1
    for j in range(first, n_right + 1):
        i = rows[j]
        left = np.int64(goes_left[codes[i]])
        spare[n_left] = i
        spare[n_right] = i
        n_left += left
        n_right -= 1 - left
    return n_left - first


@compiled
def move(rows, spare, first, left, left_end, all_left):
    """Move a divided chunk: lefts to ``rows[left:left_end]``, rights behind those of earlier chunks."""
    for j in range(left_end - left):
        rows[left + j] = spare[first + j]
    last = min(first + _CHUNK, len(rows))
    n_right = last - first - (left_end - left)
    right = all_left + first - left
    for j in range(n_right):
        rows[right + j] = spare[last - 1 - j]


@threaded
def gather(words, width, rows, out):
    """The words of `rows`, side by side in `out`."""
    for chunk in prange(-(-len(rows) // _CHUNK)):
        for j in range(chunk * _CHUNK, min(len(rows), (chunk + 1) * _CHUNK)):
            for k in range(width):
                out[j * width + k] = words[np.int64(rows[j]) * width + k]


@threaded
def write_leaves(rows, leaves, node_of_row):
    """For every row, the tree node of the leaf it is in."""
    for k in prange(len(leaves)):
        for j in range(leaves[k].first, leaves[k].last):
            node_of_row[rows[j]] = leaves[k].node
