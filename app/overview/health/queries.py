"""The state of the store, in a few numbers."""

import math
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from ...checks.schedule.worker_queries import workers_seen
from ...database.migrations import is_newer, newest_revision, read_revision
from ...database.partitions import months_ahead
from ...database.tables import CheckRow, DeploymentRow, ErasureRow, NotificationRow, RecordCountRow
from ...domain.check import CheckState, Trigger


def count_checks(session: Session) -> dict[str, int]:
    counted = session.execute(select(CheckRow.state, func.count()).group_by(CheckRow.state))
    return {state.value: 0 for state in CheckState} | dict(counted.all())


def vitals(session: Session, now: datetime) -> tuple[tuple[str, str, float], ...]:
    """Name, meaning and value of each gauge.

    Age of the queue: how long the longest waiting check has been claimable, else 0. Notifications: of the
    oldest not delivered, else 0. Newest record: infinite beyond two hours. Delay: since the end of the
    oldest unchecked scheduled hour, else 0. Months: with a partition.
    """
    oldest = session.scalar(select(func.min(CheckRow.claimable_at)))
    unsent = select(func.count(), func.min(NotificationRow.created_at)).where(
        NotificationRow.claimable_at.is_not(None)
    )
    waiting, written_at = session.execute(unsent).one()
    minute = session.scalar(select(func.max(RecordCountRow.minute)))
    unfinished = (
        CheckRow.trigger == Trigger.SCHEDULE,
        CheckRow.state.in_([CheckState.QUEUED, CheckState.RUNNING]),
    )
    span_end = session.scalar(select(func.min(CheckRow.span_end)).where(*unfinished))
    erasures = session.scalar(select(func.count()).where(ErasureRow.finished_at.is_(None))) or 0
    deployments = session.scalars(select(func.count()).select_from(DeploymentRow)).one()
    newest = _age(minute, now) if minute else math.inf
    return (
        ("evenhand_queue_age_seconds", "Age of the oldest check that waits.", _age(oldest, now)),
        ("evenhand_notifications_waiting", "Notifications that are not yet delivered.", waiting),
        ("evenhand_notification_age_seconds", "Age of the oldest of them.", _age(written_at, now)),
        (
            "evenhand_workers_answering",
            "Workers that gave a heartbeat in the last 45 seconds.",
            workers_seen(session).answering,
        ),
        ("evenhand_newest_record_age_seconds", "Time since the minute of the newest record.", newest),
        (
            "evenhand_check_delay_seconds",
            "Time since the end of the oldest hour that is not checked.",
            _age(span_end, now),
        ),
        ("evenhand_erasures_waiting", "Erasures without a receipt yet.", erasures),
        ("evenhand_months_ahead", "Months ahead that records can be stored in.", months_ahead(session, now)),
        ("evenhand_deployments", "Deployments in the database.", deployments),
    )


def _age(at: datetime | None, now: datetime) -> float:
    # A check is claimable in the future while every check is leased, or waits for its retry.
    return max(0.0, (now - at).total_seconds()) if at else 0.0


def is_migrated(session: Session) -> bool:
    """Returns whether this version can work with the schema: its own, or a later one, which only adds to
    it.
    """
    revision = read_revision(session.connection())
    return revision == newest_revision() or (revision is not None and is_newer(revision))
