"""The line of each channel: who waits for whom, what steps aside, what is given up."""

import threading
from datetime import datetime, timedelta
from http import HTTPStatus

import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.alerts.channels.channel import ChannelContent, ChannelKind
from app.alerts.channels.notification import Delivered, NotificationState
from app.alerts.channels.notification_queries import ClaimedNotification, get_notification, queue_alerts, queue_notifications, queue_test
from app.checks.lease_queries import finish_check
from app.checks.subject import Report
from app.database.engine import Database
from app.domain.alert import Event
from app.domain.check import CheckRun, CheckState
from app.worker.worker import Worker
from tests.builders.page_words import says
from tests.builders.queued_checks import ask, reread
from tests.builders.workers import running
from tests.integration.alerts.claiming import claimed_by, fail, nothing_to_claim, states
from tests.integration.alerts.telling import (
    add_alert,
    add_channels,
    let_pass,
    notifying,
    sent_to,
    tell,
    webhook,
)
from tests.models.receiving import Receiver, receiving
from tests.progress import wait_until


def test_a_dead_channel_holds_up_no_other(database: Database) -> None:
    dead = Receiver(hang=threading.Event())
    with receiving(dead), receiving() as receiver:
        (first, second) = add_channels(database, webhook(dead.url), webhook(receiver.url))
        for no in range(10):
            tell(database, add_alert(database, f"group {no}"), Event.OPENED)
        with notifying(database):
            wait_until(lambda: set(states(database, second)) == {NotificationState.SENT})
            assert NotificationState.SENT not in states(database, first)
            assert dead.hang is not None
            dead.hang.set()


@pytest.mark.nightly
def test_a_check_ends_while_a_receiver_hangs(database: Database) -> None:
    def perform(check: CheckRun, *, report: Report, **_: object) -> None:  # noqa: ARG001 - a real check's signature
        with database.transaction() as session:
            finish_check(session, check, state=CheckState.SUCCEEDED, window={"records": 1}, alerts_due=True)

    dead = Receiver(hang=threading.Event())
    with receiving(dead):
        (channel,) = add_channels(database, webhook(dead.url))
        alert = add_alert(database)
        tell(database, alert, Event.OPENED)
        with notifying(database), running(Worker(database, perform, concurrency=1)):
            wait_until(lambda: sent_to(database, channel)[0].attempts == 1)
            with database.transaction() as session:
                check = ask(session, alert.deployment_no)
            wait_until(lambda: reread(database, check).state is CheckState.SUCCEEDED)
            assert states(database, channel) == [NotificationState.WAITING]
            assert dead.hang is not None
            dead.hang.set()


def test_what_is_refused_for_its_content_lets_other_alerts_pass_but_not_later_news_of_its_own(database: Database) -> None:
    with receiving() as receiver:
        receiver.choose = lambda body: HTTPStatus.BAD_REQUEST if body["alerts"][0]["group"] == "poison" else HTTPStatus.OK
        (channel,) = add_channels(database, webhook(receiver.url))
        poison, other = add_alert(database, "poison"), add_alert(database, "other")
        tell(database, poison, Event.OPENED)
        tell(database, other, Event.OPENED)
        tell(database, poison, Event.RESOLVED)
        tell(database, other, Event.RESOLVED)
        with notifying(database):
            wait_until(lambda: len(receiver.received) == 2)
        refused, _, held, _ = sent_to(database, channel)
        assert (refused.state, held.state, held.attempts) == (NotificationState.REFUSED, NotificationState.WAITING, 0)

        receiver.choose = None
        let_pass(database, timedelta(hours=1))
        with notifying(database):
            wait_until(lambda: set(states(database, channel)) == {NotificationState.SENT})

    assert [(request.json["alerts"][0]["group"], request.json["event"]) for request in receiver.received] == [
        ("other", "opened"),
        ("other", "resolved"),
        ("poison", "opened"),
        ("poison", "resolved"),
    ]


def test_a_body_that_breaks_us_is_told_by_its_id_and_stops_nobody_else(database: Database) -> None:
    with receiving() as receiver:
        (channel,) = add_channels(database, ChannelContent(name="Slack", kind=ChannelKind.SLACK, url=receiver.url))
        tell(database, add_alert(database, "poison"), Event.OPENED)
        with database.transaction() as session:
            session.execute(text("UPDATE notifications SET body = '{\"event\": 5}'"))
        tell(database, add_alert(database, "other"), Event.OPENED)
        with notifying(database):
            wait_until(lambda: len(receiver.received) == 1)

    broken = sent_to(database, channel)[0]
    assert broken.state is NotificationState.REFUSED
    assert broken.last_error is not None
    assert broken.id in broken.last_error


def test_what_is_older_than_three_days_is_given_up_with_its_reason_and_what_is_younger_goes_on(database: Database) -> None:
    with receiving(Receiver(status=503)) as receiver:
        (channel,) = add_channels(database, webhook(receiver.url))
        tell(database, add_alert(database, "old"), Event.OPENED)
        let_pass(database, timedelta(days=3))
        tell(database, add_alert(database, "young"), Event.OPENED)
        with notifying(database):
            wait_until(lambda: sent_to(database, channel)[1].attempts == 1)

    old, young = sent_to(database, channel)
    assert (old.state, old.attempts, old.next_attempt_at) == (NotificationState.GIVEN_UP, 1, None)
    assert old.last_error == f"The receiver 127.0.0.1:{receiver.port} answered 503 Service Unavailable."
    assert young.state is NotificationState.WAITING


def test_a_failed_attempt_is_repeated_after_growing_pauses_and_never_before_the_receiver_asked_for(database: Database) -> None:
    with receiving(Receiver(status=429, headers={"Retry-After": "25"})) as receiver:
        (channel,) = add_channels(database, webhook(receiver.url))
        tell(database, add_alert(database), Event.OPENED)
        with notifying(database):
            wait_until(lambda: sent_to(database, channel)[0].last_error is not None)

    (found,) = sent_to(database, channel)
    assert found.next_attempt_at is not None
    assert found.next_attempt_at - found.created_at >= timedelta(seconds=25)


def test_a_test_stands_in_no_line_and_once_sent_ends_the_pauses_of_what_waits(database: Database) -> None:
    (channel,) = add_channels(database, webhook("http://127.0.0.1:9/"))
    tell(database, add_alert(database), Event.OPENED, Event.RESOLVED)
    opened = claimed_by(database)
    fail(database, opened)
    assert nothing_to_claim(database)
    with database.transaction() as session:
        test = queue_test(session, channel)

    order = []

    def deliver(claimed: ClaimedNotification, *, now: datetime) -> Delivered:
        assert now
        order.append(claimed.notification.id)
        return Delivered()

    with notifying(database, deliver):
        wait_until(lambda: states(database, channel) == 3 * [NotificationState.SENT])

    assert order[:2] == [test.id, opened.notification.id]


def test_a_test_that_fails_is_given_up_at_once(database: Database, snapshot: SnapshotAssertion) -> None:
    (channel,) = add_channels(database, webhook("http://127.0.0.1:9/"))
    with database.transaction() as session:
        test = queue_test(session, channel)

    with notifying(database):
        wait_until(lambda: states(database, channel) == [NotificationState.GIVEN_UP])

    with database.transaction() as session:
        found = get_notification(session, channel, test.id)
    assert says(found.last_error, "127.0.0.1", "9")
    assert found.last_error == snapshot


def test_one_channel_is_sent_one_at_a_time(database: Database) -> None:
    (channel,) = add_channels(database, webhook("http://127.0.0.1:9/"))
    tell(database, add_alert(database), Event.OPENED)
    with database.transaction() as session:
        queue_test(session, channel)

    claimed_by(database)

    assert nothing_to_claim(database)


def test_a_rolled_back_transaction_tells_nothing(database: Database) -> None:
    (channel,) = add_channels(database, webhook("http://127.0.0.1:9/"))
    alert = add_alert(database)

    with database.transaction() as session:
        queue_alerts(session, channel.no, Event.OPENED, [alert])
        session.rollback()

    assert sent_to(database, channel) == []


def test_a_rule_that_is_gone_or_has_no_channel_tells_nobody(database: Database) -> None:
    (channel,) = add_channels(database, webhook("http://127.0.0.1:9/"))
    alert = add_alert(database)

    with database.transaction() as session:
        session.execute(text("DELETE FROM alert_rules"))
        queue_notifications(session, Event.RESOLVED, [alert])

    assert sent_to(database, channel) == []
