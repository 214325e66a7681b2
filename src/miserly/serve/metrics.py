"""Metrics for Prometheus: requests, answers, costs, purchases, and the state of the service.

Several workers count into files of one shared folder (the multiprocess mode of prometheus_client). The worker
that gets a request for metrics adds the counts up. `metrics_folder` sets the folder before the workers start.
Each worker collects counts of purchases and writes them every few seconds, because an answer may have a
hundred purchases. A killed worker loses the counts that were not written.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import tempfile
from collections import Counter as Tally
from collections.abc import AsyncIterator, Callable, Iterator, MutableMapping
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from miserly.runtime.receipt import DELIVERED
from miserly.serve.routes import add_route
from miserly.serve.service import AnswerEvent, Service, service_of

__all__ = ["Metrics", "add_metrics_route", "metrics_folder"]

_log = logging.getLogger("miserly.serve")

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus_client when it is imported
MOST_FEATURES = 200  # features counted by name for each model; others are "(other)"
MOST_MODELS = 100
OTHER = "(other)"
REFRESH_EVERY = 5.0
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_COSTS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT"})
_GAUGES = {
    "sessions": ("Sessions in the store.", "livemax"),
    "journal_pending": ("Receipts that are written but not in the database yet.", "livemax"),
    "journal_seconds": ("How long the oldest of them has waited.", "livemax"),
    "models_loaded": ("Models that are served.", "livemax"),
    "models_bad": ("Files of models that cannot be loaded.", "livemax"),
}


class Metrics:
    """The metrics of one worker.

    Attributes
    ----------
    gauges : dict of str to callable
        Functions that return the gauges: ``sessions``, ``models_loaded``, ``journal_pending`` and others.
        Each part of the service sets its own functions.
    totals : dict of str to callable
        Functions that return the number of reloads so far, by outcome: ``loaded``, ``bad``.
    """

    def __init__(self) -> None:
        import prometheus_client as client

        self._client = client
        self.registry = client.CollectorRegistry()
        self.gauges: dict[str, Callable[[], float]] = {}
        self.totals: dict[str, Callable[[], int]] = {}
        self._counted: Tally[str] = Tally()
        self._children: dict[Any, Any] = {}
        self._bought: Tally[tuple[str, Any, str]] = Tally()
        self._features: dict[str, dict[Any, str]] = {}

        def made(kind: Any, name: str, text: str, labels: tuple[str, ...] = (), **options: Any) -> Any:
            return kind(f"miserly_{name}", text, labels, registry=self.registry, **options)

        self._requests = made(
            client.Counter, "requests", "Responses by route and status.", ("route", "method", "status")
        )
        self._seconds = made(
            client.Histogram, "request_seconds", "Seconds of requests.", ("route",), buckets=_SECONDS
        )
        self._answers = made(
            client.Counter, "answers", "Answers by model and why they ended.", ("model", "stopped_by")
        )
        self._cost = made(client.Histogram, "answer_cost", "Cost of answers.", ("model",), buckets=_COSTS)
        self._purchases = made(
            client.Counter, "purchases", "Features asked for, by outcome.", ("model", "feature", "outcome")
        )
        self._failures = made(
            client.Counter, "source_failures", "Sources that brought no value.", ("model", "outcome")
        )
        self._reloads = made(client.Counter, "reloads", "Files of models that were read again.", ("outcome",))
        self._audit_failures = made(client.Counter, "audit_failures", "Audit lines that were not written.")
        self._receipts_lost = made(client.Counter, "receipts_lost", "Receipts that could not be kept.")
        self._set = {
            name: made(client.Gauge, name, text, multiprocess_mode=mode)
            for name, (text, mode) in _GAUGES.items()
        }

    # -- counting --------------------------------------------------------------------------------

    def responded(self, scope: MutableMapping[str, Any], status: int, seconds: float) -> None:
        """Count one response."""
        route = getattr(scope.get("route"), "path", "(none)")
        key = (route, scope["method"], status)
        found = self._children.get(key)
        if found is None:
            method = scope["method"] if scope["method"] in _METHODS else OTHER
            found = (self._requests.labels(route, method, str(status)), self._seconds.labels(route))
            if method is not OTHER:
                self._children[key] = found
        found[0].inc()
        found[1].observe(seconds)

    def answered(self, event: AnswerEvent) -> None:
        """Count one answer and what was acquired for it."""
        receipt, model = event.receipt, self._model_name(event.model.name)
        key = ("answer", model, receipt.stopped_by)
        found = self._children.get(key)
        if found is None:
            found = (self._answers.labels(model, receipt.stopped_by), self._cost.labels(model))
            self._children[key] = found
        found[0].inc()
        found[1].observe(receipt.cost)
        bought, costs = self._bought, receipt.plan.costs
        for entry in receipt.entries:
            bought[model, costs.name(entry.column), entry.outcome] += 1

    def audit_failed(self) -> None:
        """Count one audit line that was not written."""
        self._audit_failures.inc()

    def receipt_lost(self) -> None:
        """Count one receipt that could not be kept."""
        self._receipts_lost.inc()

    # -- output -------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Write the counts of purchases, and set the gauges."""
        bought, self._bought = self._bought, Tally()
        for (model, feature, outcome), count in bought.items():
            self._purchases.labels(model, self._feature_name(model, feature), outcome).inc(count)
            if outcome not in DELIVERED:
                self._failures.labels(model, outcome).inc(count)
        for outcome, total in self.totals.items():
            new = total() - self._counted[outcome]
            self._reloads.labels(outcome).inc(new)
            self._counted[outcome] += new
        for name, read in self.gauges.items():
            self._set[name].set(read())

    def text(self) -> bytes:
        """Return the metrics of all workers in the text format of Prometheus."""
        self.refresh()
        folder = os.environ.get(FOLDER)
        if folder is None:
            return self._client.generate_latest(self.registry)
        from prometheus_client import multiprocess

        for pid in _dead_workers(folder):
            multiprocess.mark_process_dead(pid, folder)
        registry = self._client.CollectorRegistry()
        multiprocess.MultiProcessCollector(registry, folder)
        return self._client.generate_latest(registry)

    @contextlib.asynccontextmanager
    async def refreshed(self) -> AsyncIterator[None]:
        """Refresh every few seconds, and at the end."""
        task = asyncio.create_task(self._refresh_forever())
        try:
            yield
        finally:
            task.cancel()
            self.refresh()

    async def _refresh_forever(self) -> None:
        while True:
            self.refresh()
            await asyncio.sleep(REFRESH_EVERY)

    # -- names: their number is bounded ----------------------------------------------------------------

    def _model_name(self, name: str) -> str:
        if name in self._features:
            return name
        if len(self._features) >= MOST_MODELS:
            return OTHER
        self._features[name] = {}
        return name

    def _feature_name(self, model: str, feature: Any) -> str:
        names = self._features.setdefault(model, {})
        if feature in names:
            return names[feature]
        if len(names) >= MOST_FEATURES:
            return OTHER
        names[feature] = str(feature).encode("utf-8", "replace").decode()
        return names[feature]


def add_metrics_route(app: FastAPI, service: Service) -> None:
    """Add ``GET /metrics``, and register the counts of models and reloads."""
    metrics, models = service.metrics, service.models
    metrics.gauges |= {"models_loaded": lambda: len(models.names), "models_bad": lambda: len(models.problems)}
    metrics.totals |= {"loaded": lambda: models.n_reloads, "bad": lambda: models.n_failures}
    add_route(
        app,
        "GET",
        "/metrics",
        show_metrics,
        summary="Metrics for Prometheus",
        tag="service",
        success=(200, {"text/plain": {"schema": {"type": "string"}}}, "The metrics of all workers."),
        errors={401: "The API key is missing or unknown.", 403: "Not from another machine without a key."},
    )


async def show_metrics(request: Request) -> Response:
    """Metrics. Clients on other machines need an API key."""
    metrics: Metrics = service_of(request).metrics
    return Response(metrics.text(), media_type="text/plain; version=0.0.4")


@contextlib.contextmanager
def metrics_folder(workers: int) -> Iterator[None]:
    """Let workers that are started in this block count into one folder. The folder is removed at the end.

    Parameters
    ----------
    workers : int
        Number of workers. One worker needs no folder.
    """
    if workers == 1 or FOLDER in os.environ:
        yield
        return
    try:
        folder = tempfile.mkdtemp(prefix="miserly-metrics-")
    except OSError as error:
        _log.warning("/metrics will show one worker at a time: no temporary folder (%s)", error.strerror)
        yield
        return
    os.environ[FOLDER] = folder
    try:
        yield
    finally:
        del os.environ[FOLDER]
        shutil.rmtree(folder, ignore_errors=True)


def _dead_workers(folder: str) -> set[int]:
    """Return the ids of ended processes that have files of gauges."""
    found = set()
    for name in os.listdir(folder):
        stem = name.removesuffix(".db")
        if name.startswith("gauge_live") and stem.rpartition("_")[2].isdigit():
            pid = int(stem.rpartition("_")[2])
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                found.add(pid)
            except PermissionError:
                pass
    return found
