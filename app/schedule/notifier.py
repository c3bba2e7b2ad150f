"""The notifier: sends what is queued, a few at a time, beside the checks and never in their way."""

import random
import secrets
import threading
from datetime import datetime, timedelta
from typing import Protocol

import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.alerts.attempts import Delivered, Undelivered, pause_after
from app.clock import monotonic_seconds, utc_now
from app.domain.notifications import NotificationState
from app.errors import LeaseLost, Unavailable
from app.store.engine import Database
from app.store.notifications import LEASE, ClaimedNotification, claim, record_failed, record_sent
from app.telemetry.metrics import notifications as counter

SENDERS = 4
"""Notifications that one worker process sends at the same time, each to another channel."""

POLL_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 10.0
"""Between two tries to reach a database that is away."""

log = structlog.get_logger(__name__)


class Send(Protocol):
    """Makes one attempt at a claimed notification and says how it ended. See `app.alerts.sending.Sender.send`."""

    def __call__(self, claimed: ClaimedNotification, *, now: datetime) -> Delivered | Undelivered:
        """The end of the attempt."""


class Notifier:
    """Sends up to `SENDERS` notifications at a time, between `start` and the event that it was started with."""

    def __init__(self, database: Database, send: Send, *, lease: timedelta = LEASE) -> None:
        self._database = database
        self._send = send
        self._lease = lease
        self._threads: list[threading.Thread] = []

    def start(self, stop: threading.Event) -> None:
        """Begins to send, in threads of its own, until `stop` is set."""
        self._threads = [threading.Thread(target=self._work, args=(stop,), name=f"notifier-{no}", daemon=True) for no in range(SENDERS)]
        for thread in self._threads:
            thread.start()

    def join(self, seconds: float) -> None:
        """Waits for attempts under way, but not longer than that: one that is cut off is made again when its lease has run out."""
        deadline = monotonic_seconds() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - monotonic_seconds()))

    def _work(self, stop: threading.Event) -> None:
        pause = POLL_SECONDS
        while not stop.is_set():
            try:
                claimed = self._claim()
                if claimed is not None:
                    self._see_to(claimed)
            except LeaseLost as error:
                log.warning("notification_left", reason=str(error))
            except (Unavailable, SQLAlchemyError) as error:
                log.warning("notifier_interrupted", error=str(error), next_try_seconds=pause)
                stop.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            except Exception:  # whatever nobody foresaw must not end the thread: nobody would be told of anything any more
                log.exception("notifier_broke")
                stop.wait(LONGEST_PAUSE_SECONDS)
            else:
                pause = POLL_SECONDS
                if claimed is None:
                    stop.wait(random.uniform(POLL_SECONDS / 2, POLL_SECONDS))  # noqa: S311 - spreads the senders, no secret

    def _claim(self) -> ClaimedNotification | None:
        with self._database.transaction() as session:
            return claim(session, token=secrets.token_hex(16), lease=self._lease)

    def _see_to(self, claimed: ClaimedNotification) -> None:
        notification, channel = claimed.notification, claimed.channel
        about = {"notification": notification.id, "channel": channel.id, "kind": channel.kind.value, "attempt": notification.attempts}
        with structlog.contextvars.bound_contextvars(**about):
            outcome = self._attempt(claimed)
            if isinstance(outcome, Delivered):
                with self._database.transaction() as session:
                    record_sent(session, claimed, remark=outcome.remark)
                counter.labels(channel.kind.value, "sent").inc()
                log.info("notification_sent", remark=outcome.remark)
            else:
                self._record_failed(claimed, outcome)

    def _attempt(self, claimed: ClaimedNotification) -> Delivered | Undelivered:
        try:
            return self._send(claimed, now=utc_now())
        except Exception:  # a fault of ours in one notification must not stop the others: logged with its traceback, told by its id
            log.exception("notification_broke")
            reason = f"Evenhand itself failed on this notification. The worker's log has the details under {claimed.notification.id}."
            return Undelivered(reason=reason, is_refused=True)

    def _record_failed(self, claimed: ClaimedNotification, failure: Undelivered) -> None:
        pause = pause_after(claimed.notification.attempts, failure, utc_now())
        with self._database.transaction() as session:
            state = record_failed(session, claimed, error=failure.reason, is_refused=failure.is_refused, pause=pause)
        is_over = state is NotificationState.GIVEN_UP
        counter.labels(claimed.channel.kind.value, "given_up" if is_over else "retried").inc()
        log.warning(
            "notification_given_up" if is_over else "notification_failed", reason=failure.reason, pause_seconds=pause.total_seconds()
        )
