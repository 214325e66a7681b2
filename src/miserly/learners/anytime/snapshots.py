"""Snapshots of a growing model: what it was at each cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.plan import Tree

__all__ = ["Owned", "Snapshot", "features_of", "last_of_each_cost", "owners", "paid_at"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Owned: TypeAlias = tuple[int, Tree]  # the class against the rest that a tree belongs to, and the tree


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The model at one cost: for each class against the rest, the weights of its trees so far and a bias."""

    cost: float
    weights: tuple[Floats, ...]
    bias: tuple[float, ...]
    aside: Floats  # (classes, n): decisions on the rows aside
    outer_loss: float

    def by_tree(self, owner: Ints) -> Floats:
        """The weight of each tree, in the order they were grown; `owner` is the class of each."""
        weights = np.zeros(len(owner))
        for k, mine in enumerate(self.weights):
            weights[np.flatnonzero(owner == k)[: len(mine)]] = mine
        return weights


def owners(trees: list[Owned]) -> Ints:
    return np.array([k for k, _ in trees], dtype=np.int64)


def features_of(trees: Iterable[Owned], n_features: int) -> NDArray[np.bool_]:
    """What these trees split on."""
    used = np.zeros(n_features, dtype=np.bool_)
    for _, tree in trees:
        used[tree.features] = True
    return used


def last_of_each_cost(snapshots: list[Snapshot], trees: list[Owned], costs: Costs) -> list[Snapshot]:
    """Of snapshots that cost the same the last, where trees cost nothing to evaluate.

    What each costs is counted anew, by the trees that it and those before it weigh.
    """
    while True:
        counted = _counted(snapshots, trees, costs)
        after = [snapshot.cost for snapshot in counted[1:]]
        kept = [one for one, cost in zip(counted, [*after, np.inf], strict=False) if cost > one.cost]
        if len(kept) == len(snapshots):
            return kept
        snapshots = kept


def _counted(snapshots: list[Snapshot], trees: list[Owned], costs: Costs) -> list[Snapshot]:
    paid = paid_at(snapshots, trees, len(costs))
    return [replace(one, cost=costs.of(features)) for one, features in zip(snapshots, paid, strict=True)]


def paid_at(snapshots: list[Snapshot], trees: list[Owned], n_features: int) -> list[NDArray[np.bool_]]:
    """The features of the trees that each snapshot, and those before it, weigh."""
    owner = owners(trees)
    weighed = np.zeros(len(trees), dtype=np.bool_)
    paid = []
    for snapshot in snapshots:
        weighed |= snapshot.by_tree(owner) != 0.0
        paid.append(features_of((trees[t] for t in np.flatnonzero(weighed)), n_features))
    return paid
