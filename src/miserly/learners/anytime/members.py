"""Several representations for each snapshot: what it has paid for, learned from rows divided in other ways.

With few rows a representation depends much on which of them were inner, outer and aside. Purchases stay those
of the first builder. For each of its snapshots every other builder, with a division of its own, learns from
the features paid by then alone, and the snapshot becomes the mean of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.learners.anytime.builder import Builder
from miserly.learners.anytime.snapshots import Owned, Snapshot, owners, paid_at

__all__ = ["averaged"]

Ints: TypeAlias = NDArray[np.int64]


def averaged(
    builders: Sequence[Builder], aside: Sequence[Ints], n_rows: int
) -> tuple[list[Owned], list[Snapshot], Ints]:
    """The trees of all builders, the snapshots of the first as means, and the rows that judge these.

    `aside` names, for each builder, the rows of `n_rows` that it does not learn from. A row judges a mean by
    the decisions of those builders alone that have it aside: nothing is calibrated on rows learned from.
    """
    first, others = builders[0], builders[1:]
    trees = list(first.trees)
    times = np.zeros(n_rows)
    for rows in aside:
        times[rows] += 1.0
    judging = np.flatnonzero(times)
    snapshots = []
    for place, paid in enumerate(paid_at(first.snapshots, first.trees, len(first.ledger.costs))):
        members = [first.snapshots[place]]
        owner = owners(trees)
        for builder in others:
            first.tell(f"snapshot {place + 1} of {len(first.snapshots)}, representation {len(members) + 1}")
            fresh = builder.anew(paid)
            members.append(fresh.learn())
            trees += fresh.trees
        decisions = np.zeros((len(members[0].bias), n_rows))
        for member, rows in zip(members, aside, strict=True):
            decisions[:, rows] += member.aside
        mean = _mean(members, owner)
        snapshots.append(replace(mean, aside=decisions[:, judging] / times[judging]))
    return trees, snapshots, judging


def _mean(members: list[Snapshot], owner: Ints) -> Snapshot:
    """The first one weighs trees with these owners, the others trees of their own that come after."""
    n = len(members)
    weights = []
    for k, mine in enumerate(members[0].weights):
        gap = np.zeros(int((owner == k).sum()) - len(mine))
        weights.append(np.concatenate([mine, gap, *(member.weights[k] for member in members[1:])]) / n)
    bias = np.mean([member.bias for member in members], axis=0)
    return replace(members[0], weights=tuple(weights), bias=tuple(bias.tolist()))
