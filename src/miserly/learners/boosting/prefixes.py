"""One boosted model for each of several prefixes of a purchase order, as one plan.

A model that was fitted to all features of a budget says little while most of them are missing. So a plan for
all smaller budgets is a chain of models: each node holds a whole model on the first features of the order and
starts again from zero. A row that cannot pay for a node answers with the model before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from miserly.learners.common.round import Round, terms_of
from miserly.plan import LEAVE, Node

__all__ = ["prefix_models", "prefix_nodes", "prefix_sizes"]

RATIO = 1.2  # of the sizes of neighbouring prefixes, where that is more than one feature
LAST_SHARE = 0.5  # of the money for evaluating trees: the part of the last model

Fit = Callable[[int, float], list[Round]]  # from the size of a prefix, and what evaluating its trees may cost


def prefix_sizes(n: int) -> list[int]:
    """The sizes of the prefixes that have a model: 1, 2, ..., 8, and then in ratios of about 1.2.

    Parameters
    ----------
    n : int
        Number of features, the last size.

    Returns
    -------
    list of int

    Examples
    --------
    >>> prefix_sizes(20)
    [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20]
    """
    sizes: list[int] = []
    while not sizes or sizes[-1] < n:
        last = sizes[-1] if sizes else 0
        sizes.append(min(n, max(last + 1, round(RATIO * last))))
    return sizes


def prefix_models(fit: Fit, sizes: Sequence[int], money: float, evaluation: float) -> list[list[Round]]:
    """A boosted model for each prefix.

    Where evaluating trees has a cost, a row pays for the trees of all models. The last model has at least
    half of the money, and the others have equal parts of the rest.

    Parameters
    ----------
    fit : callable
        Fits a model, given the size of a prefix and what evaluating its trees may cost.
    sizes : sequence of int
        The sizes of the prefixes, in rising order.
    money : float
        What evaluating the trees of all models together may cost.
    evaluation : float
        What evaluating a tree costs.

    Returns
    -------
    list of list of Round
        Models without any tree are left out.
    """
    models: list[list[Round]] = []
    for size in sizes[:-1]:
        models.append(fit(size, (1.0 - LAST_SHARE) * money / (len(sizes) - 1)))
    spent = evaluation * sum(len(terms_of(rounds)) for rounds in models)
    models.append(fit(sizes[-1], money - spent))
    return [rounds for rounds in models if rounds]


def prefix_nodes(models: Sequence[Sequence[Round]], base: NDArray[np.float64]) -> list[Node]:
    """One node for each model, with all its trees.

    Parameters
    ----------
    models : sequence of sequences of Round
        The models. Their trees, in this order, are the terms of the plan.
    base : array of (K,)
        The scores before the first round of each model.

    Returns
    -------
    list of Node
        A chain. No node uses the scores of the one before.
    """
    nodes: list[Node] = []
    first = 0
    for place, rounds in enumerate(models, start=1):
        channels = np.array([channel for one in rounds for channel in one.channels], dtype=np.int64)
        node = Node(
            np.arange(first, first + len(channels)),
            channels,
            np.repeat([one.step for one in rounds], [len(one.trees) for one in rounds]),
            base + np.sum([one.bias for one in rounds], axis=0),
            inherits=False,
            up=place if place < len(models) else LEAVE,
        )
        nodes.append(node)
        first += len(channels)
    return nodes
