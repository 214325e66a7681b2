"""Base of the classifiers that boost by votes, and the order in which a vote is evaluated.

A vote is a sum, so its order matters only to rows that stop early. `cheapest_first` puts rounds on free
features first, and then buys the cheapest features one after the other. A later round of AdaBoost corrects
all rounds before it, and may do harm without them. So a round that is paid joins only if it lowers the loss
of the rounds in front of it. The other rounds wait for the next purchase.

Rounds that are left out may favour a class. `with_offsets` adds a constant after every round that compensates
for them, and subtracts it in the last round.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.utils._param_validation import Interval, StrOptions

from miserly.costs import Costs, Ledger
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.grow import Bins
from miserly.grow.binning import Binned
from miserly.grow.options import MAX_DEPTH
from miserly.grow.stumps import Stumps
from miserly.grow.vote_trees import VoteTrees
from miserly.learners.base import PlanClassifier
from miserly.learners.base.arguments import categorical_columns, constraints
from miserly.learners.base.kinds import StagedClassifier, WeightedFit
from miserly.learners.boosting.votes import (
    BoostingState,
    LearnerBudget,
    StumpVoter,
    TreeVoter,
    Voter,
    VoteRound,
    boost,
    chain_of,
)
from miserly.learners.common.linear_fit import FitData, read_fit_data
from miserly.learners.common.progress import RoundsBar
from miserly.plan import Node, Plan
from miserly.solvers.budget_rules import SelectionRule
from miserly.solvers.columns import shares

__all__ = ["VotingClassifier", "bin_rows", "prior_of"]

Floats: TypeAlias = NDArray[np.float64]

MAX_VALUES = 2**22  # held at a time: rounds x classes x training rows
MIN_ROWS = 100
DIGITS = 12  # of prices relative to the total cost; smaller differences are rounding
MAX_VOTE = 300.0  # of one vote, in half log-odds, against overflow


class VotingClassifier(StagedClassifier, WeightedFit):
    """Boosting by votes under a budget. Subclasses define the rule that selects base learners."""

    n_rounds_: int
    stopped_by_: str
    ledger_: Ledger
    feature_importances_: NDArray[np.float64]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *(
            "costs",
            "budget",
            "n_rounds",
            "max_bins",
            "categorical_features",
            "class_weight",
            "random_state",
            "n_jobs",
            "verbose",
        ),
        base=[StrOptions({"stump", "tree"})],
        max_depth=[Interval(Integral, 1, MAX_DEPTH, closed="both")],
    )

    def _fit(self, X: Any, given: Target) -> None:
        rows = read_fit_data(self, X, given, self._encode, None)
        state = BoostingState.of(rows.training, len(self.classes_))
        with RoundsBar(self.n_rounds, rows.costs.unit, visible=bool(self.verbose)) as bar:
            rounds = self._boost(state, bin_rows(self, rows), rows, bar)
        self.plan_ = self._plan_of(rounds, rows)
        if self._is_reordered and len(rounds) > 1:
            self._reorder(rounds, rows, state)
        self._keep(rounds)

    @abstractmethod
    def _rule(self) -> SelectionRule:
        """The rule that selects base learners."""

    def _boost(self, state: BoostingState, binned: Binned, rows: FitData, bar: RoundsBar) -> list[VoteRound]:
        """The rounds of the model. Sets `stopped_by_` and `ledger_`."""
        budget = LearnerBudget(Ledger(rows.costs, self.budget), self.fill_budget)
        rounds, self.stopped_by_ = boost(
            self._voter(binned), state, budget, self._rule(), self.n_rounds, bar.show
        )
        self.ledger_ = budget.ledger
        return rounds

    @property
    def _is_reordered(self) -> bool:
        """Whether the plan evaluates cheap rounds first, instead of the order of training."""
        return False

    @property
    def _is_limited(self) -> bool:
        return self.budget is not None and bool(np.isfinite(self.budget))

    def _voter(self, binned: Binned) -> Voter:
        if self.base == "tree":
            return TreeVoter(VoteTrees(binned, self.n_threads), self.max_depth)
        return StumpVoter(Stumps(binned, self.n_threads))

    def _plan_of(self, rounds: list[VoteRound], rows: FitData) -> Plan:
        base = prior_of(rows.training, len(self.classes_))
        terms, nodes = chain_of(rounds, base)
        return Plan(
            costs=rows.costs,
            terms=terms,
            nodes=nodes,
            base=base,
            link="logistic" if len(base) == 1 else "softmax",
            classes=self.plan_classes(),
            categories=self.categories_,
            info={"learner": type(self).__name__},
        )

    def _reorder(self, rounds: list[VoteRound], rows: FitData, state: BoostingState) -> None:
        """Reorder the nodes of the plan for smaller budgets."""
        X = rows.training.X
        losses = vote_losses(self.plan_, state, X, rows.seed, self.n_threads)
        order = cheapest_first(needs_of(self.plan_), rows.costs, losses)
        plan = self._plan_of([rounds[t] for t in order], rows)
        self.plan_ = plan.replace(nodes=with_offsets(plan, state, X, self.n_threads))

    def _keep(self, rounds: list[VoteRound]) -> None:
        self.n_rounds_ = len(rounds)
        drop = np.zeros(self.n_features_in_)
        for feature, fallen in (item for one in rounds for item in one.drop.items()):
            drop[feature] += fallen
        self.feature_importances_ = drop / drop.sum() if drop.any() else drop


def bin_rows(learner: PlanClassifier, rows: FitData) -> Binned:
    """The training rows in bins."""
    X = rows.training.X
    categorical = categorical_columns(learner.categorical_features, rows.table, learner.n_features_in_)
    bins = Bins.fit(X, max_bins=learner.max_bins, categorical=categorical, random_state=rows.seed)
    return bins.transform(X, n_threads=learner.n_threads)


def prior_of(samples: Rows, n_classes: int) -> NDArray[np.float64]:
    """The log-odds of the second of two classes, or of each of several against the others.

    >>> prior_of(Rows(np.zeros((4, 1)), np.array([0, 0, 0, 1])), 2).round(3).tolist()
    [-1.099]
    """
    weight = shares(samples.weight, len(samples))
    share = np.bincount(samples.y.astype(np.int64), weights=weight, minlength=n_classes)
    odds = np.log(share) - np.log1p(-share)
    return odds[1:] if n_classes == 2 else odds


def vote_losses(
    plan: Plan, state: BoostingState, X: NDArray[Any], seed: int, n_threads: int | None
) -> VoteLosses:
    """The effect of each node of a chain of votes on the loss of training rows, or of a sample of them."""
    n_rows = max(MIN_ROWS, MAX_VALUES // (len(plan.nodes) * plan.n_scores))
    some = np.arange(len(X))
    if n_rows < len(X):
        some = np.sort(np.random.default_rng(seed).choice(len(X), n_rows, replace=False))
    signs = state.signs[:, some]
    factors = np.empty((len(plan.nodes), *signs.shape))
    before = np.zeros((len(some), plan.n_scores))  # the first node subtracts the base
    parts = plan.run_staged(X[some], account=False, n_threads=n_threads, encoded=True)
    for stage, factor in zip(parts, factors, strict=True):
        push = signs * (stage.scores - before).T / 2.0
        factor[:] = np.exp(np.clip(-push, -MAX_VOTE, MAX_VOTE))
        before = stage.scores
    return VoteLosses(factors, signs, state.weight[some])


class VoteLosses:
    """The loss of a growing set of rounds: ``sum weight exp(-sign (score + offset) / 2)``.

    With the best offset, the loss of a class is twice the square root of the product of the losses of its
    rows and of the other rows, both without an offset.
    """

    def __init__(self, factors: Floats, signs: Floats, weight: Floats) -> None:
        self._factors = factors  # (T, K, n): factor of each round on the loss of each row
        self._losses = np.stack([weight * (signs > 0), weight * (signs < 0)])  # (2, K, n)
        self._share = self._of_classes(self._losses.sum(axis=2))
        self._share = self._share / max(self._share.sum(), 1e-300)

    @staticmethod
    def _of_classes(sides: Floats) -> Floats:
        return np.asarray(np.sqrt(sides[0] * sides[1]))

    def take(self, number: int) -> bool:
        """Add a round if it lowers the loss; returns whether it did."""
        before = self._of_classes(self._losses.sum(axis=2))
        after = self._of_classes(np.einsum("skn,kn->sk", self._losses, self._factors[number]))
        share = self._share * np.divide(after, before, out=np.zeros_like(after), where=before > 0.0)
        if not share.sum() < 1.0 - 1e-12:
            return False
        self._losses = self._losses * self._factors[number]
        self._losses /= np.maximum(self._losses.max(axis=(0, 2)), 1e-300)[
            :, None
        ]  # scaled, against underflow
        self._share = share / max(share.sum(), 1e-300)
        return True


def cheapest_first(needs: NDArray[np.bool_], costs: Costs, losses: VoteLosses) -> list[int]:
    """Rounds in the order in which they are evaluated.

    Parameters
    ----------
    needs : bool array of shape (T, n_features)
        Features of each round, in the order of training.
    costs : Costs
        Costs of the features.
    losses : VoteLosses
        Decides whether a round lowers the loss of those before it.
    """
    total = float(costs.of(needs.any(axis=0)))
    paid = np.zeros((1, needs.shape[1]), dtype=np.bool_)
    waiting, order = np.arange(len(needs)), list[int]()
    while len(waiting):
        price = costs.of_each(needs[waiting] | paid) - costs.of_each(paid)
        price = np.round(price / total if total > 0.0 else price, DIGITS)
        taken = np.array([price[k] == 0.0 and losses.take(t) for k, t in enumerate(waiting.tolist())])
        order += waiting[taken].tolist()
        priced = ~taken & (price > 0.0)
        if not priced.any():
            return order + waiting[~taken].tolist()
        paid = paid | needs[waiting[np.where(priced, price, np.inf).argmin()]]
        waiting = waiting[~taken]
    return order


def needs_of(plan: Plan) -> NDArray[np.bool_]:
    """Mask (n_nodes, n_features) of the features that each node of a plan reads."""
    needs = np.zeros((len(plan.nodes), plan.n_features), dtype=np.bool_)
    for place, node in enumerate(plan.nodes):
        for term in node.terms.tolist():
            needs[place, plan.terms[term].features] = True
    return needs


def with_offsets(plan: Plan, state: BoostingState, X: NDArray[Any], n_threads: int | None) -> list[Node]:
    """The nodes of a chain of votes, with constants for rows that stop early.

    After each node but the last, the sum of the constants is the one that minimises the exponential loss of
    the training rows `X`: the log-odds of the class, with each row weighted by its loss. All constants sum to
    0, so rows that do not stop early get the same score as without them.
    """
    parts = plan.run_staged(X, range(1, len(plan.nodes)), account=False, n_threads=n_threads, encoded=True)
    offsets = [_offset(stage.scores, state) for stage in parts]
    steps = np.diff([np.zeros_like(plan.base), *offsets, np.zeros_like(plan.base)], axis=0)
    return [replace(node, bias=node.bias + step) for node, step in zip(plan.nodes, steps, strict=True)]


def _offset(scores: Floats, state: BoostingState) -> Floats:
    """The offset of log-odds (n, K) that minimises ``sum weight exp(-sign (score + offset) / 2)``.

    >>> state = BoostingState(np.array([[1.0, 1.0, 1.0, -1.0]]), np.full(4, 0.25))
    >>> _offset(np.zeros((4, 1)), state).round(6).tolist()  # log 3
    [1.098612]
    """
    loss = -state.signs * scores.T / 2.0
    sides = [state.weight * (state.signs == side) for side in (1.0, -1.0)]
    right, wrong = (logsumexp(loss, axis=1, b=weight) for weight in sides)
    return np.asarray(right - wrong)
