"""``POST /v1/models/{name}/predict``: one row or many, with the features that are given."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from miserly.errors import SourceError
from miserly.runtime import Receipt
from miserly.serve.descriptions import answer_record, public_reason
from miserly.serve.models import ServedModel
from miserly.serve.problems import Problem, crash_response, json_response, problem_response
from miserly.serve.reading import read_flag, read_number, read_object, read_prices, read_values
from miserly.serve.routes import add_route, json_body, json_content
from miserly.serve.schemas import HEART, ref
from miserly.serve.service import Service, service_of

__all__ = ["add_predict_routes", "read_raw"]

PREDICT = "/v1/models/{name}/predict"
_FIELDS = frozenset(
    {"features", "rows", "budget", "deadline", "known", "prices", "receipt", "input", "inputs"}
)
_PAUSE = 100  # answers of one request until other requests get a turn

_EXAMPLES = {
    "one row": {"features": {"age": 61, "thal": "normal"}},
    "one row, at most 60, with its receipt": {
        "features": {"age": 61, "thal": None},
        "budget": 60,
        "receipt": True,
    },
    "two rows": {"rows": [{"age": 61, "thal": "normal"}, {"age": 47}]},
}
_EXAMPLE = {
    "model": HEART["name"],
    "digest": HEART["digest"],
    "answer": "presence",
    "probabilities": {"absence": 0.12, "presence": 0.88},
    "cost": 103.9,
    "unit": "CAD",
    "acquired": ["age", "thal"],
    "stopped_by": "answered",
    "reason": "the plan has no more questions",
}


def add_predict_routes(app: FastAPI, service: Service) -> None:
    """Add the route."""
    answers = {"anyOf": [ref("Prediction"), ref("Predictions")]}
    add_route(
        app,
        "POST",
        PREDICT,
        predict,
        summary="Predict one row or many",
        tag="models",
        success=(200, json_content(answers, _EXAMPLE), "The answer, what it cost and what was acquired."),
        errors={
            404: "There is no such model.",
            415: "The body is not sent as JSON.",
            422: "The body cannot be used; the message says why, and `field` where.",
        },
        body=json_body(ref("PredictRequest"), _EXAMPLES),
        parameters={"name": "The name of the model."},
    )


class DirectPredict:
    """ASGI middleware that answers ``predict`` without the layers of the framework.

    The layers take a tenth of the time of a request. The route is looked up once, and its handler is called.

    Parameters
    ----------
    app : ASGI application
        The application for all other requests.
    routes : list
        The routes of the application, including ``predict``.
    """

    def __init__(self, app: ASGIApp, routes: list[BaseRoute]) -> None:
        self._app = app
        self._route = next(route for route in routes if isinstance(route, Route) and route.path == PREDICT)
        self._begin, self._end = PREDICT.split("{name}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and not scope.get("root_path"):
            path: str = scope["path"]
            name = path[len(self._begin) : -len(self._end)]
            if path.startswith(self._begin) and path.endswith(self._end) and name and "/" not in name:
                scope["route"], scope["path_params"] = self._route, {"name": name}
                await self._answer(Request(scope, receive, send), scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _answer(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._route.endpoint(request)
        except Problem as problem:
            response = problem_response(problem)
        except ClientDisconnect:
            return
        except Exception as error:
            response = crash_response(request, error)
        await response(scope, receive, send)


async def predict(request: Request) -> Response:
    """Answer one row (`features`) or many (`rows`).

    Given features are bought when the plan needs them, and cost their price. Features in `known` cost
    nothing. Other features come from the sources of the server, which get `input`. A feature without a source
    counts as missing and is not billed.
    """
    service = service_of(request)
    model = service.models.get(request.path_params["name"])
    body = await read_object(request, _FIELDS)
    full = read_flag(body, "receipt")
    if ("features" in body) == ("rows" in body):
        raise Problem(422, "invalid_body", "give either features (one row) or rows (many)", "features")
    try:
        if "rows" in body:
            return await _predict_rows(service, model, body, request, full)
        receipt = await _one(service, model, body)
    except SourceError as error:  # a source with the fallback "raise" failed
        if error.receipt is None:
            raise
        await service.answered(error.receipt, model, request)
        raise Problem(503, "source_failed", public_reason(error.receipt)) from error
    kept = await service.answered(receipt, model, request, known=body.get("known"))
    record = {"model": model.name, "digest": model.digest, **answer_record(receipt, full)}
    return json_response(record if kept is None else {**record, "receipt_id": kept})


async def _one(service: Service, model: ServedModel, body: dict[str, Any]) -> Receipt:
    """The receipt of one row. It is computed in the event loop if nothing can block."""
    if body.get("inputs") is not None:
        raise Problem(422, "invalid_body", "inputs goes with rows; input goes with features", "inputs")
    features = read_values(model, body["features"], "features")
    known = read_values(model, body["known"], "known") if body.get("known") is not None else None
    budget, deadline, prices = (
        read_number(body, "budget"),
        read_number(body, "deadline"),
        read_prices(model, body),
    )
    if not model.has_sources and deadline is None and body.get("input") is None:
        return model.served.predict(features, budget, None, known, prices)
    raw = read_raw(model, features, body.get("input"), "input")
    limit = _limit(service, deadline) if model.has_sources else deadline
    return await model.served.apredict(raw, budget, limit, known, prices, _offered(model, features))


async def _predict_rows(
    service: Service, model: ServedModel, body: dict[str, Any], request: Request, full: bool
) -> Response:
    rows, most = body["rows"], service.settings.max_rows
    if type(rows) is not list or not 1 <= len(rows) <= most:
        raise Problem(422, "invalid_rows", f"rows must be a list of 1 to {most} objects", "rows")
    for key in ("known", "input"):
        if body.get(key) is not None:
            raise Problem(422, "invalid_body", f"{key} goes with features, not with rows", key)
    features = [read_values(model, row, f"rows[{i}]") for i, row in enumerate(rows)]
    inputs = body.get("inputs")
    if inputs is not None and (type(inputs) is not list or len(inputs) != len(rows)):
        raise Problem(422, "invalid_inputs", f"inputs must be a list of {len(rows)} objects", "inputs")
    raws = [
        read_raw(model, one, None if inputs is None else inputs[i], f"inputs[{i}]")
        for i, one in enumerate(features)
    ]
    budget, deadline, prices = (
        read_number(body, "budget"),
        read_number(body, "deadline"),
        read_prices(model, body),
    )
    limit = _limit(service, deadline) if model.has_sources else deadline
    offered = [_offered(model, one) for one in features] if model.has_sources else None
    receipts = await asyncio.to_thread(_many, model, raws, budget, limit, prices, offered)
    results = []
    for i, receipt in enumerate(receipts):
        kept = await service.answered(receipt, model, request)
        record = answer_record(receipt, full)
        results.append(record if kept is None else {**record, "receipt_id": kept})
        if i % _PAUSE == _PAUSE - 1:
            await asyncio.sleep(0)
    return json_response({"model": model.name, "digest": model.digest, "results": results})


def _many(
    model: ServedModel,
    raws: list[Any],
    budget: float | None,
    limit: float | None,
    prices: Mapping[Any, float] | None,
    offered: list[Any] | None,
) -> list[Receipt]:
    if limit is None:
        return [model.served.predict(raw, budget, None, None, prices) for raw in raws]
    return model.served.predict_many(raws, budget, limit, prices, offered=offered)


def _limit(service: Service, deadline: float | None) -> float:
    """The maximum time of one request, in seconds."""
    most = service.settings.timeout
    return most if deadline is None else min(deadline, most)


def read_raw(model: ServedModel, features: dict[Any, Any], given: Any, where: str) -> dict[Any, Any]:
    """The input of sources: the `input` of the client, and the features."""
    if given is None:
        return features
    if type(given) is not dict:
        raise Problem(422, "invalid_input", f"{where} must be an object", where)
    if not model.has_sources:
        raise Problem(
            422, "invalid_input", "the server has no sources for this model, which would get it", where
        )
    for name in given:
        if name in model.columns:
            message = "this is a feature of the model; give its value in features"
            raise Problem(422, "invalid_input", message, f"{where}.{name}")
    return {**given, **features}


def _offered(model: ServedModel, features: dict[Any, Any]) -> dict[Any, Any] | None:
    """The features that are given although the server has a source for them."""
    if not model.has_sources:
        return None
    return {name: value for name, value in features.items() if name in model.sourced} or None
