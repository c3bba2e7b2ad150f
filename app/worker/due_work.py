"""Queues the checks of due hours and the attributions of nights."""

from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from ..base.clock import HOUR, floor_to_hour
from ..checks.queries import queue_scheduled
from ..domain.check import Span
from ..evidence.attribution.queries import queue_nightly

GRACE = timedelta(seconds=30)
"""Time between the end of an hour and its check: longer than any write that could still add records to that hour."""

MISSED_HOURS_LIMIT = 72
"""Max hours that are checked after downtime, the newest; older ones stay unchecked."""


def queue_due_checks(session: Session, now: datetime) -> int:
    """Queues the checks due at `now` on the database's clock, oldest hour first; returns their number.

    A monitor gets each ended hour or day (UTC) since its schedule was switched on once, also if calls are concurrent.
    """
    latest = floor_to_hour(now - GRACE) - HOUR
    return queue_scheduled(session, earliest=latest - (MISSED_HOURS_LIMIT - 1) * HOUR, latest=latest, grace=GRACE)


def queue_due_attributions(session: Session, now: datetime) -> int:
    """Queues the last ended day's (UTC) attribution of each monitor that wants one; returns their number.

    Concurrent calls queue nothing twice. Missed nights are not made up for.
    """
    midnight = (now - GRACE).astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return queue_nightly(session, night=Span(start=midnight - timedelta(days=1), end=midnight))
