"""Files to which an earlier version moved months of records hold the only copy of these: a database with such months is not started."""

import psycopg
import pytest
from typer.testing import CliRunner

from app.cli.migrate import command as migrate
from app.domain.monitors import Monitor
from app.domain.outcomes import OutcomeRule
from app.store.database.engine import Database
from tests.builders.lender import COLUMNS, HOUSING, UNFAIR
from tests.builders.traces import rows_of
from tests.integration.cli.refusals import Refusal
from tests.scenes import NOON, Scene, scene


@pytest.fixture
def stage(database: Database) -> Scene:
    made = scene(database, COLUMNS, Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(HOUSING,)), endpoint=None)
    made.log(UNFAIR.applicants("rent", [30.0]), NOON)
    return made


def note(stage: Scene, month: str, state: str) -> None:
    """Notes a month as an earlier version did."""
    with psycopg.connect(stage.database.url) as connection:
        connection.execute(
            "INSERT INTO archived_months (deployment_no, month, state, folder) VALUES (%s, %s, %s, '/srv/archives')",
            [stage.deployment.no, f"{month}-01 00:00+00", state],
        )


@pytest.mark.parametrize("command", ["migrate", "serve", "example", "worker", "check"])
def test_a_start_names_the_months_in_files_and_how_to_bring_them_back_and_changes_nothing(
    stage: Scene, refusal: Refusal, command: str
) -> None:
    note(stage, "2026-02", "stored")
    note(stage, "2026-03", "stored")
    note(stage, "2026-04", "back")
    with psycopg.connect(stage.database.url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0047'")
    kept = ("archived_months", "alembic_version", "payload_records", "pg_class")
    before = rows_of(stage.database.url, *kept)

    said = refusal(command, {"DATABASE_URL": stage.database.url})

    assert "records of 2026-02, 2026-03 of a-model, and this version" in said
    assert "bring them back with `evenhand archives` of commit 7ba08965 before you migrate." in said
    assert rows_of(stage.database.url, *kept) == before


def test_months_that_are_in_the_database_do_not_matter(stage: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    note(stage, "2026-02", "back")
    note(stage, "2026-03", "storing")
    monkeypatch.setenv("DATABASE_URL", stage.database.url)

    migrated = CliRunner().invoke(migrate)

    assert (migrated.exit_code, migrated.output) == (0, "The database is up to date.\n")
