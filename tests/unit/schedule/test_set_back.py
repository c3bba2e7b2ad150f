from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from app.worker.looks import ClockWatch

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


class MadeUpClocks:
    """A clock that people set and one that only goes forward."""

    def __init__(self) -> None:
        self.wall, self.seconds = NOON, 0.0

    def go_on(self, seconds: float, *, set_back: timedelta = timedelta()) -> None:
        """Lets time pass on both, and sets the first one back."""
        self.wall += timedelta(seconds=seconds) - set_back
        self.seconds += seconds


@pytest.fixture
def scheduler() -> Iterator[BackgroundScheduler]:
    scheduler = BackgroundScheduler(timezone="UTC")
    scheduler.start(paused=True)  # nothing runs: only when it would
    for trigger in (CronTrigger(second=35, timezone="UTC"), IntervalTrigger(seconds=10)):
        scheduler.add_job(print, trigger, next_run_time=NOON + timedelta(minutes=1))
    yield scheduler
    scheduler.shutdown()


def _next_runs(scheduler: BackgroundScheduler) -> set[datetime]:
    return {job.next_run_time for job in scheduler.get_jobs()}


def test_a_clock_set_back_by_an_hour_runs_every_job_at_once(scheduler: BackgroundScheduler) -> None:
    clocks = MadeUpClocks()
    watch = ClockWatch(scheduler, now=lambda: clocks.wall, elapsed=lambda: clocks.seconds)
    clocks.go_on(5, set_back=timedelta(hours=1))
    watch.look()

    assert _next_runs(scheduler) == {clocks.wall}


@pytest.mark.parametrize("set_back", [timedelta(), timedelta(seconds=1), timedelta(hours=-1)])
def test_a_clock_that_goes_on_is_corrected_a_little_or_set_forward_changes_nothing(
    scheduler: BackgroundScheduler, set_back: timedelta
) -> None:
    clocks = MadeUpClocks()
    watch = ClockWatch(scheduler, now=lambda: clocks.wall, elapsed=lambda: clocks.seconds)
    clocks.go_on(5, set_back=set_back)
    watch.look()

    assert _next_runs(scheduler) == {NOON + timedelta(minutes=1)}


def test_a_clock_that_was_set_back_is_noticed_once(scheduler: BackgroundScheduler) -> None:
    clocks = MadeUpClocks()
    watch = ClockWatch(scheduler, now=lambda: clocks.wall, elapsed=lambda: clocks.seconds)
    clocks.go_on(5, set_back=timedelta(hours=1))
    watch.look()
    noticed = clocks.wall
    clocks.go_on(5)
    watch.look()

    assert _next_runs(scheduler) == {noticed}
