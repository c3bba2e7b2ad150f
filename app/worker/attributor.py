"""Keeps the lease of claimed work, and runs queued attributions on threads next to the checks."""

import secrets
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Self

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ..base.clock import monotonic_seconds
from ..base.errors import CheckCancelled, CheckTooLong, EvenhandError, LeaseLost, Unavailable
from ..base.polling import join_threads, work_until
from ..base.values import frozen
from ..checks.lease_queries import CHECK_POLICY, release_check, renew_lease
from ..database.engine import Database
from ..domain.check import CheckRun, Progress
from ..evidence.attribution.attribution import AttributionRun, AttributionTrigger
from ..evidence.attribution.queries import (
    claim_attribution,
    end_abandoned,
    fail_attribution,
    forget_answers,
    release_attribution,
    renew_attribution,
    stop_attribution,
)

REPORT_SECONDS = 1.0


@frozen
class LeasedWork:
    """Work under a lease. `name` is for people, `advice` says what to do when it takes too long.

    `renew` keeps the lease and stores the progress; it returns whether to cancel.
    """

    name: str
    advice: str
    renew: Callable[..., bool]
    release: Callable[[Session], None]


def build_leased_check(check: CheckRun) -> LeasedWork:
    advice = (
        "Let the model's endpoint answer faster (a larger page size or concurrency, if it can take them), "
        "lower the monitor's max_records, or give checks more time with EVENHAND_CHECK_MINUTES."
    )
    return LeasedWork(
        f"check {check.id}", advice, partial(renew_lease, check=check), partial(release_check, check=check)
    )


def build_leased_attribution(run: AttributionRun) -> LeasedWork:
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
    """Keeps the lease of work while it is done; learns when it must stop."""

    def __init__(self, database: Database, work: LeasedWork, *, lease: timedelta, limit: timedelta) -> None:
        self.work = work
        self._limit = limit
        self._ends_at = monotonic_seconds() + limit.total_seconds()
        self._progress: Progress | None = None
        self._database = database
        self._lease = lease
        self._beat_seconds = lease.total_seconds() / 3
        self._ended = threading.Event()
        self._stop_error: EvenhandError | None = None
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
        """Stores the progress at most once every `REPORT_SECONDS`; safe for threads.

        Raises CheckCancelled, CheckTooLong, and LeaseLost, also when the worker is stopping.
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
        if self._stop_error is not None:
            raise self._stop_error
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
        try:
            with self._database.transaction() as session:
                self.work.release(session)
        except (Unavailable, SQLAlchemyError) as error:
            log.warning("release_failed", work=self.work.name, error=str(error))
        except LeaseLost:
            return
        self._stop_error = LeaseLost(f"The {self.work.name} was handed back, because its worker is stopping.")

    def _keep(self) -> None:
        pause = self._beat_seconds
        while not self._ended.wait(pause) and self._stop_error is None:
            pause = self._beat_seconds if self._renew() else min(1.0, self._beat_seconds)

    def _renew(self, progress: Progress | None = None) -> bool:
        """Returns False if the database did not answer: the work goes on."""
        try:
            with self._database.transaction() as session:
                cancel_requested = self.work.renew(session, lease=self._lease, progress=progress)
        except LeaseLost as error:
            self._stop_error = error
        except (Unavailable, SQLAlchemyError) as error:
            log.warning("heartbeat_failed", work=self.work.name, error=str(error))
            return False
        else:
            if cancel_requested:
                self._stop_error = CheckCancelled(f"The {self.work.name} was cancelled on request.")
        return True


QUEUES = ((AttributionTrigger.MANUAL, AttributionTrigger.NIGHTLY), (AttributionTrigger.ALERT,))
"""Triggers by thread. An alert does not wait for a slow model."""

ATTRIBUTORS = len(QUEUES)

INTERRUPTED = (
    "The attribution was interrupted {attempts} times before it could end: its worker stopped, or lost the "
    "database. The logs of the workers say why; request it again once they run."
)

log = structlog.get_logger(__name__)


class Attributor:
    """Threads that run attributions. `perform` gets a run, and `report` for its progress."""

    def __init__(self, database: Database, perform: Callable[..., None], *, limit: timedelta) -> None:
        self._database = database
        self._perform = perform
        self._limit = limit
        self._held: set[HeldWork] = set()
        self._threads: list[threading.Thread] = []

    def start(self, stop: threading.Event) -> None:
        for no, triggers in enumerate(QUEUES):
            args = (stop, partial(self.run_next, triggers))
            thread = threading.Thread(target=work_until, args=args, name=f"attributor-{no}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def join(self, seconds: float) -> None:
        # Threads remove theirs meanwhile.
        for work in tuple(self._held):
            work.give_up()
        join_threads(self._threads, seconds)

    def run_next(self, triggers: Sequence[AttributionTrigger]) -> bool:
        """False if none was queued. Raises LeaseLost and Unavailable."""
        attempts = CHECK_POLICY.max_attempts
        lease = CHECK_POLICY.lease
        with self._database.transaction() as session:
            end_abandoned(session, max_attempts=attempts, problem=INTERRUPTED.format(attempts=attempts))
            forget_answers(session)
            run = claim_attribution(session, token=secrets.token_hex(16), lease=lease, triggers=triggers)
        if run is None:
            return False
        labels = {
            "attribution": run.id,
            "deployment": run.deployment_id,
            "trigger": run.trigger.value,
            "attempt": run.attempts,
        }
        with (
            structlog.contextvars.bound_contextvars(**labels),
            HeldWork(self._database, build_leased_attribution(run), lease=lease, limit=self._limit) as work,
        ):
            self._held.add(work)
            try:
                log.info("attribution_started")
                self._perform(run, report=work.report)
                log.info("attribution_ended")
            except (LeaseLost, Unavailable, SQLAlchemyError):
                raise
            except CheckCancelled:
                with self._database.transaction() as session:
                    stop_attribution(session, run)
                log.info("attribution_cancelled")
            except EvenhandError as error:
                log.warning("attribution_failed", reason=str(error))
                self._fail(run, str(error))
            except Exception:  # logged; others must go on
                log.exception("attribution_broke")
                self._fail(
                    run,
                    "Evenhand itself failed on this attribution. The worker's log has the details under "
                    f"attribution {run.id}.",
                )
            finally:
                self._held.discard(work)
        return True

    def _fail(self, run: AttributionRun, problem: str) -> None:
        with self._database.transaction() as session:
            fail_attribution(session, run, problem=problem)
