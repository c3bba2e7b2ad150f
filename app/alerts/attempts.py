"""How one attempt to deliver a notification ended, and when the next one is due."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.scoring.pacing import retry_after_seconds

FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 15 * 60.0
"""A receiver that is back is found out so much later at most, unless somebody sends a test."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has it. `remark` says what was not quite right all the same."""

    remark: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Undelivered:
    """The receiver does not have it, or did not say so. `reason` is a sentence without secrets.

    `is_refused`: the receiver found fault with this very content, so that another notification may well succeed.
    """

    reason: str
    is_refused: bool = False
    retry_after: str | None = None


def pause_after(attempts: int, failure: Undelivered, now: datetime) -> timedelta:
    """The pause behind failed attempt number `attempts` (from 1): doubling, and not shorter than the receiver asked for."""
    own = min(FIRST_PAUSE_SECONDS * 2.0 ** min(attempts - 1, 10), LONGEST_PAUSE_SECONDS)
    return timedelta(seconds=max(own, retry_after_seconds(failure.retry_after, now) or 0.0))
