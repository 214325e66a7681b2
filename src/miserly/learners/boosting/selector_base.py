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
from sklearn.utils._param_validation import Interval, StrOptions

from miserly.costs import Costs, Ledger, read_budget
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.grow import Bins, Grower, GrowOptions
from miserly.grow.options import MAX_DEPTH
from miserly.learners.base.arguments import ONE_OR_MORE, categorical_columns, constraints
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.boosting.feature_choice import best_order, choose_features
from miserly.learners.boosting.feature_sets import SetOptions, feature_sets, subsample, validation_masks
from miserly.learners.boosting.model_size import DEPTHS, ROUNDS, TrialModel, best_size
from miserly.learners.boosting.prefixes import prefix_models, prefix_nodes, prefix_sizes
from miserly.learners.common.booster import Booster, boost, reserve_of
from miserly.learners.common.linear_fit import FitData, read_fit_data
from miserly.learners.common.masked_boosting import on_columns
from miserly.learners.common.round import Round, nodes_of, terms_of
from miserly.learners.common.training import ScoreEvaluator
from miserly.losses import Loss
from miserly.metrics import get_metric
from miserly.plan import Plan

__all__ = ["BudgetedSelector"]

FIRST_ROUNDS = 0.25  # of the rounds: in these the features come one after the other
SET_DEPTH = 4  # largest depth of the trees by which sets of features are compared
L2 = 1.0  # penalty on leaf values; without it, leaves of rare classes take too large steps ...
SIZE_ROWS = 40_000  # by which depths and numbers of rounds are compared at most
SIZE_VALIDATION = 1000  # validation rows that are wanted for it
FEW_ROWS = 2000  # ... and in proportion for fewer rows, so that a row of weight two counts as two rows


class BudgetedSelector(WeightedFit):
    """Base of both selectors. Subclasses define the encoding of labels, the loss and the default metric."""

    n_rounds_: int
    order_: NDArray[Any]

    default_metric: ClassVar[str]
    chooses_by_metric = True  # a search sets `metric` to its own

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "budget", "step", "min_samples_leaf", "max_bins", "categorical_features"),
        *("validation_fraction", "metric", "random_state", "n_jobs"),
        max_depth=[Interval(Integral, 1, MAX_DEPTH, closed="both"), StrOptions({"auto"})],
        n_rounds=[ONE_OR_MORE, StrOptions({"auto"})],
        anytime=["boolean"],
    )

    def __init__(
        self,
        *,
        costs: Any = None,
        budget: float | None = None,
        step: float = 0.1,
        max_depth: Any = 6,
        n_rounds: Any = 100,
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
        reserve = reserve_of(self.budget, None, self._rounds[-1] * loss.n_scores, rows.costs)
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
        sets = feature_sets(rows.training, self._options(rows, loss))
        everything = list(range(len(rows.costs)))
        chosen = everything if takes_all else choose_features(sets, rows.costs, budget)
        return best_order(chosen, sets, rows.costs) if self.anytime else chosen

    def _options(self, rows: FitData, loss: Loss) -> SetOptions:
        """How sets of features, and models on them, are compared."""
        return SetOptions(
            loss=loss,
            metric=get_metric(self.metric or self.default_metric),
            is_classifier=is_classifier(self),
            validation_fraction=self.validation_fraction,
            growth=self._growth(rows.training, min(self._depths[0], SET_DEPTH)),
            categorical=categorical_columns(self.categorical_features, rows.table, self.n_features_in_),
            seed=rows.seed,
            n_threads=self.n_threads,
        )

    def _models(self, rows: FitData, loss: Loss, chosen: list[int], money: float) -> list[list[Round]]:
        """Boosted models on the chosen features, whose trees together cost no more than `money`.

        It is one model, or if `anytime` one for each of some prefixes.
        """
        if not chosen:
            return []
        options = self._options(rows, loss)
        if self.anytime:
            fit = partial(self._boost_prefix, rows, options, chosen)
            return prefix_models(fit, prefix_sizes(len(chosen)), money, rows.costs.evaluation)
        depth, n_rounds = self._size(rows, options, chosen, money)
        booster = self._booster(rows.training, options, chosen, rows.costs.evaluation, money, depth)
        is_chosen = len(chosen) < len(rows.costs)  # all features together have no order
        n_first = min(len(chosen) - 1, int(FIRST_ROUNDS * n_rounds)) if is_chosen else 0
        return [_on_all(_boost_in_order(booster, n_first, n_rounds), chosen, rows.costs)]

    def _boost_prefix(
        self, rows: FitData, options: SetOptions, chosen: list[int], size: int, money: float
    ) -> list[Round]:
        """A boosted model on the first features."""
        features = chosen[:size]
        depth, n_rounds = self._size(rows, options, features, money)
        booster = self._booster(rows.training, options, features, rows.costs.evaluation, money, depth)
        return _on_all(boost(booster, n_rounds), features, rows.costs)

    @property
    def _depths(self) -> tuple[int, ...]:
        """The depths of trees that are tried, the first of them if there are few rows."""
        return DEPTHS if isinstance(self.max_depth, str) else (int(self.max_depth),)

    @property
    def _rounds(self) -> tuple[int, ...]:
        """The numbers of rounds that are tried."""
        return ROUNDS if isinstance(self.n_rounds, str) else (int(self.n_rounds),)

    def _size(self, rows: FitData, options: SetOptions, features: list[int], money: float) -> tuple[int, int]:
        """The depth of trees and the number of rounds of a model on some features."""
        if len(self._depths) == len(self._rounds) == 1:
            return self._depths[0], self._rounds[0]
        samples = subsample(rows.training, options, SIZE_ROWS)

        def trial(depth: int, held_out: NDArray[np.bool_]) -> TrialModel:
            evaluation = rows.costs.evaluation
            booster = self._booster(samples.take(~held_out), options, features, evaluation, money, depth)
            validation = samples.take(held_out)
            return TrialModel(
                booster,
                np.ascontiguousarray(validation.X[:, features]),
                np.tile(booster.scores[0], (len(validation), 1)),
                ScoreEvaluator(options.metric, options.loss, validation),
                options.n_threads,
            )

        masks = validation_masks(samples, options, SIZE_VALIDATION)
        return best_size(lambda depth: [trial(depth, one) for one in masks], self._depths, self._rounds)

    def _booster(
        self,
        samples: Rows,
        options: SetOptions,
        features: list[int],
        evaluation: float,
        money: float,
        depth: int,
    ) -> Booster:
        """A booster on some features, whose trees cost no more than `money`."""
        free = Costs(np.zeros(len(features)), evaluation=evaluation)
        X = np.ascontiguousarray(samples.X[:, features])
        bins = Bins.fit(X, self.max_bins, options.categorical[features], random_state=options.seed)
        binned = bins.transform(X, self.n_threads)
        base = options.loss.initial(samples.y, samples.weight)
        return Booster(
            loss=options.loss,
            samples=replace(samples, X=samples.X[:, :0]),
            grower=Grower(binned, free, self._growth(samples, depth), self.n_threads),
            ledger=Ledger(free, money),
            scores=np.asfortranarray(np.tile(base, (len(samples), 1))),
            tradeoff=0.0,
            step=self.step,
        )

    def _growth(self, samples: Rows, max_depth: int) -> GrowOptions:
        return GrowOptions(
            max_depth=max_depth,
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
