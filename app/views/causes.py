"""Causes of states, with the facts that their sentences need."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from ..clock import HOUR, hour_of
from ..domain.checks import CheckRun, CheckState, Failure, WindowCounts
from ..domain.groups import MISSPELLED
from ..domain.monitors import Schedule
from ..domain.workers import WorkersSeen, WorkerState
from ..frozen import frozen
from ..metrics.verdicts import MINIMUM_GROUP_SIZE, Verdict
from ..store.overviews.overview import Compared, EndedCheck, GroupFigure, OverviewEntry, Success

QUEUED_AFTER = timedelta(minutes=1)
"""Until then the next check is that of the hour that has just ended."""


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


_OF_FAILURE: Mapping[Failure, Cause] = {
    Failure.SCORING_FAILED: Cause.SCORING_FAILED,
    Failure.INVALID_INPUT: Cause.INVALID_INPUT,
    Failure.INTERRUPTED: Cause.INTERRUPTED,
    Failure.TIMED_OUT: Cause.TIMED_OUT,
    Failure.OTHER: Cause.CHECK_FAILED,
}


@frozen(kw_only=True)
class Outlook:
    """`due_at` is None where the schedule is off or follows the files (`by_files`); `under_way` is `queued`, `running` or None."""

    workers: WorkersSeen
    due_at: datetime | None = None
    by_files: bool = False
    under_way: CheckState | None = None


@frozen(kw_only=True)
class Because:
    """A fact that does not belong to the cause is None.

    `is_of_check`: it is about one check, not a deployment. `since` is the newest record, `measured_at` the time of the newest figures,
    `stated` the reason that the check or figure states, `have` and `needed` numbers of records.
    """

    cause: Cause
    outlook: Outlook
    is_of_check: bool = False
    since: datetime | None = None
    measured_at: datetime | None = None
    retry_at: datetime | None = None
    stated: str | None = None
    have: int | None = None
    needed: int | None = None
    attribute: str | None = None
    group: str | None = None
    compared: Compared | None = None
    check_id: str | None = None


def next_due(now: datetime, schedule: Schedule | None) -> datetime | None:
    """UTC end of an hour or a day; None where no check is due by the clock."""
    end = hour_of(now - QUEUED_AFTER).astimezone(UTC) + HOUR
    match schedule:
        case Schedule.HOURLY:
            return end
        case Schedule.DAILY:
            return end if end.hour == 0 else end.replace(hour=0) + timedelta(days=1)
        case _:
            return None


def of_first_check(one: OverviewEntry, outlook: Outlook) -> Because:
    if one.newest_record_at is None:
        return Because(cause=Cause.NO_RECORDS, outlook=outlook)
    return Because(cause=_waits_for(outlook), outlook=outlook)


def of_stale_figures(one: OverviewEntry, success: Success, outlook: Outlook) -> Because:
    newest = one.newest_record_at
    nothing_came = newest is None or newest < success.measured_at
    cause = Cause.RECORDS_STOPPED if nothing_came else _waits_for(outlook)
    return Because(cause=cause, outlook=outlook, since=newest or success.measured_at, measured_at=success.measured_at)


def of_ended_check(last: EndedCheck, outlook: Outlook) -> Because:
    if last.state is CheckState.INSUFFICIENT_DATA:
        return Because(
            cause=Cause.TOO_FEW_RECORDS, outlook=outlook, stated=last.reason, have=last.counts.records, needed=last.counts.needed
        )
    cause = _OF_FAILURE[last.failure or Failure.OTHER]
    return Because(cause=cause, outlook=outlook, stated=last.reason, retry_at=last.next_attempt_at, check_id=last.id)


def of_figures(figure: GroupFigure | None, success: Success, outlook: Outlook) -> Because:
    """Why nothing is decided; `figure` None: there is none at all."""
    counts = success.counts
    if counts.records and counts.unclassified == counts.records:
        return Because(cause=Cause.ALL_UNCLASSIFIED, outlook=outlook, have=counts.records)
    if figure is None or figure.verdict is None:
        return Because(cause=Cause.NO_LIMITS, outlook=outlook)
    compared = figure.compared
    if figure.verdict == Verdict.UNDECIDED:
        cause = Cause.INTERVAL_OUTSIDE
    elif figure.verdict == Verdict.INSUFFICIENT_DATA:
        cause = Cause.GROUP_TOO_SMALL
    elif 0 in (compared.monitored_records, compared.reference_records):
        cause = Cause.GROUP_WITHOUT_RECORDS
    else:
        cause = Cause.REFERENCE_NEVER_FAVOURABLE if compared.reference_favourable == 0 else Cause.NOT_COMPUTABLE
    return Because(
        cause=cause,
        outlook=outlook,
        attribute=figure.attribute,
        group=figure.group,
        compared=compared,
        stated=figure.reason,
        needed=MINIMUM_GROUP_SIZE,
    )


def of_check(check: CheckRun, outlook: Outlook) -> Because:
    match check.state:
        case CheckState.QUEUED | CheckState.RUNNING:
            silent = _silence(outlook)
            cause = silent or (Cause.CHECK_QUEUED if check.state is CheckState.QUEUED else Cause.CHECK_RUNNING)
            return Because(cause=cause, outlook=outlook, is_of_check=True)
        case CheckState.FAILED:
            cause = _OF_FAILURE[check.failure or Failure.OTHER]
            return Because(
                cause=cause, outlook=outlook, is_of_check=True, stated=check.reason, retry_at=check.next_attempt_at, check_id=check.id
            )
        case CheckState.INSUFFICIENT_DATA:
            found = WindowCounts.of(check.window)
            cause = Cause.TOO_FEW_RECORDS
            return Because(cause=cause, outlook=outlook, is_of_check=True, stated=check.reason, have=found.records, needed=found.needed)
        case CheckState.CANCELLED:
            return Because(cause=Cause.CANCELLED, outlook=outlook, is_of_check=True, stated=check.reason)
        case CheckState.SUCCEEDED:
            misspelled: Any = (check.window or {}).get(MISSPELLED)
            cause = Cause.GROUP_MISSPELLED if misspelled else Cause.MEASURED
            return Because(cause=cause, outlook=outlook, is_of_check=True, stated=misspelled and f"{'; '.join(misspelled)}.")


def _waits_for(outlook: Outlook) -> Cause:
    if outlook.under_way is None and outlook.due_at is None and not outlook.by_files:
        return Cause.NOT_SCHEDULED
    silent = _silence(outlook)
    if silent is not None:
        return silent
    if outlook.under_way is None:
        return Cause.CHECK_DUE
    return Cause.CHECK_RUNNING if outlook.under_way is CheckState.RUNNING else Cause.CHECK_QUEUED


def _silence(outlook: Outlook) -> Cause | None:
    silent = {WorkerState.SILENT: Cause.WORKER_SILENT, WorkerState.NEVER_SEEN: Cause.WORKER_NEVER_SEEN}
    return silent.get(outlook.workers.state)
