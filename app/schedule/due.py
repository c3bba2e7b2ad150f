"""Which hours are due for a check."""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.clock import HOUR, hour_of
from app.store.checks import queue_scheduled

GRACE = timedelta(seconds=30)
"""How long after its end an hour is checked: no write of records takes so long that one could still land in it."""

MISSED_HOURS_LIMIT = 72
"""After downtime, how many hours back are still evaluated, the newest ended hour included. Older ones stay unevaluated."""


def queue_due_checks(session: Session, now: datetime) -> int:
    """Queues what is due at `now` on the database's clock, oldest hour first, and says how many checks that was.

    Every hourly monitor gets each ended hour once, from the hour its schedule was switched on in. Asking again, or twice at once,
    queues nothing twice.
    """
    latest = hour_of(now - GRACE) - HOUR
    return queue_scheduled(session, earliest=latest - (MISSED_HOURS_LIMIT - 1) * HOUR, latest=latest, grace=GRACE)
