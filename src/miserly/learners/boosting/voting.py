"""Base of the classifiers that boost by votes."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from miserly.costs import Ledger
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.grow import Bins
from miserly.grow.binning import Binned
from miserly.grow.grower import MAX_DEPTH
from miserly.grow.stumps import Stumps
from miserly.grow.vote_trees import VoteTrees
from miserly.learners.base import PlanClassifier
from miserly.learners.base.arguments import categorical_columns, constraints, encode_classes
from miserly.learners.base.kinds import StagedClassifier, WeightedFit
from miserly.learners.boosting.tree_votes import TreeVoter
from miserly.learners.boosting.vote_order import cheapest_first, needs_of, vote_losses, with_offsets
from miserly.learners.boosting.votes import (
    BoostingState,
    LearnerBudget,
    StumpVoter,
    Voter,
    VoteRound,
    boost,
    chain_of,
    signs_of,
)
from miserly.learners.common.linear_fit import FitData, read_fit_data
from miserly.learners.common.progress import RoundsBar
from miserly.plan import Plan
from miserly.solvers.budget_rules import SelectionRule

__all__ = ["VotingClassifier", "bin_rows", "prior_of", "shares_of"]


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
            "random_state",
            "n_jobs",
            "verbose",
        ),
        base=[StrOptions({"stump", "tree"})],
        max_depth=[Interval(Integral, 1, MAX_DEPTH, closed="both")],
    )

    def _fit(self, X: Any, given: Target) -> None:
        rows = read_fit_data(self, X, given, self._encode, None)
        state = BoostingState(signs_of(rows.training.y, len(self.classes_)), shares_of(rows.training))
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

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        self.classes_, codes = encode_classes(y)
        return codes

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


def shares_of(samples: Rows) -> NDArray[np.float64]:
    """Weights that add up to 1."""
    weight = np.ones(len(samples)) if samples.weight is None else samples.weight
    return weight / weight.sum()


def prior_of(samples: Rows, n_classes: int) -> NDArray[np.float64]:
    """The log-odds of the second of two classes, or of each of several against the others.

    >>> prior_of(Rows(np.zeros((4, 1)), np.array([0, 0, 0, 1])), 2).round(3).tolist()
    [-1.099]
    """
    share = np.bincount(samples.y.astype(np.int64), weights=shares_of(samples), minlength=n_classes)
    odds = np.log(share) - np.log1p(-share)
    return odds[1:] if n_classes == 2 else odds
