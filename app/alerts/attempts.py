"""Outcome of one attempt to deliver a notification, and the time of the next one."""

from datetime import datetime, timedelta

from ..frozen import frozen
from ..outbound.pacing import retry_after_seconds

FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 15 * 60.0
"""Max pause: a receiver that works again is noticed so late at most."""


@frozen
class Delivered:
    """The receiver has the notification. `remark` says what was not quite right."""

    remark: str | None = None


@frozen(kw_only=True)
class Undelivered:
    """The receiver did not confirm. `reason` is without secrets; `is_refused`: it refused this content."""

    reason: str
    is_refused: bool = False
    retry_after: str | None = None


def pause_after(attempts: int, failure: Undelivered, now: datetime) -> timedelta:
    """Returns the pause after failed attempt number `attempts` (from 1): doubling, at least the receiver's."""
    own = min(FIRST_PAUSE_SECONDS * 2.0 ** min(attempts - 1, 10), LONGEST_PAUSE_SECONDS)
    return timedelta(seconds=max(own, retry_after_seconds(failure.retry_after, now) or 0.0))
