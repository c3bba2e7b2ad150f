"""Times at which the next request may go out."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ..base.clock import utc_now
from ..base.frozen import frozen

LONGEST_WAIT_SECONDS = 30.0
"""Max wait, for back-off and Retry-After alike."""

_FIRST_BACKOFF_SECONDS = 0.5


@frozen
class Timing:
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    now: Callable[[], datetime] = utc_now


class Pacer:
    """Spaces the requests of one client evenly, without bursts."""

    def __init__(self, requests_per_second: float | None, timing: Timing) -> None:
        self._spacing = 0.0 if requests_per_second is None else 1.0 / requests_per_second
        self._timing = timing
        self._free_at = 0.0

    async def turn(self, deadline: float = math.inf) -> bool:
        """Waits for a turn; returns False at once if none comes before `deadline`."""
        now = self._timing.monotonic()
        mine = max(now, self._free_at)
        if mine >= deadline:
            return False
        self._free_at = mine + self._spacing
        if mine > now:
            await self._timing.sleep(mine - now)
        return True

    def hold(self, seconds: float) -> None:
        self._free_at = max(self._free_at, self._timing.monotonic() + seconds)


def backoff_seconds(attempt: int, page: int) -> float:
    """Wait after failed attempt `attempt` (from 1): 0.5 s doubling, times 0.5 to 1.

    It depends on page and attempt only, so that every run waits the same times.
    """
    spread = (page * 7919 + attempt * 104_729) % 1000 / 1000
    return float(
        min(_FIRST_BACKOFF_SECONDS * 2 ** (attempt - 1) * (0.5 + 0.5 * spread), LONGEST_WAIT_SECONDS)
    )


def retry_after_seconds(value: str | None, now: datetime) -> float | None:
    """Seconds of a Retry-After header (a number or a date), 0 to the longest wait; None if unreadable."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), LONGEST_WAIT_SECONDS)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
    return min(max((aware - now).total_seconds(), 0.0), LONGEST_WAIT_SECONDS)
