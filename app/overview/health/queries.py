"""The state of the store, in a few numbers."""

import math
from datetime import datetime

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from ...checks.schedule.worker_queries import read_workers_seen
from ...database.migrations import find_newest_revision, is_newer, read_revision
from ...database.partitions import count_months_ahead
from ...database.tables import CheckRow
from ...domain.check import CheckState


def count_checks(session: Session) -> dict[str, int]:
    rows = session.execute(select(CheckRow.state, func.count()).group_by(CheckRow.state))
    return {state.value: 0 for state in CheckState} | dict(rows.all())


_VITALS = text("""
    SELECT (SELECT min(claimable_at) FROM checks) AS claimable_at,
           (SELECT max(minute) FROM record_counts) AS newest_minute,
           (SELECT min(span_end) FROM checks WHERE trigger = 'schedule' AND state IN ('queued', 'running'))
               AS unchecked_since,
           (SELECT count(*) FROM erasures WHERE finished_at IS NULL) AS erasures,
           (SELECT count(*) FROM deployments) AS deployments,
           count(*) AS waiting, min(created_at) AS written_at
    FROM notifications WHERE claimable_at IS NOT NULL
""")


def read_vitals(session: Session, now: datetime) -> tuple[tuple[str, str, float], ...]:
    """Reads name, meaning and value of each gauge.

    Ages and the delay are 0 where nothing waits. The queue's is the time for which its oldest check has been
    claimable. The age of the newest record is infinite beyond two hours.
    """
    stored = session.execute(_VITALS).one()
    newest = _age(stored.newest_minute, now) if stored.newest_minute else math.inf
    return (
        ("evenhand_queue_age_seconds", "Age of the oldest check that waits.", _age(stored.claimable_at, now)),
        ("evenhand_notifications_waiting", "Notifications that are not yet delivered.", stored.waiting),
        ("evenhand_notification_age_seconds", "Age of the oldest of them.", _age(stored.written_at, now)),
        (
            "evenhand_workers_answering",
            "Workers that gave a heartbeat in the last 45 seconds.",
            read_workers_seen(session).answering,
        ),
        ("evenhand_newest_record_age_seconds", "Time since the minute of the newest record.", newest),
        (
            "evenhand_check_delay_seconds",
            "Time since the end of the oldest hour that is not checked.",
            _age(stored.unchecked_since, now),
        ),
        ("evenhand_erasures_waiting", "Erasures without a receipt yet.", stored.erasures),
        (
            "evenhand_months_ahead",
            "Months ahead that records can be stored in.",
            count_months_ahead(session, now),
        ),
        ("evenhand_deployments", "Deployments in the database.", stored.deployments),
    )


def _age(at: datetime | None, now: datetime) -> float:
    # A check is claimable in the future while every check is leased, or waits for its retry.
    return max(0.0, (now - at).total_seconds()) if at else 0.0


def is_migrated(session: Session) -> bool:
    """Returns whether this version can work with the schema: its own, or a later one, which only adds to
    it.
    """
    revision = read_revision(session.connection())
    return revision == find_newest_revision() or (revision is not None and is_newer(revision))
