"""Boosting by votes under a budget: base learners, their costs, and the weights of their votes.

The sign of a row for class `k` is +1 or -1. With two classes there is one score; else there is one per class,
against all other classes, and all classes share every base learner. With margins ``m = sign * score`` the
loss is ``sum_k sum_i weight_i exp(-m_ki)``. A round adds the base learner that a rule rates best, with the
weight that lowers the loss most.

Trees are grown under the rule that selects them. A tree is rated as any base learner: by ``drop``, the
reduction of the logarithm of the loss with the best vote in every leaf, against the cost of its features. A
tree is grown greedily. Its first split is the one that the rule rates best. Each further split is the one
after which the rule rates the *whole tree* highest. The tree is finished when no split raises the rating. So
every split depends on its cost:

- A split on a feature of the tree costs nothing more, and always raises the rating.
- A split on a new feature of cost `c` must, under the greedy rule, bring more per unit of cost than the tree
  so far: ``drop' / (cost + c) > drop / cost``. Such trees are narrow, often of one feature.
- The smoothed rule adds ``tau * spent`` to both costs, so trees become wider as more is spent.
- The rule "early-stop" ignores costs and grows every tree to its largest depth.

The baseline of ``drop`` is a vote without any split, which costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, Ledger
from miserly.data.rows import Rows
from miserly.grow.stumps import TIE, Stump, Stumps
from miserly.grow.vote_trees import GrowingTree, Leaf, VoteTrees
from miserly.learners.base.arguments import class_signs
from miserly.plan import LEAVE, Node, Tree
from miserly.solvers.budget_rules import SelectionRule, counted
from miserly.solvers.columns import shares

__all__ = [
    "MIN_FALL",
    "BoostingState",
    "LearnerBudget",
    "StumpVoter",
    "TreeVoter",
    "VoteRound",
    "Voter",
    "boost",
    "chain_of",
]

Floats: TypeAlias = NDArray[np.float64]

MIN_FALL = 1e-14  # of the loss; less is rounding (an edge of about 1e-7)
MAX_EDGE = 1.0 - 1e-6  # of a learner without errors, whose vote would have infinite weight
MIN_BOUND = 1e-6  # of the loss of a tree without errors
SMOOTHING = 0.05  # of the weight of all rows: smallest error of a leaf, against overfitting


@dataclass(frozen=True, eq=False)
class VoteRound:
    """One round: terms (new ones, or terms of earlier rounds), the scores they add to, and their weights."""

    trees: tuple[Tree, ...]  # one term per entry of `channels`, in that order
    channels: NDArray[np.int64]
    weights: Floats  # of the votes: twice these are added to the log-odds
    drop: Mapping[int, float]  # reduction of the logarithm of the loss, by feature


@dataclass
class BoostingState:
    """Signs, weights and margins of the training rows while a model grows."""

    signs: Floats  # (K, n)
    weight: Floats  # (n,), sums to 1
    margins: Floats = field(init=False)  # (K, n)

    def __post_init__(self) -> None:
        self.margins = np.zeros_like(self.signs)

    @classmethod
    def of(cls, samples: Rows, n_classes: int) -> BoostingState:
        """The state before the first round."""
        signs = np.ascontiguousarray(class_signs(samples.y, n_classes).T)
        return cls(signs, shares(samples.weight, len(samples)))

    def pushes(self) -> tuple[Floats, Floats]:
        """Signed weights (K, n), whose sizes sum to 1 per class, and the share of each class in the loss."""
        loss = self.weight * np.exp(self.margins.min() - self.margins)
        of_class = loss.sum(axis=1)
        loss /= np.where(of_class > 0, of_class, 1.0)[:, None]
        return loss * self.signs, of_class / of_class.sum()

    def add(self, score: Floats) -> None:
        """Add to the scores (K, n)."""
        self.margins += self.signs * score


@dataclass
class LearnerBudget:
    """Costs of base learners: as the rule sees them, and as the ledger pays them."""

    ledger: Ledger
    fill_budget: bool

    @property
    def costs(self) -> Costs:
        return self.ledger.costs

    def rule_costs(self, n_terms: int = 1) -> Floats:
        """Cost of a learner on each feature for the rule: paid features cost what they did before."""
        return counted(self.ledger.prices(paid_is_free=False) + n_terms * self.costs.evaluation)

    def fitting(self, n_terms: int = 1) -> NDArray[np.bool_]:
        """Mask of the features that fit the budget, together with the terms that read them."""
        return self.ledger.fits(self.ledger.prices() + n_terms * self.costs.evaluation)

    def choose(self, score: Floats, fitting: NDArray[np.bool_]) -> int | None:
        """The feature with the best score, the cheapest of equal ones; None if it does not fit the budget."""
        if self.fill_budget:
            score = np.where(fitting, score, -np.inf)
        equal = np.flatnonzero(score >= score.max() * (1.0 - TIE))
        best = int(equal[self.costs.feature[equal].argmin()])
        return best if fitting[best] else None

    def settle(self, n_terms: int) -> None:
        """Compute again what is spent."""
        self.ledger.settle(n_terms)


class Voter(Protocol):
    """Finds the base learner of a round."""

    def vote(self, state: BoostingState, budget: LearnerBudget, rule: SelectionRule) -> VoteRound | str:
        """One more round, added to the state and paid; or the reason why there is none."""
        ...


class StumpVoter:
    """Stumps that vote +1 or -1. A round takes the stump that the rule rates best."""

    def __init__(self, stumps: Stumps) -> None:
        self.stumps = stumps
        self._terms: dict[Stump, Tree] = {}
        self._perfect = False

    def vote(self, state: BoostingState, budget: LearnerBudget, rule: SelectionRule) -> VoteRound | str:
        if self._perfect:
            return "perfect"
        push, share = state.pushes()
        found = self.stumps.best_cuts(push, share)
        if not found.decrease.max(initial=0.0) > MIN_FALL:
            return "no edge"
        drop = -np.log1p(-np.minimum(found.decrease, MAX_EDGE))
        cost = budget.rule_costs()
        fitting = budget.fitting()
        rule.look(drop, cost, ~budget.ledger.paid)
        best = budget.choose(
            rule.score(drop, cost, budget.ledger.spent), fitting & (found.decrease > MIN_FALL)
        )
        if best is None:
            return "budget"
        stump = Stump(best, int(found.cut[best]), bool(found.missing_left[best]))
        return self._add(stump, push, state, budget, float(drop[best]))

    def _add(
        self, stump: Stump, push: Floats, state: BoostingState, budget: LearnerBudget, drop: float
    ) -> VoteRound:
        votes = self.stumps.votes(stump)
        edges = np.clip(push @ votes, -MAX_EDGE, MAX_EDGE)
        self._perfect = bool((np.abs(edges) == MAX_EDGE).all())
        weights = np.arctanh(edges)  # 1/2 ln((1 + edge) / (1 - edge))
        state.add(weights[:, None] * votes)
        n_terms = len(self._terms)
        left = 1.0 if len(edges) > 1 or edges[0] > 0 else -1.0  # of two classes, weights are positive
        tree = self._term(stump, left, votes, state.weight, budget)
        if budget.ledger.buy(stump.feature) or len(self._terms) > n_terms:
            budget.settle(len(self._terms))
        channels = np.arange(len(weights))
        return VoteRound((tree,) * len(weights), channels, weights * tree.value[1], {stump.feature: drop})

    def _term(self, stump: Stump, left: float, votes: Floats, weight: Floats, budget: LearnerBudget) -> Tree:
        """The stump as a term with value `left` on its left side, or the term of an earlier round.

        If no training row has a missing value, missing values go to the side of most rows.
        """
        if stump not in self._terms:
            seen = self.stumps.binned.has_missing[stump.feature]
            missing_left = stump.missing_left if seen else bool(weight @ votes >= 0)
            self._terms[stump] = self.stumps.tree(stump, left, missing_left, budget.costs.evaluation)
        return self._terms[stump]


def boost(
    voter: Voter,
    state: BoostingState,
    budget: LearnerBudget,
    rule: SelectionRule,
    n_rounds: int,
    show: Callable[[int, float, str], None] | None = None,
) -> tuple[list[VoteRound], str]:
    """Up to `n_rounds` rounds, and why training ended. `show` is called after each round."""
    rounds: list[VoteRound] = []
    while len(rounds) < n_rounds:
        one = voter.vote(state, budget, rule)
        if isinstance(one, str):
            return rounds, one
        rounds.append(one)
        if show is not None:
            show(len(rounds), budget.ledger.spent, "")
    return rounds, "rounds"


def chain_of(rounds: list[VoteRound], base: Floats) -> tuple[list[Tree], list[Node]]:
    """Terms and nodes of a chain with one node per round, which adds the votes as log-odds.

    `base` is the score before the first node. The first node subtracts it.
    """
    place: dict[int, int] = {}
    terms: list[Tree] = []
    for tree in (tree for one in rounds for tree in one.trees):
        if id(tree) not in place:
            place[id(tree)] = len(terms)
            terms.append(tree)
    nodes = [
        Node(
            np.array([place[id(tree)] for tree in one.trees], dtype=np.int64),
            one.channels,
            2.0 * one.weights,
            -base if number == 0 else np.zeros_like(base),
            up=number + 1 if number + 1 < len(rounds) else LEAVE,
        )
        for number, one in enumerate(rounds)
    ]
    return terms, nodes


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
