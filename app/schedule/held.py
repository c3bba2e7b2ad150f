"""A claimed check in a worker's hands: its lease kept alive, its progress passed on, orders to stop received."""

import threading
from datetime import timedelta
from types import TracebackType
from typing import Self

import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.clock import monotonic_seconds
from app.domain.checks import CheckRun, Progress
from app.errors import CheckCancelled, EvenhandError, LeaseLost, Unavailable
from app.store.engine import Database
from app.store.leases import release, renew

BEATS_PER_LEASE = 3
"""A lease survives two missed heartbeats."""

REPORT_SECONDS = 1.0
"""Progress is stored at most this often, however often it is reported."""

log = structlog.get_logger(__name__)


class HeldCheck:
    """Holds a claimed check until the `with` block ends; a thread renews the lease meanwhile."""

    def __init__(self, database: Database, check: CheckRun, *, lease: timedelta) -> None:
        self.check = check
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
        """Stores the progress, but not more often than `REPORT_SECONDS`; may be called from several threads.

        Raises:
            CheckCancelled: a person asked to cancel the check.
            LeaseLost: the check is no longer ours, or the worker is stopping.
        """
        self._obey()
        with self._turn:
            if monotonic_seconds() - self._stored_at < REPORT_SECONDS:
                return
            self._stored_at = monotonic_seconds()
            self._renew(progress)
        self._obey()

    def give_up(self) -> None:
        """Hands the check back for another worker to take at once. Whoever still works on it here can store nothing any more."""
        try:
            with self._database.transaction() as session:
                release(session, self.check)
        except (Unavailable, SQLAlchemyError) as error:
            log.warning("release_failed", check=self.check.id, error=str(error))  # the lease runs out by itself
        except LeaseLost:
            return
        self._order = LeaseLost(f"Check {self.check.id} was handed back, because its worker is stopping.")

    def _obey(self) -> None:
        if self._order is not None:
            raise self._order

    def _keep(self) -> None:
        pause = self._beat_seconds
        while not self._ended.wait(pause) and self._order is None:
            pause = self._beat_seconds if self._renew() else min(1.0, self._beat_seconds)

    def _renew(self, progress: Progress | None = None) -> bool:
        """Whether the database answered. If it did not, the check goes on: only the database can say that the lease is gone."""
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
