"""Branches of a purchase tree: which rows have bought which features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.data.rows import Rows
from miserly.grow.binning import Binned, Bins
from miserly.grow.stumps import Stump, threshold_of
from miserly.plan import Node, Threshold
from miserly.plan.terms import Tree, category_words

__all__ = ["Branch", "Split", "bought_table", "split_node"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """A split on a bought feature: rows whose bin is at most `cut` go low, others and missing values high."""

    feature: int
    cut: int

    def goes_low(self, binned: Binned, rows: Ints) -> NDArray[np.bool_]:
        """Which of some rows go low."""
        return self.goes_low_codes(binned.codes, rows)

    def goes_low_codes(self, codes: NDArray[np.uint8], rows: Ints) -> NDArray[np.bool_]:
        """As `goes_low`, from the bins (d, n) of a table."""
        return np.asarray(codes[self.feature][rows] <= self.cut)

    def term(self, bins: Bins, evaluation: float) -> Tree:
        """The split as a tree that gives 1 to rows that go low, and -1 to others."""
        words = category = None
        if bins.categorical[self.feature]:
            words, category = category_words(range(self.cut + 1))[None, :], np.array([0, -1, -1])
        threshold = threshold_of(bins, Stump(self.feature, self.cut, False))
        return Tree(
            feature=np.array([self.feature, -1, -1]),
            threshold=np.array([threshold, 0.0, 0.0]),
            left=np.array([1, 0, 0]),
            right=np.array([2, 0, 0]),
            missing_left=np.zeros(3, dtype=np.bool_),
            value=np.array([0.0, 1.0, -1.0]),
            category=category,
            words=words,
            evaluation=evaluation,
        )


@dataclass(eq=False)
class Branch:
    """A node of a purchase tree: what its rows have bought, and the split that divides them, if any.

    Attributes
    ----------
    rows : int array
        Training rows that reach it.
    bought : tuple of int
        Features in the order of purchase.
    split : Split or None
        None in a leaf.
    children : tuple of Branch
        The low and the high side of the split; none in a leaf.
    """

    rows: Ints
    bought: tuple[int, ...] = ()
    split: Split | None = None
    children: tuple[Branch, ...] = ()

    @property
    def leaves(self) -> list[Branch]:
        """All leaves below, from low to high; the branch itself if it is a leaf."""
        return [leaf for child in self.children for leaf in child.leaves] or [self]

    @property
    def depths(self) -> list[int]:
        """The number of splits before each leaf."""
        return [1 + depth for child in self.children for depth in child.depths] or [0]

    def smoothed(self, rows: Rows, prior: float) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Labels of all rows, and weights with which those of the branch count.

        Parameters
        ----------
        rows : Rows
            The training rows.
        prior : float
            As if so many rows like all rows were in the branch, too.

        Returns
        -------
        labels, weights : arrays of (n,)
        """
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        own = np.zeros(len(rows))
        own[self.rows] = weight[self.rows]
        smoothed = weight * prior / weight.sum() + own
        return rows.y, smoothed / smoothed.mean()

    def routed(self, binned: Binned, rows: Ints) -> Iterator[tuple[Branch, Ints]]:
        """Each leaf with those of some rows of a table that reach it."""
        if self.split is None:
            yield self, rows
            return
        low = self.split.goes_low(binned, rows)
        for child, part in zip(self.children, (rows[low], rows[~low]), strict=True):
            yield from child.routed(binned, part)

    def place(self, binned: Binned, rows: Ints) -> None:
        """Give each branch those of some rows of another table that reach it."""
        self.rows = rows
        if self.split is not None:
            low = self.split.goes_low(binned, rows)
            for child, part in zip(self.children, (rows[low], rows[~low]), strict=True):
                child.place(binned, part)


def bought_table(parts: list[tuple[tuple[int, ...], Ints]], shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Which features each row has bought, from features and rows of several leaves."""
    bought = np.zeros(shape, dtype=np.bool_)
    for features, rows in parts:
        bought[rows[:, None], np.array(features, dtype=np.int64)] = True
    return bought


def split_node(term: int, low: NDArray[np.float64], high: NDArray[np.float64]) -> Node:
    """A node with one split, whose sides answer with given scores. Its children are still missing.

    There is one more score than outputs, by which the gate decides: 1 if the row goes low, else -1.

    Parameters
    ----------
    term : int
        The split, as `Split.term` gives it.
    low, high : arrays of (K,)
        The scores of rows that go low, and of others.

    Returns
    -------
    Node
    """
    n_scores = len(low) + 1
    return Node(
        np.full(n_scores, term),
        np.arange(n_scores),
        np.append((low - high) / 2, 1.0),
        np.append((low + high) / 2, 0.0),
        inherits=False,
        gate=Threshold(0.0, channel=n_scores - 1),
    )
