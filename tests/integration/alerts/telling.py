"""Alerts with their rule and channels, and notifiers at work, as the tests of delivery start from."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from sqlalchemy import insert, select, text

from app.alerts.sending import Sender
from app.domain.alerts import Alert, Event, RuleKind, Subject
from app.domain.channels import Channel, ChannelContent, ChannelKind, with_secret
from app.domain.checks import DataSet
from app.domain.notifications import Notification
from app.domain.retrying import NOTIFICATION_LEASE
from app.outbound.egress import EgressPolicy
from app.schedule.notifier import Notifier, Send
from app.security.secrets import SecretBox
from app.settings import Settings
from app.store.alerts.alert_channels import create_channel
from app.store.alerts.notifications import notification_page, queue_notifications
from app.store.database.engine import Database
from app.store.tables import AlertRow, AlertRuleChannelRow, AlertRuleRow
from tests.integration.schedule.seeding import add_deployments

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - the one of the specification's example
KEY = "the key of the tests"
BOX = SecretBox(KEY)
OPENED_AT = datetime(2026, 7, 1, 13, tzinfo=UTC)
FACTS: dict[str, object] = {
    "sentence": "Disparate impact of Sex for female is 0.62, below the limit of 0.8.",
    "at": "2026-07-01T12:00:00Z",
    "since": "2026-07-01T12:00:00Z",
    "check_id": "5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11",
    "checks_in_a_row": 1,
    "value": 0.62,
    "lower": 0.55,
    "upper": 0.7,
    "n": 1200,
    "verdict": "unfair",
    "lower_limit": 0.8,
    "upper_limit": None,
}


def alert_of(
    *, no: int = 1, deployment_no: int = 1, rule_no: int = 1, group: str = "female", facts: dict[str, object] | None = None
) -> Alert:
    """An open alert of an unfair group."""
    return Alert(
        no=no,
        id=f"00000000-0000-4000-8000-{no:012}",
        deployment_no=deployment_no,
        deployment_id="loans-0",
        deployment_name="Loans",
        rule_no=rule_no,
        rule_id="unfair",
        rule_name="Unfair outcomes",
        kind=RuleKind.VERDICT,
        subject=Subject(data=DataSet.PAYLOAD, metric="disparate_impact", attribute="Sex", group=group),
        facts=FACTS if facts is None else facts,
        opened_at=OPENED_AT,
        last_seen_at=OPENED_AT,
        reminded_at=None,
        acknowledged_at=None,
        acknowledged_by=None,
        note=None,
        resolved_at=None,
        resolution=None,
    )


def webhook(url: str) -> ChannelContent:
    """A webhook that is signed with the known secret."""
    return ChannelContent(name="On-call", kind=ChannelKind.WEBHOOK, url=url, secret=SECRET)


def add_channels(database: Database, *contents: ChannelContent) -> list[Channel]:
    """Channels of a new rule of a new deployment."""
    (deployment_no,) = add_deployments(database)
    with database.transaction() as session:
        rule = {"id": "unfair", "deployment_no": deployment_no, "version": 1, "kind": "verdict", "config": {}, "enabled": True}
        rule_no = session.scalars(insert(AlertRuleRow).values(rule).returning(AlertRuleRow.no)).one()
        channels = [create_channel(session, f"channel-{no}", with_secret(content, None), BOX) for no, content in enumerate(contents)]
        session.execute(insert(AlertRuleChannelRow), [{"rule_no": rule_no, "channel_no": channel.no} for channel in channels])
    return channels


def add_alert(database: Database, group: str = "female", facts: dict[str, object] | None = None) -> Alert:
    """One more alert of the only rule."""
    with database.transaction() as session:
        rule = session.scalars(select(AlertRuleRow)).one()
        draft = alert_of(deployment_no=rule.deployment_no, rule_no=rule.no, group=group, facts=facts)
        no = len(session.scalars(select(AlertRow.no)).all()) + 1
        values = {
            "id": alert_of(no=no).id,
            "deployment_no": rule.deployment_no,
            "rule_no": rule.no,
            "rule_id": "unfair",
            "rule_name": "Unfair outcomes",
            "subject": f'{{"group": "{group}"}}',
            "kind": "verdict",
            "facts": draft.facts,
            "opened_at": OPENED_AT,
            "last_seen_at": OPENED_AT,
        }
        stored = session.scalars(insert(AlertRow).values(values).returning(AlertRow.no)).one()
    return alert_of(no=stored, deployment_no=draft.deployment_no, rule_no=rule.no, group=group, facts=facts)


def tell(database: Database, alert: Alert, *events: Event) -> None:
    """Queues a notification of each event, each in a transaction of its own."""
    for event in events:
        with database.transaction() as session:
            queue_notifications(session, alert, event)


def sender(**settings: object) -> Sender:
    """The real sender."""
    configured = Settings(**settings)  # type: ignore[arg-type]
    return Sender.of(configured, BOX, lambda: EgressPolicy.of(configured.allowed_endpoints))


@contextmanager
def notifying(database: Database, send: Send | None = None, *, lease: timedelta = NOTIFICATION_LEASE) -> Iterator[Notifier]:
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
        return notification_page(session, channel, limit=1000)[::-1]


def let_pass(database: Database, duration: timedelta) -> None:
    """Moves everything about notifications into the past by so much, as if it had gone by."""
    with database.transaction() as session:
        session.execute(
            text("UPDATE notifications SET created_at = created_at - :d, claimable_at = claimable_at - :d"),
            {"d": duration},
        )
