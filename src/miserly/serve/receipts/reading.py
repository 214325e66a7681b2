"""Read receipts with their purchases, selected by model, plan and time."""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from miserly.errors import DataError
from miserly.serve.receipts.database import DatabaseDown, ReceiptDatabase
from miserly.serve.receipts.lines import first_id
from miserly.serve.receipts.tables import PURCHASES, RECEIPTS

__all__ = ["Kept", "Selection", "opened", "receipts_in_order"]

_PAGE = 500


@dataclass(frozen=True)
class Kept:
    """One stored receipt.

    Attributes
    ----------
    row : mapping
        Its row of the table ``receipts``.
    purchases : list of mapping
        Its rows of the table ``purchases``, in order.
    """

    row: Any
    purchases: list[Any]


@dataclass(frozen=True)
class Selection:
    """A selection of receipts. If a session ended several times, only its last receipt is selected.

    Attributes
    ----------
    model : str or None
        The name of the model.
    digest : str or None
        The plan.
    since, until : datetime or None
        The time range: `since` is included, `until` is not.
    """

    model: str | None = None
    digest: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("since", "until"):
            at = getattr(self, name)
            if at is not None and at.tzinfo is None:
                raise DataError(f"{name} needs a time zone, such as datetime.UTC")

    def conditions(self, *, all_of_a_session: bool = False) -> list[Any]:
        """The conditions on rows of ``receipts``."""
        found: list[Any] = [
            column == value
            for column, value in ((RECEIPTS.c.model, self.model), (RECEIPTS.c.digest, self.digest))
            if value is not None
        ]
        found += [] if self.since is None else [RECEIPTS.c.id >= first_id(self.since.timestamp())]
        found += [] if self.until is None else [RECEIPTS.c.id < first_id(self.until.timestamp())]
        later = RECEIPTS.alias("later")
        is_last = ~sa.exists().where(later.c.session_id == RECEIPTS.c.session_id, later.c.id > RECEIPTS.c.id)
        return found if all_of_a_session else [*found, sa.or_(RECEIPTS.c.session_id.is_(None), is_last)]


@contextlib.contextmanager
def opened(url: str | os.PathLike[str]) -> Iterator[sa.Connection]:
    """A connection to a database that has receipts."""
    database = ReceiptDatabase(url, create=False)
    try:
        database.check()
        with database.engine.connect() as connection:
            yield connection
    except exc.DBAPIError as error:
        raise DatabaseDown(f"{database}: {str(error.orig).strip().splitlines()[0]}") from None
    except DatabaseDown as error:
        raise DatabaseDown(f"{database}: {error}") from None
    finally:
        database.close()


def receipts_in_order(connection: sa.Connection, selection: Selection) -> Iterator[Kept]:
    """Yield receipts in the order of time. Only a few are in memory at once."""
    last = ""
    while True:
        page = sa.select(RECEIPTS).where(*selection.conditions(), RECEIPTS.c.id > last)
        rows = connection.execute(page.order_by(RECEIPTS.c.id).limit(_PAGE)).mappings().all()
        if not rows:
            return
        last = rows[-1]["id"]
        bought = defaultdict(list)
        query = sa.select(PURCHASES).where(PURCHASES.c.receipt_id.in_([row["id"] for row in rows]))
        for one in connection.execute(
            query.order_by(PURCHASES.c.receipt_id, PURCHASES.c.position)
        ).mappings():
            bought[one["receipt_id"]].append(one)
        for row in rows:
            yield Kept(row, bought[row["id"]])
