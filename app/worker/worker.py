"""The worker: claims checks, several at a time, and runs each to its end."""

import secrets
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..access.secret_box import open_secret_box
from ..alerts.channels.notifier import MAX_SENDERS, Notifier, Sender
from ..base.clock import monotonic_seconds
from ..base.errors import (
    CheckCancelled,
    CheckTooLong,
    EvenhandError,
    InvalidInput,
    LeaseLost,
    NotFound,
    ScoringFailed,
    SetupError,
    Unavailable,
)
from ..base.polling import POLL_SECONDS, Pauses, join_threads
from ..base.settings import CHECK_MINUTES, Settings
from ..base.telemetry import prometheus as telemetry
from ..base.telemetry.traces import check_span, describe_span
from ..calls.egress_policy import EgressPolicy, read_policy
from ..calls.pinned_transport import identify_installation
from ..checks.check import perform_check
from ..checks.lease_queries import CHECK_POLICY, CheckPolicy, claim_check, finish_check
from ..checks.queries import get_check
from ..checks.schedule.worker_queries import name_installation, read_exposed_address
from ..checks.window.window import TablePlaces
from ..database.engine import Database
from ..domain.check import CheckRun, CheckState, Failure
from ..mitigation.window.mitigate_window import mitigate_window
from ..sources.tables.table_files import open_engine
from .attribute import perform_attribution
from .attributor import ATTRIBUTORS, Attributor, HeldWork, build_leased_check
from .looks import MAX_JOBS, look_for_reports, start_ticker

STOP_SECONDS = 10.0

CONNECTIONS_PER_CHECK = 3

_FAILURES = {
    ScoringFailed: Failure.SCORING_FAILED,
    InvalidInput: Failure.INVALID_INPUT,
    CheckTooLong: Failure.TIMED_OUT,
}

MAX_ASKING_PER_SLOT = 8
"""Max checks per slot that wait for their model. Each holds its window in memory."""

_LOOK_SECONDS = 1.0

log = structlog.get_logger(__name__)


class Slots:
    """Checks that compute at the same time; more may wait for their models meanwhile."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._room = count * (1 + MAX_ASKING_PER_SLOT)
        self._returning = 0
        self._changed = threading.Condition()

    def take(self, seconds: float) -> "Slot | None":
        """None if none becomes free in time, or too many checks wait for their models."""
        with self._changed:
            if not self._changed.wait_for(
                lambda: self._free > self._returning and self._room > 0, timeout=seconds
            ):
                return None
            self._free -= 1
            self._room -= 1
            return Slot(self)

    def give_back(self, *, is_over: bool, had_slot: bool) -> None:
        with self._changed:
            self._free += had_slot
            self._room += is_over
            self._changed.notify_all()

    def take_again(self, check_stop: Callable[[], None]) -> None:
        with self._changed:
            self._returning += 1
            try:
                while self._free == 0:
                    check_stop()
                    self._changed.wait(_LOOK_SECONDS)
                self._free -= 1
            finally:
                self._returning -= 1
                self._changed.notify_all()


class Slot:
    """Place of one check among those that compute."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._is_held = True

    @contextmanager
    def lend(self, check_stop: Callable[[], None]) -> Iterator[None]:
        """`check_stop` raises if the check must stop."""
        self._is_held = False
        self._slots.give_back(is_over=False, had_slot=True)
        yield  # the check ends without a slot
        self._slots.take_again(check_stop)
        self._is_held = True

    def end(self) -> None:
        self._slots.give_back(is_over=True, had_slot=self._is_held)


def run_worker(settings: Settings, stop: threading.Event) -> None:
    if settings.database_url is None:
        raise SetupError("A worker needs DATABASE_URL.")
    concurrency = settings.worker_concurrency
    running = CONNECTIONS_PER_CHECK * (concurrency + ATTRIBUTORS)
    database = Database(settings.database_url.get_secret_value(), pool_size=running + MAX_SENDERS + MAX_JOBS)
    sealer = open_secret_box(settings)
    egress = build_egress(settings, database)
    places = TablePlaces(
        settings.table_folders, settings.answers_dir, open_engine(settings.engine, settings.spark_url)
    )
    perform = partial(
        perform_check, database=database, sealer=sealer, egress=egress, further=mitigate_window, places=places
    )
    notifier = Notifier(database, Sender(settings, sealer, egress).send)
    limit = timedelta(minutes=settings.check_minutes)
    attributor = Attributor(
        database, partial(perform_attribution, database=database, sealer=sealer, egress=egress), limit=limit
    )
    ticker = start_ticker(database, worker_id=str(uuid.uuid4()), places=places)
    ticker.add_job(look_for_reports, "interval", (database, sealer), seconds=10)
    notifier.start(stop)
    attributor.start(stop)
    try:
        Worker(database, perform, concurrency=concurrency, limit=limit).run(stop)
    finally:
        ticker.shutdown(wait=False)
        attributor.join(STOP_SECONDS)
        notifier.join(STOP_SECONDS)
        database.close()


def build_egress(settings: Settings, database: Database) -> Callable[[], EgressPolicy]:
    """An address that is not set is the newest service's."""
    policy = read_policy(settings)

    def egress() -> EgressPolicy:
        with database.transaction() as session:
            identify_installation(name_installation(session))
            return replace(policy, exposed_on=policy.exposed_on or read_exposed_address(session))

    return egress


class Worker:
    """Claims checks and runs them on threads.

    `perform` gets a check, `report` for its progress, and `waiting`, entered while its model is called.
    """

    def __init__(
        self,
        database: Database,
        perform: Callable[..., None],
        *,
        concurrency: int,
        policy: CheckPolicy = CHECK_POLICY,
        limit: timedelta = timedelta(minutes=CHECK_MINUTES),
    ) -> None:
        self._database = database
        self._perform = perform
        self._concurrency = concurrency
        self._slots = Slots(concurrency)
        self._policy = policy
        self._limit = limit
        self._held: set[HeldWork] = set()
        self._threads: set[threading.Thread] = set()
        self._thread_error: BaseException | None = None

    def run(self, stop: threading.Event) -> None:
        log.info("worker_started", concurrency=self._concurrency)
        pauses = Pauses(stop)
        while not stop.is_set():
            if self._thread_error is not None:
                raise RuntimeError(
                    "A thread of the worker died. The process ends, so that a fresh one takes its place."
                ) from self._thread_error
            slot = self._slots.take(POLL_SECONDS)
            if slot is None:
                continue
            check = self._claim(slot, pauses)
            if check is not None:
                thread = threading.Thread(
                    target=self._run_thread, args=(check, slot, stop), name=f"check-{check.id}", daemon=True
                )
                self._threads.add(thread)
                thread.start()

        # Threads remove themselves meanwhile.
        for work in tuple(self._held):
            work.give_up()
        join_threads(tuple(self._threads), STOP_SECONDS)
        log.info("worker_stopped")

    def _claim(self, slot: Slot, pauses: Pauses) -> CheckRun | None:
        try:
            with self._database.transaction() as session:
                check = claim_check(session, token=secrets.token_hex(16), policy=self._policy)
        except (Unavailable, SQLAlchemyError) as error:
            slot.end()
            log.warning("claim_failed", error=str(error), next_try_seconds=pauses.next_try_seconds)
            pauses.wait_for_database()
            return None
        pauses.end_outage()
        if check is None:
            slot.end()
            pauses.wait_for_work()
        return check

    def _run_thread(self, check: CheckRun, slot: Slot, stop: threading.Event) -> None:
        labels: dict[str, str | int] = {
            "check": check.id,
            "deployment": check.deployment_id,
            "attempt": check.attempts,
        }
        try:
            with (
                structlog.contextvars.bound_contextvars(**labels),
                check_span(check.traceparent, {f"evenhand.{name}": value for name, value in labels.items()}),
                HeldWork(
                    self._database, build_leased_check(check), lease=self._policy.lease, limit=self._limit
                ) as work,
            ):
                self._held.add(work)
                try:
                    self._run_check(check, work, slot, stop)
                finally:
                    self._held.discard(work)
        except BaseException as error:  # noqa: BLE001 - `run` raises it where it ends the process
            self._thread_error = error
        finally:
            slot.end()
            self._threads.discard(threading.current_thread())

    def _run_check(self, check: CheckRun, work: HeldWork, slot: Slot, stop: threading.Event) -> None:
        if stop.is_set():  # claimed as `run` released all others
            work.give_up()
            return
        log.info("check_started", trigger=check.trigger, span_start=check.span.start.isoformat())
        started = monotonic_seconds()
        try:
            self._perform_check(check, work, slot)
        except LeaseLost as error:
            log.warning("check_left", reason=str(error))
            return
        except (Unavailable, SQLAlchemyError) as error:
            log.warning("check_interrupted", reason=str(error))  # retried when the lease expires
            return

        seconds = monotonic_seconds() - started
        try:
            with self._database.transaction() as session:
                ended = get_check(session, check.deployment_no, check.id)
        except NotFound:  # deleted with its deployment
            return
        describe_span({"evenhand.state": ended.state.value}, has_failed=ended.state is CheckState.FAILED)
        telemetry.checks.labels(ended.state.value).inc()
        telemetry.check_seconds.observe(seconds)
        log.info(
            "check_ended",
            state=ended.state,
            seconds=round(seconds, 3),
            reason=ended.reason,
            next_attempt_at=ended.next_attempt_at,
        )

    def _perform_check(self, check: CheckRun, work: HeldWork, slot: Slot) -> None:
        """Stores a failure; raises if the database is away or the lease is lost."""
        try:
            self._perform(check, report=work.report, waiting=partial(slot.lend, work.check_stop))
        except (LeaseLost, Unavailable):
            raise
        except CheckCancelled:
            with self._database.transaction() as session:
                finish_check(
                    session,
                    check,
                    state=CheckState.CANCELLED,
                    alerts_due=False,
                    reason="Cancelled on request.",
                )
        except EvenhandError as error:
            kinds = (kind for error_class, kind in _FAILURES.items() if isinstance(error, error_class))
            model_answer = error.quotation if isinstance(error, ScoringFailed) else None
            self._fail(check, str(error), next(kinds, Failure.OTHER), model_answer)
        except Exception:  # logged; others must go on
            log.exception("check_broke")
            reason = (
                "Evenhand itself failed on this check. The worker's log has the details under check "
                f"{check.id}."
            )
            self._fail(check, reason, Failure.OTHER)

    def _fail(self, check: CheckRun, reason: str, failure: Failure, model_answer: str | None = None) -> None:
        with self._database.transaction() as session:
            alerts_due = self._policy.alerts_follow(check, CheckState.FAILED)
            pause = self._policy.retry_after(check, failure)
            finish_check(
                session,
                check,
                state=CheckState.FAILED,
                reason=reason,
                failure=failure,
                model_answer=model_answer,
                retry_after=pause,
                alerts_due=alerts_due,
            )
