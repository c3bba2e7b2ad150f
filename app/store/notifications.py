"""Notifications: written in the transaction of what they tell, claimed and ended by senders.

The same protocol as for checks (`leases.py`): `claimable_at` moves into the future while one is being sent, a token fences its
sender, and all times are the database's.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, exists, func, insert, select, text, update
from sqlalchemy.orm import Session

from app.domain.alerts import Alert, Event
from app.domain.channels import Channel
from app.domain.notifications import Message, Notification, NotificationState, alert_message, message_of_test
from app.errors import LeaseLost, NotFound
from app.store.alert_channels import channel_by_no
from app.store.tables import AlertChannelRow, AlertRow, AlertRuleChannelRow, NotificationRow

LEASE = timedelta(seconds=60)
"""How long a sender may be silent before its notification is sent again; an attempt takes at most half of it."""

GIVE_UP_AFTER = timedelta(days=3)
"""A receiver that is away for so long gets what is younger."""

KEPT = timedelta(days=90)
"""How long one is kept at least, so that what became of it can be read.

As long as its alert is open it is kept, so that nobody is sent the alert twice."""

FORGOTTEN_AT_ONCE = 1000

_NEXT = text("""
    SELECT n.no
    FROM alert_channels c
    CROSS JOIN LATERAL (
        (SELECT w.no FROM notifications w
         WHERE w.channel_no = c.no AND w.claimable_at IS NOT NULL AND w.state = 'waiting' AND w.alert_no IS NOT NULL
           AND NOT EXISTS (
               SELECT FROM notifications e
               WHERE e.channel_no = c.no AND e.claimable_at IS NOT NULL AND e.alert_no = w.alert_no AND e.no < w.no AND e.state = 'refused')
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
"""The next notification to send. Each channel has one line, and only its head is looked at, so that nothing overtakes within a channel
and a dead channel holds up no other. What was refused for its content steps out of the line, with all later ones of its alert. A test
stands in no line. One channel is sent one at a time.

The condition on `claimable_at` is repeated because Postgres checks it again on a row that changed before it could be locked.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedNotification:
    """A notification in a sender's hands until its lease runs out, and the channel it goes to."""

    notification: Notification
    channel: Channel
    token: str


def queue_notifications(session: Session, alert: Alert, event: Event) -> int:
    """Queues one notification for each channel of the alert's rule, in the transaction that changes the alert; says how many."""
    told = select(AlertChannelRow.no).join(AlertRuleChannelRow, AlertRuleChannelRow.channel_no == AlertChannelRow.no)
    # The lock keeps a channel that is being deleted from being written to: the step that tells of the alert would break.
    present = told.where(AlertRuleChannelRow.rule_no == alert.rule_no).with_for_update(read=True, key_share=True, of=AlertChannelRow)
    nos = session.scalars(present.order_by(AlertChannelRow.no)).all()
    now = _current_time(session)
    for no in nos:
        _insert(session, no, event, alert_message(alert, event, now=now), alert_no=alert.no)
    return len(nos)


def queue_notification(session: Session, channel: Channel, alert: Alert, event: Event) -> None:
    """Queues one notification of the alert as it is now. The caller holds the channel."""
    _insert(session, channel.no, event, alert_message(alert, event, now=_current_time(session)), alert_no=alert.no)


def queue_test(session: Session, channel: Channel) -> Notification:
    """Queues a test notification.

    Raises:
        NotFound: the channel was deleted in this moment.
    """
    present = select(AlertChannelRow.no).where(AlertChannelRow.no == channel.no).with_for_update(read=True, key_share=True)
    if session.scalar(present) is None:
        raise NotFound("alert channel", channel.id)
    message = message_of_test(now=_current_time(session))
    _insert(session, channel.no, Event.TEST, message, alert_no=None)
    return get_notification(session, channel, message.id)


def try_at_once(session: Session, channel: Channel) -> None:
    """Ends the pauses of what waits for the channel: it was changed, or a test has reached it."""
    waiting = (NotificationRow.channel_no == channel.no, NotificationRow.claimable_at > func.now(), NotificationRow.lease_token.is_(None))
    nos = select(NotificationRow.no).where(*waiting).order_by(NotificationRow.no).with_for_update()
    statement = update(NotificationRow).where(NotificationRow.no.in_(nos)).values(claimable_at=func.now())
    session.execute(statement.execution_options(synchronize_session=False))


def claim(session: Session, *, token: str, lease: timedelta = LEASE) -> ClaimedNotification | None:
    """Takes the next notification for the holder of `token` (new for each claim), or None when nothing is to be sent.

    One whose sender went silent is taken over.
    """
    no = session.scalar(_NEXT)
    if no is None:
        return None
    values = {"attempts": NotificationRow.attempts + 1, "lease_token": token, "claimable_at": func.now() + lease}
    session.execute(update(NotificationRow).where(NotificationRow.no == no).values(values).execution_options(synchronize_session=False))
    notification = _one(session, NotificationRow.no == no)
    if notification is None:
        return None
    return ClaimedNotification(notification=notification, channel=channel_by_no(session, notification.channel_no), token=token)


def record_sent(session: Session, claimed: ClaimedNotification, *, remark: str | None) -> None:
    """Ends the notification as sent. A test that was sent shows that the channel works, so what waits for it is tried at once.

    Raises:
        LeaseLost: the notification is no longer this sender's.
    """
    values = {"state": NotificationState.SENT.value, "claimable_at": None, "last_error": remark, "sent_at": func.now()}
    _write(session, claimed, values)
    if claimed.notification.event is Event.TEST:
        try_at_once(session, claimed.channel)


def record_failed(session: Session, claimed: ClaimedNotification, *, error: str, is_refused: bool, pause: timedelta) -> NotificationState:
    """Ends the attempt: tried again after `pause`, unless it was a test or is too old. Says where the notification stands now.

    Raises:
        LeaseLost: the notification is no longer this sender's.
    """
    notification = claimed.notification
    if notification.event is Event.TEST or _current_time(session) - notification.created_at >= GIVE_UP_AFTER:
        state = NotificationState.GIVEN_UP
    else:
        state = NotificationState.REFUSED if is_refused else NotificationState.WAITING
    claimable_at = None if state is NotificationState.GIVEN_UP else func.now() + pause
    _write(session, claimed, {"state": state.value, "claimable_at": claimable_at, "last_error": error})
    return state


def forget_old(session: Session) -> int:
    """Deletes notifications that are over and older than `KEPT`, unless their alert is open, a few at a time; says how many.

    Looks at the oldest ones only: what is older than that is over, because it was sent or given up long before.
    """
    is_open = exists().where(AlertRow.no == NotificationRow.alert_no, AlertRow.resolved_at.is_(None))
    oldest = select(NotificationRow.no).where(~is_open).order_by(NotificationRow.no).limit(FORGOTTEN_AT_ONCE)
    is_old = (NotificationRow.created_at < func.now() - KEPT, NotificationRow.claimable_at.is_(None))
    # Another process may be at it, or a deployment is being deleted with its own.
    free = select(NotificationRow.no).where(NotificationRow.no.in_(oldest), *is_old).with_for_update(skip_locked=True)
    statement = delete(NotificationRow).where(NotificationRow.no.in_(free)).returning(NotificationRow.no)
    return len(session.scalars(statement.execution_options(synchronize_session=False)).all())


def get_notification(session: Session, channel: Channel, notification_id: str) -> Notification:
    """The notification of that id to that channel.

    Raises:
        NotFound: there is none.
    """
    found = _one(session, NotificationRow.id == notification_id, NotificationRow.channel_no == channel.no)
    if found is None:
        raise NotFound("notification", notification_id)
    return found


def notification_page(session: Session, channel: Channel, *, limit: int, before_no: int | None = None) -> list[Notification]:
    """At most `limit` notifications to that channel, newest first, from before the one of number `before_no`."""
    statement = _SELECT.where(NotificationRow.channel_no == channel.no).order_by(NotificationRow.no.desc()).limit(limit)
    if before_no is not None:
        statement = statement.where(NotificationRow.no < before_no)
    return [_notification(*found) for found in session.execute(statement)]


_SELECT = (
    select(NotificationRow, AlertChannelRow.id, AlertRow.id)
    .join(AlertChannelRow, AlertChannelRow.no == NotificationRow.channel_no)
    .outerjoin(AlertRow, AlertRow.no == NotificationRow.alert_no)
)


def _one(session: Session, *conditions: Any) -> Notification | None:  # noqa: ANN401 - column expressions
    found = session.execute(_SELECT.where(*conditions), execution_options={"populate_existing": True}).one_or_none()
    return _notification(*found) if found is not None else None


def _notification(row: NotificationRow, channel_id: str, alert_id: str | None) -> Notification:
    return Notification(
        no=row.no,
        id=row.id,
        channel_no=row.channel_no,
        channel_id=channel_id,
        alert_id=alert_id,
        event=Event(row.event),
        body=row.body,
        state=NotificationState(row.state),
        attempts=row.attempts,
        next_attempt_at=row.claimable_at,
        last_error=row.last_error,
        created_at=row.created_at,
        sent_at=row.sent_at,
    )


def _insert(session: Session, channel_no: int, event: Event, message: Message, *, alert_no: int | None) -> None:
    values = {
        "id": message.id,
        "channel_no": channel_no,
        "alert_no": alert_no,
        "event": event.value,
        "body": message.body,
        "state": NotificationState.WAITING.value,
        "attempts": 0,
        "claimable_at": func.now(),
    }
    session.execute(insert(NotificationRow).values(values))


def _current_time(session: Session) -> datetime:
    return session.execute(select(func.now())).scalar_one()


def _write(session: Session, claimed: ClaimedNotification, values: dict[str, Any]) -> None:
    """The only way a sender writes: nothing happens unless its token is still the stored one."""
    owned = (NotificationRow.no == claimed.notification.no, NotificationRow.lease_token == claimed.token)
    statement = update(NotificationRow).where(*owned).values(**values, lease_token=None).returning(NotificationRow.no)
    if session.scalar(statement.execution_options(synchronize_session=False)) is None:
        raise LeaseLost(f"Notification {claimed.notification.id} is no longer this sender's: nothing was written.")
