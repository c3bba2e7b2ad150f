"""Notifications: written in the transaction of their event, claimed and ended by senders."""

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, exists, func, insert, select, text, update
from sqlalchemy.orm import Session

from ...base.errors import require_present
from ...base.values import frozen_by_name
from ...database.binary_rows import page_newest, read_row
from ...database.engine import current_time
from ...database.leased_rows import HeldRow, lease_row, write_held
from ...database.tables import AlertChannelRow, AlertRow, AlertRuleChannelRow, NotificationRow
from ...domain.alert import Alert, Event
from ...domain.paging import Paging
from .attempt import KEPT
from .channel import Channel
from .notification import Notification, NotificationState, alert_message, message_of_test
from .queries import channel_by_no

FORGOTTEN_AT_ONCE = 1000

_NEXT = text("""
    SELECT n.no
    FROM alert_channels c
    CROSS JOIN LATERAL (
        (SELECT w.no FROM notifications w
         WHERE w.channel_no = c.no AND w.claimable_at IS NOT NULL AND w.state = 'waiting'
             AND w.alert_no IS NOT NULL
           AND NOT EXISTS (
               SELECT FROM notifications e
               WHERE e.channel_no = c.no AND e.claimable_at IS NOT NULL AND e.alert_no = w.alert_no
                   AND e.no < w.no AND e.state = 'refused')
         ORDER BY w.no LIMIT 1)
        UNION ALL
        (SELECT r.no FROM notifications r
         WHERE r.channel_no = c.no AND r.claimable_at <= now() AND r.state = 'refused'
         ORDER BY r.no LIMIT 1)
        UNION ALL
        (SELECT t.no FROM notifications t
         WHERE t.channel_no = c.no AND t.claimable_at <= now() AND t.alert_no IS NULL
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
"""The next notification to send.

Only the head of each channel's queue is looked at, so a dead channel holds up no other. One refused for
its content leaves the queue, with all later ones of its alert. A test is in no queue. One channel is sent
one at a time. `claimable_at` is repeated because Postgres checks it again on a row that changed before it
could be locked.
"""


@frozen_by_name
class ClaimedNotification:
    notification: Notification
    channel: Channel
    token: str


def queue_notifications(session: Session, alert: Alert, event: Event) -> int:
    """Queues a notification for each channel, in the transaction that changes the alert; returns how many."""
    channels = select(AlertChannelRow.no).join(
        AlertRuleChannelRow, AlertRuleChannelRow.channel_no == AlertChannelRow.no
    )
    # A channel that is being deleted must not be written to.
    present = channels.where(AlertRuleChannelRow.rule_no == alert.rule_no).with_for_update(
        read=True, key_share=True, of=AlertChannelRow
    )
    nos = session.scalars(present.order_by(AlertChannelRow.no)).all()
    now = current_time(session)
    for no in nos:
        _insert(session, no, event, alert_message(alert, event, now=now), alert_no=alert.no)
    return len(nos)


def queue_notification(session: Session, channel: Channel, alert: Alert, event: Event) -> None:
    """Queues one notification of the alert as it is now. The caller holds the channel."""
    _insert(
        session, channel.no, event, alert_message(alert, event, now=current_time(session)), alert_no=alert.no
    )


def queue_test(session: Session, channel: Channel) -> Notification:
    """Queues a test; raises NotFound if the channel was deleted."""
    present = (
        select(AlertChannelRow.no)
        .where(AlertChannelRow.no == channel.no)
        .with_for_update(read=True, key_share=True)
    )
    require_present(session.scalar(present), "alert channel", channel.id)
    message = message_of_test(now=current_time(session))
    _insert(session, channel.no, Event.TEST, message, alert_no=None)
    return get_notification(session, channel, message["id"])


def queue_message(session: Session, channel_nos: Sequence[int], message: dict[str, Any]) -> None:
    """Queues a report's message to each channel. The caller holds the channels."""
    for no in channel_nos:
        _insert(session, no, Event.REPORT, {**message, "id": str(uuid.uuid4())}, alert_no=None)


def end_pauses(session: Session, channel: Channel) -> None:
    # Not the one that is being sent: its `claimable_at` is the end of its lease.
    waiting = (
        NotificationRow.channel_no == channel.no,
        NotificationRow.claimable_at > func.now(),
        NotificationRow.lease_token.is_(None),
    )
    # A common table expression, as in `forget_old`.
    locked = (
        select(NotificationRow.no)
        .where(*waiting)
        .order_by(NotificationRow.no)
        .with_for_update()
        .cte("locked")
    )
    statement = (
        update(NotificationRow)
        .where(NotificationRow.no.in_(select(locked.c.no)))
        .values(claimable_at=func.now())
    )
    session.execute(statement)


def claim(session: Session, *, token: str, lease: timedelta) -> ClaimedNotification | None:
    """Takes the next notification, or one whose sender went silent; `token` is new for each claim."""
    no = session.scalar(_NEXT)
    if no is None:
        return None
    lease_row(session, NotificationRow, no, token=token, lease=lease)
    notification = _one(session, NotificationRow.no == no)
    if notification is None:
        return None
    return ClaimedNotification(
        notification=notification, channel=channel_by_no(session, notification.channel_no), token=token
    )


def record_sent(session: Session, claimed: ClaimedNotification, *, remark: str | None) -> None:
    """Ends the notification as sent, or raises LeaseLost."""
    values = {
        "state": NotificationState.SENT,
        "claimable_at": None,
        "last_error": remark,
        "sent_at": func.now(),
    }
    _write(session, claimed, values)


def record_failed(
    session: Session, claimed: ClaimedNotification, *, error: str, state: NotificationState, pause: timedelta
) -> None:
    """Ends the attempt: tried again after `pause`, unless it is given up. Raises LeaseLost."""
    claimable_at = None if state is NotificationState.GIVEN_UP else func.now() + pause
    _write(session, claimed, {"state": state, "claimable_at": claimable_at, "last_error": error})


def forget_old(session: Session) -> int:
    """Deletes ended notifications older than KEPT, unless their alert is open, a few at a time."""
    is_open = exists().where(AlertRow.no == NotificationRow.alert_no, AlertRow.resolved_at.is_(None))
    # Postgres may run a subquery again for each row: minutes for a thousand.
    oldest = (
        select(NotificationRow.no)
        .where(~is_open)
        .order_by(NotificationRow.no)
        .limit(FORGOTTEN_AT_ONCE)
        .cte("oldest")
    )
    oldest = oldest.prefix_with("MATERIALIZED", dialect="postgresql")
    is_old = (NotificationRow.created_at < func.now() - KEPT, NotificationRow.claimable_at.is_(None))
    # Others may be at it, or a deployment is being deleted.
    locked = (
        select(NotificationRow.no)
        .where(NotificationRow.no.in_(select(oldest.c.no)), *is_old)
        .with_for_update(skip_locked=True)
    )
    free = locked.cte("free")
    statement = (
        delete(NotificationRow).where(NotificationRow.no.in_(select(free.c.no))).returning(NotificationRow.no)
    )
    return len(session.scalars(statement).all())


def get_notification(session: Session, channel: Channel, notification_id: str) -> Notification:
    """Returns the channel's notification, or raises NotFound."""
    notification = _one(
        session, NotificationRow.id == notification_id, NotificationRow.channel_no == channel.no
    )
    return require_present(notification, "notification", notification_id)


def notification_page(session: Session, channel: Channel, paging: Paging) -> list[Notification]:
    statement = _SELECT.where(NotificationRow.channel_no == channel.no)
    return [
        read_row(Notification, row)
        for row in session.execute(page_newest(statement, NotificationRow.no, paging))
    ]


_SELECT = (
    select(
        NotificationRow.__table__,
        NotificationRow.claimable_at.label("next_attempt_at"),
        AlertChannelRow.id.label("channel_id"),
        AlertRow.id.label("alert_id"),
    )
    .join(AlertChannelRow, AlertChannelRow.no == NotificationRow.channel_no)
    .outerjoin(AlertRow, AlertRow.no == NotificationRow.alert_no)
)


def _one(session: Session, *conditions: Any) -> Notification | None:  # noqa: ANN401 - column expressions
    row = session.execute(_SELECT.where(*conditions)).one_or_none()
    return None if row is None else read_row(Notification, row)


def _insert(
    session: Session, channel_no: int, event: Event, message: dict[str, Any], *, alert_no: int | None
) -> None:
    values = {
        "id": message["id"],
        "channel_no": channel_no,
        "alert_no": alert_no,
        "event": event,
        "body": message,
        "state": NotificationState.WAITING,
        "attempts": 0,
        "claimable_at": func.now(),
    }
    session.execute(insert(NotificationRow).values(values))


def _write(session: Session, claimed: ClaimedNotification, values: dict[str, Any]) -> None:
    if_lost = f"Notification {claimed.notification.id} is no longer this sender's: nothing was written."
    held = HeldRow(table=NotificationRow, no=claimed.notification.no, token=claimed.token, if_lost=if_lost)
    write_held(session, held, {**values, "lease_token": None}, NotificationRow.no)
