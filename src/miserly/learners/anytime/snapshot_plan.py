"""From snapshots to a plan: a chain with one node per snapshot, whose scores are log-odds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.learners.anytime.snapshots import Owned, Snapshot, owners
from miserly.learners.common.training import steepness_of
from miserly.losses import log_loss
from miserly.plan import LEAVE, Node, Plan

__all__ = ["build_plan", "platt"]

Floats: TypeAlias = NDArray[np.float64]

MAX_STEPS = 50
RIDGE = 1e-3  # of the penalty towards a factor of 1, in rows; needed if scores carry no information
MIN_FACTOR = 1e-3  # positive, so that the order of the scores stays that of the SVM


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
        terms=[replace(trees[t][1], evaluation=evaluation) for t in np.flatnonzero(needed)],
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
