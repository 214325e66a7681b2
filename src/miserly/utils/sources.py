"""What a source is: a callable that gets features. What it asks for, and how its results are read.

`Costs.measure` times sources and the runtime calls them. Both read them here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from miserly.errors import SourceError, did_you_mean

__all__ = [
    "ACQUIRED",
    "Invalid",
    "Priced",
    "Signature",
    "batched",
    "entry_of",
    "is_batched",
    "read_signature",
    "values_by_name",
]

ACQUIRED = "acquired"  # a parameter of this name gets all values acquired so far


class Invalid(SourceError):
    """What a source gave cannot be used: another shape, another type, an unknown category."""


@dataclass(frozen=True, slots=True)
class Priced:
    """A value together with what it really cost, for sources whose price is known only afterwards.

    Parameters
    ----------
    value : object
        What the source would return otherwise.
    cost : float
        The price that was paid, in the unit of the plan's costs, with the set-up of a group.

    Examples
    --------
    >>> Priced(0.7, cost=0.012).cost
    0.012
    """

    value: Any
    cost: float


def batched(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a source that takes many raw inputs at once: a decorator.

    Parameters
    ----------
    function : callable
        Takes a list of raw inputs and gives a sequence of values, one for each.

    Returns
    -------
    callable
        The function itself, marked.

    Examples
    --------
    >>> @batched
    ... def lengths(texts):
    ...     return [len(text) for text in texts]
    """
    function.__miserly_batched__ = True  # type: ignore[attr-defined]
    return function


def is_batched(function: Callable[..., Any]) -> bool:
    """Whether a source is marked by `batched`."""
    return bool(getattr(function, "__miserly_batched__", False))


# -- what a source asks for ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Signature:
    """What a source asks for besides the raw input.

    Attributes
    ----------
    asks : tuple of (str, bool)
        The parameters that get acquired features: name, and whether it has a default.
    asks_all : bool
        Whether it has a parameter `acquired`, which gets all values acquired so far.
    is_async : bool
        Whether its result must be awaited.
    """

    asks: tuple[tuple[str, bool], ...]
    asks_all: bool
    is_async: bool

    def arguments(self, values: Mapping[Any, Any]) -> dict[str, Any]:
        """The keyword arguments of a call, given the values acquired so far; `Invalid` if one is missing."""
        given: dict[str, Any] = {ACQUIRED: dict(values)} if self.asks_all else {}
        for parameter, has_default in self.asks:
            if parameter in values:
                given[parameter] = values[parameter]
            elif not has_default:
                raise Invalid(f"it needs {parameter!r}, which was not acquired before")
        return given


def read_signature(
    function: Callable[..., Any], key: Hashable, names: Collection[str] | None = None
) -> Signature:
    """What a source asks for, by the names of its parameters after the first one.

    Parameters
    ----------
    function : callable
        The source.
    key : object
        The feature or group that it gets, for error messages.
    names : collection of str, optional
        The features that exist. A parameter of another name must have a default, which it keeps. By default
        every parameter is taken for a feature.

    Returns
    -------
    Signature

    Raises
    ------
    SourceError
        If it takes no raw input, or asks for what is no feature.

    Examples
    --------
    >>> read_signature(lambda raw, age, limit=3: age, "risk", names=["age", "risk"]).asks
    (('age', False),)
    """
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # built in: takes the raw input
        return Signature((), False, is_async)
    if not parameters:
        raise SourceError(f"the source of {key!r} must take the raw input as its first argument")
    asks, asks_all = [], False
    for one in parameters[1:]:
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        has_default = one.default is not one.empty
        if names is not None and one.name in names:
            asks.append((one.name, has_default))
        elif one.name == ACQUIRED:
            asks_all = True
        elif names is None:
            asks.append((one.name, has_default))
        elif not has_default:
            raise SourceError(
                f"the source of {key!r} asks for {one.name!r}, which is no feature of the plan"
                f"{did_you_mean(one.name, names)}"
            )
    return Signature(tuple(asks), asks_all, is_async)


# -- what a source gives -------------------------------------------------------------------------------------


def entry_of(results: Any, i: int, n: int) -> Any:
    """Entry `i` of what a batched source gave for `n` inputs; `Invalid` if it has another length."""
    try:
        length = len(results)
    except TypeError:
        raise Invalid(f"it is batched and gave {type(results).__name__}, not a list") from None
    if length != n:
        raise Invalid(f"it is batched and gave {length} values for {n} inputs")
    return results[i]


def values_by_name(result: Any, names: Sequence[Any]) -> dict[Any, Any]:
    """The values of several features, from a mapping or in order; `Invalid` if it has another shape.

    >>> values_by_name([200.0, 1.0], ["chol", "fbs"])
    {'chol': 200.0, 'fbs': 1.0}
    """
    if isinstance(result, Mapping):
        strange = [name for name in result if name not in names]
        if strange:
            raise Invalid(f"it gave {strange[0]!r}, which is not among its features")
        return dict(result)
    if isinstance(result, (str, bytes)) or (
        not isinstance(result, Sequence) and not hasattr(result, "__len__")
    ):
        raise Invalid(f"it gave {type(result).__name__} for {len(names)} features; give a mapping")
    if len(result) != len(names):
        raise Invalid(f"it gave {len(result)} values for {len(names)} features")
    return dict(zip(names, result, strict=True))
