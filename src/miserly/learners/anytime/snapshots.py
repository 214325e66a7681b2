"""Snapshots of a growing model, one for each cost."""

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
    """The model at one cost: for each class against the rest, weights of its trees so far and a bias."""

    cost: float
    weights: tuple[Floats, ...]
    bias: tuple[float, ...]
    validation: Floats  # (classes, n): decisions on the validation rows
    outer_loss: float

    def by_tree(self, owner: Ints) -> Floats:
        """The weight of each tree, in the order of growth; `owner` is the class of each."""
        weights = np.zeros(len(owner))
        for k, own in enumerate(self.weights):
            weights[np.flatnonzero(owner == k)[: len(own)]] = own
        return weights


def owners(trees: list[Owned]) -> Ints:
    """The class of each tree."""
    return np.array([k for k, _ in trees], dtype=np.int64)


def features_of(trees: Iterable[Owned], n_features: int) -> NDArray[np.bool_]:
    """Mask of the features that these trees split on."""
    used = np.zeros(n_features, dtype=np.bool_)
    for _, tree in trees:
        used[tree.features] = True
    return used


def last_of_each_cost(snapshots: list[Snapshot], trees: list[Owned], costs: Costs) -> list[Snapshot]:
    """The last snapshot of each cost, if evaluating trees costs nothing.

    The cost of a snapshot is computed again from the trees with a weight in it or in an earlier snapshot.
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
    """The features of the trees with a weight in each snapshot or in an earlier one."""
    owner = owners(trees)
    used = np.zeros(len(trees), dtype=np.bool_)
    paid = []
    for snapshot in snapshots:
        used |= snapshot.by_tree(owner) != 0.0
        paid.append(features_of((trees[t] for t in np.flatnonzero(used)), n_features))
    return paid
