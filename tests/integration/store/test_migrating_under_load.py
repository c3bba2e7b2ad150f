"""A migration next to those who use the tables: it gives way to them, and ends once they do."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest
from structlog.testing import capture_logs

from app.database import migrations as migrate
from app.database.engine import Database
from app.database.migrations import find_newest_revision, read_revision, upgrade
from tests.builders.commit_7ba08965 import REVISION, create_schema
from tests.progress import wait_until


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "FIRST_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(migrate, "MAX_PAUSE_SECONDS", 0.05)


@contextmanager
def held_up_by(reader: psycopg.Connection, database: Database) -> Iterator[None]:
    """Migrates in a thread; the block runs from when the reader first holds it up, and the migration has ended after it."""
    blocked = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND %s = ANY (pg_blocking_pids(pid))"
    with ThreadPoolExecutor(1) as pool, psycopg.connect(database.url, autocommit=True) as onlooker:
        migration = pool.submit(upgrade, database)
        try:
            wait_until(lambda: migration.done() or onlooker.execute(blocked, [reader.info.backend_pid]).fetchone() != (0,))
            assert not migration.done()
            yield
        finally:
            reader.rollback()
        migration.result()


@pytest.mark.thorough
def test_a_reader_that_needs_a_table_the_migration_has_is_answered(bare: Database) -> None:
    create_schema(bare)
    with psycopg.connect(bare.url) as reader:
        reader.execute("SELECT FROM checks")
        with held_up_by(reader, bare):
            # Each would wait for the other, and Postgres would end the reader.
            assert reader.execute("SELECT count(*) FROM deployments").fetchone() == (0,)

    with bare.operator_connection() as connection:
        assert read_revision(connection) == find_newest_revision()


@pytest.mark.thorough
def test_a_long_reader_holds_up_the_migration_and_not_those_who_come_after(bare: Database) -> None:
    create_schema(bare)
    with psycopg.connect(bare.url) as reader, psycopg.connect(bare.url, autocommit=True) as writer, capture_logs() as logs:
        reader.execute("SELECT FROM checks")
        with held_up_by(reader, bare):
            for _ in range(5):
                writer.execute("DELETE FROM checks")
            wait_until(lambda: logs)
            assert writer.execute("SELECT version_num FROM alembic_version").fetchone() == (REVISION,)
        in_the_way = reader.info.backend_pid

    assert {(log["event"], log["oldest_transaction"]["pid"]) for log in logs} == {("migration_waits", in_the_way)}
