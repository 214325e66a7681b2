"""Boosting by votes under a budget: base learners, their costs, and the weights of their votes.

The sign of a row for class `k` is +1 or -1. With two classes there is one score; else there is one per class,
against all other classes, and all classes share every base learner. With margins ``m = sign * score`` the
loss is ``sum_k sum_i weight_i exp(-m_ki)``. A round adds the base learner that a rule rates best, with the
weight that lowers the loss most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, Ledger
from miserly.grow.stumps import TIE, Stump, Stumps
from miserly.plan import LEAVE, Node, Tree
from miserly.solvers.budget_rules import SelectionRule, counted

__all__ = [
    "MIN_FALL",
    "BoostingState",
    "LearnerBudget",
    "StumpVoter",
    "VoteRound",
    "Voter",
    "boost",
    "chain_of",
    "signs_of",
]

Floats = NDArray[np.float64]

MIN_FALL = 1e-14  # of the loss; less is rounding (an edge of about 1e-7)
MAX_EDGE = 1.0 - 1e-6  # of a learner without errors, whose vote would have infinite weight


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


def signs_of(codes: Floats, n_classes: int) -> Floats:
    """Classes 0, 1, ... as rows of +1 and -1: one row for two classes, else one for each.

    >>> signs_of(np.array([0.0, 1.0]), 2).tolist(), signs_of(np.array([2.0]), 3).tolist()
    ([[-1.0, 1.0]], [[-1.0], [-1.0], [1.0]])
    """
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[None, :]
    return np.where(codes == np.arange(n_classes)[:, None], 1.0, -1.0)


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
