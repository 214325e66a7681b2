"""What tests read in a database of receipts, and a process that writes to it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import sqlalchemy as sa

from miserly.serve.receipts.database import ReceiptDatabase
from miserly.serve.receipts.tables import PURCHASES, RECEIPTS

ROOT = Path(__file__).parents[3]


def rows(url, table=RECEIPTS):
    """All rows of a table as mappings, in the order of time."""
    database = ReceiptDatabase(url)
    database.check()
    order = (RECEIPTS.c.at, RECEIPTS.c.id) if table is RECEIPTS else (table.c.receipt_id, table.c.position)
    try:
        with database.engine.connect() as connection:
            return [dict(row) for row in connection.execute(sa.select(table).order_by(*order)).mappings()]
    finally:
        database.close()


def purchases(url):
    return rows(url, PURCHASES)


def run_crashes(*words):
    """Run `crashes` to its end."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tests.serve.receipts.crashes", *map(str, words)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()


def wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)
