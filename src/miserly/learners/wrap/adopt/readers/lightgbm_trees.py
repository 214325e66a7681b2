"""Trees of LightGBM as trees of a plan.

LightGBM compares ``value <= threshold`` in float64, as plans do. Values between -1e-35 and 1e-35 are zero. A
split defines what counts as missing: nothing (NaN is zero), NaN, or zero and NaN. In the last case zero may
go to the side opposite to the threshold; see `special_value`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.learners.wrap.adopt.readers.lightgbm_text import Lines
from miserly.learners.wrap.adopt.special_value import SplitNodes
from miserly.learners.wrap.adopt.trees import TreeBuilder
from miserly.plan.terms import MAX_CATEGORY, Tree

__all__ = ["read_tree"]

ZERO = float(np.float32(1e-35))  # largest value that counts as zero
BELOW_ZERO = float(np.nextafter(-ZERO, -np.inf))
_WORDS = 8
MAX_CODES = MAX_CATEGORY + 1
_MAX_LEAVES = 1 << 24


def read_tree(lines: Lines, n_features: int) -> Tree:
    """Read one tree.

    Parameters
    ----------
    lines : Lines
        Its lines.
    n_features : int
        The number of columns of the model.

    Returns
    -------
    Tree
    """
    n_leaves = lines.whole("num_leaves", 1, _MAX_LEAVES)
    _refuse_linear(lines)
    value = lines.numbers("leaf_value", n_leaves)
    if n_leaves == 1:
        alone = TreeBuilder(lines.where)
        alone.leaf(alone.root, float(value[0]))
        return alone.tree()
    return _nodes(lines, n_leaves, value, n_features).tree()


def _refuse_linear(lines: Lines) -> None:
    if lines.values.get("is_linear", "0") != "0" and lines.values.get("leaf_features", "").strip():
        raise DataError(
            f"{lines.where} has linear models in its leaves (linear_tree=True), which plans do not have; "
            "fit the model with linear_tree=False"
        )


def _nodes(lines: Lines, n_leaves: int, value: NDArray[np.float64], n_features: int) -> SplitNodes:
    n = n_leaves - 1
    feature = lines.whole_numbers("split_feature", n)
    if feature.min() < 0 or feature.max() >= n_features:
        raise DataError(f"{lines.where} splits on a column that is not among {n_features}")
    kind = lines.whole_numbers("decision_type", n)
    categorical, default_left, missing = (kind & 1) != 0, (kind & 2) != 0, (kind >> 2) & 3
    if ((kind < 0) | (kind > 15) | (missing == 3)).any():
        raise DataError(f"{lines.where} has a decision type that LightGBM does not have")
    threshold = lines.numbers("threshold", n)
    category, words = _categories(lines, threshold, categorical, feature)
    numeric = np.where(np.abs(threshold) < ZERO, np.where(threshold >= 0, ZERO, BELOW_ZERO), threshold)
    numeric = np.where(threshold == -ZERO, BELOW_ZERO, numeric)
    natural = numeric >= 0.0
    leaves = np.full(n_leaves, -1)
    children = []
    for name in ("left_child", "right_child"):
        child = lines.whole_numbers(name, n)
        if ((child < -n_leaves) | (child >= n)).any():
            raise DataError(f"{lines.where}: {name!r} refers to a node that does not exist")
        children.append(np.concatenate([np.where(child >= 0, child, n - 1 - child), leaves]))
    pad = np.zeros(n_leaves, dtype=np.bool_)
    return SplitNodes(
        where=lines.where,
        feature=np.concatenate([feature, leaves]),
        threshold=np.concatenate([np.where(categorical, 0.0, numeric), np.zeros(n_leaves)]),
        left=children[0],
        right=children[1],
        missing_left=np.concatenate([np.where(missing == 0, natural, default_left) & ~categorical, pad]),
        special=np.concatenate([(missing == 1) & ~categorical, pad]),
        value=np.concatenate([np.zeros(n), value]),
        category=np.concatenate([category, leaves]),
        words=words,
        low=-ZERO,
        high=ZERO,
    )


def _categories(
    lines: Lines,
    threshold: NDArray[np.float64],
    categorical: NDArray[np.bool_],
    feature: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """The row of `words` of each split (-1 for numbers), and the sets of categories."""
    row = np.full(len(threshold), -1, dtype=np.int64)
    n_sets = lines.whole("num_cat", 0, len(threshold)) if "num_cat" in lines.values else 0
    if not categorical.any():
        return row, np.zeros((0, _WORDS), np.uint32)
    chosen = threshold[categorical]
    if ((chosen != np.floor(chosen)) | (chosen < 0) | (chosen >= n_sets)).any():
        raise DataError(f"{lines.where}: a categorical split points outside its {n_sets} sets of categories")
    row[categorical] = chosen.astype(np.int64)
    bounds = lines.whole_numbers("cat_boundaries", n_sets + 1)
    if bounds[0] != 0 or (np.diff(bounds) <= 0).any() or bounds[-1] > _MAX_LEAVES:
        raise DataError(f"{lines.where}: 'cat_boundaries' must increase from 0")
    bits = lines.whole_numbers("cat_threshold", int(bounds[-1]))
    if ((bits < 0) | (bits >= 1 << 32)).any():
        raise DataError(f"{lines.where}: 'cat_threshold' holds a number that is not a 32-bit word")
    used = np.array([_used(bits[first:last]) for first, last in pairwise(bounds.tolist())])
    if used.max() > MAX_CODES // 32:
        column = int(feature[row == used.argmax()][0]) if (row == used.argmax()).any() else -1
        raise DataError(
            f"{lines.where} splits column {column} on category codes above {MAX_CODES - 1}, which plans do "
            "not have; number its categories 0, 1, ... and fit the model again"
        )
    words = np.zeros((n_sets, _WORDS * max(1, -(-int(used.max()) // _WORDS))), np.uint32)
    for i in range(n_sets):
        words[i, : used[i]] = bits[bounds[i] : bounds[i] + used[i]]
    return row, words


def _used(bits: NDArray[np.int64]) -> int:
    """The number of words up to the last nonzero word."""
    return int(np.flatnonzero(bits)[-1]) + 1 if bits.any() else 0
