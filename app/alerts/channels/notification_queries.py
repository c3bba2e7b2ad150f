"""Notifications, and open alerts that a channel was not sent."""

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import field
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, any_, exists, func, insert, literal, select, text
from sqlalchemy.orm import Session, aliased

from ...base.errors import require_present
from ...base.values import frozen, frozen_by_name
from ...database.binary_rows import HeldRow, lease_row, page_newest, read_row, write_held
from ...database.engine import current_time
from ...database.tables import (
    AlertChannelRow,
    AlertFigureRow,
    AlertRow,
    AlertRuleChannelRow,
    AlertRuleRow,
    KeptReportFileRow,
    KeptReportRow,
    NotificationRow,
)
from ...domain.alert import Alert, Event, Resolution
from ...domain.paging import Paging
from ..gravity import rank_alert
from ..queries import read_alerts_by_no
from .channel import Channel, ChannelKind, read_channel_by_no
from .notification import RETENTION, Notification, NotificationState, build_alert_message, build_test_message

MAX_DELETED_ROWS = 1000
"""In one transaction."""

_CLAIMABLE = text("""
    SELECT n.no
    FROM alert_channels c
    CROSS JOIN LATERAL (
        (SELECT w.no FROM notifications w
         WHERE w.channel_no = c.no
           AND w.deployment_no IS NOT NULL
           AND w.claimable_at IS NOT NULL
           AND w.state = 'waiting'
           AND NOT EXISTS (
               SELECT FROM notifications e
               WHERE e.channel_no = c.no
                 AND e.claimable_at IS NOT NULL
                 AND e.state = 'refused'
                 AND e.alert_nos && w.alert_nos
                 AND e.no < w.no)
         ORDER BY w.no LIMIT 1)
        UNION ALL
        (SELECT r.no FROM notifications r
         WHERE r.channel_no = c.no AND r.claimable_at <= now() AND r.state = 'refused'
         ORDER BY r.no LIMIT 1)
        UNION ALL
        (SELECT t.no FROM notifications t
         WHERE t.channel_no = c.no AND t.claimable_at <= now() AND t.deployment_no IS NULL
         ORDER BY t.no LIMIT 1)
    ) AS head
    JOIN notifications n ON n.no = head.no
    WHERE n.claimable_at <= now()
      AND NOT EXISTS (
          SELECT FROM notifications u
          WHERE u.channel_no = c.no AND u.claimable_at > now() AND u.lease_token IS NOT NULL)
    ORDER BY n.claimable_at, n.no
    LIMIT 1
    FOR UPDATE OF n SKIP LOCKED
""")
"""Only the head of each channel's queue is looked at, so a dead channel holds up no other.

A notification that was refused for its content leaves the queue, with all later ones of its alerts. A test is
in no queue. `claimable_at` is repeated because Postgres checks it again on a row that changed before it could
be locked.
"""


@frozen_by_name
class ClaimedNotification:
    """A notification whose `token` this sender holds; `attachment` is the PDF of a report."""

    notification: Notification
    channel: Channel
    token: str
    attachment: bytes | None = field(default=None, repr=False)


def queue_notifications(session: Session, event: Event, alerts: Sequence[Alert]) -> None:
    """Queues one notification of each deployment's alerts for each channel that their rules name, in the
    transaction that changes the alerts.

    Of what was opened, a channel gets what it was not sent before; an alert on some group that becomes that
    on a named one is sent again.
    """
    if not alerts:
        return
    pairs = (
        select(AlertRuleChannelRow.channel_no, AlertFigureRow.alert_no)
        .join(AlertFigureRow, AlertFigureRow.rule_no == AlertRuleChannelRow.rule_no)
        .where(AlertFigureRow.alert_no.in_([alert.no for alert in alerts]))
    )
    if event is Event.OPENED:
        is_sent = exists().where(
            NotificationRow.deployment_no == AlertRuleRow.deployment_no,
            NotificationRow.channel_no == AlertRuleChannelRow.channel_no,
            AlertFigureRow.alert_no == any_(NotificationRow.alert_nos),
        )
        ended = aliased(AlertFigureRow)
        is_just_named = exists().where(
            ended.alert_no == AlertFigureRow.alert_no,
            ended.resolution == Resolution.NAMED,
            ended.ended_at == func.now(),
        )
        is_new = AlertFigureRow.opened_at == func.now()
        pairs = pairs.join(AlertRuleRow, AlertRuleRow.no == AlertRuleChannelRow.rule_no).where(
            is_new, ~is_sent | is_just_named
        )
    alert_nos = defaultdict(set)
    for channel_no, alert_no in session.execute(pairs):
        alert_nos[channel_no].add(alert_no)
    # A channel that is being deleted must not be written to.
    present = (
        select(AlertChannelRow.no)
        .where(AlertChannelRow.no.in_(alert_nos))
        .order_by(AlertChannelRow.no)
        .with_for_update(read=True, key_share=True)
    )
    for channel_no in session.scalars(present).all() if alert_nos else ():
        queue_alerts(
            session, channel_no, event, [alert for alert in alerts if alert.no in alert_nos[channel_no]]
        )


def queue_alerts(session: Session, channel_no: int, event: Event, alerts: Sequence[Alert]) -> None:
    now = current_time(session)
    by_deployment = defaultdict(list)
    for alert in sorted(alerts, key=rank_alert):
        by_deployment[alert.deployment_no].append(alert)
    for deployment_no, deployment_alerts in by_deployment.items():
        message = build_alert_message(event, deployment_alerts, now=now)
        alert_nos = [alert.no for alert in deployment_alerts]
        _insert_notification(
            session, channel_no, event, message, deployment_no=deployment_no, alert_nos=alert_nos
        )


def queue_explanation(session: Session, alert: Alert) -> None:
    """Queues why the gap changed, unless the alert was opened in one message with others."""
    was_joined = exists().where(
        NotificationRow.deployment_no == alert.deployment_no,
        NotificationRow.event == Event.OPENED,
        literal(alert.no) == any_(NotificationRow.alert_nos),
        func.cardinality(NotificationRow.alert_nos) > 1,
    )
    if not session.scalar(select(was_joined)):
        queue_notifications(session, Event.EXPLAINED, [alert])


def queue_test(session: Session, channel: Channel) -> Notification:
    """Raises NotFound if the channel was deleted."""
    present = (
        select(AlertChannelRow.no)
        .where(AlertChannelRow.no == channel.no)
        .with_for_update(read=True, key_share=True)
    )
    require_present(session.scalar(present), "alert channel", channel.id)
    message = build_test_message(now=current_time(session))
    _insert_notification(session, channel.no, Event.TEST, message)
    return get_notification(session, channel, message["id"])


def queue_message(session: Session, channel_nos: Sequence[int], message: dict[str, Any]) -> None:
    for no in channel_nos:
        _insert_notification(session, no, Event.REPORT, {**message, "id": str(uuid.uuid4())})


def end_pauses(session: Session, channel: Channel) -> None:
    """Lets the notifications that wait for the channel be tried at once."""
    # Not the one that is being sent: its `claimable_at` is the end of its lease. A common table expression,
    # as in `delete_old_notifications`.
    statement = """
        WITH locked AS (
            SELECT no FROM notifications
            WHERE channel_no = :channel AND claimable_at > now() AND lease_token IS NULL
            ORDER BY no FOR UPDATE)
        UPDATE notifications SET claimable_at = now() WHERE no IN (SELECT no FROM locked)"""
    session.execute(text(statement), {"channel": channel.no})


def claim_notification(session: Session, *, token: str, lease: timedelta) -> ClaimedNotification | None:
    no = session.scalar(_CLAIMABLE)
    if no is None:
        return None
    lease_row(session, NotificationRow, no, token=token, lease=lease)
    notification = _find_notification(session, NotificationRow.no == no)
    if notification is None:
        return None
    channel = read_channel_by_no(session, notification.channel_no)
    attachment = None
    if channel.kind is ChannelKind.EMAIL and notification.event is Event.REPORT:
        pdf = (
            select(KeptReportFileRow.content)
            .join(KeptReportRow, KeptReportRow.no == KeptReportFileRow.report_no)
            .where(KeptReportRow.id == notification.body["report"]["id"], KeptReportFileRow.form == "pdf")
        )
        attachment = session.scalar(pdf)
    return ClaimedNotification(notification=notification, channel=channel, token=token, attachment=attachment)


def record_sent(session: Session, claimed: ClaimedNotification, *, remark: str | None) -> None:
    """Notes that the notification is sent. Raises LeaseLost."""
    values = {
        "state": NotificationState.SENT,
        "claimable_at": None,
        "last_error": remark,
        "sent_at": func.now(),
    }
    _write_held(session, claimed, values)


def record_failed(
    session: Session, claimed: ClaimedNotification, *, error: str, state: NotificationState, pause: timedelta
) -> None:
    """The next one is after `pause`, unless the state is final. Raises LeaseLost."""
    claimable_at = None if state is NotificationState.GIVEN_UP else func.now() + pause
    _write_held(session, claimed, {"state": state, "claimable_at": claimable_at, "last_error": error})


# Postgres may run a subquery again for each row: minutes for a thousand. Others may be at it, or a deployment
# is being deleted.
_DELETE_OLD = text("""
    WITH oldest AS MATERIALIZED (
        SELECT n.no FROM notifications n
        WHERE NOT EXISTS (
            SELECT FROM alerts a
            WHERE a.deployment_no = n.deployment_no AND a.no = ANY(n.alert_nos) AND a.resolved_at IS NULL)
        ORDER BY n.no LIMIT :most
    ), unlocked AS (
        SELECT no FROM notifications
        WHERE no IN (SELECT no FROM oldest)
          AND created_at < now() - CAST(:retention AS interval)
          AND claimable_at IS NULL
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM notifications WHERE no IN (SELECT no FROM unlocked) RETURNING no
""")


def delete_old_notifications(session: Session) -> int:
    """Deletes some notifications older than RETENTION, unless an alert of theirs is open; returns how many."""
    return len(session.scalars(_DELETE_OLD, {"most": MAX_DELETED_ROWS, "retention": RETENTION}).all())


def get_notification(session: Session, channel: Channel, notification_id: str) -> Notification:
    """Raises NotFound."""
    notification = _find_notification(
        session, NotificationRow.id == notification_id, NotificationRow.channel_no == channel.no
    )
    return require_present(notification, "notification", notification_id)


def page_notifications(session: Session, channel: Channel, paging: Paging) -> list[Notification]:
    statement = _SELECT.where(NotificationRow.channel_no == channel.no)
    return [
        read_row(Notification, row)
        for row in session.execute(page_newest(statement, NotificationRow.no, paging))
    ]


def list_report_notifications(session: Session, report_ids: Sequence[str]) -> dict[str, list[Notification]]:
    report_id = NotificationRow.body["report"]["id"].astext
    # Those of alerts have a deployment.
    is_report = (NotificationRow.deployment_no.is_(None), NotificationRow.event == Event.REPORT)
    notifications = defaultdict(list)
    for row in session.execute(
        _SELECT.where(*is_report, report_id.in_(report_ids)).order_by(NotificationRow.no)
    ):
        notification = read_row(Notification, row)
        notifications[notification.body["report"]["id"]].append(notification)
    return notifications


_ALERT_IDS = (
    select(func.coalesce(func.array_agg(AlertRow.id), text("'{}'")))
    .where(AlertRow.no == any_(NotificationRow.alert_nos))
    .correlate(NotificationRow)
    .scalar_subquery()
)
_SELECT = select(
    NotificationRow.__table__,
    NotificationRow.claimable_at.label("next_attempt_at"),
    AlertChannelRow.id.label("channel_id"),
    _ALERT_IDS.label("alert_ids"),
).join(AlertChannelRow, AlertChannelRow.no == NotificationRow.channel_no)


def _find_notification(session: Session, *conditions: ColumnElement[bool]) -> Notification | None:
    row = session.execute(_SELECT.where(*conditions)).one_or_none()
    return None if row is None else read_row(Notification, row)


def _insert_notification(
    session: Session,
    channel_no: int,
    event: Event,
    message: dict[str, Any],
    *,
    deployment_no: int | None = None,
    alert_nos: Sequence[int] = (),
) -> None:
    values = {
        "id": message["id"],
        "channel_no": channel_no,
        "deployment_no": deployment_no,
        "alert_nos": list(alert_nos),
        "event": event,
        "body": message,
        "state": NotificationState.WAITING,
        "attempts": 0,
        "claimable_at": func.now(),
    }
    session.execute(insert(NotificationRow).values(values))


def _write_held(session: Session, claimed: ClaimedNotification, values: dict[str, Any]) -> None:
    if_lost = f"Notification {claimed.notification.id} is no longer this sender's: nothing was written."
    held = HeldRow(table=NotificationRow, no=claimed.notification.no, token=claimed.token, if_lost=if_lost)
    write_held(session, held, {**values, "lease_token": None}, NotificationRow.no)


_OPEN_ALERTS = """
    alerts a JOIN alert_figures f ON f.alert_no = a.no AND f.ended_at IS NULL AND a.resolved_at IS NULL
    JOIN alert_rule_channels rc ON rc.rule_no = f.rule_no
"""
_UNSENT = """
    NOT EXISTS (SELECT FROM notifications n
                WHERE n.deployment_no = a.deployment_no AND a.no = ANY(n.alert_nos)
                    AND n.channel_no = rc.channel_no AND n.state <> 'given_up')
"""
_OF_CHANNEL = f"""
    {_OPEN_ALERTS} WHERE rc.channel_no = :channel AND (CAST(:rule AS bigint) IS NULL OR f.rule_no = :rule)
"""


@frozen
class UnsentAlerts:
    channel_id: str
    rule_no: int
    alerts: int


@frozen
class RuleWithAlerts:
    deployment_id: str
    deployment_name: str
    rule_id: str
    rule_name: str
    alerts: int


def count_unsent(session: Session, *, deployment_no: int | None = None) -> list[UnsentAlerts]:
    statement = f"""
        SELECT c.id, rc.rule_no, count(DISTINCT a.no)
        FROM {_OPEN_ALERTS} JOIN alert_channels c ON c.no = rc.channel_no
        WHERE {_UNSENT} AND (CAST(:no AS bigint) IS NULL OR a.deployment_no = :no)
        GROUP BY 1, 2 ORDER BY 1, 2"""  # noqa: S608 - of constants only
    return [UnsentAlerts(*row) for row in session.execute(text(statement), {"no": deployment_no})]


def list_named_channels(session: Session, deployment_no: int | None = None) -> set[str]:
    """Ids of the channels that the enabled rules of one deployment name, or any rules of all."""
    statement = """
        SELECT DISTINCT c.id FROM alert_channels c JOIN alert_rule_channels rc ON rc.channel_no = c.no
        JOIN alert_rules r ON r.no = rc.rule_no
        WHERE CAST(:no AS bigint) IS NULL OR (r.deployment_no = :no AND r.enabled)"""
    return set(session.scalars(text(statement), {"no": deployment_no}))


def list_rules_with_open_alerts(session: Session) -> list[RuleWithAlerts]:
    statement = """
        SELECT d.id, d.name, r.id, r.config->>'name', count(DISTINCT a.no)
        FROM deployments d JOIN alert_rules r ON r.deployment_no = d.no
        JOIN alert_figures f ON f.rule_no = r.no AND f.ended_at IS NULL
        JOIN alerts a ON a.no = f.alert_no AND a.resolved_at IS NULL
        GROUP BY d.no, r.no ORDER BY d.id, r.id"""
    return [RuleWithAlerts(*row) for row in session.execute(text(statement))]


def list_deployments_with_alerts(session: Session, channel: Channel, rule_no: int | None) -> list[int]:
    statement = f"SELECT DISTINCT a.deployment_no FROM {_OF_CHANNEL} ORDER BY 1"  # noqa: S608 - as above
    return list(session.scalars(text(statement), {"channel": channel.no, "rule": rule_no}))


def count_open_alerts(session: Session, channel: Channel, rule_no: int | None) -> int:
    statement = f"SELECT count(DISTINCT a.no) FROM {_OF_CHANNEL}"  # noqa: S608 - as above
    return session.scalar(text(statement), {"channel": channel.no, "rule": rule_no}) or 0


def lock_open_alerts(
    session: Session, channel: Channel, rule_no: int | None, *, with_sent: bool
) -> Sequence[Alert]:
    """Locks the open alerts of the channel's rules, or of one rule; `with_sent`: also those sent before."""
    statement = f"""
        SELECT no FROM alerts WHERE no IN (SELECT a.no FROM {_OF_CHANNEL} AND (:with_sent OR {_UNSENT}))
        ORDER BY no FOR NO KEY UPDATE"""  # noqa: S608 - as above
    values = {"channel": channel.no, "rule": rule_no, "with_sent": with_sent}
    return read_alerts_by_no(session, session.scalars(text(statement), values).all())
