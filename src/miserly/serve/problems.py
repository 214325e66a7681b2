"""Error responses: a status, a code, a message and the field in question."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from typing import Any

import orjson
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from miserly.errors import did_you_mean

__all__ = [
    "Problem",
    "add_handlers",
    "crash_response",
    "hint",
    "json_response",
    "one_line",
    "problem_body",
    "problem_response",
]

_log = logging.getLogger("miserly.serve")

_CODES = {404: "not_found", 405: "method_not_allowed"}
_MESSAGES = {404: "there is nothing at this address", 405: "this address does not take this method"}


class Problem(Exception):
    """An error response, for a problem that the sender of a request can solve.

    Parameters
    ----------
    status : int
        The HTTP status.
    code : str
        For programs, in snake_case.
    message : str
        For people; says what would be right. It holds no path and no data of other requests.
    field : str, optional
        The field of the body, such as ``features.chol``.
    headers : mapping, optional
        Headers of the response.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.field = status, code, message, field
        self.headers = dict(headers or {})


def hint(name: str, known: Collection[str]) -> str:
    """Return a hint at the known name that is nearest to a name of a client, to append to a message.

    Long names and long lists get no hint, because comparing them takes too long.
    """
    return did_you_mean(name, known) if len(name) <= 60 and len(known) <= 200 else ""


def one_line(text: str) -> str:
    """Return a text for one line of a log. Blanks replace unprintable characters, so no name forges a line.

    >>> one_line("new\\nline")
    'new line'
    """
    return "".join(one if one.isprintable() else " " for one in text)


def json_response(record: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a JSON body."""
    return Response(
        orjson.dumps(record),
        status,
        headers=None if headers is None else dict(headers),
        media_type="application/json",
    )


def problem_body(problem: Problem) -> bytes:
    """Return the body of the response for a problem, as JSON."""
    error = {"code": problem.code, "message": problem.message, "field": problem.field}
    try:
        return orjson.dumps({"error": error})
    except TypeError:  # the message quotes half of a surrogate pair
        return json.dumps({"error": error}).encode("ascii")


def problem_response(problem: Problem) -> Response:
    """Return the response for a problem."""
    return Response(problem_body(problem), problem.status, problem.headers, media_type="application/json")


def crash_response(request: Request, error: Exception) -> Response:
    """Log an unexpected error, and return a response that holds only its id."""
    number = request.scope.get("state", {}).get("request_id", "")
    _log.error("request %s failed", number, exc_info=error)
    named = f"; its id is {number}" if number else ""
    return problem_response(Problem(500, "internal", f"an error of the server; it was logged{named}"))


def _methods_at(request: Request) -> str:
    """The allowed methods of an address, from all of its routes."""
    found: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] != Match.NONE:
            found.update(getattr(route, "methods", None) or ())
    return ", ".join(sorted(found))


def add_handlers(app: FastAPI) -> None:
    """Turn every error into a response of the documented form."""

    async def on_problem(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, Problem)
        return problem_response(problem)

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = _CODES.get(error.status_code, "http_error")
        message = _MESSAGES.get(error.status_code, str(error.detail))
        headers = {"Allow": _methods_at(request)} if error.status_code == 405 else error.headers
        return problem_response(Problem(error.status_code, code, message, headers=headers))

    async def on_crash(request: Request, error: Exception) -> Response:
        return crash_response(request, error)

    app.add_exception_handler(Problem, on_problem)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(Exception, on_crash)
