"""The tables of the database of receipts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

import orjson
import sqlalchemy as sa

__all__ = ["METADATA", "PURCHASES", "RECEIPTS", "SCHEMA", "SCHEMA_VERSION", "purchase_rows", "receipt_row"]

SCHEMA_VERSION = 1
METADATA = sa.MetaData()


class UtcTime(sa.TypeDecorator[datetime]):
    """A time in UTC. SQLite has no time zones, so they are added when a time is read."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:
        """Convert a value for storage."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        """Convert a stored value."""
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=UTC)


SCHEMA = sa.Table(
    "receipts_schema",
    METADATA,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
)

# `answer` and `value` are JSON texts: "1" and 1 are different, and they can be grouped and compared.
# Identifiers sort by time, so the primary key also selects a range of time. Each further index would
# slow down storing.
RECEIPTS = sa.Table(
    "receipts",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("at", UtcTime, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("key_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text),
    sa.Column("answer", sa.Text, nullable=False),
    sa.Column("probabilities", sa.JSON(none_as_null=True)),
    sa.Column("cost", sa.Double, nullable=False),
    sa.Column("evaluation_cost", sa.Double, nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("budget", sa.Double),
    sa.Column("deadline", sa.Double),
    sa.Column("own_prices", sa.Boolean, nullable=False),
    sa.Column("stopped_by", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("node", sa.Integer, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("has_values", sa.Boolean, nullable=False),
    sa.Column("known", sa.JSON, nullable=False),
    sa.Column("known_values", sa.JSON(none_as_null=True)),
    sa.Index(
        "receipts_session",
        "session_id",
        sqlite_where=sa.text("session_id IS NOT NULL"),
        postgresql_where=sa.text("session_id IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
)

PURCHASES = sa.Table(
    "purchases",
    METADATA,
    sa.Column("receipt_id", sa.String(32), sa.ForeignKey("receipts.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("ahead", sa.Boolean, nullable=False),
    sa.Column("feature", sa.Text, nullable=False),
    sa.Column("value", sa.Text),
    sa.Column("price", sa.Double, nullable=False),
    sa.Column("reserved", sa.Double, nullable=False),
    sa.Column("cost", sa.Double, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("message", sa.Text),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("retries", sa.Integer, nullable=False),
    sqlite_with_rowid=False,
)

_NAMES = tuple(str(column.name) for column in RECEIPTS.columns)
_NESTED = tuple(_NAMES.index(name) for name in ("probabilities", "known", "known_values"))
_AT, _ANSWER, _REASON, _UNIT = map(_NAMES.index, ("at", "answer", "reason", "unit"))
_fields = itemgetter(*_NAMES)


def receipt_row(record: Mapping[str, Any], *, as_text: bool) -> list[Any]:
    """The row of `receipts` for the record in a line of the journal.

    `as_text` is for SQLite, where times have no zone and nested values are texts.
    """
    row = list(_fields(record))
    at = datetime.fromtimestamp(record["at"], UTC).isoformat(" ", "microseconds")
    row[_AT] = at[:26] if as_text else at
    row[_ANSWER] = _json(row[_ANSWER])
    row[_REASON], row[_UNIT] = _text(row[_REASON]), _text(row[_UNIT])
    if as_text:
        for place in _NESTED:
            row[place] = None if row[place] is None else _json(row[place])
    return row


def purchase_rows(record: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of `purchases` for the record in a line of the journal."""
    receipt, n = record["id"], len(record["trail"])
    return [
        (receipt, place + 1, place >= n, _text(feature), None if value is None else _json(value), *figures,
         _text(message), *efforts)
        for place, ((feature, value, *figures), (message, *efforts)) in enumerate(
            (one[:6], one[6:]) for one in (*record["trail"], *record["ahead"])
        )
    ]  # fmt: skip


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _text(text: str | None) -> str | None:
    """Text without NUL, the one character that PostgreSQL cannot store."""
    return text.replace("\0", "\ufffd") if text else text
