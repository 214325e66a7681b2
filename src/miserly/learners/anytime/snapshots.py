"""Snapshots of a growing model, one for each cost; their means over several models, and the plan they become.

With few rows, a representation depends much on the division into inner, outer and validation rows. The
purchases are those of the first builder. For each of its snapshots, every other builder learns from the
features that are paid by then. The snapshot becomes the mean of all.

The plan is a chain with one node per snapshot, whose scores are log-odds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.learners.common.training import steepness_of
from miserly.losses import log_loss
from miserly.plan import LEAVE, Node, Plan, Tree

if TYPE_CHECKING:
    from miserly.learners.anytime.builder import Builder

__all__ = [
    "Owned",
    "Snapshot",
    "averaged",
    "build_plan",
    "features_of",
    "last_of_each_cost",
    "owners",
    "paid_at",
    "platt",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Owned: TypeAlias = tuple[int, Tree]  # the class against the rest that a tree belongs to, and the tree

MAX_STEPS = 50
RIDGE = 1e-3  # of the penalty towards a factor of 1, in rows; needed if scores carry no information
MIN_FACTOR = 1e-3  # positive, so that the order of the scores stays that of the SVM


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


def averaged(
    builders: Sequence[Builder], validation: Sequence[Ints], n_rows: int
) -> tuple[list[Owned], list[Snapshot], Ints]:
    """The trees of all builders, the snapshots of the first as means, and their validation rows.

    `validation` has the numbers of the validation rows of each builder. The decision on a row is the mean
    over the builders that did not learn from it, so the calibration uses no training rows.
    """
    first, others = builders[0], builders[1:]
    trees = list(first.trees)
    times = np.zeros(n_rows)
    for own in validation:
        times[own] += 1.0
    rows = np.flatnonzero(times)
    snapshots = []
    for place, paid in enumerate(paid_at(first.snapshots, first.trees, len(first.ledger.costs))):
        members = [first.snapshots[place]]
        owner = owners(trees)
        for builder in others:
            number = f"snapshot {place + 1} of {len(first.snapshots)}"
            first.progress(f"{number}, representation {len(members) + 1}")
            fresh = builder.with_features(paid)
            members.append(fresh.learn())
            trees += fresh.trees
        decisions = np.zeros((len(members[0].bias), n_rows))
        for member, own in zip(members, validation, strict=True):
            decisions[:, own] += member.validation
        mean = _mean(members, owner)
        snapshots.append(replace(mean, validation=decisions[:, rows] / times[rows]))
    return trees, snapshots, rows


def _mean(members: list[Snapshot], owner: Ints) -> Snapshot:
    """The mean of snapshots. The first uses trees of these owners; the others, trees that come after them."""
    n = len(members)
    weights = []
    for k, own in enumerate(members[0].weights):
        gap = np.zeros(int((owner == k).sum()) - len(own))
        weights.append(np.concatenate([own, gap, *(member.weights[k] for member in members[1:])]) / n)
    bias = np.mean([member.bias for member in members], axis=0)
    return replace(members[0], weights=tuple(weights), bias=tuple(bias.tolist()))


def build_plan(
    trees: list[Owned],
    snapshots: list[Snapshot],
    rows: Rows,
    validation: Rows,
    *,
    n_scores: int,
    costs: Costs,
    **parts: Any,
) -> Plan:
    """The plan of the snapshots. Scores are made log-odds by Platt scaling; two classes need only a factor.

    `validation` are the rows of the snapshots' decisions.
    """
    evaluation = costs.evaluation
    loss = log_loss(max(2, n_scores))
    owner = owners(trees)
    weights = [snapshot.by_tree(owner) for snapshot in snapshots]
    needed = np.any([one != 0.0 for one in weights], axis=0) if evaluation == 0 else owner >= 0
    after = [*range(1, len(weights)), LEAVE]
    return Plan(
        terms=[trees[t][1] for t in np.flatnonzero(needed)],
        nodes=[
            _node(snapshot, mine[needed], owner[needed], validation, up)
            for snapshot, mine, up in zip(snapshots, weights, after, strict=False)
        ],
        base=loss.initial(rows.y, rows.weight),
        link=loss.link,
        costs=costs,
        **parts,
    )


def _node(snapshot: Snapshot, weights: Floats, owner: NDArray[np.int64], validation: Rows, up: int) -> Node:
    """One snapshot. It reuses the values of trees, and not the scores of the node before."""
    factor, shift = _calibration(snapshot, validation)
    terms = np.flatnonzero(weights)
    return Node(
        terms,
        owner[terms],
        factor[owner[terms]] * weights[terms],
        factor * snapshot.bias + shift,
        inherits=False,
        up=up,
    )


def _calibration(snapshot: Snapshot, validation: Rows) -> tuple[Floats, Floats]:
    """Factor and shift of each score. With two classes there is no shift, so that labels do not change."""
    if len(snapshot.bias) == 1:
        return np.array([steepness_of(snapshot.validation.T, validation.y, validation.weight)]), np.zeros(1)
    weight = np.ones(len(validation)) if validation.weight is None else validation.weight
    found = [platt(scores, validation.y == k, weight) for k, scores in enumerate(snapshot.validation)]
    return np.array([factor for factor, _ in found]), np.array([shift for _, shift in found])


def platt(scores: Floats, positive: NDArray[np.bool_], weight: Floats) -> tuple[float, float]:
    """The factor and shift that turn scores into log-odds (Platt scaling).

    The targets are those of one more row of each class, so that perfect scores give finite numbers.

    >>> scores = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0] * 50)
    >>> factor, shift = platt(scores, np.array([0, 0, 1, 1, 1, 0] * 50, dtype=bool), np.ones(300))
    >>> round(factor, 2), abs(round(shift, 6))                   # two of three: near log 2
    (0.68, 0.0)
    """
    yes, no = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(positive, (yes + 1.0) / (yes + 2.0), 1.0 / (no + 2.0))
    table = np.column_stack([scores, np.ones(len(scores))])
    found = np.array([1.0, np.log((yes + 1.0) / (no + 1.0))])
    pull = np.array([RIDGE, 0.0])
    for _ in range(MAX_STEPS):
        share = expit(table @ found)
        slope = table.T @ (weight * (share - target)) + pull * (found - 1.0)
        curve = (table.T * (weight * share * (1.0 - share))) @ table + np.diag(pull + 1e-9)
        move = np.linalg.solve(curve, slope)
        move *= min(1.0, 2.0 / max(np.abs(table @ move).max(), 1e-12))  # limits steps in flat regions
        found -= move
        if np.abs(move).max() < 1e-10:
            break
    return max(float(found[0]), MIN_FACTOR), float(found[1])
