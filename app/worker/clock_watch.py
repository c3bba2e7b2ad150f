"""Notices when the machine's clock is set back, after which jobs would wait for times that they know."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from apscheduler.events import EVENT_SCHEDULER_SHUTDOWN
from apscheduler.schedulers.base import BaseScheduler

from ..base.clock import monotonic_seconds, utc_now

LOOK_SECONDS = 5.0

TOLERANCE = timedelta(seconds=2)
"""A clock corrected bit by bit is not set back."""

log = structlog.get_logger(__name__)


class ClockWatch:
    """Compares the machine's clock with a monotonic one."""

    def __init__(
        self,
        scheduler: BaseScheduler,
        *,
        now: Callable[[], datetime] = utc_now,
        elapsed: Callable[[], float] = monotonic_seconds,
    ) -> None:
        self._scheduler, self._now, self._elapsed = scheduler, now, elapsed
        self._seen_at, self._seen_elapsed = now(), elapsed()

    def look(self) -> None:
        """Runs all jobs now if the clock was set back since the last look."""
        now = self._now()
        elapsed = self._elapsed()
        set_back = self._seen_at + timedelta(seconds=elapsed - self._seen_elapsed) - now
        self._seen_at, self._seen_elapsed = now, elapsed
        if set_back <= TOLERANCE:
            return
        log.warning("clock_set_back", seconds=round(set_back.total_seconds(), 1))
        for job in self._scheduler.get_jobs():
            job.modify(next_run_time=now)


def watch_clock(scheduler: BaseScheduler) -> None:
    ended = threading.Event()
    watch = ClockWatch(scheduler)

    def keep_looking() -> None:
        while not ended.wait(LOOK_SECONDS):
            watch.look()

    scheduler.add_listener(lambda _event: ended.set(), EVENT_SCHEDULER_SHUTDOWN)
    threading.Thread(target=keep_looking, name="clock", daemon=True).start()
