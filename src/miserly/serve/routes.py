"""Routes without FastAPI's parsing. The handler gets the request; OpenAPI gets explicit schemas."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import request_response

__all__ = ["ERRORS", "PlainRoute", "add_route", "json_body", "json_content"]

Handler = Callable[[Request], Awaitable[Response]]

# Error statuses that any route under /v1 may return, in addition to its own.
ERRORS = {
    401: "The API key is missing or unknown.",
    403: "The request comes from a page of another site.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    421: "The service is not known under the name in the Host header.",
    429: "Too many requests; see Retry-After.",
    503: "The service is overloaded or stops; see Retry-After.",
}


class PlainRoute(APIRoute):
    """A route whose handler takes the request and returns the response, without further layers.

    Parameters
    ----------
    path : str
        Its path.
    endpoint : callable
        Takes a request and returns a response.
    **options : object
        Options of FastAPI's routes.
    """

    def __init__(self, path: str, endpoint: Handler, **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self.app = request_response(endpoint)


def add_route(
    app: FastAPI,
    method: str,
    path: str,
    handler: Handler,
    *,
    summary: str,
    tag: str,
    success: tuple[int, dict[str, Any] | None, str] = (200, None, "Done."),
    errors: dict[int, str] | None = None,
    body: dict[str, Any] | None = None,
    parameters: dict[str, str] | None = None,
) -> None:
    """Add a route with its OpenAPI description.

    Parameters
    ----------
    app : FastAPI
        The application.
    method, path : str
        Such as ``"POST"`` and ``"/v1/models/{name}/predict"``.
    handler : callable
        Async function that takes the request and returns the response.
    summary, tag : str
        For OpenAPI.
    success : tuple
        The status, the content (see `json_content`; None for no body) and its description.
    errors : dict of int to str, optional
        Descriptions of error statuses, in addition to `ERRORS`.
    body : dict, optional
        The request body; see `json_body`.
    parameters : dict of str to str, optional
        The description of each path parameter.
    """
    status, content, description = success
    responses: dict[int | str, dict[str, Any]] = {
        status: {"description": description, **({} if content is None else {"content": content})}
    }
    every = {**(ERRORS if path.startswith("/v1") else {}), **(errors or {})}
    for code, meaning in sorted(every.items()):
        responses[code] = {
            "description": meaning,
            "content": json_content({"$ref": "#/components/schemas/Error"}),
        }
    extra: dict[str, Any] = {} if body is None else {"requestBody": body}
    if parameters:
        extra["parameters"] = [
            {"name": name, "in": "path", "required": True, "description": text, "schema": {"type": "string"}}
            for name, text in parameters.items()
        ]
    route = PlainRoute(
        path,
        handler,
        methods=[method],
        summary=summary,
        description=(handler.__doc__ or "").strip() or None,
        tags=[tag],
        status_code=status,
        response_class=Response,
        responses=responses,
        openapi_extra=extra,
    )
    app.router.routes.append(route)


def json_content(schema: dict[str, Any], example: Any = None) -> dict[str, Any]:
    """Return JSON content of a response."""
    content = {"schema": schema} if example is None else {"schema": schema, "example": example}
    return {"application/json": content}


def json_body(schema: dict[str, Any], examples: dict[str, Any], required: bool = True) -> dict[str, Any]:
    """Return a JSON request body with examples, by name."""
    named = {name: {"value": value} for name, value in examples.items()}
    return {"required": required, "content": {"application/json": {"schema": schema, "examples": named}}}
