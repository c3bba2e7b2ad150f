"""Reports that are kept, and the calendar periods that they are made for."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from ...base.values import frozen_by_name
from ...domain.check import Span

SETTLING = timedelta(hours=6)
"""Time between the end of a period and its report: its last checks end meanwhile."""

MAX_SCHEDULES = 20

_MONTHS_OF_YEAR = 12


class ReportRhythm(StrEnum):
    """Calendar periods, in UTC, each of which gets a report."""

    MONTHLY = "monthly"
    QUARTERLY = "quarterly"
    YEARLY = "yearly"

    @property
    def months(self) -> int:
        return {ReportRhythm.MONTHLY: 1, ReportRhythm.QUARTERLY: 3, ReportRhythm.YEARLY: _MONTHS_OF_YEAR}[
            self
        ]


class KeptReportState(StrEnum):
    """The state of a kept report; `ready` and `failed` are final."""

    QUEUED = "queued"
    RUNNING = "running"
    READY = "ready"
    FAILED = "failed"


@frozen_by_name
class ScheduleContent:
    """`wanted` are the sheets as JSON, `channels` the ids of those that each report is announced on."""

    name: str
    rhythm: ReportRhythm
    wanted: Mapping[str, Any]
    channels: tuple[str, ...] = ()
    enabled: bool = True


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
    """One kept report. `seal` is that of its data, `chain_head` the last link of its chain; both None until
    it is ready.

    `schedule_id` is None where a person asked for it.
    """

    no: int
    id: str
    deployment_no: int
    schedule_id: str | None
    span: Span
    wanted: Mapping[str, Any]
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


def periods_between(rhythm: ReportRhythm, after: datetime, until: datetime) -> Iterator[Span]:
    """Yields the calendar periods, in UTC, that end later than `after` and not later than `until`, oldest
    first.
    """
    first = after.astimezone(UTC)
    month = (first.year * _MONTHS_OF_YEAR + first.month - 1) // rhythm.months * rhythm.months
    while (end := _find_month_start(month + rhythm.months)) <= until:
        yield Span(start=_find_month_start(month), end=end)
        month += rhythm.months


def _find_month_start(month: int) -> datetime:
    year, month_index = divmod(month, _MONTHS_OF_YEAR)
    return datetime(year, month_index + 1, 1, tzinfo=UTC)
