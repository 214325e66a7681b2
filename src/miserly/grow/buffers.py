"""Memory that every tree of a grower uses again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["CANDIDATE_SPLIT", "LEAF", "NODE", "Buffers", "new_buffers"]

LEAF = np.dtype(
    [
        ("first", np.int64),  # the rows of the leaf are Buffers.rows[first:last]
        ("last", np.int64),
        ("first_sum", np.int64),  # the packed sums of its rows
        ("second_sum", np.int64),
        ("node", np.int64),
        ("depth", np.int64),
        ("slot", np.int64),  # where its histogram is kept, or -1
        ("feature", np.int64),  # the best feature to split on at current prices, or -1
        ("net", np.float64),  # its gain less its penalty
        ("open", np.bool_),  # whether the leaf may be split
    ],
    align=True,
)
CANDIDATE_SPLIT = np.dtype([("gain", np.float64), ("cut", np.int32), ("missing_left", np.bool_)], align=True)
NODE = np.dtype(
    [
        ("feature", np.int32),  # -1 in a leaf
        ("cut", np.int32),
        ("left", np.int32),
        ("right", np.int32),
        ("value", np.float64),  # in packed units
    ],
    align=True,
)


class Buffers(NamedTuple):
    """Arrays that every tree uses again."""

    leaves: NDArray[np.void]  # of LEAF
    candidates: NDArray[np.void]  # of CANDIDATE_SPLIT, (leaves, features): the best splits
    nodes: NDArray[np.void]  # of NODE
    goes_left: NDArray[np.bool_]  # (nodes, 256): which codes of a split's feature go left
    rows: NDArray[np.uint32]  # unsigned, so that compiled code does not check for negative indices
    spare: NDArray[np.uint32]
    words: NDArray[np.int64]
    active: NDArray[np.int64]  # features that may still be split on; fewer and fewer within a tree
    bought: NDArray[np.int64]
    histograms: NDArray[np.int64]  # (slots + 2, bins * width); the last two are temporary
    free: NDArray[np.int64]  # a stack of free slots


def new_buffers(
    n: int, d: int, n_leaves: int, size: int, slots: int, width: int, shared: Buffers | None
) -> Buffers:
    """Memory for growing trees, with `slots` histograms of `size` words.

    Buffers for rows of another number of words, which are not used at the same time, are `shared`.
    """
    words = np.empty(n * width, dtype=np.int64)
    histograms = np.empty((slots + 2, size), dtype=np.int64)
    free = np.empty(slots, dtype=np.int64)
    if shared is not None:
        return shared._replace(words=words, histograms=histograms, free=free)
    return Buffers(
        leaves=np.empty(n_leaves, dtype=LEAF),
        candidates=np.empty((n_leaves, d), dtype=CANDIDATE_SPLIT),
        nodes=np.empty(2 * n_leaves - 1, dtype=NODE),
        goes_left=np.empty((2 * n_leaves - 1, 256), dtype=np.bool_),
        rows=np.empty(n, dtype=np.uint32),
        spare=np.empty(n, dtype=np.uint32),
        words=words,
        active=np.empty(d, dtype=np.int64),
        bought=np.empty(d, dtype=np.int64),
        histograms=histograms,
        free=free,
    )
