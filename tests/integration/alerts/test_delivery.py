"""Notifications from the queue to a real receiver: once, in order, across failures of either side."""

import multiprocessing
import os
import signal
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.alerts.channels.channel import ChannelContent, ChannelKind, change_channel, complete_secret, delete_channel, get_channel
from app.alerts.channels.notification import Delivered, NotificationState, Undelivered
from app.alerts.channels.notification_queries import ClaimedNotification
from app.alerts.channels.webhook import sign_message
from app.alerts.words import list_facts
from app.base.errors import LeaseLost
from app.base.settings import Settings
from app.database.engine import Database
from app.domain.alert import Event
from app.worker.worker import run_worker
from tests.builders.alert_history import CHANNEL, History
from tests.integration.alerts.claiming import claimed_by, end, fail, nothing_to_claim, states, wait_without_pauses
from tests.integration.alerts.telling import (
    BOX,
    KEY,
    SECRET,
    add_alert,
    add_channels,
    let_pass,
    notify_for_ever,
    notifying,
    sender,
    sent_to,
    tell,
    webhook,
)
from tests.models.receiving import Receiver, receiving
from tests.progress import wait_until

LIFE = (Event.OPENED, Event.REMINDED, Event.ACKNOWLEDGED, Event.RESOLVED)


@pytest.mark.nightly
def test_a_receiver_that_was_down_gets_every_notification_once_and_in_order_from_two_workers_and_after_a_restart(
    database: Database,
) -> None:
    receiver = Receiver()
    with receiving(receiver):
        pass
    (channel,) = add_channels(database, webhook(receiver.url))
    alerts = [add_alert(database, f"group {no}") for no in range(5)]
    for alert in alerts:
        tell(database, alert, *LIFE)

    with notifying(database), notifying(database):
        wait_until(lambda: sent_to(database, channel)[0].attempts > 0)
    let_pass(database, timedelta(minutes=20))
    with receiving(receiver):
        with notifying(database), notifying(database):
            wait_until(lambda: len(receiver.received) >= 7)
        with notifying(database), notifying(database):
            wait_until(lambda: set(states(database, channel)) == {NotificationState.SENT})

    expected = [notification.id for notification in sent_to(database, channel)]
    assert [request.id for request in receiver.received] == expected
    assert [request.json["event"] for request in receiver.received] == [event.value for event in LIFE] * 5
    assert len(expected) == 20


@pytest.mark.nightly
def test_a_receiver_that_answers_with_errors_for_a_while_gets_everything_once_and_in_order(database: Database) -> None:
    with receiving(Receiver(status=503)) as receiver:
        (channel,) = add_channels(database, webhook(receiver.url))
        tell(database, add_alert(database), *LIFE)
        with notifying(database):
            wait_without_pauses(database, lambda: len(receiver.requests) >= 3)
            receiver.status = 204
            wait_without_pauses(database, lambda: set(states(database, channel)) == {NotificationState.SENT})

    assert [request.json["event"] for request in receiver.received] == [event.value for event in LIFE]
    assert {request.json["event"] for request in receiver.requests if request.status == 503} == {"opened"}


@pytest.mark.nightly
def test_every_attempt_carries_the_same_id_and_body_and_a_signature_of_its_own_time(database: Database) -> None:
    with receiving(Receiver(status=500)) as receiver:
        add_channels(database, webhook(receiver.url))
        tell(database, add_alert(database), Event.OPENED)
        with notifying(database):
            wait_without_pauses(database, lambda: len(receiver.requests) >= 2)

    first, second, *_ = receiver.requests
    assert first.id == second.id == first.headers["webhook-id"] == first.json["id"]
    assert first.body == second.body
    for request in (first, second):
        timestamp = int(request.headers["webhook-timestamp"])
        assert request.headers["webhook-signature"] == sign_message(request.id, timestamp, request.body, secret=SECRET)
        assert abs(timestamp - datetime.now(UTC).timestamp()) < 60


def test_a_notification_holds_what_the_alert_can_be_traced_by(database: Database) -> None:
    with receiving() as receiver:
        add_channels(database, webhook(receiver.url))
        alert = add_alert(database)
        tell(database, alert, Event.OPENED)
        with notifying(database):
            wait_until(lambda: len(receiver.received) == 1)

    body = receiver.received[0].json
    assert (body["type"], body["event"]) == ("alert.opened", "opened")
    about = body["alerts"][0]
    assert (about["id"], body["deployment_id"], about["rule_id"], about["state"]) == (alert.id, "loans-0", "unfair", "open")
    assert (about["metric"], about["data"], about["attribute"], about["group"]) == ("disparate_impact", "as_logged", "Sex", "female")
    assert about["facts"] == alert.facts
    assert about["opened_at"] == "2026-07-01T13:00:00Z"
    assert body["sentence"] == alert.facts["sentence"]


def test_a_sender_that_died_between_sending_and_recording_sends_again_under_the_same_id(database: Database) -> None:
    with receiving() as receiver:
        (channel,) = add_channels(database, webhook(receiver.url))
        tell(database, add_alert(database), Event.OPENED, Event.RESOLVED)
        died = claimed_by(database)
        sender().send(died, now=datetime.now(UTC))
        assert nothing_to_claim(database)
        let_pass(database, timedelta(minutes=2))
        with notifying(database):
            wait_until(lambda: set(states(database, channel)) == {NotificationState.SENT})

    opened, again, resolved = receiver.received
    assert opened.id == again.id == died.notification.id
    assert resolved.id != opened.id
    with pytest.raises(LeaseLost):
        end(database, died)


@pytest.mark.nightly
def test_a_worker_that_is_killed_in_the_middle_of_an_attempt_is_stood_in_for_under_the_same_id(database: Database) -> None:
    victim = multiprocessing.get_context("spawn").Process(target=notify_for_ever, args=(database.url,), daemon=True)

    def kill(_body: dict[str, Any]) -> int:
        os.kill(victim.pid or 0, signal.SIGKILL)
        return 200

    with receiving(Receiver(choose=kill)) as receiver:
        (channel,) = add_channels(database, webhook(receiver.url))
        tell(database, add_alert(database), Event.OPENED, Event.RESOLVED)
        victim.start()
        victim.join()
        receiver.choose = None
        let_pass(database, timedelta(minutes=2))
        with notifying(database):
            wait_until(lambda: set(states(database, channel)) == {NotificationState.SENT})

    opened, again, resolved = receiver.received
    assert opened.id == again.id
    assert (again.json["event"], resolved.json["event"]) == ("opened", "resolved")
    assert [sent.attempts for sent in sent_to(database, channel)] == [2, 1]


def test_the_worker_sends_what_is_queued_and_stops_in_order(database: Database, tmp_path: Path) -> None:
    settings = Settings(DATABASE_URL=database.url, data_dir=tmp_path, secret_key=KEY)  # type: ignore[arg-type]
    stop = threading.Event()
    with receiving() as receiver:
        (channel,) = add_channels(database, webhook(receiver.url))
        tell(database, add_alert(database), Event.OPENED)
        worker = threading.Thread(target=run_worker, args=(settings, stop))
        worker.start()
        wait_until(lambda: states(database, channel) == [NotificationState.SENT])
        stop.set()
        worker.join()

    assert not worker.is_alive()
    assert len(receiver.received) == 1


def test_an_unfair_check_is_told_once_and_so_is_the_fair_one_after_it(database: Database) -> None:
    history = History(database)
    with receiving() as receiver:
        with database.transaction() as session:
            channel = get_channel(session, CHANNEL)
            channel = change_channel(session, channel, webhook(receiver.url), BOX)
        for hour, verdict in enumerate(("unfair", "unfair", "fair")):
            history.ends(hour, {"female": verdict})
            history.evaluate()
        with notifying(database):
            wait_until(lambda: len(states(database, channel)) == 2 and set(states(database, channel)) == {NotificationState.SENT})

    opened, resolved = (request.json for request in receiver.received)
    assert (opened["type"], resolved["type"]) == ("alert.opened", "alert.resolved")
    assert opened["alerts"][0]["id"] == resolved["alerts"][0]["id"] == history.alert().id
    assert dict(list_facts(opened))["Value"] == "0.3, interval 0.25 to 0.35"
    assert dict(list_facts(resolved))["Value"] == "0.9, interval 0.85 to 0.95"
    assert opened["sentence"] != resolved["sentence"]


def test_one_whose_lease_was_lost_can_record_nothing(database: Database) -> None:
    (channel,) = add_channels(database, webhook("http://127.0.0.1:9/"))
    tell(database, add_alert(database), Event.OPENED)
    late = claimed_by(database)
    let_pass(database, timedelta(minutes=2))
    now_its = claimed_by(database, 2)

    with pytest.raises(LeaseLost):
        fail(database, late)
    end(database, now_its)
    assert states(database, channel) == [NotificationState.SENT]
    assert sent_to(database, channel)[0].attempts == 2


def test_a_channel_that_is_deleted_while_it_is_sent_to_leaves_nothing_behind(database: Database) -> None:
    (channel,) = add_channels(database, webhook("http://127.0.0.1:9/"))
    tell(database, add_alert(database), Event.OPENED)
    claimed = claimed_by(database)
    with database.transaction() as session:
        delete_channel(session, channel.id)

    with pytest.raises(LeaseLost):
        end(database, claimed)


@pytest.mark.thorough
def test_many_claims_at_once_never_take_one_twice_and_keep_the_order_of_each_channel(database: Database) -> None:
    channels = add_channels(database, *(webhook(f"http://127.0.0.1:{no}/") for no in range(1, 4)))
    for no in range(12):
        tell(database, add_alert(database, f"group {no}"), Event.OPENED)
    taken: list[tuple[int, int]] = []

    def send(claimed: ClaimedNotification, *, now: datetime) -> Delivered | Undelivered:  # noqa: ARG001 - a sender's signature
        taken.append((claimed.channel.no, claimed.notification.no))
        return Delivered()

    with notifying(database, send), notifying(database, send), notifying(database, send):
        wait_until(lambda: all(set(states(database, channel)) == {NotificationState.SENT} for channel in channels))

    assert len(taken) == len(set(taken)) == 36
    for channel in channels:
        assert all(one < other for one, other in pairwise(no for channel_no, no in taken if channel_no == channel.no))


def test_no_secret_reaches_the_log_or_the_reason(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    with receiving() as receiver:
        secret_url = f"http://127.0.0.1:{receiver.port}/services/T0AAAAAAA/B0BBBBBBB/sEcReTsEcReT?token=hush-hush"
        receiver.status, receiver.headers = 302, {"Location": secret_url.replace("http:", "https:")}
        receiver.answer = b"moved: /services/T0AAAAAAA/B0BBBBBBB/sEcReTsEcReT with hush-hush"
        (channel,) = add_channels(database, ChannelContent(name="Slack", kind=ChannelKind.SLACK, url=secret_url))
        tell(database, add_alert(database), Event.OPENED)
        with notifying(database):
            wait_until(lambda: sent_to(database, channel)[0].last_error is not None)

    logged = capsys.readouterr()
    said = f"{logged.out} {logged.err} {sent_to(database, channel)[0].last_error} {channel}"
    for hidden in ("sEcReTsEcReT", "T0AAAAAAA", "hush-hush"):
        assert hidden not in said
    assert "302 Found, a redirect to https://" in said
    assert len(receiver.requests) == 1


def test_an_address_that_was_allowed_once_is_not_called_when_it_no_longer_is(database: Database) -> None:
    with receiving() as receiver:
        (channel,) = add_channels(database, webhook(receiver.url))
        tell(database, add_alert(database), Event.OPENED)
        with notifying(database, sender(endpoint_allowlist="hooks.example.com").send):
            wait_until(lambda: sent_to(database, channel)[0].last_error is not None)

    assert receiver.requests == []
    assert "allow-list" in str(sent_to(database, channel)[0].last_error)


def test_a_secret_that_another_key_sealed_says_what_to_do_and_waits(database: Database) -> None:
    (channel,) = add_channels(database, webhook("http://127.0.0.1:9/"))
    with database.transaction() as session:
        session.execute(text("UPDATE alert_channels SET secret = '\\x0102030405'"))
    tell(database, add_alert(database), Event.OPENED)

    with notifying(database):
        wait_until(lambda: sent_to(database, channel)[0].last_error is not None)

    assert states(database, channel) == [NotificationState.WAITING]
    assert "send the secret" in str(sent_to(database, channel)[0].last_error)


def test_a_changed_channel_keeps_its_secret_but_not_at_another_host(database: Database) -> None:
    (channel,) = add_channels(database, webhook("http://127.0.0.1:9/a"))
    unsigned = replace(webhook("http://127.0.0.1:9/b"), secret=None)

    with database.transaction() as session:
        moved = change_channel(session, channel, complete_secret(unsigned, channel), BOX)
        elsewhere = complete_secret(replace(unsigned, url="http://127.0.0.1:10/b"), moved)
        away = change_channel(session, moved, elsewhere, BOX)

    assert BOX.unseal(moved.sealed or b"").decode() == SECRET
    assert elsewhere.secret not in {None, SECRET}
    assert BOX.unseal(away.sealed or b"").decode() == elsewhere.secret
