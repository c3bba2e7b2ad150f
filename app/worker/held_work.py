"""Holds claimed work: renews its lease, stores its progress, limits its time, and stops it."""

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Self

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ..base.clock import monotonic_seconds
from ..base.errors import CheckCancelled, CheckTooLong, EvenhandError, LeaseLost, Unavailable
from ..base.values import frozen
from ..checks.lease_queries import release, renew
from ..database.engine import Database
from ..domain.check import CheckRun, Progress
from ..evidence.attribution.attribution import AttributionRun
from ..evidence.attribution.queries import release_attribution, renew_attribution

REPORT_SECONDS = 1.0

log = structlog.get_logger(__name__)


@frozen
class LeasedWork:
    """Work under a lease. `name` is for people, `advice` says what to do when it takes too long.

    `renew` keeps the lease and stores the progress; it returns whether to cancel.
    """

    name: str
    advice: str
    renew: Callable[..., bool]
    release: Callable[[Session], None]


def leased_check(check: CheckRun) -> LeasedWork:
    advice = (
        "Let the model's endpoint answer faster (a larger page size or concurrency, if it can take them), "
        "lower the monitor's max_records, or give checks more time with EVENHAND_CHECK_MINUTES."
    )
    return LeasedWork(f"check {check.id}", advice, partial(renew, check=check), partial(release, check=check))


def leased_attribution(run: AttributionRun) -> LeasedWork:
    advice = (
        "Ask for fewer rows (max_rows) or pairs, let the model's endpoint answer faster (a larger page size "
        "or concurrency, if it can take them), or give it more time with EVENHAND_CHECK_MINUTES."
    )
    return LeasedWork(
        f"attribution {run.id}",
        advice,
        partial(renew_attribution, run=run),
        partial(release_attribution, run=run),
    )


class HeldWork:
    """Holds claimed work until the `with` block ends, at most `limit`."""

    def __init__(self, database: Database, work: LeasedWork, *, lease: timedelta, limit: timedelta) -> None:
        self.work = work
        self._limit = limit
        self._ends_at = monotonic_seconds() + limit.total_seconds()
        self._progress: Progress | None = None
        self._database = database
        self._lease = lease
        self._beat_seconds = lease.total_seconds() / 3
        self._ended = threading.Event()
        self._order: EvenhandError | None = None
        self._turn = threading.Lock()
        self._stored_at = float("-inf")
        self._thread = threading.Thread(target=self._keep, name=f"lease of {work.name}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join(self._beat_seconds)

    def report(self, progress: Progress) -> None:
        """Stores the progress, at most once every `REPORT_SECONDS`; safe for threads.

        Raises:
            CheckCancelled: the work was cancelled on request.
            CheckTooLong: it has used up its time.
            LeaseLost: the work is no longer ours, or the worker is stopping.
        """
        self._progress = progress
        self.check_stop()
        with self._turn:
            if monotonic_seconds() - self._stored_at < REPORT_SECONDS:
                return
            self._stored_at = monotonic_seconds()
            self._renew(progress)
        self.check_stop()

    def check_stop(self) -> None:
        """Raises as `report` if the work must stop."""
        if self._order is not None:
            raise self._order
        if monotonic_seconds() > self._ends_at:
            progress = self._progress
            minutes = self._limit.total_seconds() / 60
            at = ""
            if progress is not None:
                done = f", {progress.done:,} of {progress.total:,} done" if progress.total else ""
                at = f" It was {progress.step}{done}."
            kind = self.work.name.split()[0]
            raise CheckTooLong(
                f"The {kind} was stopped because it had used up its {minutes:g} minutes.{at} "
                f"{self.work.advice}"
            )

    def give_up(self) -> None:
        """Releases the work. Code that still works on it can store nothing any more."""
        try:
            with self._database.transaction() as session:
                self.work.release(session)
        except (Unavailable, SQLAlchemyError) as error:
            log.warning(
                "release_failed", work=self.work.name, error=str(error)
            )  # the lease expires by itself
        except LeaseLost:
            return
        self._order = LeaseLost(f"The {self.work.name} was handed back, because its worker is stopping.")

    def _keep(self) -> None:
        pause = self._beat_seconds
        while not self._ended.wait(pause) and self._order is None:
            pause = self._beat_seconds if self._renew() else min(1.0, self._beat_seconds)

    def _renew(self, progress: Progress | None = None) -> bool:
        """False if the database did not answer: the work goes on."""
        try:
            with self._database.transaction() as session:
                cancel_requested = self.work.renew(session, lease=self._lease, progress=progress)
        except LeaseLost as error:
            self._order = error
        except (Unavailable, SQLAlchemyError) as error:
            log.warning("heartbeat_failed", work=self.work.name, error=str(error))
            return False
        else:
            if cancel_requested:
                self._order = CheckCancelled(f"The {self.work.name} was cancelled on request.")
        return True
