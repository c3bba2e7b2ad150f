from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from sqlalchemy import text
from typer.testing import CliRunner, Result

from app.cli import doctor
from app.cli.archives import command
from app.cli.doctor import ExamResult, look_at_archives, look_at_retention
from app.cli.retention import command as retention
from app.cli.startup import NICENESS
from app.domain.monitors import Monitor
from app.domain.outcomes import OutcomeRule
from app.domain.retention import RetentionPolicy
from app.errors import Conflict, InvalidInput, NotFound
from app.store.database.engine import Database
from app.store.retention.archives import alone
from app.store.retention.policies import put_policy
from tests.builders.evidence_worlds import update
from tests.builders.lender import COLUMNS, HOUSING, UNFAIR
from tests.scenes import HOUR, NOON, Scene, scene


@pytest.fixture
def stage(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A deployment with two records and a label of March, counted up to May."""
    monkeypatch.setenv("DATABASE_URL", database.url)
    monkeypatch.setenv("EVENHAND_DATA_DIR", str(tmp_path))
    monitor = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(HOUSING,))
    made = scene(database, COLUMNS, monitor, endpoint=None)
    made.log(UNFAIR.applicants("rent", [30.0, 40.0]), NOON)
    made.label([("r1", 1)], NOON + HOUR)
    update(made, NOON + 62 * 24 * HOUR)
    return made


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(one) for one in arguments])


def test_a_month_is_stored_listed_and_brought_back(stage: Scene, tmp_path: Path) -> None:
    files = tmp_path / "files"
    stored = _run("store", "--month", "2026-03", "--to", files)
    again = _run("store", "--month", "2026-03", "--to", files, "--deployment", "a-model")
    listed = _run("list").stdout
    back = _run("bring-back", "--month", "2026-03")
    twice = _run("bring-back", "--month", "2026-03")

    assert "2026-03 of a-model lies in files since " in stored.stdout
    assert f"2 records, 1 labels, 0 answers, in {files}/a-model/2026-03." in stored.stdout
    assert stored.stderr.startswith("Only 0 records and 0 labels came after it, and a check reads at least ")
    assert again.stdout.startswith("2026-03 of a-model lies in files already.")
    assert listed == stored.stdout
    assert "is in the database again" in back.stdout
    assert back.stdout.endswith("Nothing reads the files any more: delete them.\n")
    assert twice.stdout == "2026-03 of a-model is in the database already.\n"
    assert (stage.count("payload_records"), stage.count("feedback_records")) == (2, 1)


def test_commands_that_go_through_many_records_give_way(stage: Scene, tmp_path: Path, lowered: list[int]) -> None:
    _run("list")
    assert lowered == []

    _run("store", "--month", "2026-03", "--to", tmp_path / "files")
    _run("bring-back", "--month", "2026-03")
    for arguments in (["run"], ["erase", "a-model", "--id", "e-1", "--record-id", "r1"]):
        assert CliRunner().invoke(retention, arguments).exit_code == 0
    assert lowered == 4 * [NICENESS]
    assert stage.count("payload_records") == 1


def test_what_cannot_be_meant_is_refused(stage: Scene, tmp_path: Path) -> None:
    for month in ("March", "2026-13", "1950-01"):
        assert isinstance(_run("store", "--month", month, "--to", tmp_path).exception, InvalidInput)
    for command_line in (
        ("store", "--month", "2025-01", "--to", tmp_path),
        ("store", "--month", "2026-03", "--to", tmp_path, "--deployment", "nobody"),
        ("bring-back", "--month", "2026-03"),
    ):
        assert isinstance(_run(*command_line).exception, NotFound)
    assert stage.count("payload_records") == 2


def test_the_doctor_misses_files_and_names_months_past_their_retention(stage: Scene, tmp_path: Path) -> None:
    _run("store", "--month", "2026-03", "--to", tmp_path / "files")
    with stage.database.transaction() as session:
        there = look_at_archives(session)
        put_policy(session, stage.deployment.no, RetentionPolicy(records_months=1))
        aged = look_at_archives(session)
        session.execute(text("UPDATE archived_months SET folder = '/nowhere'"))
        lost = look_at_archives(session)

    assert (there.verdict, there.words) == (ExamResult.GOOD, "Months of records that lie in files: 1.")
    assert (aged.verdict, "2026-03 of a-model" in aged.words) == (ExamResult.WARNING, True)
    assert (lost.verdict, "2026-03 of a-model in /nowhere" in lost.words) == (ExamResult.WARNING, True)
    assert _run("list").stdout.endswith("Past its retention: bring it back, run evenhand retention run, delete the files.\n")


def test_while_a_month_moves_the_doctor_says_that_policies_wait_and_they_are_not_applied_by_hand(stage: Scene) -> None:
    with alone(stage.database):
        refused = CliRunner().invoke(retention, ["run"]).exception
        with stage.database.transaction() as session:
            waiting = look_at_retention(session)
            with patch.object(doctor, "MAX_ARCHIVING", timedelta(-1)):
                hanging = look_at_retention(session)
    with stage.database.transaction() as session:
        ended = look_at_retention(session)

    assert isinstance(refused, Conflict)
    assert (waiting.verdict, "wait for evenhand archives, running since 20" in waiting.words) == (ExamResult.GOOD, True)
    assert (hanging.verdict, "If it hangs, end it and run it again" in hanging.words) == (ExamResult.WARNING, True)
    assert (ended.verdict, ended.words) == (ExamResult.GOOD, "No command that moves months keeps the policies waiting.")
