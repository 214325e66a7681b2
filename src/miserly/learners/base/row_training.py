"""Training on rows that know some features, pay their own prices, or never had a feature ordered.

One mechanism for all learners. A learner buys a feature once for all rows, so what it needs is one price for
each feature: the mean of what the training rows would pay. It is fitted with these prices as its costs. The
plan then gets back the list of prices, and keeps the budget row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from miserly.costs import Costs, read_budget, read_row_costs
from miserly.data.frames import is_frame
from miserly.data.target import check_weight
from miserly.errors import DataError
from miserly.learners.base.arguments import bind_costs
from miserly.learners.base.estimator import PlanEstimator
from miserly.learners.base.ordering import ordering_weights

__all__ = ["RowTraining", "costs_paths", "row_training"]

Learner = TypeVar("Learner", bound=PlanEstimator)


def row_training(
    known: Any = None, prices: Any = None, ordered: Any = None, never_ordered: str = "missing"
) -> RowTraining | None:
    """What a `fit` was given of its rows; None if nothing.

    Parameters
    ----------
    known, prices : optional
        What each row has already, and what it pays, as for `Plan.run`.
    ordered : bool array of (n, n_features), frame or mapping of bools, optional
        Which features were ordered for which rows.
    never_ordered : {"missing", "drop", "ipw"}, default="missing"
        What is done with features that were never ordered, see `ordering_weights`.

    Returns
    -------
    RowTraining or None
    """
    if never_ordered != "missing" and ordered is None:
        raise DataError(f"never_ordered={never_ordered!r} needs `ordered`, a mask of what was ordered")
    if known is None and prices is None and ordered is None:
        return None
    return RowTraining(known, prices, ordered, never_ordered)


@dataclass(frozen=True, eq=False)
class RowTraining:
    """What training rows know, pay and never had ordered. Made by `row_training`.

    Parameters
    ----------
    known, prices, ordered, never_ordered
        As for `row_training`.
    """

    known: Any
    prices: Any
    ordered: Any
    never_ordered: str

    def fit(self, learner: Learner, X: Any, y: Any, sample_weight: Any = None, **given: Any) -> Learner:
        """Fit a learner at the mean prices of its rows, without those that are dropped.

        Parameters
        ----------
        learner : PlanEstimator
            The learner. Its parameters are the same afterwards.
        X, y, sample_weight
            As for the `fit` of the learner.
        **given : object
            Other arguments of its `fit`; those that are None are left out.

        Returns
        -------
        PlanEstimator
            The learner, fitted.
        """
        for option in ("warm_start", "prefit"):
            if getattr(learner, option, False):
                raise DataError(f"{option}=True does not go with known, prices or ordered, which need a fit")
        given = {name: value for name, value in given.items() if value is not None}
        columns = [str(c) for c in X.columns] if is_frame(X) else np.shape(X)[1]
        paths = costs_paths(learner)
        listed = {path: bind_costs(value, columns) for path, value in paths.items()}
        if not listed:
            raise DataError(f"{type(learner).__name__} has no costs, so its rows cannot have their own")
        costs = next(iter(listed.values()))
        weight = check_weight(sample_weight, X)
        if self.ordered is not None:
            orders = ordering_weights(X, self.ordered, costs, self.never_ordered, known=self.known)
            sample_weight = orders if weight is None else weight * orders
            if not sample_weight.any():
                raise DataError("every row in which the features were ordered has weight 0")
        if sample_weight is not None:
            given["sample_weight"] = sample_weight
        rows = {path: read_row_costs(own, X, self.known, self.prices) for path, own in listed.items()}
        expected = {path: own.expected(listed[path], weight) for path, own in rows.items() if own is not None}
        learner.set_params(**expected)
        try:
            learner.fit(X, y, **given)
        finally:
            learner.set_params(**{path: paths[path] for path in expected})
        if expected:
            _charge(learner, costs, read_budget(_budget_of(learner)))
        return learner


def costs_paths(learner: Any) -> dict[str, Any]:
    """The parameters that hold the costs of a learner: its own, or those of its estimators.

    >>> from miserly import EarlyExit, GreedyMiserClassifier
    >>> costs_paths(EarlyExit(GreedyMiserClassifier(costs=[1.0, 2.0])))
    {'estimator__costs': [1.0, 2.0]}
    """
    parameters = learner.get_params(deep=True)
    found = {path: value for path, value in parameters.items() if path.rpartition("__")[2] == "costs"}
    if "costs" in found and (found["costs"] is not None or len(found) == 1):
        return {"costs": found["costs"]}  # those of estimators inside are replaced by them
    return {path: value for path, value in found.items() if path != "costs"}


def _budget_of(learner: Any) -> Any:
    """The cap on what a row pays."""
    inside = getattr(learner, "estimator", None)
    return getattr(learner, "budget", getattr(inside, "budget", None))


def _charge(learner: Any, costs: Costs, budget: float) -> None:
    """Give plans the listed prices and the cap, which training at mean prices did not keep for each row."""
    parameters = learner.get_params(deep=False)
    for name, one in vars(learner).items():
        if name not in parameters and isinstance(one, PlanEstimator):
            one.plan_ = one.plan_.replace(costs=costs)
    plan = learner.plan_
    learner.plan_ = plan.replace(costs=costs, budget=min(plan.budget, budget))
