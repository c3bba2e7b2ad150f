"""Files to which an earlier version moved months of records hold the only copy of these: a database with such months is not started."""

import psycopg
import pytest
from typer.testing import CliRunner

from app.cli.migrate import command as migrate
from app.database.engine import Database
from tests.builders.commit_7ba08965 import create_filled
from tests.builders.page_words import says
from tests.builders.traces import rows_of
from tests.integration.cli.refusals import Refusal


def test_a_start_names_the_months_in_files_and_how_to_bring_them_back_and_changes_nothing(
    bare: Database, refusal: Refusal, subtests: pytest.Subtests
) -> None:
    create_filled(bare)
    with psycopg.connect(bare.url) as connection:
        connection.execute("UPDATE archived_months SET state = 'stored'")
    kept = ("archived_months", "alembic_version", "payload_records", "pg_attribute")
    before = rows_of(bare.url, *kept)

    for command in ("migrate", "serve", "example", "worker", "check"):
        with subtests.test(command=command):
            said = refusal(command, {"DATABASE_URL": bare.url})

            assert says(said, "2026-03,", "2026-04", "credit-risk", "evenhand archives", "7ba08965", "before you migrate")
            assert rows_of(bare.url, *kept) == before


@pytest.mark.thorough
def test_months_that_are_in_the_database_do_not_matter(bare: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    create_filled(bare)
    monkeypatch.setenv("DATABASE_URL", bare.url)

    migrated = CliRunner().invoke(migrate)

    assert (migrated.exit_code, migrated.output) == (0, "The database is up to date.\n")
