"""Connections end with their database, whoever holds them at that moment."""

import psycopg
from sqlalchemy import text

from app.store.database.arrow import arrow_reader
from app.store.database.engine import Database
from tests.databases import libpq
from tests.progress import wait_until

CONNECTIONS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY pid"


def test_a_connection_that_is_in_use_while_its_database_closes_is_closed_when_it_comes_back(database_url: str) -> None:
    database = Database(database_url)
    with database.engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        database.close()
        assert connection.scalar(text("SELECT 1")) == 1

    assert driver.closed


def test_connections_of_both_kinds_end_and_a_database_can_be_used_again(database_url: str) -> None:
    with psycopg.connect(libpq(database_url), autocommit=True) as watching:
        before = watching.execute(CONNECTIONS).fetchall()
        database = Database(database_url)
        for _ in range(2):
            with database.transaction() as session:
                assert session.scalar(text("SELECT 1")) == 1
            with arrow_reader(database) as reader:
                assert reader.table("SELECT 1 AS one").to_pylist() == [{"one": 1}]
            database.close()

        wait_until(lambda: watching.execute(CONNECTIONS).fetchall() == before, "its connections end")
