"""Receipts that are kept: a journal, a database, summaries, and tables to learn from."""

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
