"""Rounds of cost-aware boosting: one tree per score, one ledger for all (Greedy Miser, Xu et al. 2012).

A round takes the derivatives of the loss, grows a tree for each score, and adds `step` times the trees to the
scores. The ledger is shared: what one tree buys is free for every later one, in this round as well. What
evaluating the trees of a round costs is reserved before they are grown, so that they cannot spend it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, Ledger, fits, read_budget
from miserly.data.rows import Rows
from miserly.errors import CostError
from miserly.grow import Grower, Grown
from miserly.grow.compiled import threads
from miserly.learners.common.chain import Round, terms_of
from miserly.learners.common.purchasing import FitTree, buy_with_lookahead, use_paid_first
from miserly.losses import Loss
from miserly.plan import Tree

__all__ = ["Booster", "account_for", "max_trees_of", "reserve_of"]


@dataclass
class Booster:
    """A boosted model while it grows.

    Attributes
    ----------
    scores : array of (n, K)
        Of the training rows, so far.
    max_trees : float
        How many trees may be evaluated in all.
    reserve : float
        What of the budget is kept for evaluating trees and may not go to features.
    lookahead : bool
        Whether a budget is spent by weighing whole trees.
    paid_first : bool
        Whether features that are free or paid come before those that are neither, where there is a budget.
    all_trees : float
        How many trees there will be if nothing stops it before.
    stopped_by : str
        Why the last `grow` gave nothing: "budget", "tree budget" or "no split".
    """

    loss: Loss
    samples: Rows
    grower: Grower
    ledger: Ledger
    scores: NDArray[np.float64]
    tradeoff: float
    step: float
    n_trees: int = 0
    max_trees: float = np.inf
    reserve: float = 0.0
    lookahead: bool = False
    paid_first: bool = False
    all_trees: float = np.inf
    stopped_by: str = ""

    def grow(self) -> Round | None:
        """One more round, or None if there is no money for its trees or none of them would split."""
        wanted = self.loss.n_scores
        if self.n_trees + wanted > self.max_trees:
            self.stopped_by = "tree budget"
            return None
        if not self.ledger.can_evaluate(wanted):
            self.stopped_by = "budget"
            return None
        before = self.ledger.state()
        self.ledger.evaluate(wanted)
        with self._saving_for_trees(wanted):
            grown = self._grow_trees()
        if all(one.tree.n_leaves == 1 for one in grown):
            self.ledger.restore(before)
            self.stopped_by = "no split"
            return None
        done = self._round(grown)
        self.n_trees += len(done.trees)
        _settle(self.ledger, self.n_trees)
        return done

    @contextmanager
    def _saving_for_trees(self, wanted: int) -> Iterator[None]:
        """While features are bought, keep back what is left of the reserve after `wanted` more trees."""
        budget = self.ledger.account[1]
        evaluated = (self.n_trees + wanted) * self.ledger.costs.evaluation
        self.ledger.account[1] = max(self.ledger.spent, budget - max(0.0, self.reserve - evaluated))
        try:
            yield
        finally:
            self.ledger.account[1] = budget

    def _grow_trees(self) -> list[Grown]:
        trees = self._fits()
        if np.isfinite(self.ledger.budget):
            if self.paid_first:
                done = self.n_trees / self.all_trees
                return use_paid_first(trees, self.ledger, self.tradeoff, self.lookahead, done)
            if self.lookahead:
                return buy_with_lookahead(trees, self.ledger, self.tradeoff)
        return [grow(ledger=self.ledger, tradeoff=self.tradeoff) for grow in trees]

    def _fits(self) -> list[FitTree]:
        """One grower of a tree for each score, bound to what that tree is fitted to."""
        y, weight = self.samples.y, self.samples.weight
        if self.loss.least_squares:
            return [partial(self.grower.fit_tree, self.loss.residual(y, self.scores, weight), weight)]
        with threads(self.grower.n_threads, self.grower.binned.codes.size):
            gradient, hessian = self.loss.gradient_hessian(y, self.scores, weight)
        total = self.loss.total_weight(y, weight)
        self._hessian = hessian
        return [
            partial(self.grower.fit_newton, gradient[:, k], hessian[:, k], total_weight=total)
            for k in range(self.loss.n_scores)
        ]

    def _round(self, grown: Sequence[Grown]) -> Round:
        """Add the trees to the scores; those that did not split are a constant and need no evaluation.

        The order of additions is that of the plan, so that both give the same bits.
        """
        bias = np.zeros(self.loss.n_scores)
        trees: list[Tree] = []
        channels: list[int] = []
        gain = np.zeros(self.grower.binned.n_features)
        for k, one in enumerate(grown):
            if one.tree.n_leaves == 1:
                bias[k] = self.step * one.tree.value[0]
                self.scores[:, k] += bias[k]
            else:
                self.scores[:, k] += self.step * one.tree.value[one.leaf]
                trees.append(replace(one.tree, evaluation=self.grower.costs.evaluation))
                channels.append(k)
                self._add_gain(gain, one, k)
        return Round(tuple(trees), tuple(channels), bias, self.step, gain)

    def _add_gain(self, gain: NDArray[np.float64], grown: Grown, channel: int) -> None:
        """Add what each split lowered the mean loss by, by the second-order estimate trees are grown with."""
        weight = self.samples.weight if self.loss.least_squares else self._hessian[:, channel]
        tree = grown.tree
        total = self.loss.total_weight(self.samples.y, self.samples.weight)
        mass = np.bincount(grown.leaf, weights=weight, minlength=len(tree.value)).astype(np.float64)
        mass += np.where(tree.feature < 0, self.grower.options.l2, 0.0)
        push = mass * tree.value
        explained = push * tree.value
        for node in np.flatnonzero(tree.feature >= 0)[::-1]:
            children = [tree.left[node], tree.right[node]]
            mass[node] = mass[children].sum() - self.grower.options.l2
            push[node] = push[children].sum()
            explained[node] = push[node] ** 2 / mass[node] if mass[node] > 0 else 0.0
            gain[tree.feature[node]] += 0.5 * (explained[children].sum() - explained[node]) / total


def account_for(ledger: Ledger, rounds: Sequence[Round]) -> int:
    """Make a fresh ledger say what these rounds bought; gives the number of their trees."""
    trees = terms_of(rounds)
    for tree in trees:
        ledger.paid[tree.features] = True
    opened = ledger.costs.group[ledger.paid]
    ledger.opened[opened[opened >= 0]] = True
    _settle(ledger, len(trees))
    return len(trees)


def _settle(ledger: Ledger, n_trees: int) -> None:
    """What is spent, counted anew: reserved evaluations that were not needed are free again."""
    ledger.account[0] = ledger.costs.of(ledger.paid, evaluations=n_trees)


RESERVE = 0.2  # of 0, 1/5, 1/3 and 1/2 the best on two sets of three in benchmarks/reserve.py


def reserve_of(budget: float | None, tree_budget: float | None, n_trees: float, costs: Costs) -> float:
    """What of a budget is kept for evaluating `n_trees` trees: `tree_budget`, or else at most a fifth.

    Trees buy features before anybody knows how many trees will follow, so without a reserve the first ones
    spend everything and are the last. The paper too splits its budget, one part for features, one for trees.

    >>> costs = Costs([1.0], evaluation=0.1)
    >>> [reserve_of(10.0, None, 15, costs), reserve_of(10.0, None, 500, costs)]
    [1.5, 2.0]
    >>> reserve_of(10.0, 4.0, 500, costs)
    4.0
    """
    if budget is None or costs.evaluation == 0.0:
        return 0.0
    whole = read_budget(budget)
    share = RESERVE * whole if tree_budget is None else min(tree_budget, whole)
    return float(min(n_trees * costs.evaluation, share))


def max_trees_of(tree_budget: float | None, costs: Costs) -> float:
    """How many trees a `tree_budget` allows: ``m <= tree_budget / evaluation``.

    >>> max_trees_of(0.3, Costs([1.0], evaluation=0.1)), max_trees_of(None, Costs([1.0]))
    (3.0, inf)
    """
    if tree_budget is None:
        return np.inf
    if costs.evaluation == 0.0:
        raise CostError(
            "tree_budget limits what evaluating trees costs, and costs.evaluation is 0; set it above"
        )
    trees = np.floor(tree_budget / costs.evaluation)
    return float(trees + fits(0.0, (trees + 1) * costs.evaluation, tree_budget))
