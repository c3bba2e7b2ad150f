"""Finds the cause of a deployment's or check's state, with the facts that explain it."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy.orm import Session

from ...base.clock import HOUR, floor_to_hour
from ...base.values import frozen, frozen_by_name
from ...database.engine import current_time
from ...deployments.monitor.queries import find_monitor
from ...domain.check import CheckRun, CheckState, Failure, WindowCounts
from ...domain.groups import MISSPELLED
from ...domain.monitor import Schedule
from ...statistics.intervals.verdicts import MINIMUM_GROUP_SIZE, Verdict
from ..queries import find_under_way
from ..schedule.worker_queries import WorkersSeen, WorkerState, read_workers_seen
from .deployment_facts import ComparedGroups, EndedCheck, GroupFigure, OverviewEntry, Success

STALE_AFTER = timedelta(hours=24)
"""Age at which figures count as stale, from the end of the span that measured them; carrying them forward
does not make them younger.
"""

QUEUED_AFTER = timedelta(minutes=1)
"""Time after a full hour in which the check of the hour before it is not yet queued."""


class Cause(StrEnum):
    """Cause of a state. Programs may distinguish causes by it; a cause keeps its name."""

    NO_MONITOR = "no_monitor"
    NO_RECORDS = "no_records"
    NOT_SCHEDULED = "not_scheduled"
    CHECK_DUE = "check_due"
    CHECK_QUEUED = "check_queued"
    CHECK_RUNNING = "check_running"
    WORKER_SILENT = "worker_silent"
    WORKER_NEVER_SEEN = "worker_never_seen"
    TOO_FEW_RECORDS = "too_few_records"
    RECORDS_STOPPED = "records_stopped"
    SCORING_FAILED = "scoring_failed"
    INVALID_INPUT = "invalid_input"
    INTERRUPTED = "interrupted"
    TIMED_OUT = "timed_out"
    CHECK_FAILED = "check_failed"
    CANCELLED = "cancelled"
    ALL_UNCLASSIFIED = "all_unclassified"
    GROUP_WITHOUT_RECORDS = "group_without_records"
    GROUP_MISSPELLED = "group_misspelled"
    GROUP_TOO_SMALL = "group_too_small"
    REFERENCE_NEVER_FAVOURABLE = "reference_never_favourable"
    NOT_COMPUTABLE = "not_computable"
    NO_LIMITS = "no_limits"
    MONITOR_CHANGED = "monitor_changed"
    SIDE_UNWATCHED = "side_unwatched"
    INTERVAL_OUTSIDE = "interval_outside"
    MEASURED = "measured"


_CAUSE_OF_FAILURE = {
    Failure.SCORING_FAILED: Cause.SCORING_FAILED,
    Failure.INVALID_INPUT: Cause.INVALID_INPUT,
    Failure.INTERRUPTED: Cause.INTERRUPTED,
    Failure.TIMED_OUT: Cause.TIMED_OUT,
    Failure.OTHER: Cause.CHECK_FAILED,
}
_CAUSE_OF_STATE = {
    None: Cause.CHECK_DUE,
    CheckState.QUEUED: Cause.CHECK_QUEUED,
    CheckState.RUNNING: Cause.CHECK_RUNNING,
}
_CAUSE_OF_WORKERS = {WorkerState.SILENT: Cause.WORKER_SILENT, WorkerState.NEVER_SEEN: Cause.WORKER_NEVER_SEEN}


@frozen_by_name
class Outlook:
    """Checks to come. `due_at` None: the schedule is off or follows files; `under_way`: queued or running."""

    workers: WorkersSeen
    due_at: datetime | None = None
    follows_files: bool = False
    under_way: CheckState | None = None


@frozen
class CauseFacts:
    """Cause of a state, with the facts that its sentences name; None is a fact that does not belong to it.

    `is_of_check`: the state is that of one check, not of a deployment. `newest_record_at` may be the time of
    the figures if there is no record, `stated_reason` is the check's or figure's own, `compared` the groups
    of the figure.
    """

    cause: Cause
    outlook: Outlook
    is_of_check: bool = False
    newest_record_at: datetime | None = None
    measured_at: datetime | None = None
    retry_at: datetime | None = None
    stated_reason: str | None = None
    records: int | None = None
    needed_records: int | None = None
    attribute: str | None = None
    group: str | None = None
    compared: ComparedGroups | None = None
    check_id: str | None = None


def compute_next_due(now: datetime, schedule: Schedule | None) -> datetime | None:
    """Computes the full hour, or midnight (UTC), after which the next check is queued; None if not known."""
    end = floor_to_hour(now - QUEUED_AFTER).astimezone(UTC) + HOUR
    match schedule:
        case Schedule.HOURLY:
            return end
        case Schedule.DAILY:
            return end if end.hour == 0 else end.replace(hour=0) + timedelta(days=1)
        case _:
            return None


def build_outlook(
    schedule: Schedule | None, under_way: CheckState | None, workers: WorkersSeen, now: datetime
) -> Outlook:
    return Outlook(
        workers=workers,
        due_at=compute_next_due(now, schedule),
        follows_files=schedule is Schedule.BATCH,
        under_way=under_way,
    )


def explain_first_check(entry: OverviewEntry, outlook: Outlook) -> CauseFacts:
    return CauseFacts(_find_wait_cause(outlook) if entry.newest_record_at else Cause.NO_RECORDS, outlook)


def explain_stale_figures(entry: OverviewEntry, success: Success, outlook: Outlook) -> CauseFacts:
    newest = entry.newest_record_at
    has_stopped = newest is None or newest < success.measured_at
    cause = Cause.RECORDS_STOPPED if has_stopped else _find_wait_cause(outlook)
    return CauseFacts(
        cause,
        outlook,
        newest_record_at=newest or success.measured_at,
        measured_at=success.measured_at,
    )


def explain_ended_check(check: EndedCheck, outlook: Outlook) -> CauseFacts:
    has_too_few = check.state is CheckState.INSUFFICIENT_DATA
    return CauseFacts(
        Cause.TOO_FEW_RECORDS if has_too_few else _CAUSE_OF_FAILURE[check.failure or Failure.OTHER],
        outlook,
        stated_reason=check.reason,
        retry_at=check.next_attempt_at,
        records=check.counts.records,
        needed_records=check.counts.needed,
        check_id=check.id,
    )


def explain_figures(figure: GroupFigure | None, success: Success, outlook: Outlook) -> CauseFacts:
    counts = success.counts
    if counts.records and counts.unclassified == counts.records:
        return CauseFacts(Cause.ALL_UNCLASSIFIED, outlook, records=counts.records)
    if figure is None or figure.verdict is None:
        return CauseFacts(Cause.NO_LIMITS, outlook)
    compared = figure.compared
    if figure.verdict == Verdict.UNDECIDED:
        cause = Cause.INTERVAL_OUTSIDE
    elif figure.verdict == Verdict.INSUFFICIENT_DATA:
        cause = Cause.GROUP_TOO_SMALL
    elif 0 in (compared.monitored_records, compared.reference_records):
        cause = Cause.GROUP_WITHOUT_RECORDS
    elif compared.reference_favourable == 0:
        cause = Cause.REFERENCE_NEVER_FAVOURABLE
    else:
        cause = Cause.NOT_COMPUTABLE
    return CauseFacts(
        cause,
        outlook,
        attribute=figure.attribute,
        group=figure.group,
        compared=compared,
        stated_reason=figure.reason,
        needed_records=MINIMUM_GROUP_SIZE,
    )


def explain_check(check: CheckRun, outlook: Outlook) -> CauseFacts:
    stated_reason = check.reason
    match check.state:
        case CheckState.QUEUED | CheckState.RUNNING:
            cause = _CAUSE_OF_WORKERS.get(outlook.workers.state, _CAUSE_OF_STATE[check.state])
        case CheckState.SUCCEEDED if check.failure is None:
            misspelled: Any = (check.window or {}).get(MISSPELLED)
            cause = Cause.GROUP_MISSPELLED if misspelled else Cause.MEASURED
            stated_reason = f"{'; '.join(misspelled)}." if misspelled else None
        case CheckState.INSUFFICIENT_DATA:
            cause = Cause.TOO_FEW_RECORDS
        case CheckState.CANCELLED:
            cause = Cause.CANCELLED
        case _:
            cause = _CAUSE_OF_FAILURE[check.failure or Failure.OTHER]
    counts = WindowCounts.of(check.window)
    return CauseFacts(
        cause,
        outlook,
        is_of_check=True,
        stated_reason=stated_reason,
        retry_at=check.next_attempt_at,
        records=counts.records,
        needed_records=counts.needed,
        check_id=check.id,
    )


def _find_wait_cause(outlook: Outlook) -> Cause:
    if outlook.under_way is None and outlook.due_at is None and not outlook.follows_files:
        return Cause.NOT_SCHEDULED
    return _CAUSE_OF_WORKERS.get(outlook.workers.state, _CAUSE_OF_STATE[outlook.under_way])


def read_outlook(session: Session, deployment_no: int) -> Outlook:
    monitor = find_monitor(session, deployment_no)
    under_way = find_under_way(session, deployment_no)
    return build_outlook(
        monitor.schedule if monitor else None,
        under_way.state if under_way else None,
        read_workers_seen(session),
        current_time(session),
    )
