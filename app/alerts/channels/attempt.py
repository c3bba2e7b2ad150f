"""One attempt to deliver a notification, its outcome, and the time of the next one."""

from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any

from ...base.settings import Settings
from ...base.values import frozen, frozen_by_name
from ...calls.egress_policy import EgressPolicy
from ...calls.scoring.ask_page import retry_after_seconds
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

FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 15 * 60.0
"""Max pause: a receiver that works again is noticed so late at most."""


@frozen_by_name
class Attempt:
    """One attempt to send a notification. `secret` is the channel's, opened, or empty; `egress` says which
    addresses may be called now.
    """

    id: str
    body: Mapping[str, Any]
    url: str | None
    to: tuple[str, ...]
    secret: str = field(repr=False)
    now: datetime
    settings: Settings
    egress: Callable[[], EgressPolicy]


@frozen
class Delivered:
    """The receiver has the notification. `remark` says what was not quite right."""

    remark: str | None = None


@frozen_by_name
class Undelivered:
    """The receiver did not confirm. Without secrets; `answer` are its own words; `is_refused`: it refused
    this content.
    """

    reason: str
    answer: str = ""
    is_refused: bool = False
    retry_after: str | None = None

    @property
    def sentence(self) -> str:
        return f'{self.reason} It answered "{self.answer}".' if self.answer else self.reason


def pause_after(attempts: int, failure: Undelivered, now: datetime) -> timedelta:
    """Returns the pause after failed attempt number `attempts` (from 1): doubling, at least the
    receiver's.
    """
    pause = min(FIRST_PAUSE_SECONDS * 2.0 ** min(attempts - 1, 10), LONGEST_PAUSE_SECONDS)
    return timedelta(seconds=max(pause, retry_after_seconds(failure.retry_after, now) or 0.0))


def state_after_failure(notification: Notification, *, is_refused: bool, now: datetime) -> NotificationState:
    """Returns the state of the notification after a failed attempt.

    Unlike a waiting one, a refused one does not hold up the later notifications of its channel.
    """
    # A test is not repeated: the page that sent it shows its result.
    if notification.event is Event.TEST or now - notification.created_at >= GIVE_UP_AFTER:
        return NotificationState.GIVEN_UP
    return NotificationState.REFUSED if is_refused else NotificationState.WAITING
