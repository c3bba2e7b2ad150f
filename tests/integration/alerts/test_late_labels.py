"""Records and labels that are late by their own rhythm, in the store."""

from datetime import timedelta

import pytest

from app.base.clock import utc_now
from app.database.engine import Database
from app.domain.alert import AlertKind, LateLabelsCondition, Resolution, StaleDataCondition
from tests.builders.alert_history import History
from tests.connections import connect

DAY = timedelta(days=1)
APPLICANT = {"sex": "male", "prediction": 1}


@pytest.fixture
def history(database: Database) -> History:
    return History(database)


def label(history: History, *, older_than: timedelta) -> None:
    """Labels each record of before, which arrive two days after it."""
    with connect(history.database.url) as connection:
        connection.execute(
            """
            INSERT INTO feedback_records (deployment_no, feedback_id, feedback_no, logged_at, schema_version, label, record_no,
                record_logged_at, usable_at)
            SELECT deployment_no, record_id, record_no, logged_at + interval '2 days', 1, '1', record_no, logged_at,
                logged_at + interval '2 days'
            FROM payload_records WHERE logged_at < %s ON CONFLICT DO NOTHING
            """,
            [utc_now() - older_than],
        )


def test_labels_that_stop_open_an_alert_with_numbers_that_the_next_labels_end(history: History) -> None:
    history.rule("labels", LateLabelsCondition())
    now = utc_now()
    for day in range(3, 41):
        history.scene.log([APPLICANT] * 10, now - day * DAY)
    label(history, older_than=3 * DAY)
    history.tick()
    before = history.alerts()
    with connect(history.database.url) as connection:
        connection.execute("DELETE FROM feedback_records WHERE usable_at > %s", [now - 23 * DAY])
    history.tick()
    opened = history.alert()
    label(history, older_than=3 * DAY)
    history.tick()

    assert before == []
    assert opened.kind is AlertKind.LATE_LABELS
    assert (opened.facts["labelled"], opened.facts["records"], opened.facts["usual_labelled"]) == (0, 200, opened.facts["usual_records"])
    assert opened.facts["usual_delay_hours"] == 48
    assert "Labels are late: 0 of the newest 200 records that are older than 2.0 days have a label." in opened.sentence
    assert history.alert().resolution is Resolution.RECOVERED


def test_records_are_late_by_twice_their_usual_gap(history: History) -> None:
    history.rule("silence", StaleDataCondition())
    now = utc_now()
    for back in range(20, 20 + 24 * 20, 8):
        history.scene.log([APPLICANT], now - timedelta(hours=back))
    history.tick()
    opened = history.alert()
    history.scene.log([APPLICANT], now - timedelta(hours=15))
    history.tick()

    assert opened.kind is AlertKind.STALE_DATA
    assert (opened.facts["hours"], opened.facts["usual_hours"]) == (20, 8)
    assert "No record was logged for 20 hours; the usual time between records is 8 hours." in opened.sentence
    assert history.alert().resolution is Resolution.RECOVERED
