"""What becomes of notifications and alerts when channels, endpoints and time go."""

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from app.alerts.channels.channel import delete_channel
from app.alerts.channels.notification import NOTIFICATION_LEASE, RETENTION, NotificationState
from app.alerts.channels.notification_queries import MAX_DELETED_ROWS, claim_notification, delete_old_notifications, queue_test, record_sent
from app.base.errors import NotFound
from app.checks.lease_queries import finish_check
from app.checks.result_queries import store_measurements
from app.database.engine import Database
from app.domain.alert import Event, Resolution, VerdictCondition
from app.domain.check import CheckState, DataSet
from app.domain.deployment import Endpoint
from app.worker.looks import tick
from tests.builders.alert_history import CHANNEL, COLUMNS, MONITOR, History, figure
from tests.integration.alerts.telling import add_alert, add_channels, let_pass, sent_to, tell, webhook
from tests.progress import wait_until
from tests.scenes import scene

HOUR = timedelta(hours=1)


def test_a_channel_that_is_deleted_in_the_moment_of_an_alert_keeps_it_from_nobody(database: Database) -> None:
    history = History(database)
    history.ends(0, {"female": "unfair"})
    evaluating = threading.Thread(target=history.evaluate)

    with database.transaction() as session:
        delete_channel(session, CHANNEL)
        evaluating.start()
        wait_until(lambda: history.scene.count("pg_locks WHERE NOT granted") > 0)
    evaluating.join()

    assert history.alert().group == "female"
    assert history.told() == []


def test_a_test_of_a_channel_that_was_deleted_in_this_moment_is_not_found(database: Database) -> None:
    (channel,) = add_channels(database, webhook("http://127.0.0.1:9/"))
    with database.transaction() as session:
        delete_channel(session, channel.id)

    with pytest.raises(NotFound), database.transaction() as session:
        queue_test(session, channel)


def test_an_endpoint_that_is_taken_away_resolves_the_alerts_on_copies_and_leaves_those_on_payload(database: Database) -> None:
    history = History(database, scene(database, COLUMNS, MONITOR, endpoint=Endpoint(url="http://127.0.0.1:9/")))
    check = history.queue(0)
    counterfactual = replace(figure(check, "female", "unfair"), data=DataSet.COUNTERFACTUAL)
    with database.transaction() as session:
        finish_check(session, check, state=CheckState.SUCCEEDED, window={}, alerts_due=True)
        store_measurements(session, check.no, history.no, [figure(check, "female", "unfair"), counterfactual])
    history.evaluate()
    history.tick()
    with_endpoint = [figure.resolution for figure in history.alert().figures]
    history.execute("UPDATE deployments SET endpoint = NULL")
    history.tick()

    assert with_endpoint == [None, None]
    assert history.alert().resolution is None
    assert {figure.data: figure.resolution for figure in history.alert().figures} == {
        DataSet.AS_LOGGED: None,
        DataSet.COUNTERFACTUAL: Resolution.NO_LONGER_WATCHED,
    }


def test_notifications_that_are_over_are_forgotten_after_their_time_if_their_alert_is_over_and_no_others(database: Database) -> None:
    (channel,) = add_channels(database, webhook("http://127.0.0.1:9/"))
    alert = add_alert(database)
    tell(database, alert, Event.OPENED, Event.REMINDED)
    with database.transaction() as session:
        claimed = claim_notification(session, token="1", lease=NOTIFICATION_LEASE)  # noqa: S106 - a fence, no secret
        assert claimed is not None
        record_sent(session, claimed, remark=None)
    let_pass(database, RETENTION)
    tick(database)
    while_open = len(sent_to(database, channel))
    with database.transaction() as session:
        session.execute(text("UPDATE alerts SET resolved_at = now()"))
    let_pass(database, -HOUR)
    tick(database)
    before = len(sent_to(database, channel))
    let_pass(database, HOUR)
    tick(database)

    assert (while_open, before) == (2, 2)
    assert [one.state for one in sent_to(database, channel)] == [NotificationState.WAITING]


@pytest.mark.parametrize("plan", ["any", "loops only"])
def test_the_old_ones_are_forgotten_a_few_at_a_time(database: Database, plan: str) -> None:
    history = History(database)
    history.ends(0, {"female": "unfair"})
    history.evaluate()
    history.execute("UPDATE alerts SET resolved_at = now()")
    history.execute("UPDATE notifications SET state = 'sent', claimable_at = NULL, created_at = now() - interval '100 days'")
    history.execute(
        "INSERT INTO notifications (id, channel_no, event, body, state, attempts, created_at)"
        " SELECT 'x' || made, channel_no, 'test', '{}', 'sent', 1, created_at FROM notifications, generate_series(1, 1200) AS made"
    )

    counts = []
    for _ in range(3):
        with database.transaction() as session:
            if plan == "loops only":  # as with statistics from before the rows; a subquery run for each row then took minutes
                session.execute(text("SET LOCAL enable_hashjoin = off"))
                session.execute(text("SET LOCAL enable_mergejoin = off"))
            counts.append(delete_old_notifications(session))

    assert counts == [MAX_DELETED_ROWS, 201, 0]


@pytest.mark.parametrize("checks_in_a_row", [1, 2])
def test_a_figure_that_comes_and_goes_is_told_each_time_unless_the_rule_waits(database: Database, checks_in_a_row: int) -> None:
    history = History(database)
    history.rule("unfair", VerdictCondition(checks_in_a_row=checks_in_a_row))
    for hour in range(6):
        history.ends(hour, {"female": "fair" if hour % 2 else "unfair"})
    history.evaluate()

    assert len(history.told()) == (6 if checks_in_a_row == 1 else 0)
