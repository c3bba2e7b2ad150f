"""The worker: claims checks one after the other, several at a time, and sees each to its end.

How a check is done is none of its business: that is handed in (`Perform`).
"""

import random
import secrets
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Protocol

import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.alerts.sending import Sender
from app.checks.check import perform_check
from app.checks.rescoring import Report
from app.clock import monotonic_seconds
from app.domain.checks import CheckRun, CheckState, Failure
from app.errors import CheckCancelled, EvenhandError, InvalidInput, LeaseLost, NotFound, ScoringFailed, SetupError, Unavailable
from app.mitigation.passive import mitigate_window
from app.schedule.held import HeldCheck
from app.schedule.notifier import SENDERS, Notifier
from app.schedule.ticker import JOBS, started_ticker
from app.security.secrets import open_secret_box
from app.settings import Settings
from app.store.checks import get
from app.store.engine import Database
from app.store.leases import LEASE, claim, fail, finish
from app.telemetry import metrics as telemetry

POLL_SECONDS = 1.0
"""The longest that a queued check waits for an idle worker; workers spread themselves over the half second before."""

LONGEST_PAUSE_SECONDS = 10.0
"""Between two tries to reach a database that is away."""

STOP_SECONDS = 10.0
"""How long a stopping worker waits for its checks to notice. They were handed back before, so nothing is lost after it."""

CONNECTIONS_PER_CHECK = 3
"""One for the check itself, one for its heartbeat, one to spare."""

log = structlog.get_logger(__name__)


class Perform(Protocol):
    """Does one check and stores its end, or raises."""

    def __call__(self, check: CheckRun, *, report: Report) -> None:
        """See `app.checks.check.perform_check`."""


def run_worker(settings: Settings, stop: threading.Event) -> None:
    """Queues what is due, runs checks and sends notifications until `stop` is set; a database that goes away is waited for.

    Raises:
        SetupError: there is no DATABASE_URL, or the secret key, the allow-list or the mail server cannot be used.
    """
    if settings.database_url is None:
        raise SetupError("A worker needs DATABASE_URL.")
    concurrency = settings.worker_concurrency
    database = Database(settings.database_url.get_secret_value(), pool_size=CONNECTIONS_PER_CHECK * concurrency + SENDERS + JOBS)
    sealer = open_secret_box(settings)
    perform = partial(perform_check, database=database, sealer=sealer, allowlist=settings.allowed_endpoints, further=mitigate_window)
    notifier = Notifier(database, Sender.of(settings, sealer).send)
    ticker = started_ticker(database, worker_id=str(uuid.uuid4()))
    notifier.start(stop)
    try:
        Worker(database, perform, concurrency=concurrency).run(stop)
    finally:
        ticker.shutdown(wait=False)
        notifier.join(STOP_SECONDS)
        database.close()


class Worker:
    """Runs up to `concurrency` checks at a time."""

    def __init__(self, database: Database, perform: Perform, *, concurrency: int, lease: timedelta = LEASE) -> None:
        self._database = database
        self._perform = perform
        self._concurrency = concurrency
        self._lease = lease
        self._held: set[HeldCheck] = set()

    def run(self, stop: threading.Event) -> None:
        """Works until `stop` is set; then hands back what runs, so that another worker takes it at once."""
        threads = [threading.Thread(target=self._work, args=(stop,), name=f"checks-{no}", daemon=True) for no in range(self._concurrency)]
        for thread in threads:
            thread.start()
        log.info("worker_started", concurrency=self._concurrency)
        while not stop.wait(POLL_SECONDS):
            if not all(thread.is_alive() for thread in threads):
                raise RuntimeError("A thread of the worker died. The process ends, so that a fresh one takes its place.")
        for held in tuple(self._held):
            held.give_up()
        deadline = monotonic_seconds() + STOP_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - monotonic_seconds()))
        log.info("worker_stopped")

    def _work(self, stop: threading.Event) -> None:
        pause = POLL_SECONDS
        while not stop.is_set():
            try:
                check = self._claim()
            except (Unavailable, SQLAlchemyError) as error:
                log.warning("claim_failed", error=str(error), next_try_seconds=pause)
                stop.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
                continue
            pause = POLL_SECONDS
            if check is None:
                stop.wait(random.uniform(POLL_SECONDS / 2, POLL_SECONDS))  # noqa: S311 - spreads the workers, no secret
            else:
                self._run(check, stop)

    def _claim(self) -> CheckRun | None:
        with self._database.transaction() as session:
            return claim(session, token=secrets.token_hex(16), lease=self._lease)

    def _run(self, check: CheckRun, stop: threading.Event) -> None:
        about = {"check": check.id, "deployment": check.deployment_id, "attempt": check.attempts}
        with structlog.contextvars.bound_contextvars(**about), self._holding(check) as held:
            if stop.is_set():  # claimed in the moment that `run` handed back all others
                held.give_up()
                return
            log.info("check_started", trigger=check.trigger, span_start=check.span.start.isoformat())
            started = monotonic_seconds()
            try:
                self._see_to_its_end(check, held.report)
            except LeaseLost as error:
                log.warning("check_left", reason=str(error))
            except (Unavailable, SQLAlchemyError) as error:
                log.warning("check_interrupted", reason=str(error))  # tried again when the lease has run out
            else:
                self._note_end(check, monotonic_seconds() - started)

    @contextmanager
    def _holding(self, check: CheckRun) -> Iterator[HeldCheck]:
        with HeldCheck(self._database, check, lease=self._lease) as held:
            self._held.add(held)
            try:
                yield held
            finally:
                self._held.discard(held)

    def _see_to_its_end(self, check: CheckRun, report: Report) -> None:
        try:
            self._perform(check, report=report)
        except (LeaseLost, Unavailable):
            raise
        except CheckCancelled:
            with self._database.transaction() as session:
                finish(session, check, state=CheckState.CANCELLED, window=None, reason="Cancelled on request.")
        except EvenhandError as error:
            self._fail(check, str(error), _kind_of(error))
        except Exception:  # a fault of ours in one check must not stop the others: logged with its traceback, told by the check's id
            log.exception("check_broke")
            reason = f"Evenhand itself failed on this check. The worker's log has the details under check {check.id}."
            self._fail(check, reason, Failure.OTHER)

    def _fail(self, check: CheckRun, reason: str, failure: Failure) -> None:
        with self._database.transaction() as session:
            fail(session, check, reason=reason, failure=failure)

    def _note_end(self, check: CheckRun, seconds: float) -> None:
        try:
            with self._database.transaction() as session:
                ended = get(session, check.deployment_no, check.id)
        except NotFound:  # deleted with its deployment
            return
        telemetry.checks.labels(ended.state.value).inc()
        telemetry.check_seconds.observe(seconds)
        log.info("check_ended", state=ended.state, seconds=round(seconds, 3), reason=ended.reason, next_attempt_at=ended.next_attempt_at)


def _kind_of(error: EvenhandError) -> Failure:
    if isinstance(error, ScoringFailed):
        return Failure.SCORING_FAILED
    return Failure.INVALID_INPUT if isinstance(error, InvalidInput) else Failure.OTHER
