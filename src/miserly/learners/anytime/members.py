"""Means of several representations, each trained on another division of the rows.

With few rows, a representation depends much on the division into inner, outer and validation rows. The
purchases are those of the first builder. For each of its snapshots, every other builder learns from the
features that are paid by then. The snapshot becomes the mean of all.
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
