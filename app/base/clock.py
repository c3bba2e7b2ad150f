"""The only module that reads the clock. All other code is passed `now`."""

import time
from datetime import UTC, datetime, timedelta

HOUR = timedelta(hours=1)

monotonic_seconds = time.monotonic


def utc_now() -> datetime:
    return datetime.now(UTC)


def floor_to_hour(moment: datetime) -> datetime:
    # In UTC, where every hour starts at minute 0; some zones are half an hour off.
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def floor_to_day(moment: datetime) -> datetime:
    return floor_to_hour(moment).replace(hour=0)


def floor_to_minute(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(second=0, microsecond=0)
