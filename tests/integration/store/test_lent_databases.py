"""Databases that are lent to one test after another."""

from tests.connections import connect
from tests.databases import Databases, execute, libpq


def test_a_schema_that_a_test_made_goes_and_its_database_is_lent_again(databases: Databases) -> None:
    with databases.lent() as first:
        execute(first, "CREATE SCHEMA made")
        execute(first, "CREATE TABLE made.row (no integer)")

    with databases.lent() as second, connect(libpq(second)) as connection:
        found = connection.execute("SELECT to_regnamespace('made')").fetchone()

    assert second == first
    assert found == (None,)
