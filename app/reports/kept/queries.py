"""Kept reports and their schedules.

First the periods of a calendar, then the queue of reports, their end and their files, last the schedules.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from sqlalchemy import Select, delete, func, insert, select, text
from sqlalchemy.dialects.postgresql import insert as insert_if_absent
from sqlalchemy.orm import Session

from ...alerts.channels.channel import lock_named_channels
from ...base.errors import Conflict, InvalidInput, require_present
from ...base.values import frozen_by_name
from ...database.binary_rows import (
    HeldRow,
    lease_row,
    list_column_values,
    page_newest,
    page_oldest,
    read_row,
    write_held,
)
from ...database.tables import (
    AlertChannelRow,
    KeptReportFileRow,
    KeptReportRow,
    ReportScheduleChannelRow,
    ReportScheduleRow,
)
from ...domain.check import Span
from ...domain.paging import Paging
from ..regulator.sheets import SheetsWanted

SETTLING = timedelta(hours=6)
"""Time between the end of a period and its report: its last checks end meanwhile."""

MAX_SCHEDULES = 20


class ReportRhythm(StrEnum):
    """Calendar periods, each of which gets a report."""

    WEEKLY = "weekly"
    MONTHLY = "monthly"
    QUARTERLY = "quarterly"
    YEARLY = "yearly"


class KeptReportState(StrEnum):
    """The state of a kept report; `ready` and `failed` are final."""

    QUEUED = "queued"
    RUNNING = "running"
    READY = "ready"
    FAILED = "failed"


@frozen_by_name
class ScheduleContent:
    """Content of a schedule. `channels` are the ids of those that each report is sent to."""

    name: str
    rhythm: ReportRhythm
    wanted: SheetsWanted
    channels: tuple[str, ...] = ()
    enabled: bool = True

    @property
    def zone(self) -> ZoneInfo:
        """Zone whose days and weeks the periods are of."""
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


@frozen_by_name
class KeptReport:
    """Kept report. `seal` is that of its data, `chain_head` the last link of its chain.

    Both are None until it is ready; `schedule_id` is None where a person asked for it.
    """

    no: int
    id: str
    deployment_no: int
    schedule_id: str | None
    span: Span
    wanted: SheetsWanted
    state: KeptReportState
    reason: str | None
    seal: str | None
    chain_head: str | None
    created_by: str
    created_at: datetime
    finished_at: datetime | None
    attempts: int
    schedule_no: int | None = field(repr=False)
    lease_token: str | None = field(repr=False)


class CalendarPeriod(StrEnum):
    """Days that a period has: weeks begin on Monday, quarters in January, April, July and October."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


def list_periods(rhythm: ReportRhythm, zone: ZoneInfo, after: datetime, until: datetime) -> Iterator[Span]:
    """Yields the calendar periods of the zone that end later than `after` and not later than `until`, oldest
    first.
    """
    kind = CalendarPeriod(rhythm.removesuffix("ly"))
    day = after.astimezone(zone).date()
    while (period := find_period(kind, day, zone)).end <= until:
        if period.end > after:
            yield period
        day = period.end.astimezone(zone).date()


def find_period(kind: CalendarPeriod, day: date, zone: ZoneInfo) -> Span:
    """Returns the period of that day, [start of its first day, start of the day after its last), in UTC.

    Raises:
        InvalidInput: it reaches beyond the calendar.
    """
    try:
        # Weeks of numpy begin on Thursday, as 1970 did.
        shift = 4 if kind is CalendarPeriod.WEEK else 0
        first = (np.datetime64(day) - shift).astype(f"M8[{_UNITS[kind]}]")
        # The earliest instant of a day; where clocks skip midnight or the day, that of the change.
        start, end = (
            datetime.combine((edge.astype("M8[D]") + shift).item(), time.min, zone).astimezone(UTC)
            for edge in (first, first + 1)
        )
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidInput("day", "lies outside the years 1 to 9999 in UTC") from error
    return Span(start=start, end=end)


_UNITS = {
    CalendarPeriod.DAY: "D",
    CalendarPeriod.WEEK: "W",
    CalendarPeriod.MONTH: "M",
    CalendarPeriod.QUARTER: "3M",
    CalendarPeriod.YEAR: "Y",
}


MAX_OPEN_REPORTS = 20
"""Max reports of a deployment that are requested and not made yet."""

MAX_SENT_PER_HOUR = 20
"""Max reports of a deployment that people send in an hour."""

LEASE = timedelta(minutes=10)
"""Time after which another worker takes over a report."""

_OPEN_STATES = (KeptReportState.QUEUED, KeptReportState.RUNNING)


def request_report(
    session: Session, deployment_no: int, span: Span, wanted: SheetsWanted, *, by: str
) -> KeptReport:
    """Queues a requested report, or returns a waiting equal one. The caller holds the deployment's lock."""
    is_open = (KeptReportRow.deployment_no == deployment_no, KeptReportRow.state.in_(_OPEN_STATES))
    waiting = session.scalars(select(KeptReportRow).where(*is_open)).all()
    for row in waiting:
        report = _read_report(row)
        if (report.span, report.wanted) == (span, wanted):
            return report
    if len(waiting) >= MAX_OPEN_REPORTS:
        raise Conflict(
            f"{len(waiting)} reports of the deployment wait to be made. Ask for more once they are ready."
        )
    if wanted.channels:
        sent = select(func.count()).where(
            KeptReportRow.deployment_no == deployment_no,
            KeptReportRow.created_at > func.now() - timedelta(hours=1),
            KeptReportRow.wanted["channels"][0].astext.is_not(None),
        )
        if (session.scalar(sent) or 0) >= MAX_SENT_PER_HOUR:
            raise Conflict(
                f"{MAX_SENT_PER_HOUR} reports of the deployment were sent in the last hour, "
                "which is the maximum. Send it later, or set a schedule."
            )
    queued = insert(KeptReportRow).values(
        deployment_no=deployment_no,
        span_start=span.start,
        span_end=span.end,
        wanted=wanted,
        created_by=by,
    )
    return _read_report(session.scalars(queued.returning(KeptReportRow)).one())


def claim_report(session: Session, *, token: str) -> KeptReport | None:
    """Takes the next report for the holder of `token`, new for each call."""
    no = session.scalar(
        select(KeptReportRow.no)
        .where(KeptReportRow.claimable_at <= func.now())
        .order_by(KeptReportRow.no)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    if no is None:
        return None
    lease_row(session, KeptReportRow, no, token=token, lease=LEASE, state=KeptReportState.RUNNING)
    return _read_report(session.get_one(KeptReportRow, no, populate_existing=True))


def keep_report(
    session: Session, report: KeptReport, files: Mapping[str, bytes], *, seal: str, chain_head: str | None
) -> KeptReport:
    """Ends the report as ready. If it raises LeaseLost, roll everything back."""
    ended = _end_report(
        session, report, state=KeptReportState.READY, seal=seal, chain_head=chain_head, reason=None
    )
    session.execute(
        insert(KeptReportFileRow),
        [{"report_no": report.no, "form": form, "content": file} for form, file in files.items()],
    )
    return ended


def fail_report(session: Session, report: KeptReport, *, reason: str) -> KeptReport:
    """Ends the report without files. Raises LeaseLost."""
    return _end_report(session, report, state=KeptReportState.FAILED, reason=reason)


def page_kept_reports(session: Session, deployment_no: int, paging: Paging) -> list[KeptReport]:
    statement = select(KeptReportRow).where(KeptReportRow.deployment_no == deployment_no)
    return [_read_report(row) for row in session.scalars(page_newest(statement, KeptReportRow.no, paging))]


def get_kept(session: Session, deployment_no: int, report_id: str) -> KeptReport:
    """Returns the report, or raises NotFound."""
    statement = select(KeptReportRow).where(
        KeptReportRow.deployment_no == deployment_no, KeptReportRow.id == report_id
    )
    return _read_report(require_present(session.scalars(statement).one_or_none(), "kept report", report_id))


def read_kept_file(session: Session, report: KeptReport, form: str) -> bytes:
    """Returns the report in that form, or raises Conflict if it is not ready."""
    content = session.scalar(
        select(KeptReportFileRow.content).where(
            KeptReportFileRow.report_no == report.no, KeptReportFileRow.form == form
        )
    )
    if content is None:
        reason = f"it is {report.state.value}"
        if report.state is KeptReportState.FAILED:
            reason = f"it failed: {report.reason}"
        elif report.state is KeptReportState.READY:
            reason = f"a report of its kind has no {form}"
        raise Conflict(f"Report {report.id} has no file, because {reason}")
    return content


def _end_report(session: Session, report: KeptReport, **values: Any) -> KeptReport:  # noqa: ANN401 - columns
    if_lost = f"Report {report.id} is no longer this worker's: nothing was written."
    held = HeldRow(table=KeptReportRow, no=report.no, token=report.lease_token, if_lost=if_lost)
    values |= {"claimable_at": None, "lease_token": None, "finished_at": func.now()}
    write_held(session, held, values, KeptReportRow.no)
    return _read_report(session.get_one(KeptReportRow, report.no, populate_existing=True))


def _read_report(row: KeptReportRow) -> KeptReport:
    return read_row(KeptReport, row, span=Span(start=row.span_start, end=row.span_end))


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
    """Returns the deployment's schedule, or raises NotFound."""
    return require_present(find_schedule(session, deployment_no, schedule_id), "report schedule", schedule_id)


def put_schedule(
    session: Session, deployment_no: int, schedule_id: str, content: ScheduleContent
) -> ReportSchedule:
    """Stores the schedule; its version grows only if the content differs. Raises Conflict if a channel was
    deleted, or there are too many schedules.
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
        insert_if_absent(ReportScheduleRow)
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
    """Deletes the schedule. Its reports stay."""
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
            stored = (
                insert_if_absent(KeptReportRow)
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
            queued += session.scalar(stored.returning(KeptReportRow.no)) is not None
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
    row, channels = result
    return read_row(
        ReportSchedule, row, content=read_row(ScheduleContent, row, channels=tuple(sorted(channels)))
    )


def find_first_due(schedule: ReportSchedule, after: datetime) -> datetime | None:
    """Returns the end of the first period after `after`; None of a schedule that is off."""
    if not schedule.content.enabled:
        return None
    rhythm, zone = schedule.content.rhythm, schedule.content.zone
    return next(list_periods(rhythm, zone, max(after, schedule.since), after + timedelta(days=400))).end
