"""Rounds of cost-aware boosting: one tree per score, one ledger for all (Greedy Miser, Xu et al. 2012).

A round computes the derivatives of the loss, grows a tree for each score, and adds `step` times the trees to
the scores. The ledger is shared: a feature that one tree buys is free for all later trees, also in the same
round. The cost of evaluating the trees of a round is reserved before they are grown, so they cannot spend it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, Ledger, read_budget
from miserly.costs.prices import n_evaluations
from miserly.data.rows import Rows
from miserly.errors import CostError
from miserly.grow import Grower, Grown
from miserly.grow.compiled import build, threads
from miserly.grow.splitting import add_gains
from miserly.learners.common.compiled_rounds import STRANGE, TOO_MANY_TREES, CompiledRounds
from miserly.learners.common.purchasing import FitTree, buy_with_lookahead, use_paid_first
from miserly.learners.common.round import Round, terms_of
from miserly.losses import Loss
from miserly.plan import Tree

__all__ = ["Booster", "account_for", "boost", "max_trees_of", "reserve_of"]


BLOCK_SECONDS = 0.2  # of compiled rounds, for which an interrupt waits


@dataclass
class Booster:
    """A boosted model while it grows.

    Attributes
    ----------
    loss : Loss
        The loss that rounds decrease.
    samples : Rows
        Labels and weights of the training rows.
    grower : Grower
        Grows trees on the binned training rows.
    ledger : Ledger
        What is paid, and the budget.
    scores : array of (n, K)
        Scores of the training rows so far.
    tradeoff : float
        Decrease of the mean loss that one unit of cost must bring.
    step : float
        Factor of each tree.
    n_trees : int
        Number of trees so far.
    max_trees : float
        Number of trees that may be evaluated in all.
    reserve : float
        Part of the budget that is kept for evaluating trees; features may not use it.
    lookahead : bool
        Whether whole trees are compared before the budget is spent on a feature.
    paid_first : bool
        With a budget, whether free and paid features are used before others.
    all_trees : float
        Number of trees if nothing stops training early.
    features : bool array of (d,) or None
        Columns that trees may split on. All by default. It is for a booster without `lookahead` and
        `paid_first`.
    stopped_by : str
        Why the last `grow` returned None: "budget", "tree budget" or "no split".
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
    features: NDArray[np.bool_] | None = None
    stopped_by: str = ""
    _seconds: float | None = None  # of a compiled round, when it is known

    @cached_property
    def _compiled(self) -> CompiledRounds:
        return CompiledRounds(self.loss, self.samples, self.grower, self.ledger, self.scores, self.step)

    def grow_some(self, most: int) -> list[Round]:
        """Grow up to `most` more rounds, in a time in which an interrupt may wait.

        The list is empty if no round can be grown, for the reason in `stopped_by`.
        """
        if most > 1 and not np.isfinite(self.ledger.budget):
            block = self._compiled
            if block.is_possible and block.has_kernel:
                return self._grow_block(min(most, block.most_rounds, self._n_in_time))
        one = self.grow()
        return [] if one is None else [one]

    def _grow_block(self, n_rounds: int) -> list[Round]:
        """Grow a block of rounds without a budget in compiled code."""
        start = time.perf_counter()
        rounds, end = self._compiled.grow(
            n_rounds, self.tradeoff, self.n_trees, self.max_trees, self.features
        )
        self._seconds = (time.perf_counter() - start) / max(1, len(rounds))
        self._after(rounds)
        if rounds:
            return rounds
        if end == STRANGE:
            one = self.grow()
            return [] if one is None else [one]
        self.stopped_by = "tree budget" if end == TOO_MANY_TREES else "no split"
        return []

    @property
    def _n_in_time(self) -> int:
        """Number of rounds for which an interrupt may wait; one, until the time of a round is known."""
        return 1 if self._seconds is None else max(1, int(BLOCK_SECONDS / max(self._seconds, 1e-9)))

    def _after(self, rounds: Sequence[Round]) -> None:
        """Account for rounds. Reserved evaluations that were not needed are free again."""
        self.n_trees += sum(len(one.trees) for one in rounds)
        self.ledger.settle(self.n_trees)

    def grow(self) -> Round | None:
        """Grow one more round. Returns None if the budget cannot pay its trees, or if none of them splits."""
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
            done = self._grow_round()
        if done is None:
            self.ledger.restore(before)
            self.stopped_by = "no split"
            return None
        self._after([done])
        return done

    def _grow_round(self) -> Round | None:
        """The next round, which the scores then include; None if no tree splits."""
        if not self._compares and self._compiled.is_possible:
            rounds, end = self._compiled.grow(1, self.tradeoff, features=self.features)
            if end != STRANGE:
                return rounds[0] if rounds else None
        grown = self._grow_trees()
        return None if all(one.tree.n_leaves == 1 for one in grown) else self._round(grown)

    @property
    def _compares(self) -> bool:
        """Whether trees are grown several times before a purchase."""
        return bool(np.isfinite(self.ledger.budget)) and (self.paid_first or self.lookahead)

    def _saving_for_trees(self, wanted: int) -> AbstractContextManager[None]:
        """Lower the budget for features by what is left of the reserve after `wanted` more trees."""
        evaluated = (self.n_trees + wanted) * self.ledger.costs.evaluation
        return self.ledger.reserving(max(0.0, self.reserve - evaluated))

    def _grow_trees(self) -> list[Grown]:
        trees = self._fits()
        if np.isfinite(self.ledger.budget):
            if self.paid_first:
                done = self.n_trees / self.all_trees
                return use_paid_first(trees, self.ledger, self.tradeoff, self.lookahead, done)
            if self.lookahead:
                return buy_with_lookahead(trees, self.ledger, self.tradeoff)
        return [grow(ledger=self.ledger, tradeoff=self.tradeoff, features=self.features) for grow in trees]

    def _fits(self) -> list[FitTree]:
        """A function that grows one tree for each score, bound to the targets of that tree."""
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
        """Add the trees to the scores. A tree that did not split is a constant and needs no evaluation.

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
                trees.append(one.tree)
                channels.append(k)
                self._add_gain(gain, one, k)
        return Round(tuple(trees), tuple(channels), bias, self.step, gain)

    def _add_gain(self, gain: NDArray[np.float64], grown: Grown, channel: int) -> None:
        """Add the decrease of the mean loss by each split, by the second-order estimate that trees use."""
        weight = self.samples.weight if self.loss.least_squares else self._hessian[:, channel]
        if weight is None:
            weight = np.ones(len(grown.leaf))
        tree = grown.tree
        total = self.loss.total_weight(self.samples.y, self.samples.weight)
        splits = tree.feature, tree.left, tree.right
        l2 = self.grower.options.l2
        build(add_gains)(splits, tree.value, grown.leaf, np.ascontiguousarray(weight), l2, total, gain)


def account_for(ledger: Ledger, rounds: Sequence[Round]) -> int:
    """Record the purchases of some rounds in a new ledger. Returns the number of their trees."""
    trees = terms_of(rounds)
    ledger.settle(len(trees), [f for tree in trees for f in tree.features.tolist()])
    return len(trees)


RESERVE = 0.2  # of 0, 1/5, 1/3 and 1/2 the best on two sets of three in benchmarks/reserve.py


def reserve_of(budget: float | None, tree_budget: float | None, n_trees: float, costs: Costs) -> float:
    """Part of a budget that is kept for evaluating `n_trees` trees: `tree_budget`, or at most a fifth.

    Trees buy features before the number of trees is known. Without a reserve the first trees spend
    everything, and no tree can follow. The paper also divides its budget into a part for features and a part
    for trees.

    Parameters
    ----------
    budget : float or None
        The whole budget; None means no budget and no reserve.
    tree_budget : float or None
        The part for trees, if the user gave it.
    n_trees : float
        Largest number of trees.
    costs : Costs
        Has the cost of one evaluation.

    Returns
    -------
    float
        The reserve.

    Examples
    --------
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
    """Number of trees that a `tree_budget` allows: ``m <= tree_budget / evaluation``.

    >>> max_trees_of(0.3, Costs([1.0], evaluation=0.1)), max_trees_of(None, Costs([1.0]))
    (3.0, inf)
    """
    if tree_budget is None:
        return np.inf
    if costs.evaluation == 0.0:
        raise CostError(
            "tree_budget limits what evaluating trees costs, and costs.evaluation is 0; set it above"
        )
    return n_evaluations(tree_budget, costs.evaluation)


def boost(booster: Booster, n_rounds: int) -> list[Round]:
    """Grow rounds until there are `n_rounds`, or none can be grown."""
    rounds: list[Round] = []
    while len(rounds) < n_rounds:
        some = booster.grow_some(n_rounds - len(rounds))
        if not some:
            break
        rounds += some
    return rounds
