"""Errors and warnings of miserly. Every error it raises on purpose is a `MiserlyError`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

__all__ = [
    "BudgetWarning",
    "ClientError",
    "CostError",
    "DataError",
    "MetricError",
    "MiserlyError",
    "NotNumericError",
    "PlanError",
    "PlanFormatError",
    "ServeError",
    "SourceError",
    "UnreachableError",
    "did_you_mean",
    "warn_once",
]


class MiserlyError(Exception):
    """Base class of the errors that miserly raises on purpose."""


class CostError(MiserlyError, ValueError):
    """Costs are negative, missing, contradictory or do not match the data."""


class DataError(MiserlyError, ValueError):
    """Rows, labels, weights, queries or files cannot be used as they are."""


class NotNumericError(DataError, TypeError):
    """A value is not a number where one is required; also a TypeError, as scikit-learn expects."""


class MetricError(MiserlyError, ValueError):
    """A metric does not exist, or is not defined for its arguments."""


class PlanError(MiserlyError, ValueError):
    """A plan is not well formed, or does not support a request."""


class PlanFormatError(PlanError):
    """A file is not a valid saved plan: truncated, altered, hostile, or from a later version."""


class SourceError(MiserlyError, RuntimeError):
    """A source is not as it must be, or did not bring a feature and the caller asked for an error.

    Attributes
    ----------
    receipt : Receipt or None
        What was bought until then.
    """

    receipt: Any = None


class ServeError(MiserlyError, ValueError):
    """The service cannot start as it was asked to."""


class ClientError(MiserlyError, RuntimeError):
    """A service did not answer a request; the message says what it reported.

    Parameters
    ----------
    message : str
        What went wrong.
    status : int, optional
        The HTTP status; None if there was no response.
    code : str, optional
        What went wrong, for programs; as in the documentation of the service.
    field : str, optional
        Where in the request.

    Attributes
    ----------
    receipt : object or None
        What was bought until then, and the answer so far.
    retry_after : float or None
        Seconds after which the service may answer.
    """

    def __init__(
        self, message: str, status: int | None = None, code: str | None = None, field: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.field = status, code, field
        self.receipt: Any = None
        self.retry_after: float | None = None


class UnreachableError(ClientError, ConnectionError):
    """A service cannot be reached, or broke off."""


class BudgetWarning(UserWarning):
    """No model within a budget is better than a constant prediction; the message says why."""


_LONGEST = 200  # characters of a name that is compared with others


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Hint with the known name nearest to `name`, or an empty string.

    >>> did_you_mean("chl", ["age", "chol"])
    "; did you mean 'chol'?"
    """
    if len(str(name)) > _LONGEST:  # comparing takes long, and nothing is near
        return ""
    near = get_close_matches(str(name), [str(k) for k in known], n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


_given: set[str] = set()


def warn_once(topic: str, message: str) -> None:
    """Give a `RuntimeWarning` unless one of the same topic was given before."""
    if topic not in _given:
        _given.add(topic)
        warnings.warn(message, RuntimeWarning, stacklevel=3)
