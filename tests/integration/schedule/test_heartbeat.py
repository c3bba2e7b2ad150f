"""The heartbeat of workers: who answers is decided by the database's clock alone."""

from datetime import timedelta

from sqlalchemy import text

from app.checks.schedule.worker_queries import FORGOTTEN_AFTER, SILENT_AFTER, WorkersSeen, WorkerState, read_workers_seen
from app.database.engine import Database
from app.worker.looks import beat, start_ticker
from tests.progress import wait_until

SECOND = timedelta(seconds=1)


def seen(database: Database, *, silent_after: timedelta = SILENT_AFTER) -> WorkersSeen:
    with database.transaction() as session:
        return read_workers_seen(session, silent_after=silent_after)


def let_pass(database: Database, duration: timedelta) -> None:
    """Moves every heartbeat into the past, as if so much time had gone by."""
    with database.transaction() as session:
        session.execute(text("UPDATE workers SET beat_at = beat_at - :d, started_at = started_at - :d"), {"d": duration})


def stored(database: Database) -> list[str]:
    with database.transaction() as session:
        return list(session.scalars(text("SELECT id FROM workers ORDER BY id")))


def test_before_the_first_worker_none_was_ever_seen(database: Database) -> None:
    assert seen(database) == WorkersSeen(answering=0, last_seen_at=None)
    assert seen(database).state is WorkerState.NEVER_SEEN


def test_a_worker_answers_until_its_heartbeat_is_too_old_and_then_says_since_when(database: Database) -> None:
    beat(database, "one")
    fresh = seen(database)
    let_pass(database, SILENT_AFTER + SECOND)
    old = seen(database)

    assert (fresh.state, fresh.answering) == (WorkerState.ANSWERING, 1)
    assert fresh.last_seen_at is not None
    assert (old.state, old.last_seen_at) == (WorkerState.SILENT, fresh.last_seen_at - SILENT_AFTER - SECOND)


def test_the_threshold_is_given_so_that_nobody_has_to_wait_for_it(database: Database) -> None:
    beat(database, "one")

    assert seen(database, silent_after=timedelta(0)).state is WorkerState.SILENT


def test_one_of_several_workers_is_enough(database: Database) -> None:
    beat(database, "one")
    let_pass(database, timedelta(minutes=5))
    beat(database, "two")

    assert (seen(database).state, seen(database).answering, stored(database)) == (WorkerState.ANSWERING, 1, ["one", "two"])


def test_a_worker_that_froze_answers_again_when_it_wakes(database: Database) -> None:
    beat(database, "one")
    let_pass(database, timedelta(days=1))
    frozen = seen(database)
    beat(database, "one")

    assert (frozen.state, seen(database).state, stored(database)) == (WorkerState.SILENT, WorkerState.ANSWERING, ["one"])


def test_workers_that_died_long_ago_are_forgotten_but_never_the_newest_heartbeat(database: Database) -> None:
    beat(database, "one")
    beat(database, "two")
    let_pass(database, FORGOTTEN_AFTER + SECOND)
    before = seen(database).last_seen_at
    beat(database, "three")

    assert before is not None
    assert stored(database) == ["three"]


def test_the_ticker_gives_the_heartbeat_as_soon_as_it_starts(database: Database) -> None:
    ticker = start_ticker(database, worker_id="ticking")
    try:
        wait_until(lambda: stored(database) == ["ticking"])
    finally:
        ticker.shutdown()


def test_a_database_that_is_away_ends_no_heartbeat(database: Database) -> None:
    gone = Database("postgresql://nobody@127.0.0.1:1/nothing")

    beat(gone, "one")

    assert seen(database).state is WorkerState.NEVER_SEEN


def test_a_worker_that_died_while_the_clock_was_ahead_does_not_answer(database: Database) -> None:
    beat(database, "dead")
    let_pass(database, timedelta(days=-3))
    beat(database, "one")

    assert stored(database) == ["one"]
