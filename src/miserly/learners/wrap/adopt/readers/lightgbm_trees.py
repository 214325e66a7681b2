"""Trees of LightGBM as trees of a plan.

LightGBM compares ``value <= threshold`` in float64, as plans do. Values between -1e-35 and 1e-35 are zero. A
split says what is missing: nothing (NaN is zero), NaN, or zero and NaN. In the last case zero may go to
another side than its threshold says. Then the split becomes up to three splits: below, at and above zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.learners.wrap.adopt.readers.lightgbm_text import Lines
from miserly.learners.wrap.adopt.trees import Slot, TreeBuilder, tree_in_order
from miserly.plan.terms import Tree

__all__ = ["read_tree"]

ZERO = float(np.float32(1e-35))  # largest value that counts as zero
BELOW_ZERO = float(np.nextafter(-ZERO, -np.inf))
_WORDS = 8
_MAX_LEAVES = 1 << 24
_Task: TypeAlias = "tuple[int, Slot, dict[int, int]]"  # a node, its place, and the signs of known values


@dataclass(frozen=True, eq=False)
class _Nodes:
    """The nodes of a tree: first the splits, then the leaves."""

    where: str
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    default_left: NDArray[np.bool_]
    zero_missing: NDArray[np.bool_]  # whether zero counts as missing
    value: NDArray[np.float64]
    category: NDArray[np.int64]
    words: NDArray[np.uint32]

    @property
    def conflicts(self) -> NDArray[np.bool_]:
        """Splits that send zero to the other side than their threshold says."""
        return self.zero_missing & (self.default_left != (self.threshold >= 0.0))


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
    nodes = _nodes(lines, n_leaves, value, n_features)
    tree = tree_in_order(
        nodes.where,
        feature=nodes.feature,
        threshold=nodes.threshold,
        left=nodes.left,
        right=nodes.right,
        missing_left=nodes.default_left,
        value=nodes.value,
        category=nodes.category,
        words=nodes.words,
    )
    return _expanded(nodes) if nodes.conflicts.any() else tree


def _refuse_linear(lines: Lines) -> None:
    if lines.values.get("is_linear", "0") != "0" and lines.values.get("leaf_features", "").strip():
        raise DataError(
            f"{lines.where} has linear models in its leaves (linear_tree=True), which plans do not have; "
            "fit the model with linear_tree=False"
        )


def _nodes(lines: Lines, n_leaves: int, value: NDArray[np.float64], n_features: int) -> _Nodes:
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
            raise DataError(f"{lines.where}: {name!r} names a node that is not there")
        children.append(np.concatenate([np.where(child >= 0, child, n - 1 - child), leaves]))
    pad = np.zeros(n_leaves, dtype=np.bool_)
    return _Nodes(
        where=lines.where,
        feature=np.concatenate([feature, leaves]),
        threshold=np.concatenate([np.where(categorical, 0.0, numeric), np.zeros(n_leaves)]),
        left=children[0],
        right=children[1],
        default_left=np.concatenate([np.where(missing == 0, natural, default_left) & ~categorical, pad]),
        zero_missing=np.concatenate([(missing == 1) & ~categorical, pad]),
        value=np.concatenate([np.zeros(n), value]),
        category=np.concatenate([category, leaves]),
        words=words,
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
        raise DataError(f"{lines.where}: 'cat_boundaries' do not rise from 0")
    bits = lines.whole_numbers("cat_threshold", int(bounds[-1]))
    if ((bits < 0) | (bits >= 1 << 32)).any():
        raise DataError(f"{lines.where}: 'cat_threshold' holds a number that is no 32-bit word")
    words = np.zeros((n_sets, _WORDS), np.uint32)
    for i in range(n_sets):
        one = bits[bounds[i] : bounds[i + 1]]
        if one[_WORDS:].any():
            column = int(feature[row == i][0]) if (row == i).any() else -1
            raise DataError(
                f"{lines.where} splits column {column} on category codes above 255, which plans do not have; "
                "number its categories 0 to 255, rare ones in one category, and fit the model again"
            )
        words[i, : min(len(one), _WORDS)] = one[:_WORDS].astype(np.uint32)
    return row, words


# -- zero as missing -----------------------------------------------------------------------------------------


def _expanded(nodes: _Nodes) -> Tree:
    """The tree with every split in conflict written as splits below, at and above zero."""
    builder = TreeBuilder(f"{nodes.where} (with zero_as_missing)")
    todo: list[_Task] = [(0, builder.root, {})]
    while todo:
        node, slot, sides = todo.pop()
        f, t = int(nodes.feature[node]), float(nodes.threshold[node])
        left, right = int(nodes.left[node]), int(nodes.right[node])
        default = bool(nodes.default_left[node])
        if f < 0:
            builder.leaf(slot, float(nodes.value[node]))
        elif nodes.category[node] >= 0:
            new = builder.split(slot, f, 0.0, default, nodes.words[nodes.category[node]])
            todo += [(left, builder.left_of(new), sides), (right, builder.right_of(new), sides)]
        elif (side := _known_side(sides.get(f), t, default, bool(nodes.zero_missing[node]))) is not None:
            todo.append((left if side else right, slot, sides))
        elif f not in sides and nodes.conflicts[node]:
            todo += _around_zero(builder, slot, f, t, (left, right), default, sides)
        else:
            new = builder.split(slot, f, t, default)
            todo += [(left, builder.left_of(new), sides), (right, builder.right_of(new), sides)]
    return builder.tree()


def _known_side(sign: int | None, threshold: float, default_left: bool, zero_missing: bool) -> bool | None:
    """Whether all rows go left, where the sign of the value is known; None if it does not decide."""
    if sign == 0:
        return default_left if zero_missing else threshold >= 0.0
    if sign == -1 and threshold >= 0.0:
        return True
    return False if sign == 1 and threshold < 0.0 else None


def _around_zero(
    builder: TreeBuilder,
    slot: Slot,
    feature: int,
    threshold: float,
    children: tuple[int, int],
    default_left: bool,
    sides: Mapping[int, int],
) -> list[_Task]:
    """The splits of one split in conflict, and what hangs below them."""
    left, right = children
    below, at, above = ({**sides, feature: sign} for sign in (-1, 0, 1))
    negative = builder.split(slot, feature, BELOW_ZERO, missing_left=False)
    zero = builder.split(builder.right_of(negative), feature, ZERO, missing_left=True)
    middle = (left if default_left else right, builder.left_of(zero), at)
    if default_left:  # the threshold is below zero: values above zero go right
        split = builder.split(builder.left_of(negative), feature, threshold, missing_left=False)
        rest = (right, builder.right_of(zero), above)
        known = below
    else:  # values below zero go left
        split = builder.split(builder.right_of(zero), feature, threshold, missing_left=False)
        rest = (left, builder.left_of(negative), below)
        known = above
    return [
        middle,
        rest,
        (left, builder.left_of(split), known),
        (right, builder.right_of(split), known),
    ]
