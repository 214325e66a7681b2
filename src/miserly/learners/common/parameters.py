"""Constraints of parameters that several learners have, for scikit-learn's validation."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from miserly.costs import Costs
from miserly.grow.binning import MAX_BINS
from miserly.metrics import Metric

__all__ = ["NOT_NEGATIVE", "ONE_OR_MORE", "POSITIVE", "constraints"]

ONE_OR_MORE = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
BUDGET = [Interval(Real, 0, None, closed="both"), None]

SHARED: dict[str, list[Any]] = {
    "costs": [None, Costs, Mapping, "array-like"],
    "tradeoff": [NOT_NEGATIVE],
    "budget": BUDGET,
    "mean_budget": BUDGET,
    "terms": [StrOptions({"linear", "boosted"})],
    "n_terms": [ONE_OR_MORE],
    "term_tradeoff": [NOT_NEGATIVE, StrOptions({"falling"}), None],
    "step": [POSITIVE],
    "l1_regularization": [NOT_NEGATIVE],
    "l2_regularization": [POSITIVE],
    "n_rounds": [ONE_OR_MORE],
    "min_samples_leaf": [ONE_OR_MORE],
    "max_bins": [Interval(Integral, 2, MAX_BINS, closed="both")],
    "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    "optimise": ["boolean"],
    "early_stopping": ["boolean", ONE_OR_MORE],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "metric": [str, Metric, None],
    "random_state": ["random_state"],
    "n_jobs": [ONE_OR_MORE, Interval(Integral, None, -1, closed="right"), None],
    "verbose": ["verbose"],
}


def constraints(*names: str, **own: list[Any]) -> dict[str, list[Any]]:
    """The constraints of shared parameters by name, and those of a learner's own.

    >>> sorted(constraints("budget", prune=["boolean"]))
    ['budget', 'prune']
    """
    return {name: SHARED[name] for name in names} | own
