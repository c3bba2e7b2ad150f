"""How long a notification is tried, and kept."""

from datetime import datetime, timedelta

from ...domain.alert import Event
from .notification import Notification, NotificationState

NOTIFICATION_LEASE = timedelta(seconds=60)
"""Silence of a sender after which its notification is sent again: at least twice as long as an attempt may
take.
"""

GIVE_UP_AFTER = timedelta(days=3)

KEPT = timedelta(days=90)
"""Min time that a notification is kept. While its alert is open it is kept, so that the alert is not sent
twice.
"""


def state_after_failure(notification: Notification, *, is_refused: bool, now: datetime) -> NotificationState:
    """Returns the state of the notification after a failed attempt.

    Unlike a waiting one, a refused one does not hold up the later notifications of its channel.
    """
    # A test is not repeated: the page that sent it shows its result.
    if notification.event is Event.TEST or now - notification.created_at >= GIVE_UP_AFTER:
        return NotificationState.GIVEN_UP
    return NotificationState.REFUSED if is_refused else NotificationState.WAITING
