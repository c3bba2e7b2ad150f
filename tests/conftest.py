"""Fixtures that every tier shares. Tests talk to a real Postgres: an embedded one, or EVENHAND_TEST_DATABASE_URL."""

import os
import tempfile
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from app.embedded import embedded_postgres
from app.store.engine import Database
from app.store.migrate import upgrade
from app.store.partitions import ensure_coming_months


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of a running Postgres that tests may create databases in."""
    given = os.environ.get("EVENHAND_TEST_DATABASE_URL")
    if given:
        yield given
        return
    # Not pytest's own folder: it is closed to all but its owner, and as root the server runs as another account.
    with tempfile.TemporaryDirectory(prefix="evenhand-test-") as folder:
        Path(folder).chmod(0o711)
        with embedded_postgres(Path(folder) / "data") as url:
            yield url


@pytest.fixture(scope="session")
def template_database(postgres_url: str) -> Iterator[str]:
    """The name of a migrated database that others are copied from (a copy takes a tenth of a migration)."""
    name = f"template_{uuid.uuid4().hex}"
    _execute(postgres_url, f"CREATE DATABASE {name}")
    database = Database(_named(postgres_url, name))
    upgrade(database)
    with database.transaction() as session:
        ensure_coming_months(session, datetime.now(UTC))
    database.close()
    yield name
    _execute(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database_url(postgres_url: str, template_database: str) -> Iterator[str]:
    """The address of a fresh, migrated database of this test's own."""
    name = f"test_{uuid.uuid4().hex}"
    _execute(postgres_url, f"CREATE DATABASE {name} TEMPLATE {template_database}")
    yield _named(postgres_url, name)
    _execute(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A pool on a fresh, migrated database."""
    database = Database(database_url)
    yield database
    database.close()


def _named(url: str, database: str) -> str:
    return make_url(url).set(database=database).render_as_string(hide_password=False)


def _execute(url: str, statement: str) -> None:
    with psycopg.connect(make_url(url).set(drivername="postgresql").render_as_string(hide_password=False), autocommit=True) as connection:
        connection.execute(statement)
