"""Traces for OpenTelemetry: a span for each request, and in it one for each call of a source."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

from miserly.errors import SourceError
from miserly.runtime.hooks import SourceCall
from miserly.runtime.receipt import Receipt

__all__ = ["OpenTelemetryHooks"]

_MOST_OPEN = 10_000


class OpenTelemetryHooks:
    """Hooks that make a span ``miserly.predict`` for each request, with spans ``miserly.source`` in it.

    Values of features are never recorded. Needs ``opentelemetry-api`` (``pip install miserly[telemetry]``).

    Parameters
    ----------
    tracer : opentelemetry.trace.Tracer, optional
        By default that of the provider that the process has set, named ``miserly``.

    Examples
    --------
    >>> served = OnDemand(plan, sources, hooks=OpenTelemetryHooks())  # doctest: +SKIP
    """

    def __init__(self, tracer: Any = None) -> None:
        try:
            from opentelemetry import trace
        except ImportError as error:
            raise SourceError(
                "OpenTelemetryHooks needs opentelemetry-api: pip install miserly[telemetry]"
            ) from error
        self._trace = trace
        self._tracer = trace.get_tracer("miserly") if tracer is None else tracer
        self._requests: OrderedDict[int, Any] = OrderedDict()
        self._calls: dict[tuple[int, Any], Any] = {}

    def before_source(self, call: SourceCall) -> None:
        """Start the span of a call.

        Parameters
        ----------
        call : SourceCall
            The call that is made now.
        """
        if call.request not in self._requests:
            self._requests[call.request] = self._tracer.start_span("miserly.predict")
            if len(self._requests) > _MOST_OPEN:  # of requests that were cancelled
                self._requests.popitem(last=False)[1].end()
        parent = self._trace.set_span_in_context(self._requests[call.request])
        span = self._tracer.start_span("miserly.source", context=parent)
        span.set_attribute("miserly.source", str(call.source))
        span.set_attribute("miserly.features", [str(name) for name in call.features])
        span.set_attribute("miserly.attempt", call.attempt)
        span.set_attribute("miserly.ahead", call.ahead)
        self._calls[call.request, call.source] = span

    def after_source(self, call: SourceCall) -> None:
        """End the span of a call.

        Parameters
        ----------
        call : SourceCall
            The call that has ended, with its outcome.
        """
        span = self._calls.pop((call.request, call.source), None)
        if span is None:
            return
        span.set_attribute("miserly.outcome", str(call.outcome))
        if call.message:
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, call.message))
        span.end()

    def on_answer(self, receipt: Receipt) -> None:
        """End the span of a request.

        Parameters
        ----------
        receipt : Receipt
            What it ended with.
        """
        span = self._requests.pop(receipt.request, None)
        if span is None:  # no source was called
            begun = time.time_ns() - int(1e9 * receipt.seconds)
            span = self._tracer.start_span("miserly.predict", start_time=begun)
        for key in [key for key in self._calls if key[0] == receipt.request]:  # left behind at the deadline
            self._calls.pop(key).end()
        span.set_attribute("miserly.plan", receipt.digest)
        span.set_attribute("miserly.cost", receipt.cost)
        span.set_attribute("miserly.stopped_by", receipt.stopped_by)
        span.set_attribute("miserly.acquired", [str(name) for name in receipt.acquired])
        span.end()
