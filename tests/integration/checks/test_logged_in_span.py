"""The number of records of a span: added up from minutes or counted, it is that of the records."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from app.base.clock import floor_to_hour, utc_now
from app.database.engine import arrow_reader
from app.deployments.queries import Deployments, build_definition
from app.domain.check import Span
from app.domain.deployment import Column, FieldKind, FieldType
from app.sources.stored.window_queries import WindowQuery, count_payload
from tests.builders.applicants import applicants
from tests.builders.queries import rows
from tests.connections import connect
from tests.scenes import HOUR, PlainSealer, Scene

SECONDS = (0, 1, 59, 60, 61, 600, 3540, 3599)
"""Seconds of an hour at which records are logged, one after the other one more."""


def _log(stage: Scene, hour: datetime) -> None:
    for position, seconds in enumerate(SECONDS):
        stage.log(applicants(position + 1, 1, prefix=f"{hour:%d-%H}-{seconds}-"), hour + timedelta(seconds=seconds))


def _counts(stage: Scene, span: Span) -> tuple[int, int]:
    """Returns our number of the span, and the number of rows."""
    schema = stage.deployment.schema
    with arrow_reader(stage.database) as reader:
        ours = count_payload(reader, WindowQuery(stage.deployment.no, schema, ()), span)
    counted = "SELECT count(*) FROM payload_records WHERE schema_version = %s AND logged_at >= %s AND logged_at < %s"
    with connect(stage.database.url) as connection:
        found = connection.execute(counted, [schema.version, span.start, span.end]).fetchone()
    assert found is not None
    return ours, found[0]


def _forget_rows(stage: Scene) -> None:
    """Leaves the minutes alone, to see whether they are what is added up."""
    with connect(stage.database.url) as connection:
        connection.execute("DELETE FROM payload_records")


def test_minutes_and_the_ends_next_to_them_add_up_to_the_records(stage: Scene, subtests: pytest.Subtests) -> None:
    hour = floor_to_hour(utc_now()) - HOUR / 2
    _log(stage, hour)

    for first, last in ((0, 3600), (0, 3599.5), (0, 61), (0, 60), (0, 30), (1, 59), (1, 60), (30, 90), (59, 61), (60, 60), (61, 3541)):
        with subtests.test(first=first, last=last):
            ours, counted = _counts(stage, Span(start=hour + timedelta(seconds=first), end=hour + timedelta(seconds=last)))

            assert ours == counted


def test_a_recent_hour_is_added_up_and_an_old_one_is_counted(stage: Scene) -> None:
    recent, old = floor_to_hour(utc_now()) - HOUR / 2, floor_to_hour(utc_now()) - 30 * HOUR
    _log(stage, recent)
    _log(stage, old)
    _forget_rows(stage)

    assert _counts(stage, Span(start=recent, end=recent + HOUR)) == (sum(range(1, len(SECONDS) + 1)) + len(SECONDS), 0)
    assert _counts(stage, Span(start=old, end=old + HOUR)) == (0, 0)


def test_after_a_change_of_the_schema_the_records_of_the_present_one_are_counted(stage: Scene) -> None:
    hour = floor_to_hour(utc_now()) - HOUR / 2
    _log(stage, hour)
    definition = build_definition(stage.deployment)
    more = (*definition.features, Column(name="more", type=FieldType.INTEGER, kind=FieldKind.NUMERIC))
    with stage.database.transaction() as session:
        stage.deployment = Deployments(session, PlainSealer()).change(stage.deployment, replace(definition, features=more))
    stage.log([{**applicant, "more": 1} for applicant in applicants(3, 4, prefix="new")], hour + timedelta(minutes=10))

    assert _counts(stage, Span(start=hour, end=hour + HOUR)) == (7, 7)


def test_erased_records_are_not_counted(stage: Scene) -> None:
    hour = floor_to_hour(utc_now()) - HOUR / 2
    _log(stage, hour)
    with connect(stage.database.url) as connection:
        connection.execute("DELETE FROM payload_records WHERE record_no = 1")
        connection.execute("INSERT INTO erased_hours VALUES (%s, date_trunc('hour', %s, 'UTC'))", [stage.deployment.no, hour])

    ours, counted = _counts(stage, Span(start=hour, end=hour + HOUR))

    assert ours == counted == rows(stage.database, "SELECT count(*)::int FROM payload_records")[0][0]


def test_minutes_forgotten_while_the_clock_was_ahead_are_not_taken_for_empty(stage: Scene) -> None:
    hour = floor_to_hour(utc_now()) - HOUR / 2
    _log(stage, hour)
    with connect(stage.database.url) as connection:
        connection.execute("DELETE FROM record_counts WHERE minute < %s", [hour + HOUR / 2])

    ours, counted = _counts(stage, Span(start=hour, end=hour + HOUR))

    assert ours == counted > 0
