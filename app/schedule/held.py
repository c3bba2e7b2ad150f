"""Holds a claimed check for a worker: renews its lease, stores its progress, limits its time, and receives requests to stop."""

import threading
from datetime import timedelta
from types import TracebackType
from typing import Self

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..clock import monotonic_seconds
from ..domain.checks import CheckRun, Progress
from ..errors import CheckCancelled, CheckTooLong, EvenhandError, LeaseLost, Unavailable
from ..store.checks.leases import release, renew
from ..store.database.engine import Database

BEATS_PER_LEASE = 3
"""Heartbeats per lease: a lease survives two missed ones."""

REPORT_SECONDS = 1.0
"""Min seconds between two writes of the progress."""

log = structlog.get_logger(__name__)


class HeldCheck:
    """Holds a claimed check until the `with` block ends; a thread renews the lease meanwhile. `limit` is the check's max duration."""

    def __init__(self, database: Database, check: CheckRun, *, lease: timedelta, limit: timedelta) -> None:
        self.check = check
        self._limit = limit
        self._ends_at = monotonic_seconds() + limit.total_seconds()
        self._progress: Progress | None = None
        self._database = database
        self._lease = lease
        self._beat_seconds = lease.total_seconds() / BEATS_PER_LEASE
        self._ended = threading.Event()
        self._order: EvenhandError | None = None
        self._turn = threading.Lock()
        self._stored_at = float("-inf")
        self._thread = threading.Thread(target=self._keep, name=f"lease-{check.id}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join(self._beat_seconds)

    def report(self, progress: Progress) -> None:
        """Stores the progress, at most once every `REPORT_SECONDS`; may be called from several threads.

        Raises:
            CheckCancelled: the check was cancelled on request.
            CheckTooLong: it has used up its time.
            LeaseLost: the check is no longer ours, or the worker is stopping.
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
        """Returns while the check may continue.

        Raises:
            CheckCancelled, CheckTooLong, LeaseLost: as `report`.
        """
        if self._order is not None:
            raise self._order
        if monotonic_seconds() > self._ends_at:
            progress, minutes = self._progress, self._limit.total_seconds() / 60
            at = "" if progress is None else f" It was {progress.step}"
            if progress is not None and progress.total:
                at += f", {progress.done:,} of {progress.total:,} done"
            raise CheckTooLong(
                f"The check was stopped because it had used up the {minutes:g} minutes that a check has.{at}{'.' if at else ''}"
                " Let the model's endpoint answer faster (a larger page size or concurrency, if it can take them), lower the monitor's"
                " max_records, or give checks more time with EVENHAND_CHECK_MINUTES."
            )

    def give_up(self) -> None:
        """Releases the check so that another worker can claim it at once. Code that still works on it here can store nothing any more."""
        try:
            with self._database.transaction() as session:
                release(session, self.check)
        except (Unavailable, SQLAlchemyError) as error:
            log.warning("release_failed", check=self.check.id, error=str(error))  # the lease expires by itself
        except LeaseLost:
            return
        self._order = LeaseLost(f"Check {self.check.id} was handed back, because its worker is stopping.")

    def _keep(self) -> None:
        pause = self._beat_seconds
        while not self._ended.wait(pause) and self._order is None:
            pause = self._beat_seconds if self._renew() else min(1.0, self._beat_seconds)

    def _renew(self, progress: Progress | None = None) -> bool:
        """Returns whether the database answered. If it did not, the check goes on: only the database can say that the lease is gone."""
        try:
            with self._database.transaction() as session:
                cancel_requested = renew(session, self.check, lease=self._lease, progress=progress)
        except LeaseLost as error:
            self._order = error
        except (Unavailable, SQLAlchemyError) as error:
            log.warning("heartbeat_failed", check=self.check.id, error=str(error))
            return False
        else:
            if cancel_requested:
                self._order = CheckCancelled(f"Check {self.check.id} was cancelled on request.")
        return True
