"""One round of boosting as part of a model, and the terms and nodes of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.plan import LEAVE, Node, Plan, Tree

__all__ = ["Round", "add_rounds", "nodes_of", "terms_of"]


@dataclass(frozen=True, eq=False)
class Round:
    """One round of boosting.

    Parameters
    ----------
    trees : tuple of Tree
        The trees that split.
    channels : tuple of int
        The score that each tree adds to.
    bias : array of (K,)
        Constants that are added to the scores.
    step : float
        Factor of the trees.
    gain : array of (n_features,)
        Decrease of the mean loss by the splits of each feature.
    """

    trees: tuple[Tree, ...]
    channels: tuple[int, ...]
    bias: NDArray[np.float64]
    step: float
    gain: NDArray[np.float64]


def terms_of(rounds: Sequence[Round]) -> list[Tree]:
    """The trees of all rounds, in order."""
    return [tree for one in rounds for tree in one.trees]


def nodes_of(rounds: Sequence[Round]) -> list[Node]:
    """One node per round, each leading to the next."""
    nodes, first = [], 0
    for place, one in enumerate(rounds, start=1):
        terms = np.arange(first, first + len(one.trees))
        first += len(one.trees)
        nodes.append(
            Node(
                terms,
                np.array(one.channels, dtype=np.int64),
                np.full(len(terms), one.step),
                one.bias,
                up=place if place < len(rounds) else LEAVE,
            )
        )
    return nodes


def add_rounds(
    scores: NDArray[np.float64], rounds: Sequence[Round], X: NDArray[Any], costs: Costs, n_threads: int | None
) -> None:
    """Add some rounds to the scores (n, K) of the rows of `X`, in place."""
    nothing = np.zeros(scores.shape[1])
    plan = Plan(costs=costs, terms=terms_of(rounds), nodes=nodes_of(rounds), base=nothing)
    scores += plan.run(X, n_threads=n_threads, account=False, encoded=True).scores.reshape(scores.shape)
