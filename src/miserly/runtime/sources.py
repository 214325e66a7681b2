"""Sources: the callables that get features, and how they are tied to the columns of a plan."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from miserly.errors import SourceError, did_you_mean
from miserly.plan import Plan
from miserly.runtime.faults import FALLBACKS, Breaker, Unavailable
from miserly.utils.checks import read_price
from miserly.utils.sources import (
    Priced,
    Signature,
    batched,
    entry_of,
    is_batched,
    read_signature,
    values_by_name,
)

__all__ = ["BoundSource", "Priced", "Source", "batched", "bind_sources"]

_NOTHING = Signature((), asks_all=False, is_async=False)


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
    charge_on_failure : bool, optional
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
    charge_on_failure: bool | None = None
    bound: float | None = None
    batched: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise SourceError(f"a source is a callable, not {self.function!r}")
        check_rules(self.timeout, self.retries, self.backoff, self.fallback)
        if self.bound is not None:
            read_price(self.bound, "the bound of a source")


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
    signature : Signature
        What it asks for besides the raw input.
    alone : callable or None
        Gives its result for one raw input, in the thread of the caller; None if a call needs more than that.
    at_hand : bool
        Whether it only looks into the raw input, which takes no time.
    places : dict
        The column of each of its features, by name.
    breaker : Breaker
    """

    name: Hashable
    function: Callable[..., Any]
    columns: tuple[int, ...]
    names: tuple[Any, ...]
    single: bool
    rules: Source
    signature: Signature
    breaker: Breaker = field(default_factory=Breaker)
    at_hand: bool = False

    @property
    def is_async(self) -> bool:
        return self.signature.is_async

    @property
    def asks(self) -> bool:
        """Whether it asks for features acquired before."""
        return bool(self.signature.asks) or self.signature.asks_all

    @property
    def may_differ(self) -> bool:
        """Whether a call may cost more than the listed price without breaking a bound."""
        return bool(self.rules.charge_on_failure) or self.rules.bound is not None

    @cached_property
    def alone(self) -> Callable[[Any], Any] | None:
        if self.is_async or self.asks or self.rules.bound is not None:
            return None
        function = self.function
        return (lambda raw: entry_of(function([raw]), 0, 1)) if self.rules.batched else function

    @cached_property
    def places(self) -> dict[Any, int]:
        return dict(zip(self.names, self.columns, strict=True))

    def by_column(self, result: Any) -> dict[int, Any]:
        """The values of a result, by column; raises `Invalid` if it has another shape."""
        if self.single:
            return {self.columns[0]: result}
        return {self.places[name]: value for name, value in values_by_name(result, self.names).items()}


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
    many = is_batched(rules.function) or rules.batched
    filled = {
        one.name: getattr(defaults, one.name)
        for one in fields(Source)
        if getattr(rules, one.name) is None and one.name != "bound"
    }
    return BoundSource(
        name=key,
        function=rules.function,
        columns=columns,
        names=tuple(plan.costs.name(f) for f in columns),
        single=not _is_group(plan, key),
        rules=Source(
            **{**{one.name: getattr(rules, one.name) for one in fields(Source)}, **filled, "batched": many}
        ),
        signature=read_signature(rules.function, key, plan.costs.names or ()),
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


def _look_up(plan: Plan, f: int, defaults: Source) -> BoundSource:
    """A column without a source is an entry of the raw input."""
    name = plan.costs.name(f)

    def look(raw: Any) -> Any:
        try:
            return raw[name]
        except (KeyError, IndexError, TypeError):
            raise Unavailable(f"{name!r} has no source, and the raw input has no such entry") from None

    rules = Source(look, **_rules(defaults))
    return BoundSource(name, look, (f,), (name,), True, rules, _NOTHING, at_hand=True)


def _rules(defaults: Source) -> dict[str, Any]:
    return {
        one.name: getattr(defaults, one.name)
        for one in fields(Source)
        if one.name not in ("function", "bound", "batched")
    }
