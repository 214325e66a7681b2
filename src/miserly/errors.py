"""Every error miserly raises on purpose, so that callers can catch one family."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "BudgetWarning",
    "CostError",
    "DataError",
    "MetricError",
    "MiserlyError",
    "NotNumericError",
    "PlanError",
    "PlanFormatError",
    "did_you_mean",
]


class MiserlyError(Exception):
    """Base of everything miserly raises on purpose."""


class CostError(MiserlyError, ValueError):
    """Costs that are negative, missing, contradictory or do not fit the data."""


class DataError(MiserlyError, ValueError):
    """Rows, labels, weights or queries that a learner or a plan cannot use as they are."""


class NotNumericError(DataError, TypeError):
    """A value that must be a number and is none; a TypeError too, as scikit-learn expects."""


class MetricError(MiserlyError, ValueError):
    """A metric that does not exist, or that is not defined for what it was given."""


class PlanError(MiserlyError, ValueError):
    """A plan that is not well formed, or was asked for something it cannot do."""


class PlanFormatError(PlanError):
    """A file that is not a sound saved plan: truncated, altered, hostile, or from a later version."""


class BudgetWarning(UserWarning):
    """No model inside a budget is better than a constant answer; the message says why."""


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """A sentence naming the known name nearest to `name`, or an empty string.

    >>> did_you_mean("chl", ["age", "chol"])
    "; did you mean 'chol'?"
    """
    near = get_close_matches(str(name), [str(k) for k in known], n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
