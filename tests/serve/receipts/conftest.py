"""The databases that receipts are kept in: a file of SQLite, and a PostgreSQL server of the test's own."""

import pytest
import sqlalchemy as sa

from miserly.serve.receipts.database import ReceiptDatabase
from miserly.serve.receipts.tables import METADATA

from .postgres import postgres_server


@pytest.fixture(scope="session")
def postgres_of_session():
    with postgres_server() as server:
        yield server


@pytest.fixture
def postgres(postgres_of_session):
    """A server with an empty database."""
    yield postgres_of_session
    database = ReceiptDatabase(postgres_of_session.url)
    with database.engine.begin() as connection:
        METADATA.drop_all(connection)
        assert not sa.inspect(connection).get_table_names()
    database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'receipts.db'}"
    return request.getfixturevalue("postgres").url
