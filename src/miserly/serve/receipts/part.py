"""The part of the service that stores receipts while the service runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from miserly.serve.receipts.keeper import ReceiptKeeper
from miserly.serve.settings import ServeSettings

__all__ = ["kept_receipts", "new_keeper"]


def new_keeper(settings: ServeSettings) -> ReceiptKeeper | None:
    """A started keeper according to the settings; None if the settings name no database."""
    if settings.receipts is None:
        return None
    keeper = ReceiptKeeper(
        settings.receipts,
        settings.journal,
        keep_values=settings.keep_values,
        required=settings.receipts_required,
        sync=settings.journal_sync,
        limit=settings.journal_limit,
    )
    try:
        keeper.start()
    except BaseException:
        keeper.close()
        raise
    return keeper


def receipts_record(keeper: ReceiptKeeper) -> dict[str, Any]:
    """The status for ``/readyz``, without addresses and messages of the database."""
    status = keeper.status()
    return {
        "waiting": status.waiting,
        "waiting_seconds": round(status.waiting_seconds, 3),
        "moving": status.problem is None,
    }


@asynccontextmanager
async def kept_receipts(service: Any) -> AsyncIterator[None]:
    """Keep receipts while the service runs. Nothing blocks its event loop."""
    keeper = service.receipts = await asyncio.to_thread(new_keeper, service.settings)
    if keeper is not None:
        service.metrics.gauges |= {
            "journal_pending": lambda: keeper.status().waiting,
            "journal_seconds": lambda: keeper.status().waiting_seconds,
        }
        keeper.on_loss = service.metrics.receipt_lost
        service.checks.append(lambda: _is_ready(keeper))
    try:
        yield
    finally:
        service.receipts = None
        if keeper is not None:
            await asyncio.to_thread(keeper.close)


async def _is_ready(keeper: ReceiptKeeper) -> str | None:
    """A check for ``/readyz``: it fails only if receipts are required and the journal cannot hold them."""
    if keeper.required and keeper.is_full:
        return "receipts are required and cannot be kept"
    return None
