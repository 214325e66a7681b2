"""Services to test: a client that talks to the application without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from miserly.serve import ServeSettings, create_app

__all__ = ["serving"]


@asynccontextmanager
async def serving(
    models: Path, sources: Any = None, headers: Mapping[str, str] | None = None, **options: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application that serves a file or a folder, with its lifespan running.

    Its attribute ``app`` is the application.
    """
    app = create_app(ServeSettings(models=str(models), **{"reload_every": 0, **options}), sources)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client,
    ):
        client.app = app  # type: ignore[attr-defined]
        yield client
