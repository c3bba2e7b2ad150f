"""The state of the store, in a few numbers."""

import math
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from ...alerts.queries import OpenAlerts, open_alerts
from ...base.frozen import frozen
from ...checks.schedule.worker_queries import workers_seen
from ...checks.schedule.worker_state import WorkersSeen
from ...database.migrations import is_newer, newest_revision, read_revision
from ...database.partitions import months_ahead
from ...database.tables import CheckRow, DeploymentRow, ErasureRow, NotificationRow, RecordCountRow
from ...domain.check import CheckState, Trigger


@frozen(kw_only=True)
class Vitals:
    """Counts of the moment.

    `queue_age_seconds`: how long the longest waiting check has been claimable, else 0. `notification_age_seconds`: of the oldest not
    delivered, else 0. `newest_record_age_seconds`: infinite beyond two hours. `check_delay_seconds`: since the end of the oldest unchecked
    scheduled hour, else 0. `months_ahead`: with a partition.
    """

    deployments: int
    checks: dict[str, int]
    queue_age_seconds: float
    alerts: tuple[OpenAlerts, ...]
    notifications_waiting: int
    notification_age_seconds: float
    workers: WorkersSeen
    newest_record_age_seconds: float
    check_delay_seconds: float
    erasures_waiting: int
    months_ahead: int


def vitals(session: Session, now: datetime) -> Vitals:
    counted = session.execute(select(CheckRow.state, func.count()).group_by(CheckRow.state))
    oldest = session.scalar(select(func.min(CheckRow.claimable_at)))
    unsent = select(func.count(), func.min(NotificationRow.created_at)).where(NotificationRow.claimable_at.is_not(None))
    waiting, written_at = session.execute(unsent).one()
    minute = session.scalar(select(func.max(RecordCountRow.minute)))
    unfinished = (CheckRow.trigger == Trigger.SCHEDULE, CheckRow.state.in_([CheckState.QUEUED, CheckState.RUNNING]))
    span_end = session.scalar(select(func.min(CheckRow.span_end)).where(*unfinished))
    return Vitals(
        deployments=session.scalars(select(func.count()).select_from(DeploymentRow)).one(),
        checks={state.value: 0 for state in CheckState} | dict(counted.all()),
        # In the future while every check is leased, or waits for its retry.
        queue_age_seconds=_age(oldest, now),
        alerts=tuple(open_alerts(session)),
        notifications_waiting=waiting,
        notification_age_seconds=_age(written_at, now),
        workers=workers_seen(session),
        newest_record_age_seconds=_age(minute, now) if minute else math.inf,
        check_delay_seconds=_age(span_end, now),
        erasures_waiting=session.scalar(select(func.count()).where(ErasureRow.finished_at.is_(None))) or 0,
        months_ahead=months_ahead(session, now),
    )


def _age(at: datetime | None, now: datetime) -> float:
    return max(0.0, (now - at).total_seconds()) if at else 0.0


def is_migrated(session: Session) -> bool:
    """Returns whether this version can work with the schema: its own, or a later one, which only adds to it."""
    revision = read_revision(session.connection())
    return revision == newest_revision() or (revision is not None and is_newer(revision))
