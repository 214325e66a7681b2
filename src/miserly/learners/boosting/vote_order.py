"""The order in which a weighted vote is evaluated, and what it answers when it is stopped early.

A vote is a sum, so its order changes nothing but what a smaller budget gets of it. `thrifty_order` puts
rounds on free features first, then buys the cheapest features one after the other. A later round of AdaBoost
corrects all rounds before it, and without them may do harm: of the rounds that are paid, only those come at
once that lower the loss of the rounds in front of them. The others wait for the next purchase.

The rounds that are left out may favour a class. `with_offsets` adds a constant after every round that makes
up for it, and takes it back in the last one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from miserly.costs import Costs
from miserly.learners.boosting.votes import Standing
from miserly.plan import Node, Plan

__all__ = ["needs_of", "thrifty_order", "votes_on", "with_offsets"]

Floats = NDArray[np.float64]

MOST_VOTES = 2**22  # numbers held at a time: rounds x classes x training rows
LEAST_ROWS = 100
DIGITS = 12  # of prices, as shares of all: smaller differences are rounding
MOST_PUSH = 300.0  # of one vote, in half log-odds: more is as good as sure


def votes_on(plan: Plan, standing: Standing, X: NDArray[Any], seed: int, n_threads: int | None) -> _Votes:
    """What each node of a chain of votes does to the loss of the training rows, or of some of them."""
    n_rows = max(LEAST_ROWS, MOST_VOTES // (len(plan.nodes) * plan.n_scores))
    some = np.arange(len(X))
    if n_rows < len(X):
        some = np.sort(np.random.default_rng(seed).choice(len(X), n_rows, replace=False))
    signs = standing.signs[:, some]
    factors = np.empty((len(plan.nodes), *signs.shape))
    before = np.zeros((len(some), plan.n_scores))  # the first node takes the base back
    parts = plan.run_staged(X[some], account=False, n_threads=n_threads, encoded=True)
    for stage, factor in zip(parts, factors, strict=True):
        push = signs * (stage.scores - before).T / 2.0
        factor[:] = np.exp(np.clip(-push, -MOST_PUSH, MOST_PUSH))
        before = stage.scores
    return _Votes(factors, signs, standing.weight[some])


class _Votes:
    """The rounds of a vote, and the loss of those taken: ``sum weight exp(-sign (score + offset) / 2)``.

    For the best offset the loss of a class is twice the root of the loss of its rows times that of the other
    rows, both without an offset.
    """

    def __init__(self, factors: Floats, signs: Floats, weight: Floats) -> None:
        self._factors = factors  # (T, K, n): what each round multiplies the losses of rows by
        self._losses = np.stack([weight * (signs > 0), weight * (signs < 0)])  # (2, K, n)
        self._share = self._of_classes(self._losses.sum(axis=2))
        self._share = self._share / max(self._share.sum(), 1e-300)

    @staticmethod
    def _of_classes(sides: Floats) -> Floats:
        return np.asarray(np.sqrt(sides[0] * sides[1]))

    def take(self, number: int) -> bool:
        """Add a round if that lowers the loss; gives whether it did."""
        before = self._of_classes(self._losses.sum(axis=2))
        after = self._of_classes(np.einsum("skn,kn->sk", self._losses, self._factors[number]))
        share = self._share * np.divide(after, before, out=np.zeros_like(after), where=before > 0.0)
        if not share.sum() < 1.0 - 1e-12:
            return False
        self._losses = self._losses * self._factors[number]
        self._losses /= np.maximum(self._losses.max(axis=(0, 2)), 1e-300)[:, None]  # units are free
        self._share = share / max(share.sum(), 1e-300)
        return True


def thrifty_order(needs: NDArray[np.bool_], costs: Costs, votes: _Votes) -> list[int]:
    """Rounds in the order in which they are evaluated.

    Parameters
    ----------
    needs : array of (T, n_features)
        What each round reads, in the order of training.
    costs : Costs
    votes : _Votes
        Says whether a round lowers the loss of those before it.
    """
    total = float(costs.of(needs.any(axis=0)))
    paid = np.zeros((1, needs.shape[1]), dtype=np.bool_)
    waiting, order = np.arange(len(needs)), list[int]()
    while len(waiting):
        price = costs.of_each(needs[waiting] | paid) - costs.of_each(paid)
        price = np.round(price / total if total > 0.0 else price, DIGITS)
        taken = np.array([price[k] == 0.0 and votes.take(t) for k, t in enumerate(waiting.tolist())])
        order += waiting[taken].tolist()
        priced = ~taken & (price > 0.0)
        if not priced.any():
            return order + waiting[~taken].tolist()
        paid = paid | needs[waiting[np.where(priced, price, np.inf).argmin()]]
        waiting = waiting[~taken]
    return order


def needs_of(plan: Plan) -> NDArray[np.bool_]:
    """Which features each node of a plan reads, (n_nodes, n_features)."""
    needs = np.zeros((len(plan.nodes), plan.n_features), dtype=np.bool_)
    for place, node in enumerate(plan.nodes):
        for term in node.terms.tolist():
            needs[place, plan.terms[term].features] = True
    return needs


def with_offsets(plan: Plan, standing: Standing, X: NDArray[Any], n_threads: int | None) -> list[Node]:
    """The nodes of a chain of votes, with constants that make the best of every part of it.

    After each node but the last, the sum of the constants is what lowers the exponential loss of the training
    rows `X` most: the log-odds of the class, every row weighted by its loss. All constants together add up to
    nothing, so that rows that are not stopped get the same answer as without them.
    """
    parts = plan.run_staged(X, range(1, len(plan.nodes)), account=False, n_threads=n_threads, encoded=True)
    offsets = [_offset(stage.scores, standing) for stage in parts]
    steps = np.diff([np.zeros_like(plan.base), *offsets, np.zeros_like(plan.base)], axis=0)
    return [replace(node, bias=node.bias + step) for node, step in zip(plan.nodes, steps, strict=True)]


def _offset(scores: Floats, standing: Standing) -> Floats:
    """What is best added to log-odds (n, K): the minimum of ``sum weight exp(-sign (score + offset) / 2)``.

    >>> standing = Standing(np.array([[1.0, 1.0, 1.0, -1.0]]), np.full(4, 0.25))
    >>> _offset(np.zeros((4, 1)), standing).round(6).tolist()  # log 3
    [1.098612]
    """
    loss = -standing.signs * scores.T / 2.0
    sides = [standing.weight * (standing.signs == side) for side in (1.0, -1.0)]
    right, wrong = (logsumexp(loss, axis=1, b=weight) for weight in sides)
    return np.asarray(right - wrong)
