"""Alerts with their rule and channels, and notifiers at work, as the tests of delivery start from."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta

from sqlalchemy import insert, select, text

from app.access.secret_box import SecretBox
from app.alerts.channels.channel import Channel, ChannelContent, ChannelKind, complete_secret, create_channel
from app.alerts.channels.notification import NOTIFICATION_LEASE, Delivered, Notification, Undelivered
from app.alerts.channels.notification_queries import page_notifications, queue_alerts
from app.alerts.channels.notifier import Notifier, Sender
from app.base.settings import Settings
from app.calls.egress_policy import EgressPolicy
from app.database.engine import Database
from app.database.tables import AlertFigureRow, AlertRow, AlertRuleChannelRow, AlertRuleRow
from app.domain.alert import Alert, Event
from app.domain.paging import Paging
from tests.builders.alerts import OPENED_AT, alert_of
from tests.builders.queued_checks import add_deployments

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - the one of the specification's example
KEY = "the key of the tests"
BOX = SecretBox(KEY)


def webhook(url: str) -> ChannelContent:
    """A webhook that is signed with the known secret."""
    return ChannelContent(name="On-call", kind=ChannelKind.WEBHOOK, url=url, secret=SECRET)


def add_channels(database: Database, *contents: ChannelContent) -> list[Channel]:
    """Channels of a new rule of a new deployment."""
    (deployment_no,) = add_deployments(database)
    with database.transaction() as session:
        rule = {"id": "unfair", "deployment_no": deployment_no, "version": 1, "kind": "verdict", "config": {}, "enabled": True}
        rule_no = session.scalars(insert(AlertRuleRow).values(rule).returning(AlertRuleRow.no)).one()
        channels = [create_channel(session, f"channel-{no}", complete_secret(content, None), BOX) for no, content in enumerate(contents)]
        session.execute(insert(AlertRuleChannelRow), [{"rule_no": rule_no, "channel_no": channel.no} for channel in channels])
    return channels


def add_alert(database: Database, group: str = "female", facts: dict[str, object] | None = None) -> Alert:
    """One more alert of the only rule."""
    with database.transaction() as session:
        rule = session.scalars(select(AlertRuleRow)).one()
        no = len(session.scalars(select(AlertRow.no)).all()) + 1
        draft = alert_of(no=no, deployment_no=rule.deployment_no, rule_no=rule.no, group=group, facts=facts)
        alert = {
            "id": draft.id,
            "deployment_no": rule.deployment_no,
            "kind": draft.kind,
            "attribute": draft.attribute,
            "group": group,
            "subject": group,
            "opened_at": OPENED_AT,
        }
        stored = session.scalars(insert(AlertRow).values(alert).returning(AlertRow.no)).one()
        figure = asdict(draft.worst) | {"alert_no": stored, "subject": group}
        del figure["no"]
        session.execute(insert(AlertFigureRow).values(figure))
    return alert_of(no=stored, deployment_no=draft.deployment_no, rule_no=rule.no, group=group, facts=facts)


def tell(database: Database, alert: Alert, *events: Event) -> None:
    """Queues a notification of each event, each in a transaction of its own."""
    for event in events:
        with database.transaction() as session:
            for no in session.scalars(select(AlertRuleChannelRow.channel_no).order_by(AlertRuleChannelRow.channel_no)):
                queue_alerts(session, no, event, [alert])


def sender(**settings: object) -> Sender:
    """The real sender."""
    configured = Settings(**settings)  # type: ignore[arg-type]
    return Sender(configured, BOX, lambda: EgressPolicy.of(configured.allowed_endpoints))


@contextmanager
def notifying(
    database: Database, send: Callable[..., Delivered | Undelivered] | None = None, *, lease: timedelta = NOTIFICATION_LEASE
) -> Iterator[Notifier]:
    """A notifier at work until the block ends."""
    notifier = Notifier(database, send or sender().send, lease=lease)
    stop = threading.Event()
    notifier.start(stop)
    try:
        yield notifier
    finally:
        stop.set()
        notifier.join(threading.TIMEOUT_MAX)


def notify_for_ever(url: str) -> None:
    """The work of a process of its own, until it is killed."""
    Notifier(Database(url), sender().send).start(threading.Event())
    threading.Event().wait()


def sent_to(database: Database, channel: Channel) -> list[Notification]:
    """All notifications of the channel, oldest first."""
    with database.transaction() as session:
        return page_notifications(session, channel, Paging(1000))[::-1]


def let_pass(database: Database, duration: timedelta) -> None:
    """Moves everything about notifications into the past by so much, as if it had gone by."""
    with database.transaction() as session:
        session.execute(
            text("UPDATE notifications SET created_at = created_at - :d, claimable_at = claimable_at - :d"),
            {"d": duration},
        )
