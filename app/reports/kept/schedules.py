"""Schedules of reports: calendar periods of a zone, each of which gets a report."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from sqlalchemy import Select, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...alerts.channels.channel import lock_named_channels
from ...base.errors import Conflict, InvalidInput, require_present
from ...base.values import frozen_by_name
from ...database.binary_rows import list_column_values, page_oldest, read_row
from ...database.tables import AlertChannelRow, KeptReportRow, ReportScheduleChannelRow, ReportScheduleRow
from ...domain.check import Span
from ...domain.paging import Paging
from ..regulator.sheets import SheetSelection

SETTLING = timedelta(hours=6)
"""Time between the end of a period and its report: its last checks end meanwhile."""


MAX_SCHEDULES = 20
"""Of a deployment."""


class ReportRhythm(StrEnum):
    """Calendar periods, each of which gets a report."""

    WEEKLY = "weekly"
    MONTHLY = "monthly"
    QUARTERLY = "quarterly"
    YEARLY = "yearly"


@frozen_by_name
class ScheduleContent:
    """Content of a schedule. `channels` are the ids of those that each report is sent to."""

    name: str
    rhythm: ReportRhythm
    wanted: SheetSelection
    channels: tuple[str, ...] = ()
    enabled: bool = True

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.wanted.zone)


@frozen_by_name
class ReportSchedule:
    """A stored schedule. Periods that ended before `since` get no report."""

    no: int
    id: str
    deployment_no: int
    version: int
    content: ScheduleContent
    since: datetime
    created_at: datetime
    updated_at: datetime


class CalendarPeriod(StrEnum):
    """Days that a period has: weeks begin on Monday, quarters in January, April, July and October."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


_NUMPY_UNITS = {
    CalendarPeriod.DAY: "D",
    CalendarPeriod.WEEK: "W",
    CalendarPeriod.MONTH: "M",
    CalendarPeriod.QUARTER: "3M",
    CalendarPeriod.YEAR: "Y",
}


def list_periods(rhythm: ReportRhythm, zone: ZoneInfo, after: datetime, until: datetime) -> Iterator[Span]:
    """Yields the calendar periods of the zone that end later than `after` and not later than `until`, oldest
    first.
    """
    kind = CalendarPeriod(rhythm.removesuffix("ly"))
    period = find_period(kind, after.astimezone(zone).date(), zone)
    while period.end <= until:
        if period.end > after:
            yield period
        period = find_period(kind, period.end.astimezone(zone).date(), zone)


def find_period(kind: CalendarPeriod, day: date, zone: ZoneInfo) -> Span:
    """Returns the period of that day, [start of its first day, start of the day after its last), in UTC.

    Raises:
        InvalidInput: it reaches beyond the calendar.
    """
    try:
        # Weeks of numpy begin on Thursday, as 1970 did.
        shift = 4 if kind is CalendarPeriod.WEEK else 0
        first = (np.datetime64(day) - shift).astype(f"M8[{_NUMPY_UNITS[kind]}]")
        # The earliest instant of a day; where clocks skip midnight or the day, that of the change.
        start, end = (
            datetime.combine((edge.astype("M8[D]") + shift).item(), time.min, zone).astimezone(UTC)
            for edge in (first, first + 1)
        )
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidInput("day", "lies outside the years 1 to 9999 in UTC") from error
    return Span(start=start, end=end)


def page_schedules(session: Session, deployment_no: int, paging: Paging) -> list[ReportSchedule]:
    statement = _SELECT_SCHEDULES.where(ReportScheduleRow.deployment_no == deployment_no)
    return [
        _read_schedule(row) for row in session.execute(page_oldest(statement, ReportScheduleRow.no, paging))
    ]


def find_schedule(session: Session, deployment_no: int, schedule_id: str) -> ReportSchedule | None:
    statement = _SELECT_SCHEDULES.where(
        ReportScheduleRow.deployment_no == deployment_no, ReportScheduleRow.id == schedule_id
    )
    return next(map(_read_schedule, session.execute(statement)), None)


def get_schedule(session: Session, deployment_no: int, schedule_id: str) -> ReportSchedule:
    """Raises NotFound."""
    return require_present(find_schedule(session, deployment_no, schedule_id), "report schedule", schedule_id)


def put_schedule(
    session: Session, deployment_no: int, schedule_id: str, content: ScheduleContent
) -> ReportSchedule:
    """Its version grows only if the content differs. Raises Conflict if a channel was deleted, or there are
    too many schedules.
    """
    before = find_schedule(session, deployment_no, schedule_id)
    if before is not None and before.content == content:
        return before
    values = list_column_values(content)
    del values["channels"]
    row = {"deployment_no": deployment_no, "id": schedule_id, "version": 1, "since": func.now(), **values}
    changes = values | {"version": ReportScheduleRow.version + 1, "updated_at": func.now()}
    if before is None:
        if len(page_schedules(session, deployment_no, Paging(MAX_SCHEDULES))) == MAX_SCHEDULES:
            raise Conflict(
                f"The deployment has {MAX_SCHEDULES} report schedules, which is the maximum. Delete one, or "
                "change one of them."
            )
    # Periods in which it was off, or had another rhythm or zone, are not made up for.
    elif (content.rhythm, content.zone) != (before.content.rhythm, before.content.zone) or (
        content.enabled and not before.content.enabled
    ):
        changes["since"] = func.now()
    upsert = (
        insert(ReportScheduleRow)
        .values(row)
        .on_conflict_do_update(index_elements=["deployment_no", "id"], set_=changes)
    )
    no = session.scalars(upsert.returning(ReportScheduleRow.no)).one()
    channel_nos = lock_named_channels(session, content.channels)
    session.execute(delete(ReportScheduleChannelRow).where(ReportScheduleChannelRow.schedule_no == no))
    if channel_nos:
        session.execute(
            insert(ReportScheduleChannelRow),
            [{"schedule_no": no, "channel_no": channel_no} for channel_no in channel_nos],
        )
    return get_schedule(session, deployment_no, schedule_id)


def delete_schedule(session: Session, schedule: ReportSchedule) -> None:
    session.execute(delete(ReportScheduleRow).where(ReportScheduleRow.no == schedule.no))


def queue_due_reports(session: Session, *, settling: timedelta) -> int:
    """Queues reports of periods that ended `settling` ago and have none, oldest first; concurrent calls
    queue nothing twice.
    """
    now = session.execute(select(func.now())).scalar_one()
    newest = (
        select(func.max(KeptReportRow.span_end))
        .where(KeptReportRow.schedule_no == ReportScheduleRow.no)
        .scalar_subquery()
    )
    queued = 0
    for row, made_until in session.execute(
        select(ReportScheduleRow, newest).where(ReportScheduleRow.enabled)
    ).all():
        after = max(row.since, made_until or row.since)
        content = read_row(ScheduleContent, row, channels=())
        for span in list_periods(content.rhythm, content.zone, after, now - settling):
            insertion = (
                insert(KeptReportRow)
                .values(
                    deployment_no=row.deployment_no,
                    schedule_no=row.no,
                    schedule_id=row.id,
                    span_start=span.start,
                    span_end=span.end,
                    wanted=row.wanted,
                    created_by="schedule",
                )
                .on_conflict_do_nothing(
                    index_elements=["schedule_no", "span_end"],
                    index_where=KeptReportRow.schedule_no.is_not(None),
                )
            )
            queued += session.scalar(insertion.returning(KeptReportRow.no)) is not None
    return queued


_SELECT_SCHEDULES: Select[ReportScheduleRow, Any] = select(
    ReportScheduleRow,
    select(func.coalesce(func.array_agg(AlertChannelRow.id), text("'{}'")))
    .join(ReportScheduleChannelRow, ReportScheduleChannelRow.channel_no == AlertChannelRow.no)
    .where(ReportScheduleChannelRow.schedule_no == ReportScheduleRow.no)
    .correlate(ReportScheduleRow)
    .scalar_subquery(),
)


def _read_schedule(result: Any) -> ReportSchedule:  # noqa: ANN401 - a result row of `_SELECT_SCHEDULES`
    row, channel_ids = result
    return read_row(
        ReportSchedule, row, content=read_row(ScheduleContent, row, channels=tuple(sorted(channel_ids)))
    )


def find_first_due(schedule: ReportSchedule, after: datetime) -> datetime | None:
    """Returns the end of the first period after `after`; None of a schedule that is off."""
    if not schedule.content.enabled:
        return None
    rhythm, zone = schedule.content.rhythm, schedule.content.zone
    return next(list_periods(rhythm, zone, max(after, schedule.since), after + timedelta(days=400))).end
