"""Spans of requests and calls."""

import asyncio
import sys

import pytest

from miserly.errors import SourceError
from miserly.runtime import OnDemand
from miserly.runtime.telemetry import OpenTelemetryHooks

from .plans import PATIENT, heart

pytest.importorskip("opentelemetry.sdk")


@pytest.fixture
def exported():
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter, OpenTelemetryHooks(provider.get_tracer("test"))


def test_calls_are_spans_in_the_span_of_their_request(exported):
    exporter, hooks = exported

    def chol(raw):
        raise RuntimeError("no line")

    served = OnDemand(heart(), {"chol": chol}, hooks=hooks, retries=1, backoff=0.001)
    receipt = served.predict(PATIENT)
    assert asyncio.run(served.apredict(PATIENT)).cost == receipt.cost
    spans = exporter.get_finished_spans()
    requests = [span for span in spans if span.name == "miserly.predict"]
    assert len(requests) == 2 and requests[0].attributes["miserly.cost"] == receipt.cost
    calls = [span for span in spans if span.parent and span.parent.span_id == requests[0].context.span_id]
    assert [(span.attributes["miserly.source"], span.attributes["miserly.outcome"]) for span in calls] == [
        ("age", "value"), ("pain", "value"), ("chol", "failed"), ("chol", "failed"), ("fbs", "value"),
    ]  # fmt: skip
    assert not any("typical" in str(value) for span in spans for value in span.attributes.values())


def test_a_call_left_behind_at_the_deadline_has_an_end(exported):
    exporter, hooks = exported

    async def slow(raw):
        await asyncio.sleep(10)

    OnDemand(heart(), {"age": slow}, hooks=hooks).predict(PATIENT, deadline=0.05)
    assert sorted(span.name for span in exporter.get_finished_spans()) == [
        "miserly.predict",
        "miserly.source",
    ]


def test_without_opentelemetry_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(SourceError, match=r"pip install miserly\[telemetry\]"):
        OpenTelemetryHooks()
