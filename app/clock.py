"""The only place that asks what time it is. Everything else is handed `now`."""

import time
from datetime import UTC, datetime, timedelta

HOUR = timedelta(hours=1)


def utc_now() -> datetime:
    """The present moment, aware, in UTC."""
    return datetime.now(UTC)


def monotonic_seconds() -> float:
    """Seconds on a clock that never goes back, for measuring how long something takes or may be kept."""
    return time.monotonic()


def hour_of(moment: datetime) -> datetime:
    """The start of the UTC hour that `moment` (aware) lies in."""
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
