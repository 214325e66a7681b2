"""Stored receipts: a journal, a database, summaries, and training tables.

Names are imported when they are first used, so the process that stores receipts stays small.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from miserly.serve.receipts.database import DatabaseDown, SchemaError
    from miserly.serve.receipts.journal import NotKept
    from miserly.serve.receipts.keeper import KeeperStatus, ReceiptKeeper, recover
    from miserly.serve.receipts.summary import summarise
    from miserly.serve.receipts.training import ReceiptTable, read_labels, training_table

__all__ = [
    "DatabaseDown",
    "KeeperStatus",
    "NotKept",
    "ReceiptKeeper",
    "ReceiptTable",
    "SchemaError",
    "read_labels",
    "recover",
    "summarise",
    "training_table",
]

_HOME = {
    "DatabaseDown": "database",
    "KeeperStatus": "keeper",
    "NotKept": "journal",
    "ReceiptKeeper": "keeper",
    "ReceiptTable": "training",
    "SchemaError": "database",
    "read_labels": "training",
    "recover": "keeper",
    "summarise": "summary",
    "training_table": "training",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
