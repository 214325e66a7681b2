"""From snapshots to a plan: a chain of nodes that each weigh some of the trees so far, as probabilities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.learners.anytime.snapshots import Owned, Snapshot, owners
from miserly.learners.common.calibration import steepness_of
from miserly.losses import log_loss
from miserly.plan import LEAVE, Node, Plan

__all__ = ["build_plan", "platt"]

Floats: TypeAlias = NDArray[np.float64]

MAX_STEPS = 50
RIDGE = 1e-3  # rows' worth of pull towards a steepness of 1: scores may tell nothing
FLATTEST = 1e-3  # the order of scores is the SVM's and stays


def build_plan(
    trees: list[Owned],
    snapshots: list[Snapshot],
    rows: Rows,
    aside: Rows,
    *,
    n_scores: int,
    costs: Costs,
    **parts: Any,
) -> Plan:
    """Scores are log-odds: Platt's for each class against the rest, one factor where there are two.

    `aside` are the rows of the snapshots' decisions.
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
            _node(snapshot, mine[needed], owner[needed], aside, up)
            for snapshot, mine, up in zip(snapshots, weights, after, strict=False)
        ],
        base=loss.initial(rows.y, rows.weight),
        link=loss.link,
        costs=costs,
        **parts,
    )


def _node(snapshot: Snapshot, weights: Floats, owner: NDArray[np.int64], aside: Rows, up: int) -> Node:
    """One snapshot; what came before is forgotten but for the values of trees."""
    factor, shift = _calibration(snapshot, aside)
    terms = np.flatnonzero(weights)
    return Node(
        terms,
        owner[terms],
        factor[owner[terms]] * weights[terms],
        factor * snapshot.bias + shift,
        inherits=False,
        up=up,
    )


def _calibration(snapshot: Snapshot, aside: Rows) -> tuple[Floats, Floats]:
    """The factor and shift of each score; two classes keep their labels, so that there is no shift."""
    if len(snapshot.bias) == 1:
        return np.array([steepness_of(snapshot.aside.T, aside.y, aside.weight)]), np.zeros(1)
    weight = np.ones(len(aside)) if aside.weight is None else aside.weight
    found = [platt(scores, aside.y == k, weight) for k, scores in enumerate(snapshot.aside)]
    return np.array([factor for factor, _ in found]), np.array([shift for _, shift in found])


def platt(scores: Floats, positive: NDArray[np.bool_], weight: Floats) -> tuple[float, float]:
    """The factor and shift that turn scores into log-odds, by Platt's method.

    Targets are a little inside 0 and 1, as if one more row of each class had been seen, so that rows that are
    all right, or all of one class, give finite numbers.

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
        move *= min(1.0, 2.0 / max(np.abs(table @ move).max(), 1e-12))  # no leaps where all is flat
        found -= move
        if np.abs(move).max() < 1e-10:
            break
    return max(float(found[0]), FLATTEST), float(found[1])
