"""Facts from which the state of a deployment follows.

Most are structs, made twice as fast as dataclasses: an overview makes hundreds.
"""

from datetime import datetime

import msgspec

from ...base.values import frozen_by_name
from ...domain.check import CheckState, DataSet, Failure, WindowCounts
from ...domain.monitor import DisplayNames, Schedule


class EndedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Newest ended check, cancelled ones aside. `at` is the end of its span.

    `next_attempt_at` is set if it failed and will be tried again.
    """

    id: str
    state: CheckState
    at: datetime
    finished_at: datetime | None
    reason: str | None
    failure: Failure | None
    next_attempt_at: datetime | None
    counts: WindowCounts


class Success(msgspec.Struct, frozen=True, kw_only=True):
    """Newest check with measurements.

    If carried forward, `measured_at`, `counts` and `notes` are the measuring check's.
    """

    no: int
    id: str
    at: datetime
    measured_at: datetime
    carried_forward: bool
    monitor_version: int | None
    counts: WindowCounts
    notes: tuple[str, ...] = ()


@frozen_by_name
class UnacknowledgedAlerts:
    """Open alerts that nobody acknowledged. `since` and `alert_id` are of the oldest."""

    alerts: int
    since: datetime
    alert_id: str
    unassigned: int


class OverviewEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Facts on one deployment in the overview. `metrics` None = the usual ones.

    `under_way` is the state of the running or else queued check, `first_start` the start of the first check,
    where one deployment alone is asked for.
    """

    no: int
    id: str
    name: str
    monitor_version: int | None
    schedule: Schedule | None
    metrics: tuple[str, ...] | None
    last_check: EndedCheck | None
    success: Success | None
    under_way: CheckState | None
    newest_record_at: datetime | None
    open_alerts: int
    owner: str | None = None
    unacknowledged: UnacknowledgedAlerts | None = None
    names: DisplayNames = msgspec.field(default_factory=DisplayNames)
    first_start: datetime | None = None


class ComparedGroups(msgspec.Struct, frozen=True, kw_only=True):
    """Both sides of a figure: the reference's label, and numbers of records, its favourable ones too."""

    reference: str | None
    monitored_records: int | None
    reference_records: int | None
    reference_favourable: float | None


class GroupFigure(msgspec.Struct, frozen=True, kw_only=True):
    """Figure of one group in a check; `n` is the number of its records."""

    metric: str
    data: DataSet
    attribute: str
    group: str
    value: float | None
    lower: float | None
    upper: float | None
    n: int
    verdict: str | None
    reason: str | None
    lower_limit: float | None
    upper_limit: float | None
    compared: ComparedGroups
