from collections.abc import Iterator

import pytest

from app.store.database.engine import Database
from tests.databases import address_of, execute


@pytest.fixture
def bare(postgres_url: str) -> Iterator[Database]:
    """A database without any table."""
    execute(postgres_url, "CREATE DATABASE earlier")
    found = Database(address_of(postgres_url, "earlier"))
    yield found
    found.close()
    execute(postgres_url, "DROP DATABASE earlier WITH (FORCE)")
