"""Boosted trees on the features that a budget buys best.

Greedy boosting buys a feature for the gain of its next tree, so its first trees spend a small budget. A
selector chooses all features first: purchase orders from both ends
(`miserly.learners.common.purchase_orders`) compete on validation rows, and swaps improve the best. A boosted
model without any penalty is then fitted to the chosen features, or one to each of several prefixes.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval

from miserly.costs import Costs, Ledger, read_budget
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.grow import Bins, Grower, GrowOptions
from miserly.grow.options import MAX_DEPTH
from miserly.learners.base.arguments import categorical_columns, constraints
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.boosting.feature_choice import best_order, choose_features
from miserly.learners.boosting.feature_sets import SetOptions, feature_sets
from miserly.learners.boosting.prefixes import prefix_models, prefix_nodes, prefix_sizes
from miserly.learners.common.booster import Booster, boost, reserve_of
from miserly.learners.common.linear_fit import FitData, read_fit_data
from miserly.learners.common.masked_boosting import on_columns
from miserly.learners.common.round import Round, nodes_of, terms_of
from miserly.losses import Loss
from miserly.metrics import get_metric
from miserly.plan import Plan

__all__ = ["BudgetedSelector"]

FIRST_ROUNDS = 0.25  # of the rounds: in these the features come one after the other
SET_DEPTH = 4  # largest depth of the trees by which sets of features are compared
L2 = 1.0  # penalty on leaf values; without it, leaves of rare classes take too large steps ...
FEW_ROWS = 2000  # ... and in proportion for fewer rows, so that a row of weight two counts as two rows


class BudgetedSelector(WeightedFit):
    """Base of both selectors. Subclasses define the encoding of labels, the loss and the default metric."""

    n_rounds_: int
    order_: NDArray[Any]

    default_metric: ClassVar[str]
    chooses_by_metric = True  # a search sets `metric` to its own

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "budget", "step", "n_rounds", "min_samples_leaf", "max_bins", "categorical_features"),
        *("validation_fraction", "metric", "random_state", "n_jobs"),
        max_depth=[Interval(Integral, 1, MAX_DEPTH, closed="both")],
        anytime=["boolean"],
    )

    def __init__(
        self,
        *,
        costs: Any = None,
        budget: float | None = None,
        step: float = 0.1,
        max_depth: int = 6,
        n_rounds: int = 100,
        min_samples_leaf: int = 20,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        validation_fraction: float = 0.25,
        metric: Any = None,
        anytime: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.costs = costs
        self.budget = budget
        self.step = step
        self.max_depth = max_depth
        self.n_rounds = n_rounds
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.validation_fraction = validation_fraction
        self.metric = metric
        self.anytime = anytime
        self.random_state = random_state
        self.n_jobs = n_jobs

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss, once classes are known."""

    def _fit(self, X: Any, given: Target) -> None:
        rows = read_fit_data(self, X, given, self._encode if is_classifier(self) else None, None)
        loss, budget = self._loss(), read_budget(self.budget)
        reserve = reserve_of(self.budget, None, self.n_rounds * loss.n_scores, rows.costs)
        chosen = self._choose(rows, loss, budget - reserve)
        base = loss.initial(rows.training.y, rows.training.weight)
        models = self._models(rows, loss, chosen, budget - rows.costs.of(rows.costs.mask(chosen)))
        terms = [tree for rounds in models for tree in terms_of(rounds)]
        used = {feature for tree in terms for feature in tree.features.tolist()}
        order = np.array([feature for feature in chosen if feature in used], dtype=np.int64)
        names = rows.costs.names
        self.order_ = order if names is None else np.array(names, dtype=object)[order]
        self.n_rounds_ = len(models[-1]) if models else 0
        self.plan_ = Plan(
            costs=rows.costs,
            terms=terms,
            nodes=prefix_nodes(models, base) if self.anytime else nodes_of(models[0]) if models else [],
            base=base,
            link=loss.link,
            classes=self.plan_classes(),
            categories=self.categories_,
            info={"learner": type(self).__name__},
        )

    def _choose(self, rows: FitData, loss: Loss, budget: float) -> list[int]:
        """The features to buy, the most useful first."""
        takes_all = Ledger(rows.costs, budget).fits(rows.costs.total)
        if takes_all and not self.anytime:
            return list(range(len(rows.costs)))
        if not Ledger(rows.costs, budget).fits(rows.costs.marginals(rows.costs.mask([]))).any():
            return []
        options = SetOptions(
            loss=loss,
            metric=get_metric(self.metric or self.default_metric),
            is_classifier=is_classifier(self),
            validation_fraction=self.validation_fraction,
            growth=self._growth(rows.training, SET_DEPTH),
            categorical=categorical_columns(self.categorical_features, rows.table, self.n_features_in_),
            seed=rows.seed,
            n_threads=self.n_threads,
        )
        sets = feature_sets(rows.training, options)
        everything = list(range(len(rows.costs)))
        chosen = everything if takes_all else choose_features(sets, rows.costs, budget)
        return best_order(chosen, sets, rows.costs) if self.anytime else chosen

    def _models(self, rows: FitData, loss: Loss, chosen: list[int], money: float) -> list[list[Round]]:
        """Boosted models on the chosen features, whose trees together cost no more than `money`.

        It is one model, or if `anytime` one for each of some prefixes.
        """
        if not chosen:
            return []
        if self.anytime:
            fit = partial(self._boost_prefix, rows, loss, chosen)
            return prefix_models(fit, prefix_sizes(len(chosen)), money, rows.costs.evaluation)
        booster = self._booster(rows, loss, chosen, money)
        is_chosen = len(chosen) < len(rows.costs)  # all features together have no order
        n_first = min(len(chosen) - 1, int(FIRST_ROUNDS * self.n_rounds)) if is_chosen else 0
        return [_on_all(_boost_in_order(booster, n_first, self.n_rounds), chosen, rows.costs)]

    def _boost_prefix(
        self, rows: FitData, loss: Loss, chosen: list[int], size: int, money: float
    ) -> list[Round]:
        """A boosted model on the first features."""
        booster = self._booster(rows, loss, chosen[:size], money)
        return _on_all(boost(booster, self.n_rounds), chosen[:size], rows.costs)

    def _booster(self, rows: FitData, loss: Loss, features: list[int], money: float) -> Booster:
        """A booster on some features, whose trees cost no more than `money`."""
        samples = rows.training
        free = Costs(np.zeros(len(features)), evaluation=rows.costs.evaluation)
        return Booster(
            loss=loss,
            samples=replace(samples, X=samples.X[:, :0]),
            grower=self._grower(samples, features, rows, free),
            ledger=Ledger(free, money),
            scores=np.asfortranarray(np.tile(loss.initial(samples.y, samples.weight), (len(samples), 1))),
            tradeoff=0.0,
            step=self.step,
        )

    def _grower(self, samples: Rows, chosen: list[int], rows: FitData, free: Costs) -> Grower:
        X = np.ascontiguousarray(samples.X[:, chosen])
        categorical = categorical_columns(self.categorical_features, rows.table, self.n_features_in_)
        bins = Bins.fit(X, self.max_bins, categorical[chosen], random_state=rows.seed)
        return Grower(
            bins.transform(X, self.n_threads), free, self._growth(samples, MAX_DEPTH), self.n_threads
        )

    def _growth(self, samples: Rows, max_depth: int) -> GrowOptions:
        return GrowOptions(
            max_depth=min(self.max_depth, max_depth),
            min_samples_leaf=self.min_samples_leaf,
            l2=L2 * min(1.0, len(samples) / FEW_ROWS),
        )


def _on_all(rounds: list[Round], features: list[int], costs: Costs) -> list[Round]:
    """Rounds on some features as rounds on all of them."""
    columns = np.array(features, dtype=np.int32)
    return [on_columns(one, columns, len(costs)) for one in rounds]


def _boost_in_order(booster: Booster, n_first: int, n_rounds: int) -> list[Round]:
    """Rounds of boosting. In the first ones features come one after the other, for smaller budgets."""
    n_features = booster.grower.binned.n_features
    rounds: list[Round] = []
    for number in range(n_first):
        booster.features = np.arange(n_features) <= number * n_features // (n_first + 1)
        rounds += boost(booster, 1)
    booster.features = None
    return rounds + boost(booster, n_rounds - len(rounds))
