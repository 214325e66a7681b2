"""Trees of XGBoost as trees of a plan.

XGBoost rounds values to float32 and sends a row left if its value is below the float32 threshold. A plan
compares ``value <= threshold`` in float64. `below_float32` computes the threshold for which both comparisons
agree for every float64 value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.learners.wrap.adopt.readers.document import Document
from miserly.learners.wrap.adopt.special_value import SplitNodes
from miserly.plan.terms import MAX_CATEGORY, Tree, packed_words

__all__ = ["below_float32", "float32_cell", "read_tree"]

_MAX_NODES = 1 << 26
_WORDS = 8
_TOO_LARGE = 2.0**128  # stands for infinity in midpoints with the largest float32


def below_float32(threshold: Any) -> NDArray[np.float64]:
    """The largest float64 numbers that are below float32 thresholds after rounding to float32.

    Parameters
    ----------
    threshold : float32 array
        Thresholds t.

    Returns
    -------
    float64 array
        Numbers s, so that ``float32(x) < t`` if and only if ``x <= s``.

    Examples
    --------
    >>> s = below_float32(np.float32([1.0]))[0]
    >>> bool(np.float32(s) < 1.0), bool(np.float32(np.nextafter(s, 2.0)) < 1.0)
    (True, False)
    """
    upper = np.asarray(threshold, dtype=np.float32)
    with np.errstate(over="ignore"):
        lower = np.nextafter(upper, np.float32(-np.inf))
    middle = 0.5 * (_wide(lower) + _wide(upper))
    lower_is_even = (lower.view(np.uint32) & np.uint32(1)) == 0  # then the middle is rounded down
    return np.where(lower_is_even, middle, np.nextafter(middle, -np.inf))


def float32_cell(value: float) -> tuple[float, float]:
    """The smallest and the largest float64 numbers that round to `value` in float32.

    Parameters
    ----------
    value : float
        A number.

    Returns
    -------
    tuple of float
    """
    number = np.float32(value)
    low = below_float32(np.array([number]))[0]
    high = below_float32(np.nextafter(np.array([number]), np.float32(np.inf)))[0]
    return float(np.nextafter(low, np.inf)), float(high)


def _wide(numbers: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.clip(numbers.astype(np.float64), -_TOO_LARGE, _TOO_LARGE)


def read_tree(tree: Document, n_features: int, missing: float = float("nan")) -> Tree:
    """Read one tree.

    Parameters
    ----------
    tree : Document
        An entry of "trees".
    n_features : int
        The number of columns of the model.
    missing : float, default=NaN
        A number that counts as missing, in addition to NaN.

    Returns
    -------
    Tree
    """
    param = tree.inner("tree_param")
    if "size_leaf_vector" in param and param.whole("size_leaf_vector", 0, 1 << 30) > 1:
        raise DataError(
            f"{tree.where} has several outputs in its leaves (multi_strategy='multi_output_tree'), which "
            "plans do not have; fit the model with multi_strategy='one_output_per_tree'"
        )
    n = param.whole("num_nodes", 1, _MAX_NODES)
    left, right = (tree.whole_numbers(name, n) for name in ("left_children", "right_children"))
    inner = left != -1
    feature = np.where(inner, tree.whole_numbers("split_indices", n), -1)
    if feature.max(initial=-1) >= n_features or (feature[inner] < 0).any():
        raise DataError(f"{tree.where} splits on a column that is not among {n_features}")
    with np.errstate(over="ignore"):
        condition = tree.numbers("split_conditions", n).astype(np.float32)
    category, words = _categories(tree, n, feature)
    is_set = category >= 0
    low, high = (0.0, 0.0) if missing != missing else float32_cell(missing)
    return SplitNodes(
        where=tree.where,
        feature=feature,
        threshold=np.where(is_set, 0.0, below_float32(condition)),
        left=np.where(inner, left, -1),
        right=np.where(inner, right, -1),
        missing_left=tree.whole_numbers("default_left", n) != 0,
        special=inner & ~is_set & (missing == missing),
        value=condition.astype(np.float64),
        category=category,
        words=words,
        low=low,
        high=high,
    ).tree()


def _categories(
    tree: Document, n: int, feature: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """The set of categories of each split (-1 for numbers). XGBoost lists the categories that go right."""
    row = np.full(n, -1, dtype=np.int64)
    if "split_type" not in tree:
        return row, np.zeros((0, _WORDS), np.uint32)
    kind = tree.whole_numbers("split_type", n)
    nodes = tree.whole_numbers("categories_nodes")
    if ((nodes < 0) | (nodes >= n)).any() or len(np.unique(nodes)) != len(nodes):
        raise DataError(f"{tree.where}: 'categories_nodes' has unknown or repeated nodes")
    if ((kind != 0) & (kind != 1)).any() or set(np.flatnonzero((kind == 1) & (feature >= 0))) - set(nodes):
        raise DataError(f"{tree.where} has a split without its kind or its categories")
    begin, size = (tree.whole_numbers(f"categories_{name}", len(nodes)) for name in ("segments", "sizes"))
    codes = tree.whole_numbers("categories")
    if ((begin < 0) | (size < 0) | (begin + size > len(codes))).any() or (codes < 0).any():
        raise DataError(f"{tree.where}: the categories of a split are not in its list")
    if codes.max(initial=0) > MAX_CATEGORY:
        raise DataError(
            f"{tree.where} splits on category codes above {MAX_CATEGORY}, which plans do not have; number "
            "the categories 0, 1, ... and fit the model again"
        )
    n_codes = 256 * (1 + int(codes.max(initial=0)) // 256)
    goes_left = np.ones((len(nodes), n_codes), dtype=np.bool_)  # codes that no split lists go left too
    for i, node in enumerate(nodes.tolist()):
        goes_left[i, codes[begin[i] : begin[i] + size[i]]] = False
        row[node] = i
    return row, packed_words(goes_left)
