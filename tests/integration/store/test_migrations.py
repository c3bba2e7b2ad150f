from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import text

from app.database.engine import Database
from app.database.migrations import build_alembic_config, find_newest_revision, is_newer, is_too_old, upgrade
from app.database.partitions import ensure_coming_months, ensure_months


def test_the_migrated_database_is_what_the_row_classes_say(database: Database) -> None:
    with database.engine.begin() as connection:
        config = build_alembic_config()
        config.attributes["connection"] = connection
        command.check(config)


def test_migrating_again_and_at_once_changes_nothing(database: Database) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: upgrade(database), range(4)))

    with database.transaction() as session:
        assert session.scalars(text("SELECT version_num FROM alembic_version")).all() == [find_newest_revision()]


def test_partitions_cover_the_coming_months_and_december_is_followed_by_january(database: Database) -> None:
    with database.transaction() as session:
        ensure_coming_months(session, datetime(2030, 11, 5, tzinfo=UTC))
        ensure_coming_months(session, datetime(2030, 11, 5, tzinfo=UTC))
        names = set(session.scalars(text("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'payload_records'::regclass")))

    assert {f"payload_records_{month}" for month in ("2030_11", "2030_12", "2031_01", "2031_02")} <= names


def test_processes_that_miss_the_same_month_at_once_make_it_once(database: Database) -> None:
    def make(_: int) -> None:
        with database.transaction() as session:
            ensure_months(session, [(2019, 5)])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(make, range(6)))

    with database.transaction() as session:
        assert session.scalar(text("SELECT count(*) FROM pg_inherits WHERE inhrelid = 'payload_records_2019_05'::regclass")) == 1


def test_the_revisions_by_the_names_of_files_are_those_of_alembic() -> None:
    found = ScriptDirectory.from_config(build_alembic_config())

    assert find_newest_revision() == found.get_current_head()
    assert not any(is_newer(script.revision) or is_too_old(script.revision) for script in found.walk_revisions())
    assert is_newer("9999")
    assert is_too_old("0048")
