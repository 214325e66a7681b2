"""Trees as base learners of budgeted boosting, grown under the rule that chooses them.

A tree of several splits is rated as any base learner is: by ``drop``, the fall of the logarithm of the loss
when each of its leaves votes at its best, against the cost of the features it splits on. Finding the
best of all trees is out of reach, so a tree is grown: its first split is the one the rule likes best, and
each further one is the split after which the rule rates the *whole tree* highest; when no split raises the
rating, the tree is done. The cost thus enters every split:

- a split on a feature that the tree uses already costs nothing more and always raises the rating;
- one on a new feature of cost `c` must, under the greedy rule, bring more per unit of cost than the tree has
  brought on average so far: ``drop'/(cost + c) > drop/cost``. Trees are then narrow, often of one feature;
- under the smoothed rule ``tau * spent`` stands beside both costs, so that trees widen as money is spent;
- early stopping ignores costs and fills every tree to its depth.

Only what the tree starts with counts as its baseline: a vote without any split, which costs nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miserly.grow.stumps import TIE
from miserly.grow.vote_trees import Growing, Leaf, VoteTrees
from miserly.learners.boosting.votes import LEAST_FALL, Standing, Till, VoteRound
from miserly.solvers.budget_rules import SelectionRule

__all__ = ["TreeVoter"]

Floats = NDArray[np.float64]

LEAST_BOUND = 1e-6  # of a tree whose leaves are never wrong
SMOOTHING = 0.05  # of the weight of all rows: what a leaf is wrong about at least, lest trees overfit


class TreeVoter:
    """Trees whose leaves vote, one round of boosting each."""

    def __init__(self, trees: VoteTrees, max_depth: int) -> None:
        self.trees = trees
        self.max_depth = max_depth
        self._n_terms = 0

    def vote(self, standing: Standing, till: Till, rule: SelectionRule) -> VoteRound | str:
        push, share = standing.pushes()
        growing = self.trees.plant(push, share, self.max_depth)
        if not growing.leaves[0].found.fall.max(initial=0.0) > LEAST_FALL:
            return "no edge"
        shop = _Shop(till, rule, growing, n_terms=len(share))
        if not shop.open():
            return "budget"
        while shop.take():
            pass
        return self._add(growing, shop, standing, till)

    def _add(self, growing: Growing, shop: _Shop, standing: Standing, till: Till) -> VoteRound:
        n_classes = len(growing.share)
        values = np.zeros((n_classes, growing.n_nodes))
        score = np.zeros_like(standing.margins)
        for leaf in growing.leaves:
            values[:, leaf.node] = leaf.votes(SMOOTHING)
            score[:, leaf.rows] = values[:, leaf.node, None]
        standing.add(score)
        self._n_terms += n_classes
        till.ledger.restore(shop.till.ledger.state())
        till.settle(self._n_terms)
        trees = tuple(growing.tree(value, till.costs.evaluation) for value in values)
        return VoteRound(trees, np.arange(n_classes), np.ones(n_classes), shop.drop_by_feature)


class _Shop:
    """The choice of one tree's splits, on a ledger of its own."""

    def __init__(self, till: Till, rule: SelectionRule, growing: Growing, n_terms: int) -> None:
        self.till = Till(till.ledger.copy(), till.fill_budget)
        self.rule = rule
        self.growing = growing
        self.n_terms = n_terms
        self.spent = till.ledger.spent
        self.start = np.log(max(growing.bound, LEAST_BOUND))
        self.inside = np.zeros(len(till.costs), dtype=np.bool_)  # the features this tree splits on
        self.cost = 0.0  # of these, to the rule
        self.rating = 0.0
        self.drop_by_feature: dict[int, float] = {}

    def open(self) -> bool:
        """Make the first split, as the rule says; gives whether it could be paid."""
        (root,) = self.growing.leaves
        drop, cost = self._drop(root), self.till.rule_costs(self.n_terms)
        self.rule.look(drop, cost, ~self.till.ledger.paid)
        fitting = self.till.fitting(self.n_terms) & (root.found.fall > LEAST_FALL)
        score = self.rule.score(drop, cost, self.spent)
        best = self.till.choose(score, fitting)
        if best is None:
            return False
        self.till.ledger.evaluate(self.n_terms)
        self._split(root, best, float(cost[best]), float(score[best]))
        return True

    def take(self) -> bool:
        """Make the split after which the tree is rated highest; gives whether there was one to make."""
        cost = self.cost + np.where(self.inside, 0.0, self.till.rule_costs(0))
        allowed = self.inside | self.till.fitting(0)
        best: tuple[float, Leaf, int] | None = None
        for leaf in self.growing.leaves:
            score = self.rule.score(self._drop(leaf), cost, self.spent)
            score = np.where(allowed & (leaf.found.fall > LEAST_FALL), score, -np.inf)
            feature = int(score.argmax())
            if score[feature] > (self.rating if best is None else best[0]) * (1.0 + TIE):
                best = float(score[feature]), leaf, feature
        if best is None:
            return False
        rating, leaf, feature = best
        self._split(leaf, feature, float(cost[feature]), rating)
        return True

    def _drop(self, leaf: Leaf) -> Floats:
        """What the tree would bring, over a vote without splits, if this leaf were split on each feature."""
        bound = np.maximum(self.growing.bound - leaf.found.fall, LEAST_BOUND)
        drop: Floats = self.start - np.log(bound)
        return drop

    def _split(self, leaf: Leaf, feature: int, cost: float, rating: float) -> None:
        before = max(self.growing.bound, LEAST_BOUND)
        self.growing.split(leaf, feature)
        after = max(self.growing.bound, LEAST_BOUND)
        fallen = float(max(np.log(before) - np.log(after), 0.0))
        self.drop_by_feature[feature] = self.drop_by_feature.get(feature, 0.0) + fallen
        self.till.ledger.buy(feature)
        self.inside[feature] = True
        self.cost, self.rating = cost, rating
