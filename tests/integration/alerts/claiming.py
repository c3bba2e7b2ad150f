"""What the tests of delivery ask of the queue of notifications."""

import secrets
from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import text

from app.alerts.channels.channel import Channel
from app.alerts.channels.notification import NOTIFICATION_LEASE, NotificationState, choose_state_after_failure
from app.alerts.channels.notification_queries import ClaimedNotification, claim_notification, record_failed, record_sent
from app.database.engine import Database, current_time
from tests.integration.alerts.telling import (
    sent_to,
)
from tests.progress import wait_until


def states(database: Database, channel: Channel) -> list[NotificationState]:
    return [notification.state for notification in sent_to(database, channel)]


def claimed_by(database: Database, sender_no: int = 1) -> ClaimedNotification:
    with database.transaction() as session:
        found = claim_notification(session, token=f"sender {sender_no}", lease=NOTIFICATION_LEASE)
    assert found is not None
    return found


def nothing_to_claim(database: Database) -> bool:
    with database.transaction() as session:
        return claim_notification(session, token=secrets.token_hex(), lease=NOTIFICATION_LEASE) is None


def fail(database: Database, claimed: ClaimedNotification, *, is_refused: bool = False, pause: timedelta = timedelta(hours=1)) -> None:
    with database.transaction() as session:
        state = choose_state_after_failure(claimed.notification, is_refused=is_refused, now=current_time(session))
        record_failed(session, claimed, error="It failed.", state=state, pause=pause)


def end(database: Database, claimed: ClaimedNotification) -> None:
    with database.transaction() as session:
        record_sent(session, claimed, remark=None)


def wait_without_pauses(database: Database, holds: Callable[[], bool]) -> None:
    """Returns as soon as it holds; meanwhile every pause before another attempt passes at once."""

    def holds_now() -> bool:
        with database.transaction() as session:
            session.execute(text("UPDATE notifications SET claimable_at = now() WHERE claimable_at > now() AND lease_token IS NULL"))
        return holds()

    wait_until(holds_now)
