"""The store of the sessions while the service runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

from miserly.serve.problems import Problem
from miserly.serve.service import Service
from miserly.serve.sessions import MemoryStore, SessionStore

__all__ = ["open_store"]

COUNT_EVERY = 5.0  # seconds


@asynccontextmanager
async def open_store(service: Service) -> AsyncIterator[None]:
    """Open the store of the sessions while the service runs.

    Parameters
    ----------
    service : Service
        The service. The store, its check for ``/readyz`` and its gauge are added to it.

    Yields
    ------
    None
    """
    store: SessionStore
    if service.settings.redis is None:
        store = MemoryStore(service.settings)
    else:
        from miserly.serve.redis_store import RedisStore

        store = RedisStore(service.settings)
    service.sessions = store
    service.checks.append(store.ping)
    task = asyncio.create_task(_count(service, store))
    try:
        yield
    finally:
        service.checks.remove(store.ping)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await store.close()


async def _count(service: Service, store: SessionStore) -> None:
    """Keep the number of sessions up to date, for the metrics."""
    while True:
        with suppress(Problem):  # if the store cannot be reached, the last number is kept
            number = await store.count()
            service.metrics.gauges["sessions"] = partial(float, number)
        await asyncio.sleep(COUNT_EVERY)
