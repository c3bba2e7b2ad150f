"""Sends queued notifications in parallel with the checks."""

import secrets
import threading
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ...base.clock import utc_now
from ...base.errors import NotFound, SetupError, Unavailable
from ...base.polling import join_threads, work_until
from ...base.settings import Settings
from ...base.telemetry.prometheus import notifications as notification_counter
from ...calls.egress_policy import EgressPolicy
from ...database.engine import Database, Sealer, current_time
from ...domain.alert import Event
from ..rules.rule_queries import lock_alerts
from .bodies import OpenAlertsSentOut
from .channel import Channel, ChannelKind, find_channel_for_change
from .notification import (
    NOTIFICATION_LEASE,
    Attempt,
    Delivered,
    NotificationState,
    Undelivered,
    choose_state_after_failure,
    find_pause_after,
)
from .notification_queries import (
    ClaimedNotification,
    claim_notification,
    count_open_alerts,
    end_pauses,
    list_deployments_with_alerts,
    lock_open_alerts,
    queue_alerts,
    record_failed,
    record_sent,
)

MAX_SENDERS = 4

log = structlog.get_logger(__name__)


_WRONG_KEY = Undelivered(
    reason=(
        "The channel's secret was encrypted with another secret key. Give all processes the key it was "
        "stored with, or send the secret (of Slack: the URL) again."
    )
)


class Sender:
    """Sends a notification by the protocol of its channel, and stores nothing.

    Raises SetupError if the settings of a kind cannot be read.
    """

    def __init__(self, settings: Settings, sealer: Sealer, egress: Callable[[], EgressPolicy]) -> None:
        self._settings = settings
        self._sealer = sealer
        self._egress = egress
        for kind in ChannelKind:
            kind.protocol.find_setup_problem(settings)

    def send(self, claimed: ClaimedNotification, *, now: datetime) -> Delivered | Undelivered:
        channel = claimed.channel
        protocol = channel.kind.protocol
        secret = ""
        if protocol.sealed_field is not None:
            try:
                secret = self._sealer.unseal(channel.sealed or b"").decode()
            except SetupError:
                return _WRONG_KEY
        return protocol.send(
            Attempt(
                id=claimed.notification.id,
                body=claimed.notification.body,
                url=channel.url,
                to=channel.to,
                secret=secret,
                now=now,
                settings=self._settings,
                egress=self._egress,
                attachment=claimed.attachment,
            )
        )


class Notifier:
    """Sends notifications with `MAX_SENDERS` threads, each by `send(claimed, now=...)`."""

    def __init__(
        self,
        database: Database,
        send: Callable[..., Delivered | Undelivered],
        *,
        lease: timedelta = NOTIFICATION_LEASE,
    ) -> None:
        self._database = database
        self._send = send
        self._lease = lease
        self._threads: list[threading.Thread] = []

    def start(self, stop: threading.Event) -> None:
        self._threads = [
            threading.Thread(
                target=work_until, args=(stop, self.send_next), name=f"notifier-{no}", daemon=True
            )
            for no in range(MAX_SENDERS)
        ]
        for thread in self._threads:
            thread.start()

    def join(self, seconds: float) -> None:
        join_threads(self._threads, seconds)

    def send_next(self) -> bool:
        """Returns false if there was none. Raises LeaseLost and Unavailable."""
        with self._database.transaction() as session:
            claimed = claim_notification(session, token=secrets.token_hex(16), lease=self._lease)
        if claimed is None:
            return False
        notification = claimed.notification
        channel = claimed.channel
        about = {
            "notification": notification.id,
            "channel": channel.id,
            "kind": channel.kind,
            "attempt": notification.attempts,
        }
        with structlog.contextvars.bound_contextvars(**about):
            outcome: Delivered | Undelivered
            try:
                outcome = self._send(claimed, now=utc_now())
            except (Unavailable, SQLAlchemyError):  # repeated when the lease expires
                raise
            except Exception:  # logged; others must go on
                log.exception("notification_broke")
                reason = (
                    "Evenhand itself failed on this notification. The worker's log has the details "
                    f"under {notification.id}."
                )
                outcome = Undelivered(reason=reason, is_refused=True)

            if isinstance(outcome, Undelivered):
                pause = find_pause_after(notification.attempts, outcome, utc_now())
                with self._database.transaction() as session:
                    state = choose_state_after_failure(
                        notification, is_refused=outcome.is_refused, now=current_time(session)
                    )
                    record_failed(session, claimed, error=outcome.sentence, state=state, pause=pause)
                is_over = state is NotificationState.GIVEN_UP
                notification_counter.labels(channel.kind, "given_up" if is_over else "retried").inc()
                event = "notification_given_up" if is_over else "notification_failed"
                log.warning(event, reason=outcome.reason, pause_seconds=pause.total_seconds())
                return True

            with self._database.transaction() as session:
                record_sent(session, claimed, remark=outcome.remark)
                if notification.event is Event.TEST:  # the channel works: others need not wait
                    end_pauses(session, channel)
            notification_counter.labels(channel.kind, "sent").inc()
            log.info("notification_sent", remark=outcome.remark)
        return True


MAX_QUEUED_ALERTS = 500
"""In one request."""


def send_open_alerts(
    session: Session, channel: Channel, *, rule_no: int | None = None, again: bool = False
) -> OpenAlertsSentOut:
    """`again` includes alerts that were sent before.

    Doing it twice, also at the same time, sends nothing twice.
    """
    # Order of locks everywhere: alerts of deployments, then channels.
    for deployment_no in list_deployments_with_alerts(session, channel, rule_no):
        lock_alerts(session, deployment_no)
    if find_channel_for_change(session, channel.id) is None:
        raise NotFound("alert channel", channel.id)
    waiting = lock_open_alerts(session, channel, rule_no, with_sent=again)
    queue_alerts(session, channel.no, Event.OPENED, waiting[:MAX_QUEUED_ALERTS])
    queued = min(len(waiting), MAX_QUEUED_ALERTS)
    sent_before = count_open_alerts(session, channel, rule_no) - len(waiting)
    return OpenAlertsSentOut(queued=queued, sent_before=sent_before, left=len(waiting) - queued)
