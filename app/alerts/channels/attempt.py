"""Outcome of one attempt to deliver a notification, and the time of the next one."""

from datetime import datetime, timedelta

from ...base.frozen import frozen, frozen_by_name
from ...calls.scoring.ask_page import retry_after_seconds

FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 15 * 60.0
"""Max pause: a receiver that works again is noticed so late at most."""


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
