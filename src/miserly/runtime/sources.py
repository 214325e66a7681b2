"""Sources: the callables that get features, and how they are tied to the columns of a plan."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from miserly.errors import SourceError, did_you_mean
from miserly.plan import Plan
from miserly.runtime.faults import FALLBACKS, Breaker, Invalid, Unavailable
from miserly.utils.checks import read_price

__all__ = ["BoundSource", "Priced", "Source", "batched", "bind_sources"]

ACQUIRED = "acquired"  # a parameter of this name gets all values acquired so far


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


@dataclass(frozen=True)
class Source:
    """A callable that gets one feature or several, with rules of its own.

    A plain callable in the place of a source has the rules of its `OnDemand`.

    Parameters
    ----------
    function : callable
        Takes the raw input. Parameters named like features of the plan get the values of features acquired
        before, `acquired` all of them. May be ``async``. Gives one value, or for several features a mapping
        of feature to value, or their values in order. None means that there is no value. A value may come
        as `Priced`.
    timeout : float, optional
        Seconds that one call may take.
    retries : int, optional
        How often a call that failed is made again.
    backoff : float, optional
        Seconds before the first retry; doubled for each further one.
    fallback : {"missing", "stop", "raise"}, optional
        What to do when all calls failed.
    charge_on_failure : bool, default=False
        Whether a call that failed or came too late is billed.
    bound : float, optional
        The most that one call can cost, if `Priced` values may be above the listed price. It is reserved
        before the call.
    batched : bool, default=False
        Whether `function` takes a list of raw inputs and gives a list of values, one for each.

    Examples
    --------
    >>> Source(lambda patient: patient["age"], retries=2).retries
    2
    """

    function: Callable[..., Any]
    timeout: float | None = None
    retries: int | None = None
    backoff: float | None = None
    fallback: str | None = None
    charge_on_failure: bool = False
    bound: float | None = None
    batched: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise SourceError(f"a source is a callable, not {self.function!r}")
        check_rules(self.timeout, self.retries, self.backoff, self.fallback)
        if self.bound is not None:
            read_price(self.bound, "the bound of a source")


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


def check_rules(
    timeout: float | None, retries: int | None, backoff: float | None, fallback: str | None
) -> None:
    """Raise `SourceError` if a rule for calls has no meaning."""
    if timeout is not None and not timeout > 0:
        raise SourceError(f"timeout is a number of seconds above 0, not {timeout!r}")
    if retries is not None and not (isinstance(retries, int) and retries >= 0):
        raise SourceError(f"retries is a whole number of at least 0, not {retries!r}")
    if backoff is not None and not backoff >= 0:
        raise SourceError(f"backoff is a number of seconds of at least 0, not {backoff!r}")
    if fallback is not None and fallback not in FALLBACKS:
        raise SourceError(f"fallback is one of {', '.join(FALLBACKS)}, not {fallback!r}")


@dataclass(eq=False)
class BoundSource:
    """A source tied to columns of a plan.

    Attributes
    ----------
    name : object
        The feature, the group, or the features that it gets.
    columns : tuple of int
        The columns that it gets.
    single : bool
        Whether it gives one value instead of several.
    asks : tuple of (str, int, bool)
        The parameters that get acquired features: name, column, whether the parameter has a default.
    plain : bool
        Whether it is called with the raw input alone and gives one value, in the thread of the caller.
    breaker : Breaker
    """

    name: Hashable
    function: Callable[..., Any]
    columns: tuple[int, ...]
    names: tuple[Any, ...]
    single: bool
    rules: Source
    is_async: bool
    asks: tuple[tuple[str, int, bool], ...] = ()
    asks_all: bool = False
    breaker: Breaker = field(default_factory=Breaker)

    @property
    def plain(self) -> bool:
        return self.single and not (
            self.is_async or self.asks or self.asks_all or self.rules.batched or self.rules.bound is not None
        )

    def arguments(self, values: Mapping[Any, Any]) -> dict[str, Any]:
        """The keyword arguments of a call, given the values acquired so far by feature."""
        given: dict[str, Any] = {ACQUIRED: dict(values)} if self.asks_all else {}
        for parameter, _, has_default in self.asks:
            if parameter in values:
                given[parameter] = values[parameter]
            elif not has_default:
                raise Invalid(f"it needs {parameter!r}, which was not acquired before")
        return given

    def one_of(self, results: Any, i: int, n: int) -> Any:
        """Entry `i` of what a batched source gave for `n` inputs; `Invalid` if it has another length."""
        try:
            length = len(results)
        except TypeError:
            raise Invalid(f"it is batched and gave {type(results).__name__}, not a list") from None
        if length != n:
            raise Invalid(f"it is batched and gave {length} values for {n} inputs")
        return results[i]

    def by_column(self, result: Any) -> dict[int, Any]:
        """The values of a result, by column; raises `Invalid` if it has another shape."""
        if self.single:
            return {self.columns[0]: result}
        if isinstance(result, Mapping):
            places = dict(zip(self.names, self.columns, strict=True))
            strange = [name for name in result if name not in places]
            if strange:
                raise Invalid(f"it gave {strange[0]!r}, which is not among its features")
            return {places[name]: value for name, value in result.items()}
        if isinstance(result, (str, bytes)) or (
            not isinstance(result, Sequence) and not hasattr(result, "__len__")
        ):
            raise Invalid(f"it gave {type(result).__name__} for {len(self.columns)} features; give a mapping")
        if len(result) != len(self.columns):
            raise Invalid(f"it gave {len(result)} values for {len(self.columns)} features")
        return dict(zip(self.columns, result, strict=True))


def bind_sources(plan: Plan, sources: Mapping[Any, Any], defaults: Source) -> list[BoundSource]:
    """The source of each column of a plan; columns without one are looked up in the raw input."""
    found: dict[int, BoundSource] = {}
    for key, given in sorted(sources.items(), key=lambda item: _is_group(plan, item[0]), reverse=True):
        bound = _bind(plan, key, given, defaults)
        for f in bound.columns:
            found[f] = bound
    return [found.get(f) or _look_up(plan, f, defaults) for f in range(plan.n_features)]


def _is_group(plan: Plan, key: Any) -> bool:
    return isinstance(key, tuple) or key in plan.costs.group_names


def _bind(plan: Plan, key: Any, given: Any, defaults: Source) -> BoundSource:
    rules = given if isinstance(given, Source) else Source(given) if callable(given) else None
    if rules is None:
        raise SourceError(f"the source of {key!r} must be a callable or a Source, not {given!r}")
    columns = _columns(plan, key)
    many = getattr(rules.function, "__miserly_batched__", False) or rules.batched
    filled = {
        one.name: getattr(defaults, one.name)
        for one in fields(Source)
        if getattr(rules, one.name) is None and one.name != "bound"
    }
    asks, asks_all = _asks(plan, rules.function, key)
    return BoundSource(
        name=key,
        function=rules.function,
        columns=columns,
        names=tuple(plan.costs.name(f) for f in columns),
        single=not _is_group(plan, key),
        rules=Source(
            **{**{one.name: getattr(rules, one.name) for one in fields(Source)}, **filled, "batched": many}
        ),
        is_async=inspect.iscoroutinefunction(rules.function)
        or inspect.iscoroutinefunction(getattr(rules.function, "__call__", None)),  # noqa: B004
        asks=asks,
        asks_all=asks_all,
    )


def _columns(plan: Plan, key: Any) -> tuple[int, ...]:
    costs = plan.costs
    if isinstance(key, tuple):
        return tuple(c for name in key for c in _columns(plan, name))
    if key in costs.group_names:
        return tuple(costs.members(costs.group_names.index(key)))
    try:
        return (costs.index(key),)
    except ValueError:
        known = [*(costs.name(f) for f in range(len(costs))), *costs.group_names]
        raise SourceError(
            f"a source for {key!r}, which is no feature or group of the plan{did_you_mean(key, known)}"
        ) from None


def _asks(
    plan: Plan, function: Callable[..., Any], key: Any
) -> tuple[tuple[tuple[str, int, bool], ...], bool]:
    """The parameters after the first one that are names of features, and whether `acquired` is one."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # built in: takes the raw input
        return (), False
    if not parameters:
        raise SourceError(f"the source of {key!r} must take the raw input as its first argument")
    asks, asks_all = [], False
    names = set(plan.costs.names or ())
    for one in parameters[1:]:
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        has_default = one.default is not one.empty
        if one.name in names:
            asks.append((one.name, plan.costs.index(one.name), has_default))
        elif one.name == ACQUIRED:
            asks_all = True
        elif not has_default:
            raise SourceError(
                f"the source of {key!r} asks for {one.name!r}, which is no feature of the plan"
                f"{did_you_mean(one.name, names)}"
            )
    return tuple(asks), asks_all


def _look_up(plan: Plan, f: int, defaults: Source) -> BoundSource:
    """A column without a source is an entry of the raw input."""
    name = plan.costs.name(f)

    def look(raw: Any) -> Any:
        try:
            return raw[name]
        except (KeyError, IndexError, TypeError):
            raise Unavailable(f"{name!r} has no source, and the raw input has no such entry") from None

    return BoundSource(name, look, (f,), (name,), True, Source(look, **_rules(defaults)), is_async=False)


def _rules(defaults: Source) -> dict[str, Any]:
    return {
        one.name: getattr(defaults, one.name)
        for one in fields(Source)
        if one.name not in ("function", "bound", "batched")
    }
