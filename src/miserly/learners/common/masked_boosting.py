"""Boosted trees on rows that have bought different features: what a row has not bought is missing.

One model learns from all rows, whatever they have bought. `known_part` cuts each of its trees down to what a
row with some features can meet: splits of other features send it where missing values go, so these trees
never read what is not bought.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, Ledger
from miserly.data.rows import Rows
from miserly.grow import Grower, GrowOptions
from miserly.grow.binning import Binned
from miserly.learners.common.booster import Booster, boost
from miserly.learners.common.round import Round
from miserly.losses import Loss
from miserly.plan import Tree

__all__ = ["Boosting", "Interval", "known_part", "masked_rounds", "on_columns"]

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Boosting:
    """How a boosted model is grown.

    Attributes
    ----------
    loss : Loss
        The loss that it decreases.
    growth : GrowOptions
        Limits of the trees.
    step : float
        Factor of each tree.
    n_rounds : int
        Number of rounds.
    n_threads : int or None
        Number of threads.
    """

    loss: Loss
    growth: GrowOptions
    step: float
    n_rounds: int
    n_threads: int | None


def masked_rounds(
    binned: Binned,
    bought: Bools,
    rows: Rows,
    base: NDArray[np.float64],
    options: Boosting,
    evaluation: float = 0.0,
) -> list[Round]:
    """Rounds of boosting on rows of which only bought values are known.

    Parameters
    ----------
    binned : Binned
        The bins of all rows of a table.
    bought : bool array of (n, d)
        Which features each row has bought.
    rows : Rows
        Labels and weights of the same rows.
    base : array of (K,) or (n, K)
        Scores before the first round, of all rows or of each row.
    options : Boosting
        How trees are grown.
    evaluation : float, default=0.0
        What evaluating a tree costs.

    Returns
    -------
    list of Round
        Trees split on columns of the table.
    """
    features = np.flatnonzero(bought.any(axis=0))
    if not len(features):
        return []
    known = bought[:, features].T
    some = binned.select(features.tolist(), np.ones(len(rows), dtype=np.bool_))
    codes = np.where(known, some.codes, some.bins.n_bins[:, None].astype(np.uint8))
    missing = some.has_missing | ~known.all(axis=1)
    free = Costs(np.zeros(len(features)), evaluation=evaluation)
    booster = Booster(
        loss=options.loss,
        samples=replace(rows, X=rows.X[:, :0]),
        grower=Grower(Binned(codes, missing, some.bins), free, options.growth, options.n_threads),
        ledger=Ledger(free),
        scores=np.array(np.broadcast_to(base, (len(rows), base.shape[-1])), order="F"),
        tradeoff=0.0,
        step=options.step,
    )
    columns = features.astype(np.int32)
    return [on_columns(one, columns, binned.n_features) for one in boost(booster, options.n_rounds)]


def on_columns(one: Round, columns: NDArray[np.int32], n_features: int) -> Round:
    """A round whose trees were grown on some columns, as a round on all of them."""
    trees = tuple(
        replace(tree, feature=np.where(tree.feature < 0, tree.feature, columns[tree.feature]))
        for tree in one.trees
    )
    gain = np.zeros(n_features)
    gain[columns] = one.gain
    return replace(one, trees=trees, gain=gain)


@dataclass(frozen=True)
class Interval:
    """What is known of a value: ``low < value <= high``, and whether it may be missing."""

    low: float = -np.inf
    high: float = np.inf
    may_miss: bool = True


def known_part(tree: Tree, bought: Bools, known: Mapping[int, Interval]) -> Tree:
    """What a row that has bought some features can meet of a tree.

    Parameters
    ----------
    tree : Tree
        The tree. Splits on features that are not bought send a row where missing values go.
    bought : bool array of (d,)
        The features that are bought.
    known : mapping of feature to Interval
        Where values lie. Splits that are decided by it are left out.

    Returns
    -------
    Tree
        With the same value for every such row, and splits on bought features alone.

    Examples
    --------
    >>> tree = Tree([0, 1, -1, -1, -1], [0.0, 5.0, 0, 0, 0], [1, 3, 0, 0, 0], [2, 4, 0, 0, 0],
    ...             [False, True, False, False, False], [0, 0, 1.0, 2.0, 3.0])
    >>> part = known_part(tree, np.array([True, False]), {})
    >>> part.feature.tolist(), part.value.tolist()
    ([0, -1, -1], [0.0, 2.0, 1.0])
    >>> known_part(tree, np.array([True, False]), {0: Interval(low=0.0)}).value.tolist()
    [1.0]
    """
    target = np.arange(len(tree.feature))
    for node in range(len(target) - 1, -1, -1):
        feature = int(tree.feature[node])
        if feature < 0:
            continue
        side = _decided_side(tree, node, bool(bought[feature]), known.get(feature))
        if side >= 0:
            target[node] = target[side]
    return _reachable(tree, target)


def _decided_side(tree: Tree, node: int, is_bought: bool, known: Interval | None) -> int:
    """The child to which all such rows go at a split; -1 if they may go to both."""
    left, right, missing_left = int(tree.left[node]), int(tree.right[node]), bool(tree.missing_left[node])
    if not is_bought:
        return left if missing_left else right
    if known is None or (tree.category is not None and tree.category[node] >= 0):
        return -1
    if known.high <= tree.threshold[node] and (missing_left or not known.may_miss):
        return left
    if known.low >= tree.threshold[node] and not (missing_left and known.may_miss):
        return right
    return -1


def _reachable(tree: Tree, target: NDArray[np.int64]) -> Tree:
    """The tree from the target of its root, where children are replaced by their targets."""
    kept, place = [int(target[0])], 0
    while place < len(kept):
        node = kept[place]
        if tree.feature[node] >= 0:
            kept += [int(target[tree.left[node]]), int(target[tree.right[node]])]
        place += 1
    number = np.zeros(len(target), dtype=np.int64)
    number[kept] = np.arange(len(kept))
    left, right = (
        np.where(tree.feature[kept] >= 0, number[target[side[kept]]], 0) for side in (tree.left, tree.right)
    )
    assert tree.category is not None
    return Tree(
        tree.feature[kept],
        tree.threshold[kept],
        left,
        right,
        tree.missing_left[kept],
        tree.value[kept],
        tree.category[kept],
        tree.words if (tree.category[kept] >= 0).any() else None,
        tree.evaluation,
    )
