"""`evenhand doctor`: every fault has a line that says what to do."""

from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.base.settings import Settings
from app.checks.schedule.worker_queries import record_beat
from app.cli.doctor import ExamResult, Finding, examine, look_at_days
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.domain.monitor import Monitor, OutcomeRule
from tests.builders.days import keep_days
from tests.builders.lender import COLUMNS, HOUSING, UNFAIR
from tests.scenes import HOUR, NOON, scene


def look(url: str, folder: Path, **settings: object) -> dict[str, Finding]:
    chosen = Settings(database_url=SecretStr(url), data_dir=folder, **settings)  # type: ignore[arg-type]
    return {finding.subject: finding for finding in examine(chosen)}


def test_an_installation_that_lacks_nothing_has_no_fault(database: Database, tmp_path: Path) -> None:
    with database.transaction() as session:
        record_beat(session, "w")
        session.execute(text("INSERT INTO api_keys (id, name, role, secret_hash) VALUES ('abcdefgh', 'a', 'admin', '')"))
    scene(
        database,
        COLUMNS,
        Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(HOUSING,)),
        endpoint=Endpoint(url="http://127.0.0.1:9/"),
    )
    found = look(database.url, tmp_path, secret_key=SecretStr("a key that is long enough for a test"))

    assert {name: finding.words for name, finding in found.items() if finding.result is not ExamResult.GOOD and name != "disk"} == {}
    of_all = {
        "disk",
        "secret key",
        "database",
        "schema",
        "clock",
        "worker",
        "keys",
        "months",
        "days",
        "secrets",
        "endpoint",
    }
    assert found.keys() == of_all


def test_what_is_missing_is_named_with_what_to_do(database: Database, tmp_path: Path) -> None:
    with database.transaction() as session:
        session.execute(text("INSERT INTO workers (id, beat_at) VALUES ('w', now() - interval '1 hour')"))
    found = look(database.url, tmp_path)

    assert found["worker"].result is ExamResult.FAULT
    assert "3600 s" in found["worker"].words
    assert found["keys"].result is ExamResult.WARNING
    assert "evenhand keys create" in found["keys"].words
    assert found["secret key"].result is ExamResult.WARNING


@pytest.mark.parametrize(
    ("revision", "verdict", "words"),
    [
        ("0049", ExamResult.FAULT, "Run evenhand migrate."),
        ("0048", ExamResult.FAULT, "Run evenhand migrate of commit 7ba08965, then that of this version."),
        ("9999", ExamResult.WARNING, "newer"),
    ],
)
def test_the_schema_of_another_version_is_named(database: Database, tmp_path: Path, revision: str, verdict: ExamResult, words: str) -> None:
    with database.transaction() as session:
        right = session.scalar(text("SELECT version_num FROM alembic_version"))
        session.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
    found = look(database.url, tmp_path)
    with database.transaction() as session:
        session.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": right})

    assert found["schema"].result is verdict
    assert words in found["schema"].words
    assert ("worker" in found) is (verdict is ExamResult.WARNING)


def test_a_database_that_does_not_answer_is_one_fault(tmp_path: Path) -> None:
    found = look("postgresql://nobody@127.0.0.1:1/none", tmp_path)

    assert found["database"].result is ExamResult.FAULT
    assert "DATABASE_URL" in found["database"].words
    assert found.keys() == {"disk", "secret key", "database"}


def test_secrets_of_another_key_and_endpoints_that_may_not_be_called_are_faults(
    database: Database, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    scene(
        database,
        COLUMNS,
        Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(HOUSING,)),
        endpoint=Endpoint(url="http://169.254.169.254/"),
    )
    with database.transaction() as session:
        session.execute(text("UPDATE deployments SET credentials = 'sealed by somebody else'"))
    found = look(database.url, tmp_path, secret_key=SecretStr("a key that is long enough for a test"))

    assert found["secrets"].result is ExamResult.FAULT
    assert "a-model" in found["secrets"].words
    assert found["secrets"].words == snapshot
    assert found["endpoint"].result is ExamResult.FAULT


def test_days_that_are_not_added_up_are_counted_and_reported_after_a_day(database: Database) -> None:
    monitor = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(HOUSING,), min_records=1)
    stage = scene(database, COLUMNS, monitor, endpoint=None)
    stage.log(UNFAIR.applicants("rent", [30.0, 40.0]), NOON)
    stage.check(NOON)

    def look_at() -> tuple[ExamResult, str]:
        with database.transaction() as session:
            return look_at_days(session)

    verdict, words = look_at()
    assert (verdict, words.startswith("Ended days of checks that are not added up: 1 of 1 deployments, the oldest")) == (
        ExamResult.GOOD,
        True,
    )
    with database.transaction() as session:
        session.execute(text("UPDATE check_days SET changed_at = now() - interval '25 hours'"))
    verdict, words = look_at()
    assert (verdict, "look at its log for days_delayed" in words) == (ExamResult.WARNING, True)
    keep_days(database, NOON + 24 * HOUR)
    assert look_at() == (ExamResult.GOOD, "All ended days of checks are added up.")
