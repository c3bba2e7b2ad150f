"""A process that dies while it updates the evidence loses nothing, and nothing is counted twice."""

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

from app.database.engine import Database
from app.domain.monitor import EvidenceSettings
from tests.builders.counted_hours import add_checks, draw_pairs
from tests.builders.evidence_worlds import START, Logged, import_labels, log, present_era, states, update, watched, world
from tests.builders.tracking_process import tracking_process
from tests.databases import Databases
from tests.progress import wait_until
from tests.scenes import HOUR, Scene

HOURS = 26
METRICS = ("disparate_impact", "true_positive_rate_difference")
END = START + HOURS * HOUR
WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|WITH)\b")


class Killed(BaseException):
    """The process ends here: no handler of the service may catch it."""


@contextmanager
def killed_before(database: Database, point: int) -> Iterator[list[int]]:
    """Ends the process before the write or commit of that number, from 1; yields in which of its transactions it is, from 1."""
    left, transaction = [point], [1]

    def pass_point() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    def write(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if WRITES.match(statement):
            pass_point()

    def commit(_connection: object) -> None:
        pass_point()
        transaction[0] += 1

    listeners: list[tuple[str, Any]] = [("before_cursor_execute", write), ("commit", commit)]
    for name, listener in listeners:
        event.listen(database.engine, name, listener)
    try:
        yield transaction
    finally:
        for name, listener in listeners:
            event.remove(database.engine, name, listener)


def update_with_crashes(stage: Scene) -> int:
    """Updates the evidence in processes that end before every single write and every commit; returns how many ended."""
    crashes, point = 0, 1
    while True:
        wait_for_locks(stage)
        try:
            with killed_before(stage.database, point) as transaction:
                update(stage, END)
        except Killed:
            crashes += 1
            # Each process begins with a transaction that matches labels: one write and the commit. The second is the next step. Once
            # that is stored, the next process begins with the step after it.
            point = point + 1 if transaction[0] <= 2 else 3
        else:
            return crashes


def wait_for_locks(stage: Scene) -> None:
    """Waits until Postgres has noticed that a process ended: until then an update finds its lock and leaves the steps to that process."""
    with psycopg.connect(stage.database.url, autocommit=True) as connection:
        query = (
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database ="
            " (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        wait_until(lambda: connection.execute(query).fetchone() == (0,))


def counts(stage: Scene) -> dict[str, list[Any]]:
    """Everything that is stored of the evidence besides states: counts, people, late labels, and notes."""
    queries = {
        "hours": "SELECT data, attribute, hour, cells FROM evidence_hours ORDER BY 1, 2, 3",
        "late": "SELECT hour, labels FROM evidence_late_labels ORDER BY 1",
        "people": "SELECT person, logged_at, record_no FROM evidence_people ORDER BY 1",
        "notes": "SELECT hour FROM changed_hours",
        "eras": "SELECT counted_until, labels_until, problem, alerts_due FROM evidence_eras",
    }
    with psycopg.connect(stage.database.url) as connection:
        return {name: connection.execute(query).fetchall() for name, query in queries.items()}


def records_of_people(seed: int) -> list[Logged]:
    rng = random.Random(seed)
    ratios = [0.95] * 10 + [0.3] * (HOURS - 10)
    return [
        Logged(record.hour, record.sex, record.approved, record.label, f"p{rng.randrange(900)}", record.minute)
        for record in world(ratios, seed, records=40)
    ]


def log_all(stage: Scene) -> None:
    """Records with labels, some too late, and checks whose copies were scored, if no person's id says which records count."""
    records = records_of_people(1)
    log(stage, records, first_no=1)
    log(stage, [Logged(START + hour * HOUR, "female", 1) for hour in range(4)], first_no=50_000)
    import_labels(stage, [(f"50000-{number}", 1) for number in range(4)], START + 15 * HOUR)
    add_checks(stage, [draw_pairs(0.7, hour, records=40) for hour in range(HOURS)])


def change_the_past(stage: Scene) -> None:
    """Imports records and labels into hours that are counted."""
    log(stage, records_of_people(2)[:300], first_no=60_000, noted=True)
    log(stage, [Logged(START + 2 * HOUR, "female", 1)], first_no=70_000, noted=True)
    import_labels(stage, [("70000-0", 1)], START + 20 * HOUR)


@pytest.mark.parametrize("person", [pytest.param(None, marks=pytest.mark.nightly), "person"])
def test_a_crash_before_any_write_or_commit_changes_nothing_in_the_end(databases: Databases, person: str | None) -> None:
    settings = EvidenceSettings(label_horizon_hours=5, person=person, false_alarm_hours=200)
    with databases.lent() as first, databases.lent() as second:
        whole, crashing = (watched(Database(url), evidence=settings, metrics=METRICS) for url in (first, second))
        for stage in (whole, crashing):
            log_all(stage)
        update(whole, END)
        assert update_with_crashes(crashing) > 25
        assert counts(crashing) == counts(whole)
        assert states(crashing) == states(whole)

        for stage in (whole, crashing):
            change_the_past(stage)
        update(whole, END)
        assert update_with_crashes(crashing) > 12
        assert counts(crashing) == counts(whole)
        assert states(crashing) == states(whole)
        assert present_era(whole).late_labels == 5
        whole.database.close()
        crashing.database.close()


def test_a_process_that_is_killed_within_a_step_leaves_it_to_the_next(databases: Databases) -> None:
    with databases.lent() as first, databases.lent() as second:
        whole, killed = (
            watched(Database(url), evidence=EvidenceSettings(label_horizon_hours=5), metrics=METRICS) for url in (first, second)
        )
        for stage in (whole, killed):
            log_all(stage)
        update(whole, END)

        with psycopg.connect(second) as holding, psycopg.connect(second, autocommit=True) as looking:
            # The process waits here, in its first step, with its counts written and not committed.
            holding.execute("LOCK TABLE evidence_figures IN EXCLUSIVE MODE")
            waiting = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'evidence_figures'::regclass)"
            with tracking_process(second, killed.deployment.no, END) as process:
                wait_until(lambda: looking.execute(waiting).fetchone() == (True,), "the process waits within a step")
                process.kill()
                process.join()
            assert looking.execute("SELECT count(*) FROM evidence_hours").fetchone() == (0,)
            holding.rollback()
            # Postgres notices only at its next word to the client that the process is gone.
            locks = """SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
                       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
            wait_until(lambda: looking.execute(locks).fetchone() == (0,), "the lock of the dead process is free")
        update(killed, END)

        assert counts(killed) == counts(whole)
        assert states(killed) == states(whole)
        whole.database.close()
        killed.database.close()
