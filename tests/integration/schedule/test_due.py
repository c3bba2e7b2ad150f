from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, text, update

from app.base.clock import HOUR, floor_to_hour
from app.database.engine import Database
from app.database.tables import CheckRow, DeploymentRow, MonitorRow
from app.deployments.monitor.queries import put_monitor
from app.domain.monitor import Monitor, OutcomeRule
from app.worker.looks import MISSED_HOURS_LIMIT, queue_due_checks, start_ticker, tick
from tests.builders.queued_checks import add_deployments

NOON = datetime(2030, 5, 5, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def queue(database: Database, now: datetime) -> int:
    with database.transaction() as session:
        return queue_due_checks(session, now)


def hours(database: Database) -> list[datetime]:
    with database.transaction() as session:
        return list(session.scalars(select(CheckRow.span_start).order_by(CheckRow.no)))


def test_each_ended_hour_since_the_monitor_was_made_is_queued_once_oldest_first(database: Database) -> None:
    add_deployments(database, monitored_since=NOON - 3 * HOUR + 20 * 60 * SECOND)

    counts = [queue(database, NOON + 31 * SECOND) for _ in range(2)]

    assert counts == [3, 0]
    assert hours(database) == [NOON - 3 * HOUR, NOON - 2 * HOUR, NOON - HOUR]


def test_an_hour_is_due_only_when_no_write_can_still_land_in_it(database: Database) -> None:
    add_deployments(database, monitored_since=NOON - HOUR)

    assert queue(database, NOON + 29 * SECOND) == 0
    assert queue(database, NOON + 30 * SECOND) == 1
    with database.transaction() as session:
        assert session.scalars(select(CheckRow.claimable_at)).all() == [NOON + 30 * SECOND]


def test_after_downtime_the_missed_hours_are_queued_up_to_the_limit_and_no_more(database: Database) -> None:
    add_deployments(database)
    queue(database, NOON - 1000 * HOUR)
    before = len(hours(database))

    queue(database, NOON + HOUR + 30 * SECOND)

    newest = hours(database)[before:]
    assert newest == [NOON - (MISSED_HOURS_LIMIT - 1 - no) * HOUR for no in range(MISSED_HOURS_LIMIT)]


def test_the_next_hour_follows_the_last_queued_one(database: Database) -> None:
    add_deployments(database, monitored_since=NOON - HOUR)

    queue(database, NOON + 30 * SECOND)
    queue(database, NOON + 2 * HOUR + 30 * SECOND)

    assert hours(database) == [NOON - HOUR, NOON, NOON + HOUR]


def test_a_monitor_without_a_schedule_is_never_due(database: Database) -> None:
    add_deployments(database, schedule="off")

    assert queue(database, NOON) == 0


@pytest.mark.nightly
def test_ticks_at_once_queue_nothing_twice(database: Database) -> None:
    add_deployments(database, 200)

    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda _: queue(database, NOON), range(4)))

    assert sum(counts) == 200 * MISSED_HOURS_LIMIT
    assert len(hours(database)) == 200 * MISSED_HOURS_LIMIT


def test_a_deployment_that_is_being_deleted_does_not_stop_the_others(database: Database) -> None:
    gone, *_ = add_deployments(database, 3, monitored_since=NOON - HOUR)

    with database.transaction() as session:
        session.delete(session.get_one(DeploymentRow, gone, with_for_update=True))
        session.flush()
        with ThreadPoolExecutor(1) as pool:
            count = pool.submit(queue, database, NOON + 30 * SECOND).result()

    assert count == 2


def test_the_ticker_ticks_at_its_start(database: Database) -> None:
    add_deployments(database)

    ticker = start_ticker(database, worker_id="w")
    ticker.shutdown(wait=True)
    tick(database)

    assert len(hours(database)) == MISSED_HOURS_LIMIT


def test_hours_that_passed_while_the_schedule_was_off_are_not_made_up_for(database: Database) -> None:
    hourly = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=())
    (deployment_no,) = add_deployments(database, schedule="off")
    with database.transaction() as session:
        put_monitor(session, deployment_no, hourly)
        switched_on = session.scalars(select(MonitorRow.scheduled_since)).one()
        put_monitor(session, deployment_no, replace(hourly, min_records=1))
        unchanged = session.scalars(select(MonitorRow.scheduled_since)).one()
    next_hour = floor_to_hour(switched_on) + HOUR

    queue(database, next_hour + 30 * SECOND)

    assert hours(database) == [next_hour - HOUR]
    assert unchanged == switched_on


def test_a_clock_that_was_ahead_neither_stops_the_schedule_nor_spares_an_hour_its_check(database: Database) -> None:
    add_deployments(database, monitored_since=NOON - HOUR)
    queue(database, NOON + 31 * SECOND)
    queue(database, NOON + 2 * HOUR + timedelta(days=4))
    with database.transaction() as session:
        ahead = {"state": "insufficient_data", "claimable_at": None, "created_at": text("now() + interval '4 days'")}
        session.execute(update(CheckRow).where(CheckRow.span_start > NOON).values(ahead))
    early = min(hour for hour in hours(database) if hour > NOON)

    assert [queue(database, NOON + no * HOUR + 31 * SECOND) for no in (1, 2)] == [1, 1]
    with database.transaction() as session:
        shown = session.scalars(select(CheckRow.trigger).where(CheckRow.span_start >= early))
        assert set(shown) == {"range"}
    assert queue(database, early + HOUR + 31 * SECOND) > 0
    with database.transaction() as session:
        of_hour = session.execute(select(CheckRow.trigger, CheckRow.state).where(CheckRow.span_start == early).order_by(CheckRow.no))
        assert [tuple(row) for row in of_hour] == [("range", "insufficient_data"), ("schedule", "queued")]
    assert queue(database, early + HOUR + 31 * SECOND) == 0
