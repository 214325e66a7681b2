"""Records of trees: what compiled code writes about trees that it grows, and terms of plans from them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.grow.binning import Bins
from miserly.grow.compiled import compiled
from miserly.grow.packing import Scale
from miserly.plan.terms import Tree

__all__ = [
    "Thresholds",
    "TreeRecords",
    "new_records",
    "record_tree",
    "thresholds_of",
    "tree_of",
    "tree_of_nodes",
]


SHARED_NODES = 63  # trees of at most so many nodes are not copied


class Thresholds(NamedTuple):
    """What turns cuts between bins into thresholds."""

    edges: NDArray[np.float64]  # (d, 256)
    n_bins: NDArray[np.int64]
    categorical: NDArray[np.bool_]


class TreeRecords(NamedTuple):
    """Trees in the form of `Tree`, one in each row. Bit sets are there if a column is categorical."""

    n_nodes: NDArray[np.int64]  # (trees,)
    feature: NDArray[np.int32]  # (trees, nodes), as all that follow
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    category: NDArray[np.int32]
    n_sets: NDArray[np.int64]  # (trees,)
    words: NDArray[np.uint32]  # (trees, sets, 8)


def thresholds_of(bins: Bins) -> Thresholds:
    """The thresholds of binned columns."""
    return Thresholds(bins.edges, bins.n_bins, bins.categorical)


def new_records(n_trees: int, n_leaves: int, categorical: bool) -> TreeRecords:
    """Memory for trees of at most `n_leaves` leaves.

    >>> new_records(5, 16, categorical=False).value.shape
    (5, 31)
    """
    shape = n_trees, 2 * n_leaves - 1
    left, right, feature, category = np.empty((4, *shape), dtype=np.int32)
    threshold, value = np.empty((2, *shape))
    n_nodes, n_sets = np.empty((2, n_trees), dtype=np.int64)
    words = np.empty((n_trees, n_leaves - 1 if categorical else 0, 8), dtype=np.uint32)
    missing_left = np.empty(shape, dtype=np.bool_)
    return TreeRecords(n_nodes, feature, threshold, left, right, missing_left, value, category, n_sets, words)


@compiled
def record_tree(records, t, n_nodes, buffers, thresholds, scale):
    """Write the tree in `buffers` to row `t`, with thresholds and values in the units of the data."""
    records.n_nodes[t] = n_nodes
    n_sets = 0
    for i in range(n_nodes):
        node = buffers.nodes[i]
        f = node.feature
        records.feature[t, i] = f
        records.threshold[t, i] = 0.0
        records.left[t, i] = 0
        records.right[t, i] = 0
        records.missing_left[t, i] = False
        records.value[t, i] = 0.0
        records.category[t, i] = -1
        if f < 0:
            value = node.value / scale.hessian_unit
            records.value[t, i] = math.ldexp(value, scale.hessian_shift - scale.residual_shift)
            continue
        records.left[t, i] = node.left
        records.right[t, i] = node.right
        records.missing_left[t, i] = buffers.goes_left[i, thresholds.n_bins[f]]
        if thresholds.categorical[f]:
            records.category[t, i] = n_sets
            write_set(buffers.goes_left[i], records.words[t, n_sets])
            n_sets += 1
        else:
            records.threshold[t, i] = thresholds.edges[f, node.cut]
    records.n_sets[t] = n_sets


@compiled
def write_set(goes_left, words):
    """One bit for each category code. Code 255 is that of missing values."""
    words[:] = 0
    for code in range(255):
        if goes_left[code]:
            words[code >> 5] |= np.uint32(1) << np.uint32(code & 31)


def tree_of(records: TreeRecords, t: int, evaluation: float) -> Tree:
    """The term of a plan that row `t` describes.

    Small trees share the memory of the records, which they nearly fill. Others are copied.
    """
    n, n_sets = records.n_nodes[t], records.n_sets[t]
    feature, threshold = records.feature[t, :n], records.threshold[t, :n]
    left, right, missing_left = records.left[t, :n], records.right[t, :n], records.missing_left[t, :n]
    value, category, words = records.value[t, :n], records.category[t, :n], records.words[t, :n_sets]
    if records.value.shape[1] > SHARED_NODES or len(words) < records.words.shape[1]:
        feature, threshold, left, right = feature.copy(), threshold.copy(), left.copy(), right.copy()
        missing_left, value = missing_left.copy(), value.copy()
        category, words = category.copy(), words.copy()
    return Tree.valid(
        feature=feature,
        threshold=threshold,
        left=left,
        right=right,
        missing_left=missing_left,
        value=value,
        category=category,
        words=words,
        evaluation=evaluation,
    )


def tree_of_nodes(
    nodes: NDArray[np.void], goes_left: NDArray[np.bool_], scale: Scale, bins: Bins, evaluation: float
) -> Tree:
    """The term of a plan from grown nodes, with thresholds and values in the units of the data."""
    inner = np.flatnonzero(nodes["feature"] >= 0)
    split = nodes[inner]
    f = split["feature"]
    threshold = np.zeros(len(nodes))
    threshold[inner] = np.where(bins.categorical[f], 0.0, bins.edges[f, split["cut"]])
    missing_left = np.zeros(len(nodes), dtype=np.bool_)
    missing_left[inner] = goes_left[inner, bins.n_bins[f]]
    left, right = np.zeros((2, len(nodes)), dtype=np.int32)
    left[inner], right[inner] = split["left"], split["right"]
    value = np.where(nodes["feature"] < 0, nodes["value"] / scale.hessian_unit, 0.0)
    with np.errstate(over="ignore", under="ignore"):
        value = np.ldexp(value, scale.hessian_shift - scale.residual_shift)
    category = np.full(len(nodes), -1, dtype=np.int32)
    by_category = inner[bins.categorical[f]]
    category[by_category] = np.arange(len(by_category))
    words = _bit_sets(goes_left[by_category])
    splits = nodes["feature"].copy(), threshold, left, right, missing_left
    return Tree(*splits, value, category, words, evaluation)


def _bit_sets(goes_left: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """One bit per category code, as rows of `Tree.words`. Code 255 is that of missing values."""
    bits = goes_left.copy()
    bits[:, 255] = False
    return np.packbits(bits, axis=1, bitorder="little").view("<u4").astype(np.uint32)
