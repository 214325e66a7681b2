"""What classifiers that boost by votes share: the fit, what it leaves behind, and looking at it in stages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.grow import Bins
from miserly.grow.binning import MAX_BINS, Binned
from miserly.grow.grower import MAX_DEPTH
from miserly.grow.stumps import Stumps
from miserly.grow.vote_trees import VoteTrees
from miserly.learners.base import PlanClassifier
from miserly.learners.boosting.tree_votes import TreeVoter
from miserly.learners.boosting.vote_order import needs_of, thrifty_order, votes_on, with_offsets
from miserly.learners.boosting.votes import Standing, StumpVoter, Voter, VoteRound, chain_of, signs_of
from miserly.learners.common.categories import categorical_columns
from miserly.learners.common.labels import encode_classes
from miserly.learners.common.linear_fit import FitData, read_fit_data
from miserly.learners.common.progress import RoundsBar
from miserly.learners.common.staged import StagedClassifier
from miserly.plan import Plan

__all__ = ["ONE_OR_MORE", "VotingClassifier", "bin_rows", "prior_of", "shares_of"]

ONE_OR_MORE = Interval(Integral, 1, None, closed="left")


class VotingClassifier(StagedClassifier):
    """Boosting by votes inside a budget; subclasses say by which rule, and what to do with the rounds."""

    n_rounds_: int
    stopped_by_: str
    feature_importances_: NDArray[np.float64]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "costs": [None, Costs, Mapping, "array-like"],
        "budget": [Interval(Real, 0, None, closed="both"), None],
        "base": [StrOptions({"stump", "tree"})],
        "max_depth": [Interval(Integral, 1, MAX_DEPTH, closed="both")],
        "n_rounds": [ONE_OR_MORE],
        "max_bins": [Interval(Integral, 2, MAX_BINS, closed="both")],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "random_state": ["random_state"],
        "n_jobs": [ONE_OR_MORE, Interval(Integral, None, -1, closed="right"), None],
        "verbose": ["verbose"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> VotingClassifier:
        """Fit to classes `y`; `qid` is only checked, nothing is set aside."""
        rows = read_fit_data(self, X, Target(y, sample_weight, qid), self._encode, None)
        standing = Standing(signs_of(rows.training.y, len(self.classes_)), shares_of(rows.training))
        with RoundsBar(self.n_rounds, rows.costs.unit, visible=bool(self.verbose)) as bar:
            rounds = self._boost(standing, bin_rows(self, rows), rows, bar)
        self.plan_ = self._plan_of(rounds, rows)
        if self._is_reordered and len(rounds) > 1:
            self._reorder(rounds, rows, standing)
        self._keep(rounds)
        return self

    @abstractmethod
    def _boost(self, standing: Standing, binned: Binned, rows: FitData, bar: RoundsBar) -> list[VoteRound]:
        """The rounds of the model, with `stopped_by_`."""

    @property
    def _is_reordered(self) -> bool:
        """Whether rounds are evaluated cheapest first, not in the order of training."""
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

    def _reorder(self, rounds: list[VoteRound], rows: FitData, standing: Standing) -> None:
        """Put the nodes of the plan in the order that serves smaller budgets best."""
        X = rows.training.X
        votes = votes_on(self.plan_, standing, X, rows.seed, self.n_threads)
        order = thrifty_order(needs_of(self.plan_), rows.costs, votes)
        plan = self._plan_of([rounds[t] for t in order], rows)
        self.plan_ = plan.replace(nodes=with_offsets(plan, standing, X, self.n_threads))

    def _keep(self, rounds: list[VoteRound]) -> None:
        self.n_rounds_ = len(rounds)
        drop = np.zeros(self.n_features_in_)
        for feature, fallen in (item for one in rounds for item in one.drop.items()):
            drop[feature] += fallen
        self.feature_importances_ = drop / drop.sum() if drop.any() else drop


def bin_rows(learner: PlanClassifier, rows: FitData) -> Binned:
    """The training rows as bins."""
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
