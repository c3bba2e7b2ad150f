"""Files that come or change after their hours were checked: these are checked again, and no other."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text, update

from app.alerts.lateness import find_newest_record_at
from app.alerts.lifecycle import is_overtaken
from app.base.errors import InvalidInput
from app.checks.queries import read_run, request_check
from app.database.engine import Database
from app.database.tables import CheckRow
from app.domain.check import CheckRun, CheckState, Span, Trigger
from app.domain.monitor import Schedule
from app.worker.looks import look_for_late_files, queue_due_checks
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import Lake, lake_of
from tests.scenes import HOUR, NOON, Scene, scene


@pytest.fixture
def stage(database: Database) -> Scene:
    """A deployment that is checked on its schedule."""
    return scene(database, APPLICANT, monitor_of(SEX), endpoint=None)


def rows(size: int, prefix: str, favourable: int = 5) -> list[dict[str, Any]]:
    return [row | {"id": f"{prefix}{no:04}"} for no, row in enumerate(applicants(size, size, favourable))]


def waiting(database: Database) -> list[CheckRun]:
    """The checks that wait to begin, in the order of their numbers."""
    with database.transaction() as session:
        wanted = select(CheckRow.no).where(CheckRow.state == CheckState.QUEUED).order_by(CheckRow.no)
        return [read_run(session, no) for no in session.scalars(wanted)]


def look(lake: Lake) -> list[datetime]:
    """Lists the tables; the starts of the spans that wait to be checked again."""
    look_for_late_files(lake.stage.database, (lake.folder,))
    return [run.span.start for run in waiting(lake.stage.database)]


def run_waiting(lake: Lake) -> list[CheckRun]:
    """Runs what waits, one by one."""
    ended = []
    for run in waiting(lake.stage.database):
        with lake.stage.database.transaction() as session:
            begun = {"state": CheckState.RUNNING, "lease_token": "token", "started_at": run.span.end, "attempts": 1}
            session.execute(update(CheckRow).where(CheckRow.no == run.no).values(begun))
            claimed = read_run(session, run.no)
        lake.stage.perform(claimed)
        ended.append(lake.stage.result(claimed).run)
    return ended


@pytest.mark.thorough
def test_a_late_file_has_its_hours_checked_again_and_no_other(stage: Scene, tmp_path: Path) -> None:
    lake = lake_of(stage, tmp_path)
    for no in range(4):
        lake.write(rows(20, f"a{no}"), NOON + no * HOUR)
    assert look(lake) == []  # nothing was checked before
    for no in range(3):
        lake.stage.check(NOON + no * HOUR, trigger=Trigger.SCHEDULE)
    assert look(lake) == []

    lake.write(rows(30, "late"), NOON + 1.5 * HOUR)

    assert look(lake) == [NOON + HOUR]
    assert look(lake) == [NOON + HOUR]  # not twice
    (again,) = run_waiting(lake)
    assert (again.trigger, again.state, (again.window or {})["records"]) == (Trigger.FILES, CheckState.SUCCEEDED, 100)
    assert look(lake) == []


@pytest.mark.thorough
def test_a_file_that_changes_or_goes_has_both_its_old_and_its_new_hours_checked(stage: Scene, tmp_path: Path) -> None:
    lake = lake_of(stage, tmp_path)
    files = [lake.write(rows(20, f"a{no}"), NOON + no * HOUR) for no in range(3)]
    lake.write(rows(20, "b"), NOON)
    look(lake)
    for no in range(3):
        lake.stage.check(NOON + no * HOUR, trigger=Trigger.SCHEDULE)

    moved = lake.write(rows(20, "a0"), NOON + 2 * HOUR)
    moved.replace(files[0])

    assert look(lake) == [NOON, NOON + 2 * HOUR]
    run_waiting(lake)
    files[2].unlink()
    assert look(lake) == [NOON + 2 * HOUR]


def test_an_hour_that_was_topped_up_from_those_rows_is_checked_again(stage: Scene, tmp_path: Path) -> None:
    lake = lake_of(stage, tmp_path)
    lake.write(rows(40, "old"), NOON - 5 * HOUR)
    lake.write(rows(1, "new"), NOON)
    look(lake)
    assert lake.stage.check(NOON, trigger=Trigger.SCHEDULE).run.window
    lake.write(rows(40, "ancient"), NOON - 100 * HOUR)
    assert look(lake) == []  # the newest earlier records are others

    lake.write(rows(40, "between"), NOON - 2 * HOUR)

    assert look(lake) == [NOON]


@pytest.mark.nightly
def test_labels_of_late_records_and_late_labels_count(stage: Scene, tmp_path: Path) -> None:
    lake = lake_of(stage, tmp_path)
    first, late = rows(20, "a"), rows(20, "b")
    lake.write(first, NOON)
    lake.label([(row["id"], 1) for row in [*first, *late]], NOON + HOUR)
    look(lake)
    for no in range(3):
        lake.write(rows(20, f"c{no}"), NOON + no * HOUR)
        lake.stage.check(NOON + no * HOUR, trigger=Trigger.SCHEDULE)
    look(lake)
    run_waiting(lake)

    lake.write(late, NOON)
    assert look(lake) == [NOON, NOON + HOUR]
    again = run_waiting(lake)
    assert [(run.window or {})["labelled_records"] for run in again][1] == 80

    lake.label([(row["id"], 1) for row in first], NOON + 2 * HOUR)
    assert look(lake) == [NOON + 2 * HOUR]


def test_a_check_that_waits_reads_the_file_itself_and_one_that_runs_is_repeated(stage: Scene, tmp_path: Path) -> None:
    lake = lake_of(stage, tmp_path)
    lake.write(rows(20, "a"), NOON)
    look(lake)
    running = lake.stage.queue(Span(start=NOON, end=NOON + HOUR), Trigger.SCHEDULE)

    lake.write(rows(20, "b"), NOON)

    assert look(lake) == [NOON]
    assert running.state is CheckState.RUNNING


def test_a_file_that_is_being_written_is_listed_when_it_can_be_read(stage: Scene, tmp_path: Path) -> None:
    lake = lake_of(stage, tmp_path)
    lake.write(rows(20, "a"), NOON)
    look(lake)
    lake.stage.check(NOON, trigger=Trigger.SCHEDULE)
    whole = lake.write(rows(20, "b"), NOON)
    content = whole.read_bytes()
    whole.write_bytes(content[: len(content) // 2])
    assert look(lake) == []
    whole.write_bytes(content)

    assert look(lake) == [NOON]


def test_an_hour_checked_again_is_news_for_alerts_until_a_later_one_was_measured(stage: Scene, tmp_path: Path) -> None:
    lake = lake_of(stage, tmp_path)
    lake.write(rows(20, "a"), NOON)
    look(lake)
    lake.stage.check(NOON, trigger=Trigger.SCHEDULE)
    lake.write(rows(20, "b"), NOON)
    look(lake)
    (again,) = run_waiting(lake)
    with stage.database.transaction() as session:
        assert session.get_one(CheckRow, again.no).alerts_due
        assert not is_overtaken(session, again)
        assert find_newest_record_at(session, lake.stage.deployment.no) == NOON


def test_a_batch_is_checked_as_a_whole_when_its_files_come_or_change(stage: Scene, tmp_path: Path) -> None:
    lake = lake_of(stage, tmp_path, partition_by="day")
    lake.stage.watch(replace(lake.stage.monitor(), schedule=Schedule.BATCH))
    first, second = rows(20, "a"), rows(30, "b")
    lake.write(first, NOON, path="day=2026-03-02")
    lake.write(second, NOON, path="day=late%20one")
    lake.label([(row["id"], 1) for row in [*first, *second]], NOON + 100 * HOUR)

    assert look(lake) == [NOON, NOON]
    ended = run_waiting(lake)
    assert {run.batch: (run.window or {})["records"] for run in ended} == {"2026-03-02": 40, "late one": 60}
    assert {run.batch: (run.window or {})["labelled_records"] for run in ended} == {"2026-03-02": 40, "late one": 60}
    assert {run.state for run in ended} == {CheckState.SUCCEEDED}
    assert look(lake) == []

    lake.write(rows(5, "c"), NOON + HOUR, path="day=2026-03-02")
    look(lake)
    (again,) = run_waiting(lake)
    assert (again.batch, (again.window or {})["records"]) == ("2026-03-02", 50)


def test_a_batch_can_be_asked_for_by_its_value(stage: Scene, tmp_path: Path) -> None:
    lake = lake_of(stage, tmp_path, partition_by="day")
    lake.write(rows(20, "a"), NOON, path="day=1")
    lake.write(rows(30, "b"), NOON, path="day=2")
    look(lake)
    with stage.database.transaction() as session:
        asked = request_check(session, lake.stage.deployment.no, batch="2", requested_by="a person")
        with pytest.raises(InvalidInput, match="batch"):
            request_check(session, lake.stage.deployment.no, batch="3", requested_by="a person")
    (ended,) = run_waiting(lake)

    assert (ended.id, (ended.window or {})["records"], ended.trigger) == (asked.id, 60, Trigger.RANGE)


def test_days_are_checked_once_they_have_ended_and_not_the_one_of_which_hours_were_checked(stage: Scene, tmp_path: Path) -> None:
    lake = lake_of(stage, tmp_path)
    lake.stage.watch(replace(lake.stage.monitor(), schedule=Schedule.DAILY))
    midnight = NOON.replace(hour=0)
    day = timedelta(days=1)
    with stage.database.transaction() as session:
        session.execute(text("UPDATE monitors SET scheduled_since = :since"), {"since": NOON})
        session.execute(text("UPDATE monitors SET schedule = 'off' WHERE deployment_no <> :no"), {"no": lake.stage.deployment.no})
        queued = [queue_due_checks(session, midnight + day * at + timedelta(seconds=31)) for at in (0.99, 1, 1, 3)]
    spans = [(run.span.start, run.span.end) for run in waiting(stage.database)]

    assert queued == [0, 1, 0, 2]
    assert spans == [(midnight + no * day, midnight + (no + 1) * day) for no in range(3)]
