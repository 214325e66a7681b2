"""Trees of other libraries, in any numbering of nodes, as trees of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.plan.terms import Tree, padded_words

__all__ = ["MAX_DEPTH", "Slot", "TreeBuilder", "tree_in_order"]

MAX_DEPTH = 4096  # levels of a tree; deeper ones come from broken files

Ints = NDArray[np.int64]


def tree_in_order(
    where: str,
    *,
    feature: Ints,
    threshold: NDArray[np.float64],
    left: Ints,
    right: Ints,
    missing_left: NDArray[np.bool_],
    value: NDArray[np.float64],
    category: Ints | None = None,
    words: NDArray[np.uint32] | None = None,
) -> Tree:
    """Make a tree of a plan from the nodes that are reachable from node 0, parents before children.

    Parameters
    ----------
    where : str
        What the tree is, for errors.
    feature : array of n_nodes
        The column of each split; -1 for leaves.
    threshold, missing_left, value, category, words
        As in `Tree`.
    left, right : array of n_nodes
        The children of splits.

    Returns
    -------
    Tree

    Raises
    ------
    DataError
        If a child is not among the nodes, or a node is reached twice.
    """
    n = len(feature)
    levels = [np.zeros(1, dtype=np.int64)]
    found = 1
    while True:
        splits = levels[-1][feature[levels[-1]] >= 0]
        if not splits.size:
            break
        below = np.column_stack([left[splits], right[splits]]).ravel()
        if below.min() < 0 or below.max() >= n:
            raise DataError(f"{where}: a split leads to a node that is not among {n}")
        found += len(below)
        if found > n or len(levels) > MAX_DEPTH:
            raise DataError(f"{where}: a node is reached twice, or the tree has over {MAX_DEPTH} levels")
        levels.append(below)
    order = np.concatenate(levels)
    place = np.full(n, -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    if (place >= 0).sum() != len(order):
        raise DataError(f"{where}: a node is reached twice")
    inner = feature[order] >= 0
    return Tree(
        feature[order].astype(np.int32),
        threshold[order],
        np.where(inner, place[left[order] * inner], 0).astype(np.int32),
        np.where(inner, place[right[order] * inner], 0).astype(np.int32),
        missing_left[order],
        np.where(inner, 0.0, value[order]),
        None if category is None else np.where(inner, category[order], -1).astype(np.int32),
        words,
    )


@dataclass(frozen=True)
class Slot:
    """The position of a node: a side of its parent. The root has no parent.

    Parameters
    ----------
    parent : int, default=-1
        The number of the parent.
    is_left : bool, default=True
        Whether the node is the left child.

    Examples
    --------
    >>> TreeBuilder.right_of(3)
    Slot(parent=3, is_left=False)
    """

    parent: int = -1
    is_left: bool = True


class TreeBuilder:
    """A tree that is written node by node, parents before children.

    Parameters
    ----------
    where : str
        What the tree is, for errors.
    limit : int, default=1 << 20
        The largest number of nodes.

    Examples
    --------
    >>> builder = TreeBuilder("tree 0")
    >>> root = builder.split(builder.root, 0, 0.5, missing_left=True)
    >>> builder.leaf(builder.left_of(root), -1.0)
    >>> builder.leaf(builder.right_of(root), 1.0)
    >>> builder.tree().evaluate_one({0: 0.7})
    1.0
    """

    root = Slot()

    def __init__(self, where: str, limit: int = 1 << 20) -> None:
        self.where = where
        self.limit = limit
        self._feature: list[int] = []
        self._threshold: list[float] = []
        self._children: list[list[int]] = []
        self._missing_left: list[bool] = []
        self._value: list[float] = []
        self._category: list[int] = []
        self._words: list[Any] = []

    @staticmethod
    def left_of(node: int) -> Slot:
        """The place of the left child of a node."""
        return Slot(node, True)

    @staticmethod
    def right_of(node: int) -> Slot:
        """The place of the right child of a node."""
        return Slot(node, False)

    def split(
        self,
        slot: Slot,
        feature: int,
        threshold: float,
        missing_left: bool,
        words: NDArray[np.uint32] | None = None,
    ) -> int:
        """Write a split, on a set of categories if `words` are given.

        Parameters
        ----------
        slot : Slot
            Its place: `root`, or what `left_of` and `right_of` give.
        feature : int
            The column.
        threshold : float
            Values up to it go left.
        missing_left : bool
            Whether missing values go left.
        words : uint32 array of a multiple of eight, optional
            The categories that go left.

        Returns
        -------
        int
            The number of the node.
        """
        category = -1
        if words is not None:
            category = len(self._words)
            self._words.append(words)
        return self._add(slot, feature, threshold, missing_left, 0.0, category)

    def leaf(self, slot: Slot, value: float) -> None:
        """Write a leaf.

        Parameters
        ----------
        slot : Slot
            Its place: `root`, or what `left_of` and `right_of` give.
        value : float
            Its value.
        """
        self._add(slot, -1, 0.0, False, value, -1)

    def _add(
        self, slot: Slot, feature: int, threshold: float, missing_left: bool, value: float, category: int
    ) -> int:
        node = len(self._feature)
        if node >= self.limit:
            raise DataError(f"{self.where} would need more than {self.limit:,} nodes in a plan")
        if slot.parent >= 0:
            self._children[slot.parent][0 if slot.is_left else 1] = node
        self._feature.append(feature)
        self._threshold.append(threshold)
        self._children.append([0, 0])
        self._missing_left.append(missing_left)
        self._value.append(value)
        self._category.append(category)
        return node

    def tree(self) -> Tree:
        """The finished tree."""
        children = np.array(self._children, dtype=np.int32)
        category = np.array(self._category, dtype=np.int32)
        missing_left = np.array(self._missing_left, dtype=np.bool_)
        words: NDArray[np.uint32] | None = None
        if self._words:
            most, by_set = max(map(len, self._words)), missing_left[category >= 0]
            pairs = zip(self._words, by_set, strict=True)  # each split wrote its own set
            words = np.concatenate([padded_words(one[None], most, np.array([side])) for one, side in pairs])
        return Tree(
            np.array(self._feature, dtype=np.int32),
            np.array(self._threshold, dtype=np.float64),
            children[:, 0],
            children[:, 1],
            missing_left,
            np.array(self._value, dtype=np.float64),
            category,
            words,
        )
