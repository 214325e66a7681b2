"""The application: routes, middleware and lifespan of all parts of the service.

A part registers itself in three lists. `ROUTES` adds routes, `MIDDLEWARE` wraps the application, and
`LIFESPANS` opens resources that stay open while the service runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from miserly import __version__
from miserly.serve.audit import Audit
from miserly.serve.descriptions import model_record, model_summary
from miserly.serve.doors import Doors
from miserly.serve.garbage import freeze_loaded
from miserly.serve.keys import describe_keys
from miserly.serve.metrics import Metrics, add_metrics_route
from miserly.serve.models import ModelFolder
from miserly.serve.page_routes import add_page_routes
from miserly.serve.predicting import DirectPredict, add_predict_routes
from miserly.serve.problems import add_handlers, json_response
from miserly.serve.receipts.part import kept_receipts, receipts_record
from miserly.serve.routes import add_route, json_content
from miserly.serve.schemas import HEART, SCHEMAS, ref
from miserly.serve.service import Service, service_of
from miserly.serve.session_routes import add_session_routes
from miserly.serve.session_stores import open_store
from miserly.serve.settings import ServeSettings
from miserly.serve.source_log import SourceLog
from miserly.serve.sources import sources_by_model
from miserly.serve.warming import warm

__all__ = ["create_app"]


_MODEL = {
    **HEART,
    "features": [
        {
            "name": "thal", "label": "Thallium test", "unit": "", "help": "", "kind": "category",
            "choices": [{"value": "normal", "label": "normal"}, {"value": "fixed", "label": "fixed defect"}],
            "low": None, "high": None, "whole": False, "price": 102.9, "group": None,
        }
    ],
    "groups": [],
    "guarantees": [],
    "budgets": [
        {"budget": 50, "metric": "accuracy", "value": 0.79, "mean_cost": 12.5, "rows": "validation set"}
    ],
    "description": "What a row meets, in words.",
}  # fmt: skip


@asynccontextmanager
async def _audited(service: Service) -> AsyncIterator[None]:
    yield
    if service.audit is not None:
        service.audit.close()


@asynccontextmanager
async def _warmed(service: Service) -> AsyncIterator[None]:
    """Load the objects that the first requests would load, so that they can be frozen."""
    await asyncio.to_thread(warm)
    freeze_loaded()
    yield


def _add_model_routes(app: FastAPI, service: Service) -> None:
    listed = json_content(ref("ModelList"), {"models": [HEART], "problems": []})
    add_route(
        app,
        "GET",
        "/v1/models",
        list_models,
        summary="The models",
        tag="models",
        success=(200, listed, "All models."),
    )
    add_route(
        app,
        "GET",
        "/v1/models/{name}",
        show_model,
        summary="One model: its features, prices, budgets and guarantees",
        tag="models",
        success=(200, json_content(ref("Model"), _MODEL), "The model."),
        errors={404: "There is no such model."},
        parameters={"name": "The name of the model."},
    )


def _add_status_routes(app: FastAPI, service: Service) -> None:
    add_route(
        app,
        "GET",
        "/healthz",
        healthz,
        summary="Whether the process is alive",
        tag="service",
        success=(200, json_content(ref("Status"), {"status": "alive"}), "It is."),
    )
    add_route(
        app,
        "GET",
        "/readyz",
        readyz,
        summary="Whether the service can answer",
        tag="service",
        success=(200, json_content(ref("Status"), {"status": "ready", "models": 1}), "It can."),
        errors={503: "It cannot; the message says why."},
    )


TAGS = [
    {"name": "models", "description": "Models and predictions."},
    {"name": "sessions", "description": "The client supplies the requested features, step by step."},
    {"name": "service", "description": "Health and metrics."},
]

# Functions that add routes: (app, service). Routes are matched in this order.
ROUTES: list[Callable[[FastAPI, Service], None]] = [
    add_predict_routes,
    add_session_routes,
    _add_model_routes,
    _add_status_routes,
    add_metrics_route,
    add_page_routes,
]

# Functions that wrap the application: (app, service, routes) -> app. The first is the innermost.
MIDDLEWARE: list[Callable[[ASGIApp, Service, list[BaseRoute]], ASGIApp]] = [
    lambda app, service, routes: DirectPredict(app, routes),
    lambda app, service, routes: Doors(app, service.settings, service.metrics.responded),  # outermost
]

# Async context managers that are open while the service runs: (service). Closed in reverse order.
LIFESPANS: list[Callable[[Service], AbstractAsyncContextManager[Any]]] = [
    lambda service: service.models.watched(),
    lambda service: service.metrics.refreshed(),
    _audited,
    kept_receipts,
    open_store,
    _warmed,  # after everything else is loaded
]


class _Application(FastAPI):
    """FastAPI with the middleware and the schemas of this package."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            record = super().openapi()
            record.setdefault("components", {}).setdefault("schemas", {}).update(SCHEMAS)
            if self.state.service.settings.keys:
                describe_keys(record)
        assert self.openapi_schema is not None
        return self.openapi_schema

    def build_middleware_stack(self) -> ASGIApp:
        app = super().build_middleware_stack()
        for wrap in MIDDLEWARE:
            app = wrap(app, self.state.service, self.routes)
        return app


def create_app(settings: ServeSettings, sources: Any = None) -> FastAPI:
    """Return the ASGI application of the service.

    Parameters
    ----------
    settings : ServeSettings
        All options.
    sources : mapping or callable, optional
        Sources of the server, instead of ``settings.sources``: a mapping of feature or group to callable, a
        mapping of model name to such a mapping, or a callable that takes a model name.

    Returns
    -------
    FastAPI
    """
    service = Service(settings, ModelFolder(settings, sources_by_model(settings.sources, sources)))
    service.metrics = Metrics()
    service.listeners += [service.metrics.answered, SourceLog(settings.log_values).answered]
    if settings.audit is not None:
        service.audit = Audit(
            settings.audit, values=settings.log_values, on_failure=service.metrics.audit_failed
        )
        service.listeners.append(service.audit.answered)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for opened in LIFESPANS:
                await stack.enter_async_context(opened(service))
            yield

    app = _Application(
        title="miserly",
        version=__version__,
        summary="Models that pay for a feature only when it is worth its price.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,  # a redirect would be made from the Host header
        openapi_tags=TAGS,
        lifespan=lifespan,
    )
    app.state.service = service
    add_handlers(app)
    for add in ROUTES:
        add(app, service)
    return app


async def list_models(request: Request) -> Response:
    """All models that are served, and the problems of files that cannot be loaded."""
    models = service_of(request).models
    problems = models.problems
    listed = [model_summary(models.get(name), problems.get(name)) for name in models.names]
    others = [{"name": name, "problem": why} for name, why in problems.items()]
    return json_response({"models": listed, "problems": others})


async def show_model(request: Request) -> Response:
    """The features of a model, their prices, estimates for budgets, guarantees, and a description."""
    models = service_of(request).models
    model = models.get(request.path_params["name"])
    record = await asyncio.to_thread(model_record, model, models.problems.get(model.name))
    return json_response(record)


async def healthz(request: Request) -> Response:
    """Answers as long as the process runs."""
    return json_response({"status": "alive"})


async def readyz(request: Request) -> Response:
    """Ready means that a model is loaded and that the stores can be reached."""
    service = service_of(request)
    problems = [] if service.models.names else ["no model is loaded"]
    for check in service.checks:
        problem = await check()
        problems += [problem] if problem else []
    if problems:
        error = {"code": "not_ready", "message": "; ".join(problems), "field": None}
        return json_response({"error": error}, 503, {"Retry-After": "1"})
    ready = {"status": "ready", "models": len(service.models.names)}
    if service.receipts is not None:
        ready["receipts"] = receipts_record(service.receipts)
    return json_response(ready)
