"""Writes why a deployment or a check is in its state, and the next step.

A state becomes a cause with its facts (`CauseFacts`), and these become sentences (`write_advice`).
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy.orm import Session

from ...base.clock import HOUR, floor_to_hour
from ...base.values import frozen_by_name
from ...database.engine import current_time
from ...deployments.monitor.queries import find_monitor
from ...domain.check import CheckRun, CheckState, Failure, WindowCounts
from ...domain.groups import MISSPELLED
from ...domain.monitor import Schedule
from ...statistics.intervals.verdicts import MINIMUM_GROUP_SIZE, Verdict
from ..queries import find_under_way
from ..schedule.worker_queries import (
    WorkersSeen,
    WorkerState,
    choose_notice,
    describe_silence,
    read_workers_seen,
)
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
    """Checks that are to come: `due_at` is None where the schedule is off or follows the files (`by_files`);
    `under_way` is `queued`, `running` or None.
    """

    workers: WorkersSeen
    due_at: datetime | None = None
    by_files: bool = False
    under_way: CheckState | None = None


@frozen_by_name
class CauseFacts:
    """Cause of a state, with the facts that its sentences name; None is a fact that does not belong to it.

    `is_of_check`: it is about one check, not a deployment. `since` is the newest record, `measured_at` the
    time of the newest figures, `stated` the reason that the check or figure states, `have` and `needed`
    numbers of records, `compared` the groups of the figure.
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
    compared: ComparedGroups | None = None
    check_id: str | None = None


def compute_next_due(now: datetime, schedule: Schedule | None) -> datetime | None:
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
        by_files=schedule is Schedule.BATCH,
        under_way=under_way,
    )


def explain_first_check(entry: OverviewEntry, outlook: Outlook) -> CauseFacts:
    return CauseFacts(
        cause=_find_wait_cause(outlook) if entry.newest_record_at else Cause.NO_RECORDS, outlook=outlook
    )


def explain_stale_figures(entry: OverviewEntry, success: Success, outlook: Outlook) -> CauseFacts:
    newest = entry.newest_record_at
    nothing_came = newest is None or newest < success.measured_at
    cause = Cause.RECORDS_STOPPED if nothing_came else _find_wait_cause(outlook)
    return CauseFacts(
        cause=cause, outlook=outlook, since=newest or success.measured_at, measured_at=success.measured_at
    )


def explain_ended_check(check: EndedCheck, outlook: Outlook) -> CauseFacts:
    is_short = check.state is CheckState.INSUFFICIENT_DATA
    return CauseFacts(
        cause=Cause.TOO_FEW_RECORDS if is_short else _CAUSE_OF_FAILURE[check.failure or Failure.OTHER],
        outlook=outlook,
        stated=check.reason,
        retry_at=check.next_attempt_at,
        have=check.counts.records,
        needed=check.counts.needed,
        check_id=check.id,
    )


def explain_figures(figure: GroupFigure | None, success: Success, outlook: Outlook) -> CauseFacts:
    """Explains why nothing is decided; `figure` None: there is none at all."""
    counts = success.counts
    if counts.records and counts.unclassified == counts.records:
        return CauseFacts(cause=Cause.ALL_UNCLASSIFIED, outlook=outlook, have=counts.records)
    if figure is None or figure.verdict is None:
        return CauseFacts(cause=Cause.NO_LIMITS, outlook=outlook)
    compared = figure.compared
    if figure.verdict == Verdict.UNDECIDED:
        cause = Cause.INTERVAL_OUTSIDE
    elif figure.verdict == Verdict.INSUFFICIENT_DATA:
        cause = Cause.GROUP_TOO_SMALL
    elif 0 in (compared.monitored_records, compared.reference_records):
        cause = Cause.GROUP_WITHOUT_RECORDS
    else:
        cause = (
            Cause.REFERENCE_NEVER_FAVOURABLE if compared.reference_favourable == 0 else Cause.NOT_COMPUTABLE
        )
    return CauseFacts(
        cause=cause,
        outlook=outlook,
        attribute=figure.attribute,
        group=figure.group,
        compared=compared,
        stated=figure.reason,
        needed=MINIMUM_GROUP_SIZE,
    )


def explain_check(check: CheckRun, outlook: Outlook) -> CauseFacts:
    stated = check.reason
    match check.state:
        case CheckState.QUEUED | CheckState.RUNNING:
            cause = _CAUSE_OF_WORKERS.get(outlook.workers.state, _CAUSE_OF_STATE[check.state])
        case CheckState.SUCCEEDED if check.failure is None:
            misspelled: Any = (check.window or {}).get(MISSPELLED)
            cause = Cause.GROUP_MISSPELLED if misspelled else Cause.MEASURED
            stated = misspelled and f"{'; '.join(misspelled)}."
        case CheckState.INSUFFICIENT_DATA:
            cause = Cause.TOO_FEW_RECORDS
        case CheckState.CANCELLED:
            cause = Cause.CANCELLED
        case _:
            cause = _CAUSE_OF_FAILURE[check.failure or Failure.OTHER]
    counts = WindowCounts.of(check.window)
    return CauseFacts(
        cause=cause,
        outlook=outlook,
        is_of_check=True,
        stated=stated,
        retry_at=check.next_attempt_at,
        have=counts.records,
        needed=counts.needed,
        check_id=check.id,
    )


def _find_wait_cause(outlook: Outlook) -> Cause:
    if outlook.under_way is None and outlook.due_at is None and not outlook.by_files:
        return Cause.NOT_SCHEDULED
    return _CAUSE_OF_WORKERS.get(outlook.workers.state, _CAUSE_OF_STATE[outlook.under_way])


@frozen_by_name
class Advice:
    cause: Cause
    reason: str | None
    next_step: str | None


_TEXTS = {
    Cause.NO_MONITOR: (
        "",
        "Set a fairness monitor: which outcomes are favourable, and which groups are compared.",
    ),
    Cause.NO_RECORDS: (
        "No check has ended yet: no payload record was ever logged.",
        "Log payload records: what the model is asked and what it answers. Configure has code for it.",
    ),
    Cause.NOT_SCHEDULED: (
        "{background} The monitor's schedule is off, so no check runs automatically.",
        "Ask for a check, or switch the monitor's schedule on. {silence}",
    ),
    Cause.CHECK_DUE: (
        "{background} {follows}",
        "Nothing has to be done. To see figures now, ask for a check.",
    ),
    Cause.CHECK_QUEUED: ("{background} {queued}", "Nothing has to be done."),
    Cause.CHECK_RUNNING: ("{background} A check is running.", "Nothing has to be done."),
    Cause.WORKER_SILENT: ("{background} {silence}", "{start}"),
    Cause.WORKER_NEVER_SEEN: ("{background} {silence}", "{start}"),
    Cause.TOO_FEW_RECORDS: (
        "The last check found {have} with the present columns; a check needs {needed}.",
        "Log {lacking}, or lower the minimum of records in the monitor. {follows}",
    ),
    Cause.RECORDS_STOPPED: (
        "No payload record has been logged since {since}; the figures are of {measured_at}.",
        (
            "Check whether the client that logs still runs, and read the answers that it gets; or whether files "
            "with records still come."
        ),
    ),
    Cause.SCORING_FAILED: (
        "{stated}",
        "Test the model's endpoint on Configure and fix what the reason names. {again}",
    ),
    Cause.INVALID_INPUT: (
        "{stated}",
        "The monitor cannot be measured on these records: change on Configure what the reason names. {again}",
    ),
    Cause.INTERRUPTED: ("{stated}", "The workers' log says why they stopped. {again}"),
    Cause.TIMED_OUT: (
        "{stated}",
        (
            "Let the model's endpoint answer faster, let the monitor read fewer records, or let the operator "
            "allow checks more time. {again}"
        ),
    ),
    Cause.CHECK_FAILED: ("{stated}", "Look for {check} in the workers' log. {again}"),
    Cause.CANCELLED: ("{stated}", "It stored no figures. Check again if you need them."),
    Cause.ALL_UNCLASSIFIED: (
        (
            "None of the {have} has a prediction that is in the monitor's outcome lists, so no group can be "
            "compared."
        ),
        (
            "Write the outcomes in the monitor exactly as the model answers them; if records have a label, "
            "as the labels are written. {follows}"
        ),
    ),
    Cause.GROUP_WITHOUT_RECORDS: (
        (
            "{smaller} of {attribute} has no record with an outcome, so {group} cannot be compared with "
            "{reference}."
        ),
        (
            "Check that the monitor spells the group as the records do, and that the predictions of its records "
            "are in the outcome lists."
        ),
    ),
    Cause.GROUP_MISSPELLED: ("", "{stated} List the group in the monitor as the records spell it. {follows}"),
    Cause.GROUP_TOO_SMALL: (
        "{smaller} of {attribute} has {have_of_group} with an outcome; {needed} are needed to judge a group.",
        (
            "Log more records of {smaller}, or raise the minimum of records in the monitor, so that more "
            "earlier ones are included. {follows}"
        ),
    ),
    Cause.REFERENCE_NEVER_FAVOURABLE: (
        (
            "No record of the reference group {reference} ({attribute}) got the favourable outcome, in "
            "{reference_records}, so no ratio to it can be computed for {group}."
        ),
        (
            "More records do not help as long as that is so. Check that the monitor's favourable outcomes "
            "are what the model answers, and that {reference} is the group to compare with."
        ),
    ),
    Cause.NOT_COMPUTABLE: (
        "{attribute}, {group}: {stated}.",
        "Open the last check: it shows the counts that each figure is computed from.",
    ),
    Cause.NO_LIMITS: (
        "The last check measured no figure of a group that has limits, so no group can be judged.",
        "Let the monitor measure disparate impact, or another metric that has limits.",
    ),
    Cause.MONITOR_CHANGED: (
        "The monitor was changed after the last check, which used the version before.",
        "To see figures of the monitor as it is now, ask for a check. {follows}",
    ),
    Cause.SIDE_UNWATCHED: (
        (
            "Only one side is watched, and the figure lies as far out on the other side, where the reference "
            "group is at a disadvantage."
        ),
        "Set the other limit as well; Configure has a button for it.",
    ),
    Cause.INTERVAL_OUTSIDE: (
        (
            "No figure is outside its limits, but the 95 % interval of {group} ({attribute}) reaches "
            "outside: so few records do not rule out a gap beyond a limit."
        ),
        (
            "Raise the minimum of records in the monitor, so that each check includes more, or go by the "
            "evidence, which counts all hours."
        ),
    ),
    Cause.MEASURED: ("", ""),
}


def write_advice(because: CauseFacts) -> Advice:
    # A fair state needs no words: the usual case of hundreds of deployments.
    if not any(_TEXTS[because.cause]):
        return Advice(cause=because.cause, reason=None, next_step=None)
    workers = because.outlook.workers
    compared = because.compared
    have = because.have
    needed = because.needed
    notice = choose_notice(workers)
    silence = describe_silence(workers) or ""

    if because.is_of_check:
        # The page of a check shows its times itself.
        background = ""
        is_busy = because.outlook.under_way is CheckState.RUNNING
        begins = (
            "when the check of this deployment that is running has ended"
            if is_busy
            else "as soon as a worker is free"
        )
        queued = f"It begins {begins}."
    else:
        newest = _format_moment(because.since)
        measured = _format_moment(because.measured_at)
        background = (
            f"Records are logged, the newest at {newest}, but no check has measured anything since "
            f"{measured}."
        )
        background = "No check has ended yet." if because.measured_at is None else background
        queued = "A check waits for a free worker."

    if because.retry_at is None:
        again = f"Then check again. {silence if because.is_of_check else _describe_next_check(because)}"
    else:
        again = f"It is tried again automatically from {_format_moment(because.retry_at)} on"
        again += f", when a worker answers. {silence}" if silence else "."

    facts = {
        "background": background,
        "check": because.check_id or "the check's id",
        "follows": _describe_next_check(because),
        "again": again,
        "queued": queued,
        "silence": silence,
        "start": "" if notice is None else notice.next_step,
        "since": _format_moment(because.since),
        "measured_at": _format_moment(because.measured_at),
        # Only of a figure it continues a sentence.
        "stated": because.stated
        or ("no reason is known" if because.cause is Cause.NOT_COMPUTABLE else "No reason is known."),
        "have": count_records(have),
        "needed": "more" if needed is None else f"{needed:,}",
        "lacking": "more records"
        if have is None or needed is None
        else count_records(max(1, needed - have), "more record"),
    }
    if compared:
        monitored = because.group or ""
        reference = compared.reference or "the reference group"
        of_monitored = compared.monitored_records or 0
        of_reference = compared.reference_records or 0
        # The side with the fewer records, which may have none.
        smaller, fewest = (
            (monitored, of_monitored) if of_monitored <= of_reference else (reference, of_reference)
        )
        facts |= {
            "attribute": because.attribute or "",
            "group": monitored,
            "reference": reference,
            "smaller": smaller,
            "have_of_group": count_records(fewest),
            "reference_records": count_records(of_reference),
        }
    # An empty fact leaves two spaces: joining the words again removes them.
    reason, step = (" ".join(text.format_map(facts).split()) or None for text in _TEXTS[because.cause])
    return Advice(cause=because.cause, reason=reason, next_step=step)


def _describe_next_check(because: CauseFacts) -> str:
    outlook = because.outlook
    silence = describe_silence(because.outlook.workers)
    if silence:
        return f"{silence} No check runs before one does."
    if outlook.under_way:
        return "A check is under way."
    if outlook.by_files:
        return "The next check is when a file of a batch comes or changes."
    if outlook.due_at is None:
        return "No check runs automatically: the schedule is off."
    return f"The next check is at {outlook.due_at:%H:%M} UTC."


def count_records(number: int | None, noun: str = "record") -> str:
    return f"too few {noun}s" if number is None else f"{number:,} {noun}{'' if number == 1 else 's'}"


def _format_moment(at: datetime | None) -> str:
    return "a time that is not known" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def read_outlook(session: Session, deployment_no: int) -> Outlook:
    monitor = find_monitor(session, deployment_no)
    busy = find_under_way(session, deployment_no)
    schedule = monitor.schedule if monitor else None
    state = busy.state if busy else None
    return build_outlook(schedule, state, read_workers_seen(session), current_time(session))


def advise_on_check(check: CheckRun, outlook: Outlook) -> Advice:
    return write_advice(explain_check(check, outlook))
