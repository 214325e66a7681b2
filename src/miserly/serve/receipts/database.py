"""The database of receipts: SQLite in a file, or PostgreSQL."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import postgresql

from miserly.errors import DataError, MiserlyError
from miserly.serve.receipts.tables import (
    METADATA,
    PURCHASES,
    RECEIPTS,
    SCHEMA,
    SCHEMA_VERSION,
    purchase_rows,
    receipt_row,
)

__all__ = ["DatabaseDown", "ReceiptDatabase", "SchemaError", "read_url"]

_LOCK = 0x6D697365  # advisory lock of PostgreSQL, held while tables are made
_PATIENCE = 30.0  # seconds to wait for other processes that use a file of SQLite
_PAUSE = 0.05  # between two attempts to prepare it
# Errors about one row, not about the database itself.
_BAD_ROW = (exc.DataError, exc.IntegrityError, ValueError, TypeError, KeyError, OverflowError)


class DatabaseDown(MiserlyError):
    """The database of receipts cannot be reached or does not work. A later attempt may succeed."""


class SchemaError(DataError):
    """The database has tables that this version of miserly cannot use."""


def read_url(url: str | os.PathLike[str]) -> sa.URL:
    """The address of a database. A path without a scheme is a file of SQLite.

    >>> read_url("receipts.db").render_as_string(), read_url("postgresql://db/shop").drivername
    ('sqlite:///receipts.db', 'postgresql+psycopg')
    """
    text = os.fspath(url)
    if "://" not in text:
        if not text:
            raise DataError("the address of the receipts is empty; give a file, or postgresql://HOST/NAME")
        return sa.URL.create("sqlite", database=text)
    try:
        found = sa.make_url(text)
    except exc.ArgumentError:
        raise DataError(
            "the address of the receipts is neither sqlite:///FILE nor postgresql://HOST/NAME"
        ) from None
    kind = found.get_backend_name()
    if kind == "postgresql" and found.drivername in ("postgresql", "postgresql+psycopg"):
        return found.set(drivername="postgresql+psycopg")
    if kind == "sqlite" and found.database not in (None, "", ":memory:"):
        return found
    raise DataError(
        f"receipts can be kept in sqlite:///FILE or postgresql+psycopg://HOST/NAME, not in "
        f"{found.render_as_string(hide_password=True)}"
    )


class ReceiptDatabase:
    """The database that stores receipts.

    Parameters
    ----------
    url : str or Path
        ``sqlite:///FILE`` or the path of a file, or ``postgresql+psycopg://USER:PASSWORD@HOST/NAME``.
    create : bool, default=True
        Whether to create missing tables.
    """

    def __init__(self, url: str | os.PathLike[str], *, create: bool = True) -> None:
        self.url, self._create, self._checked = read_url(url), create, False
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        try:
            self.engine = self._engine()
        except ImportError as error:
            raise DataError(f"PostgreSQL needs psycopg ({error}): pip install 'miserly[postgres]'") from None

    def __str__(self) -> str:
        return self.url.render_as_string(hide_password=True)

    @property
    def mark(self) -> str:
        """Eight characters that identify the database. They do not depend on the user."""
        name = self.url.database or ""
        place = f"{self.url.host}:{self.url.port}/{name}{sorted(self.url.query.items())}"
        return hashlib.sha256((os.path.realpath(name) if self.is_sqlite else place).encode()).hexdigest()[:8]

    @property
    def default_folder(self) -> Path:
        """The default folder of journals: beside the SQLite file, or in the current folder."""
        return Path(f"{self.url.database}.pending" if self.is_sqlite else "receipts.pending")

    def check(self) -> None:
        """Connect, and create missing tables.

        Raises
        ------
        DatabaseDown
            If the database cannot be reached.
        SchemaError
            If its tables are of another version.
        """
        if self._checked:
            return
        end = time.monotonic() + _PATIENCE
        while not self._checked:
            try:
                self._make_file()
                with self.engine.begin() as connection:
                    self._check_tables(connection)
                self._checked = True
            except exc.DBAPIError as error:
                # SQLite waits for other processes, but not for those that prepare the file just now.
                if not _is_busy(error) or time.monotonic() > end:
                    raise DatabaseDown(_words(error)) from None
                time.sleep(_PAUSE)

    def add(self, records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Store the records of lines. Existing records do not change.

        Returns
        -------
        list of dict
            The records that the database refuses because of their content. If it refuses several records and
            accepts none, the database itself has a problem, and `DatabaseDown` is raised.
        """
        self.check()
        try:
            self._add(records)
            return []
        except _BAD_ROW as error:
            why = _words(error)
            if len(records) == 1:
                return list(records)
        except exc.StatementError as error:
            self._checked = False  # it may be a different database after a reconnection
            raise DatabaseDown(_words(error)) from None
        refused = [bad for record in records for bad in self.add([record])]
        if len(refused) == len(records):
            raise DatabaseDown(f"it refuses all receipts: {why}")
        return refused

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _add(self, records: Sequence[dict[str, Any]]) -> None:
        receipts, purchases = [], []
        for record in records:
            receipts.append(receipt_row(record, as_text=self.is_sqlite))
            purchases += purchase_rows(record)
        with self.engine.begin() as connection:
            for table, rows in ((RECEIPTS, receipts), (PURCHASES, purchases)):
                if not rows:
                    continue
                if self.is_sqlite:
                    for part in _parts(rows):
                        values = tuple(chain.from_iterable(part))
                        connection.exec_driver_sql(_sqlite_insert(table.name, len(part)), values)
                else:
                    connection.execute(_POSTGRESQL[table.name], {"batch": _named(table, rows)})

    def _engine(self) -> sa.Engine:
        if not self.is_sqlite:
            options = {"connect_timeout": 5, "client_encoding": "utf8"}
            options = {name: value for name, value in options.items() if name not in self.url.query}
            return sa.create_engine(
                self.url, pool_size=1, max_overflow=1, pool_pre_ping=True, connect_args=options
            )
        engine = sa.create_engine(self.url, connect_args={"timeout": _PATIENCE})

        @sa.event.listens_for(engine, "connect")
        def prepare(connection: Any, _: Any) -> None:
            cursor = connection.cursor()
            if self._create:  # otherwise it may be read-only
                cursor.execute("PRAGMA journal_mode=WAL")
                cursor.execute("PRAGMA synchronous=FULL")
            cursor.close()

        return engine

    def _make_file(self) -> None:
        """A new file of SQLite that only its owner can read."""
        if not self.is_sqlite:
            return
        path = Path(self.url.database or "")
        if not path.exists():
            if not self._create:
                raise DataError(f"{path}: there is no such file")
            if not path.parent.is_dir():
                raise DataError(f"{path}: there is no folder {path.parent}")
        elif not self._create:
            return
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise DataError(f"{path}: the receipts cannot be kept there: {error.strerror}") from None

    def _check_tables(self, connection: sa.Connection) -> None:
        if SCHEMA.name not in sa.inspect(connection).get_table_names():
            if not self._create:
                raise SchemaError(f"{self}: there are no receipts in this database")
            self._make_tables(connection)
        version = connection.execute(sa.select(sa.func.max(SCHEMA.c.version))).scalar()
        if version != SCHEMA_VERSION:
            raise SchemaError(
                f"{self}: its tables are of version {version}, and this miserly reads version "
                f"{SCHEMA_VERSION}; use the miserly that wrote them, or another database"
            )

    def _make_tables(self, connection: sa.Connection) -> None:
        """Make all tables in one transaction, in one process at a time."""
        if self.is_sqlite:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        present = set(sa.inspect(connection).get_table_names())
        if SCHEMA.name in present:  # another process has just made them
            return
        taken = present & {RECEIPTS.name, PURCHASES.name}
        if taken:
            raise SchemaError(
                f"{self}: there is a table {min(taken)} that is not from miserly; name another database"
            )
        METADATA.create_all(connection, checkfirst=False)
        connection.execute(sa.insert(SCHEMA), {"version": SCHEMA_VERSION})


def _is_busy(error: exc.DBAPIError) -> bool:
    """Whether another process uses the file of SQLite."""
    return (getattr(error.orig, "sqlite_errorcode", 0) & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _named(table: sa.Table, rows: Sequence[Sequence[Any]]) -> str:
    names = [str(column.name) for column in table.columns]
    return orjson.dumps([dict(zip(names, row, strict=True)) for row in rows]).decode()


def _parts(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Split rows into parts of few different lengths, so that SQLite can reuse prepared statements."""
    start = 0
    for size in (128, 32, 8, 1):
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


@cache
def _sqlite_insert(name: str, n_rows: int) -> str:
    """Insert many rows in one statement, which is faster than one statement per row."""
    table = METADATA.tables[name]
    places = f"({', '.join('?' * len(table.columns))})"
    rows = ", ".join([places] * n_rows)
    return f"INSERT INTO {name} ({_columns(table)}) VALUES {rows} ON CONFLICT DO NOTHING"


def _postgresql_insert(table: sa.Table) -> sa.TextClause:
    """Insert all rows in one statement with one value: a JSON list that PostgreSQL expands."""
    types = ", ".join(
        f'"{column.name}" {column.type.compile(postgresql.dialect())}' for column in table.columns
    )
    return sa.text(
        f"INSERT INTO {table.name} ({_columns(table)}) SELECT {_columns(table)} "
        f"FROM json_to_recordset(CAST(:batch AS json)) AS x({types}) ON CONFLICT DO NOTHING"
    )


def _columns(table: sa.Table) -> str:
    return ", ".join(f'"{column.name}"' for column in table.columns)


_POSTGRESQL = {table.name: _postgresql_insert(table) for table in (RECEIPTS, PURCHASES)}


def _words(error: Exception) -> str:
    """The first line of the driver's message, without statements and values."""
    cause = error.orig if isinstance(error, exc.StatementError) else error
    first = str(cause).strip().splitlines()
    return f"{type(cause).__name__}: {first[0] if first else ''}".rstrip(": ")
