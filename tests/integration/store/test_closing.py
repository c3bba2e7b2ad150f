"""Connections end with their database, whoever holds them at that moment."""

import psycopg
import pytest
from sqlalchemy import text

from app.database.engine import Database, arrow_reader
from tests.databases import libpq
from tests.progress import wait_until

pytestmark = pytest.mark.usefixtures("connections_end")

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


def test_readers_share_a_connection_and_one_that_ended_is_replaced(database_url: str) -> None:
    database = Database(database_url)

    def pid() -> int:
        with arrow_reader(database) as reader:
            found: int = reader.table("SELECT pg_backend_pid() AS pid").to_pylist()[0]["pid"]
        return found

    first = pid()
    assert pid() == first
    with psycopg.connect(libpq(database_url), autocommit=True) as killing:
        idle = "SELECT state FROM pg_stat_activity WHERE pid = %s"
        assert killing.execute(idle, (first,)).fetchall() == [("idle",)]
        killing.execute("SELECT pg_terminate_backend(%s, 10000)", (first,))
    assert pid() != first
    database.close()


def test_readers_at_the_same_time_have_connections_of_their_own_and_each_sees_one_moment(database_url: str) -> None:
    database = Database(database_url)
    moment = "SELECT now() AS at, pg_backend_pid() AS pid"
    with arrow_reader(database) as one, arrow_reader(database) as other:
        first, again, second = (reader.table(moment).to_pylist()[0] for reader in (one, one, other))
    with arrow_reader(database) as later:
        third = later.table(moment).to_pylist()[0]

    assert first == again
    assert second["pid"] != first["pid"]
    assert third["at"] > second["at"]
    database.close()


def test_a_reader_that_is_in_use_while_its_database_closes_ends_with_its_block(database_url: str) -> None:
    with psycopg.connect(libpq(database_url), autocommit=True) as watching:
        before = watching.execute(CONNECTIONS).fetchall()
        database = Database(database_url)
        with arrow_reader(database) as reader:
            database.close()
            assert reader.table("SELECT 1 AS one").to_pylist() == [{"one": 1}]

        wait_until(lambda: watching.execute(CONNECTIONS).fetchall() == before, "its connections end")
