"""Schedules of reports, and the periods that they queue."""

import uuid
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, delete, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as insert_if_absent
from sqlalchemy.orm import Session

from ...domain.paging import Paging
from ...domain.report_schedules import MAX_SCHEDULES, KeptReportState, ReportRhythm, ReportSchedule, ScheduleContent, periods_between
from ...errors import Conflict, require_present
from ..alerts.alert_channels import lock_channels
from ..database.paging import page_oldest
from ..database.rows import read_row
from ..tables import AlertChannelRow, KeptReportRow, ReportScheduleChannelRow, ReportScheduleRow


def schedules_page(session: Session, deployment_no: int, paging: Paging) -> list[ReportSchedule]:
    wanted = _SELECT.where(ReportScheduleRow.deployment_no == deployment_no)
    return [_schedule(found) for found in session.execute(page_oldest(wanted, ReportScheduleRow.no, paging))]


def find_schedule(session: Session, deployment_no: int, schedule_id: str) -> ReportSchedule | None:
    wanted = (ReportScheduleRow.deployment_no == deployment_no, ReportScheduleRow.id == schedule_id)
    found = session.execute(_SELECT.where(*wanted)).one_or_none()
    return None if found is None else _schedule(found)


def get_schedule(session: Session, deployment_no: int, schedule_id: str) -> ReportSchedule:
    """Returns the deployment's schedule, or raises NotFound."""
    return require_present(find_schedule(session, deployment_no, schedule_id), "report schedule", schedule_id)


def put_schedule(session: Session, deployment_no: int, schedule_id: str, content: ScheduleContent) -> ReportSchedule:
    """Stores the schedule; its version grows only if the content differs. The channels must exist."""
    before = find_schedule(session, deployment_no, schedule_id)
    if before is not None and before.content == content:
        return before
    values: dict[str, Any] = {
        "name": content.name,
        "rhythm": content.rhythm,
        "wanted": dict(content.wanted),
        "enabled": content.enabled,
    }
    if before is None:
        of_deployment = select(func.count()).select_from(ReportScheduleRow).where(ReportScheduleRow.deployment_no == deployment_no)
        if (session.scalar(of_deployment) or 0) >= MAX_SCHEDULES:
            raise Conflict(f"The deployment has {MAX_SCHEDULES} report schedules, which is the maximum. Delete one, or change one of them.")
        row = {"deployment_no": deployment_no, "id": schedule_id, "version": 1, "since": func.now(), **values}
        no = session.scalars(insert(ReportScheduleRow).values(row).returning(ReportScheduleRow.no)).one()
    else:
        no = before.no
        # Periods in which it was off, or had another rhythm, are not made up for.
        restarts = content.rhythm is not before.content.rhythm or (content.enabled and not before.content.enabled)
        values |= {"version": before.version + 1, "updated_at": func.now(), **({"since": func.now()} if restarts else {})}
        session.execute(update(ReportScheduleRow).where(ReportScheduleRow.no == no).values(values))

    channel_nos = lock_channels(session, content.channels)
    session.execute(delete(ReportScheduleChannelRow).where(ReportScheduleChannelRow.schedule_no == no))
    if channel_nos:
        session.execute(insert(ReportScheduleChannelRow), [{"schedule_no": no, "channel_no": channel_no} for channel_no in channel_nos])
    return get_schedule(session, deployment_no, schedule_id)


def delete_schedule(session: Session, schedule: ReportSchedule) -> None:
    """Deletes the schedule. Its reports stay."""
    session.execute(delete(ReportScheduleRow).where(ReportScheduleRow.no == schedule.no))


def queue_due_reports(session: Session, *, settling: timedelta) -> int:
    """Queues reports of periods that ended `settling` ago and have none, oldest first; concurrent calls queue nothing twice."""
    now = session.execute(select(func.now())).scalar_one()
    newest = select(func.max(KeptReportRow.span_end)).where(KeptReportRow.schedule_no == ReportScheduleRow.no).scalar_subquery()
    queued = 0
    for row, made_until in session.execute(select(ReportScheduleRow, newest).where(ReportScheduleRow.enabled)).all():
        after = max(row.since, made_until or row.since)
        for span in periods_between(ReportRhythm(row.rhythm), after, now - settling):
            values = {
                "id": str(uuid.uuid4()),
                "deployment_no": row.deployment_no,
                "schedule_no": row.no,
                "schedule_id": row.id,
                "span_start": span.start,
                "span_end": span.end,
                "wanted": row.wanted,
                "state": KeptReportState.QUEUED,
                "created_by": "schedule",
                "claimable_at": func.now(),
                "attempts": 0,
            }
            stored = (
                insert_if_absent(KeptReportRow)
                .values(values)
                .on_conflict_do_nothing(index_elements=["schedule_no", "span_end"], index_where=KeptReportRow.schedule_no.is_not(None))
            )
            queued += session.scalar(stored.returning(KeptReportRow.no)) is not None
    return queued


def channels_of_schedule(session: Session, schedule_no: int | None) -> list[int]:
    """Returns the schedule's channels, which cannot be deleted until the transaction ends."""
    channels = select(AlertChannelRow.no).join(ReportScheduleChannelRow, ReportScheduleChannelRow.channel_no == AlertChannelRow.no)
    wanted = channels.where(ReportScheduleChannelRow.schedule_no == schedule_no).order_by(AlertChannelRow.no)
    return list(session.scalars(wanted.with_for_update(read=True, key_share=True, of=AlertChannelRow)))


_SELECT: Select[ReportScheduleRow, Any] = select(
    ReportScheduleRow,
    select(func.coalesce(func.array_agg(AlertChannelRow.id), text("'{}'")))
    .join(ReportScheduleChannelRow, ReportScheduleChannelRow.channel_no == AlertChannelRow.no)
    .where(ReportScheduleChannelRow.schedule_no == ReportScheduleRow.no)
    .correlate(ReportScheduleRow)
    .scalar_subquery(),
)


def _schedule(found: Any) -> ReportSchedule:  # noqa: ANN401 - a result row of `_SELECT`
    row, channels = found
    return read_row(ReportSchedule, row, content=read_row(ScheduleContent, row, channels=tuple(sorted(channels))))


def first_due(schedule: ReportSchedule, after: datetime) -> datetime | None:
    """Returns the end of the first period after `after`; None of a schedule that is off."""
    if not schedule.content.enabled:
        return None
    return next(periods_between(schedule.content.rhythm, max(after, schedule.since), after + timedelta(days=400))).end
