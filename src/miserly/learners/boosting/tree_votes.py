"""Trees as base learners of budgeted boosting, grown under the rule that selects them.

A tree is rated as any base learner: by ``drop``, the reduction of the logarithm of the loss with the best
vote in every leaf, against the cost of its features. A tree is grown greedily. Its first split is the one
that the rule rates best. Each further split is the one after which the rule rates the *whole tree* highest.
The tree is finished when no split raises the rating. So every split depends on its cost:

- A split on a feature of the tree costs nothing more, and always raises the rating.
- A split on a new feature of cost `c` must, under the greedy rule, bring more per unit of cost than the tree
  so far: ``drop' / (cost + c) > drop / cost``. Such trees are narrow, often of one feature.
- The smoothed rule adds ``tau * spent`` to both costs, so trees become wider as more is spent.
- The rule "early-stop" ignores costs and grows every tree to its largest depth.

The baseline of ``drop`` is a vote without any split, which costs nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miserly.grow.stumps import TIE
from miserly.grow.vote_trees import GrowingTree, Leaf, VoteTrees
from miserly.learners.boosting.votes import MIN_FALL, BoostingState, LearnerBudget, VoteRound
from miserly.solvers.budget_rules import SelectionRule

__all__ = ["TreeVoter"]

Floats = NDArray[np.float64]

MIN_BOUND = 1e-6  # of the loss of a tree without errors
SMOOTHING = 0.05  # of the weight of all rows: smallest error of a leaf, against overfitting


class TreeVoter:
    """Trees whose leaves vote, one round of boosting each."""

    def __init__(self, trees: VoteTrees, max_depth: int) -> None:
        self.trees = trees
        self.max_depth = max_depth
        self._n_terms = 0

    def vote(self, state: BoostingState, budget: LearnerBudget, rule: SelectionRule) -> VoteRound | str:
        push, share = state.pushes()
        growing = self.trees.start_tree(push, share, self.max_depth)
        if not growing.leaves[0].best_cuts.decrease.max(initial=0.0) > MIN_FALL:
            return "no edge"
        splits = _SplitChoice(budget, rule, growing, n_terms=len(share))
        if not splits.first():
            return "budget"
        while splits.next():
            pass
        return self._add(growing, splits, state, budget)

    def _add(
        self, growing: GrowingTree, splits: _SplitChoice, state: BoostingState, budget: LearnerBudget
    ) -> VoteRound:
        n_classes = len(growing.share)
        values = np.zeros((n_classes, growing.n_nodes))
        score = np.zeros_like(state.margins)
        for leaf in growing.leaves:
            values[:, leaf.node] = leaf.votes(SMOOTHING)
            score[:, leaf.rows] = values[:, leaf.node, None]
        state.add(score)
        self._n_terms += n_classes
        budget.ledger.restore(splits.budget.ledger.state())
        budget.settle(self._n_terms)
        trees = tuple(growing.tree(value, budget.costs.evaluation) for value in values)
        return VoteRound(trees, np.arange(n_classes), np.ones(n_classes), splits.drop_by_feature)


class _SplitChoice:
    """The choice of the splits of one tree, with a copy of the ledger."""

    def __init__(
        self, budget: LearnerBudget, rule: SelectionRule, growing: GrowingTree, n_terms: int
    ) -> None:
        self.budget = LearnerBudget(budget.ledger.copy(), budget.fill_budget)
        self.rule = rule
        self.growing = growing
        self.n_terms = n_terms
        self.spent = budget.ledger.spent
        self.start = np.log(max(growing.bound, MIN_BOUND))
        self.inside = np.zeros(len(budget.costs), dtype=np.bool_)  # features of the tree
        self.cost = 0.0  # of these, for the rule
        self.rating = 0.0
        self.drop_by_feature: dict[int, float] = {}

    def first(self) -> bool:
        """Make the first split; returns whether the budget allows it."""
        (root,) = self.growing.leaves
        drop, cost = self._drop(root), self.budget.rule_costs(self.n_terms)
        self.rule.look(drop, cost, ~self.budget.ledger.paid)
        fitting = self.budget.fitting(self.n_terms) & (root.best_cuts.decrease > MIN_FALL)
        score = self.rule.score(drop, cost, self.spent)
        best = self.budget.choose(score, fitting)
        if best is None:
            return False
        self.budget.ledger.evaluate(self.n_terms)
        self._split(root, best, float(cost[best]), float(score[best]))
        return True

    def next(self) -> bool:
        """Make the split after which the tree is rated highest; returns whether a split raises the rating."""
        cost = self.cost + np.where(self.inside, 0.0, self.budget.rule_costs(0))
        allowed = self.inside | self.budget.fitting(0)
        best: tuple[float, Leaf, int] | None = None
        for leaf in self.growing.leaves:
            score = self.rule.score(self._drop(leaf), cost, self.spent)
            score = np.where(allowed & (leaf.best_cuts.decrease > MIN_FALL), score, -np.inf)
            feature = int(score.argmax())
            if score[feature] > (self.rating if best is None else best[0]) * (1.0 + TIE):
                best = float(score[feature]), leaf, feature
        if best is None:
            return False
        rating, leaf, feature = best
        self._split(leaf, feature, float(cost[feature]), rating)
        return True

    def _drop(self, leaf: Leaf) -> Floats:
        """Reduction of the log loss, over a vote without splits, if this leaf is split on each feature."""
        bound = np.maximum(self.growing.bound - leaf.best_cuts.decrease, MIN_BOUND)
        drop: Floats = self.start - np.log(bound)
        return drop

    def _split(self, leaf: Leaf, feature: int, cost: float, rating: float) -> None:
        before = max(self.growing.bound, MIN_BOUND)
        self.growing.split(leaf, feature)
        after = max(self.growing.bound, MIN_BOUND)
        fallen = float(max(np.log(before) - np.log(after), 0.0))
        self.drop_by_feature[feature] = self.drop_by_feature.get(feature, 0.0) + fallen
        self.budget.ledger.buy(feature)
        self.inside[feature] = True
        self.cost, self.rating = cost, rating
