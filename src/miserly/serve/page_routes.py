"""The page at ``/``: static files with their types and ETags."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from miserly.serve.problems import Problem
from miserly.serve.service import Service

__all__ = ["add_page_routes"]

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_PLACES = {"/": "index.html", "/favicon.ico": "icon.svg"}


def add_page_routes(app: FastAPI, service: Service) -> None:
    """Add the page. It is not part of the API nor of its OpenAPI description."""
    for path in (*_PLACES, "/static/{name}"):
        app.router.routes.append(Route(path, serve_file, methods=["GET"]))


async def serve_file(request: Request) -> Response:
    """One file of the page. A browser that has it already gets 304."""
    name = _PLACES.get(request.url.path) or request.path_params.get("name", "")
    found = _files().get(name)
    if found is None:
        raise Problem(404, "not_found", "there is no such file")
    content, etag = found
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=_TYPES[name.rpartition(".")[2]])


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    """All files of the page, by name, with their ETags. No other file is served."""
    found: dict[str, tuple[bytes, str]] = {}
    for file in files("miserly.serve").joinpath("page").iterdir():
        if file.name.rpartition(".")[2] in _TYPES:
            content = file.read_bytes()
            found[file.name] = content, f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    return found
