"""Hooks: what others want to know while a request runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from miserly.errors import SourceError, did_you_mean
from miserly.runtime.calls import clock
from miserly.runtime.faults import NAN, NULL, VALUE, Fault

if TYPE_CHECKING:
    from miserly.runtime.calls import Call, Deliveries
    from miserly.runtime.receipt_forms import ReceiptForms
    from miserly.runtime.request import PredictionRequest

__all__ = ["Hooks", "SourceCall"]

_NAMES = ("before_source", "after_source", "on_answer")


@dataclass(frozen=True, slots=True)
class SourceCall:
    """What a hook is given about one call of a source.

    Attributes
    ----------
    source : object
        The feature, group or features that the source gets.
    features : tuple
        The features that the plan asks for.
    attempt : int
        From 1.
    ahead : bool
        Whether the feature is fetched before it is known to be needed.
    raw : object
        The raw input.
    request : int
        The number of the request in this process, as in `Receipt.request`.
    seconds : float or None
        How long it took; None before the call.
    outcome : str or None
        As in `Acquisition.outcome`; None before the call.
    message : str
        What went wrong.
    """

    source: Any
    features: tuple[Any, ...]
    attempt: int
    ahead: bool
    raw: Any
    request: int
    seconds: float | None = None
    outcome: str | None = None
    message: str = ""


class Hooks:
    """Hooks of a user, called so that an error in one of them harms no request.

    Parameters
    ----------
    given : object or mapping
        With any of the functions ``before_source(call)``, ``after_source(call)`` and ``on_answer(receipt)``.
    """

    def __init__(self, given: Any) -> None:
        table = given if isinstance(given, dict) else None
        for name in table or ():
            if name not in _NAMES:
                raise SourceError(f"no hook is named {name!r}{did_you_mean(name, _NAMES)}")
        found = {
            name: table.get(name) if table is not None else getattr(given, name, None) for name in _NAMES
        }
        if not any(callable(hook) for hook in found.values()):
            raise SourceError(f"hooks need one of the functions {', '.join(_NAMES)}")
        self._warned: set[str] = set()
        self._found: dict[str, Callable[[Any], Any] | None] = found

    def before_source(self, request: PredictionRequest, call: Call) -> None:
        self._tell("before_source", lambda: _call(request, call))

    def after_source(self, request: PredictionRequest, call: Call, outcome: Deliveries | Fault) -> None:
        if isinstance(outcome, Fault):
            how, message = outcome.outcome, outcome.message
        else:
            outcomes = [outcome[f].outcome for f in call.columns]
            how, message = next((one for one in outcomes if one in (NULL, NAN)), VALUE), ""
        self._tell("after_source", lambda: _call(request, call, clock() - call.begun, how, message))

    def on_answer(self, receipt: ReceiptForms) -> None:
        self._tell("on_answer", lambda: receipt)

    def _tell(self, name: str, made: Callable[[], Any]) -> None:
        hook = self._found[name]
        if hook is None:
            return
        try:
            hook(made())
        except Exception as error:
            if name not in self._warned:
                self._warned.add(name)
                warnings.warn(f"the hook {name} failed: {type(error).__name__}: {error}", RuntimeWarning, 2)


def _call(request: PredictionRequest, call: Call, *rest: Any) -> SourceCall:
    features = tuple(request.served.plan.costs.name(f) for f in call.columns)
    return SourceCall(
        call.source.name, features, call.retries + 1, call.ahead, request.raw, request.number, *rest
    )
