"""The rows of each leaf: one array of row numbers, in which each leaf has a range in ascending order."""

from __future__ import annotations

import numpy as np

from miserly.grow.compiled import compiled, prange, threaded

__all__ = ["gather", "partition", "write_leaves"]

_CHUNK = 8192  # rows handled at a time by one thread


@threaded
def partition(codes, goes_left, rows, spare):
    """Move the rows that go left to the front; both sides keep their order. Returns how many go left.

    Each chunk is first divided within its own range of `spare`, then moved to its final place.
    """
    n_chunks = -(-len(rows) // _CHUNK)
    ends = np.zeros(n_chunks + 1, np.int64)  # running number of left rows after each chunk
    for chunk in prange(n_chunks):
        ends[chunk + 1] = divide(codes, goes_left, rows, spare, chunk * _CHUNK)
    for chunk in range(n_chunks):
        ends[chunk + 1] += ends[chunk]
    for chunk in prange(n_chunks):
        move(rows, spare, chunk * _CHUNK, ends[chunk], ends[chunk + 1], ends[n_chunks])
    return ends[n_chunks]


@compiled
def divide(codes, goes_left, rows, spare, first):
    """Divide one chunk: left rows to the front of its range of `spare`, right rows reversed at the back.

    Every row is written to both ends, which avoids a branch; only one of the two ends advances.
    """
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
    """Move a divided chunk: left rows to ``rows[left:left_end]``, right rows behind earlier right rows."""
    for j in range(left_end - left):
        rows[left + j] = spare[first + j]
    last = min(first + _CHUNK, len(rows))
    n_right = last - first - (left_end - left)
    right = all_left + first - left
    for j in range(n_right):
        rows[right + j] = spare[last - 1 - j]


@threaded
def gather(words, width, rows, out):
    """Copy the words of `rows` to `out`."""
    for chunk in prange(-(-len(rows) // _CHUNK)):
        for j in range(chunk * _CHUNK, min(len(rows), (chunk + 1) * _CHUNK)):
            for k in range(width):
                out[j * width + k] = words[np.int64(rows[j]) * width + k]


@threaded
def write_leaves(rows, leaves, node_of_row):
    """Write the tree node of its leaf for every row."""
    for k in prange(len(leaves)):
        for j in range(leaves[k].first, leaves[k].last):
            node_of_row[rows[j]] = leaves[k].node
