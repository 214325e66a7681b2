"""Splits that treat a number as missing: zero, or a user-defined missing value.

A split of a plan treats only NaN as missing. If the threshold sends the special number to the same side as
missing values, the split does not change. Otherwise it is replaced by splits below, at and above this number.
Splits further down use what these splits tell about the feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.learners.wrap.adopt.trees import Slot, TreeBuilder, tree_in_order
from miserly.plan.terms import Tree

__all__ = ["SplitNodes"]

_Task: TypeAlias = "tuple[int, Slot, dict[int, int]]"  # a node, its place, and the sides of known values


@dataclass(frozen=True, eq=False)
class SplitNodes:
    """The nodes of a tree. Some of them treat values from `low` to `high` as missing.

    Parameters
    ----------
    where : str
        What the tree is, for errors.
    feature : array of n_nodes
        The column of each split; -1 for leaves.
    threshold, missing_left, value, category, words
        As in `Tree`. No threshold of a special split is inside the interval.
    left, right : array of n_nodes
        The children of splits, in any order.
    special : bool array of n_nodes
        Whether the interval counts as missing.
    low, high : float
        The interval.
    """

    where: str
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    missing_left: NDArray[np.bool_]
    special: NDArray[np.bool_]
    value: NDArray[np.float64]
    category: NDArray[np.int64]
    words: NDArray[np.uint32]
    low: float
    high: float

    def tree(self) -> Tree:
        """The tree of a plan.

        Returns
        -------
        Tree
        """
        plain = tree_in_order(
            self.where,
            feature=self.feature,
            threshold=self.threshold,
            left=self.left,
            right=self.right,
            missing_left=self.missing_left,
            value=self.value,
            category=self.category,
            words=self.words,
        )
        return self._expanded() if self._conflicts.any() else plain

    @property
    def _conflicts(self) -> NDArray[np.bool_]:
        """Splits that send the interval to the side opposite to their threshold."""
        return self.special & (self.feature >= 0) & (self.missing_left != (self.threshold >= self.high))

    def _expanded(self) -> Tree:
        builder = TreeBuilder(f"{self.where}, with a number that counts as missing,")
        conflicts = self._conflicts
        todo: list[_Task] = [(0, builder.root, {})]
        while todo:
            node, slot, sides = todo.pop()
            feature = int(self.feature[node])
            children = int(self.left[node]), int(self.right[node])
            if feature < 0:
                builder.leaf(slot, float(self.value[node]))
            elif (left := self._known_side(node, sides.get(feature))) is not None:
                todo.append((children[0 if left else 1], slot, sides))
            elif feature not in sides and conflicts[node]:
                todo += self._around(builder, node, slot, sides)
            else:
                row = int(self.category[node])
                words = self.words[row] if row >= 0 else None
                missing_left = bool(self.missing_left[node])
                new = builder.split(slot, feature, float(self.threshold[node]), missing_left, words)
                todo += [
                    (children[0], builder.left_of(new), sides),
                    (children[1], builder.right_of(new), sides),
                ]
        return builder.tree()

    def _known_side(self, node: int, side: int | None) -> bool | None:
        """Whether all rows go left, if values are below, in or above the interval; None if unknown."""
        if side is None or self.category[node] >= 0:
            return None
        above = bool(self.threshold[node] >= self.high)
        if side == 0:
            return bool(self.missing_left[node]) if self.special[node] else above
        if side < 0:
            return True if above else None
        return None if above else False

    def _around(self, builder: TreeBuilder, node: int, slot: Slot, sides: dict[int, int]) -> list[_Task]:
        """Replace one split in conflict by several, and return the tasks for their children."""
        feature, threshold = int(self.feature[node]), float(self.threshold[node])
        left, right = int(self.left[node]), int(self.right[node])
        below, inside, above = ({**sides, feature: side} for side in (-1, 0, 1))
        lower = builder.split(slot, feature, float(np.nextafter(self.low, -np.inf)), missing_left=False)
        upper = builder.split(builder.right_of(lower), feature, self.high, missing_left=True)
        if self.missing_left[node]:  # the threshold is below the interval: what is above it goes right
            split = builder.split(builder.left_of(lower), feature, threshold, missing_left=False)
            rest, known, special = (right, builder.right_of(upper), above), below, left
        else:  # what is below the interval goes left
            split = builder.split(builder.right_of(upper), feature, threshold, missing_left=False)
            rest, known, special = (left, builder.left_of(lower), below), above, right
        return [
            (special, builder.left_of(upper), inside),
            rest,
            (left, builder.left_of(split), known),
            (right, builder.right_of(split), known),
        ]
