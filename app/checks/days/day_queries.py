"""Checks by steps of time, from stored sums of ended days, else from the checks.

A check that ends at midnight is about the day before. A trigger deletes the sums of a day in the transaction
that changes a check, until `app/checks/days/roll_up.py` adds it up again.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy.orm import Session

from ...database.binary_rows import read_rows
from ...domain.check import Span

DAY = timedelta(days=1)

ORIGIN = datetime(1970, 1, 5, tzinfo=UTC)
"""A Monday: steps of days and weeks begin at whole multiples from it."""

# The index is read from the newest on, up to another revision.
_REVISION_BEFORE = """
    SELECT model_revision, span_end FROM checks
    WHERE deployment_no = %(deployment_no)s AND state = 'succeeded' AND span_end <= %(end)s
        AND model_revision IS DISTINCT FROM (
            SELECT model_revision FROM checks
            WHERE deployment_no = %(deployment_no)s AND state = 'succeeded' AND span_end <= %(end)s
            ORDER BY span_end DESC, no DESC
            LIMIT 1
        )
    ORDER BY span_end DESC, no DESC
    LIMIT 1
"""


_DAY_COLUMNS = "failed, reason, topped_up, logged, changed_version_at, revisions, monitors"
_STORED_DAYS = f"""
    SELECT day, {_DAY_COLUMNS} FROM check_days
    WHERE deployment_no = %(deployment_no)s AND is_kept AND day >= %(first)s AND day < %(last)s
    ORDER BY day
"""  # noqa: S608 - of constants only

_OPEN_DAYS = """
    WITH ended AS MATERIALIZED (
        -- Members are read out of the window here: with it, the sorted rows would be twenty times as wide.
        SELECT no, state, reason, span_start, span_end, model_revision, monitor_version,
            "window" IS NOT NULL AS has_window,
            ("window"->>'logged_in_span')::bigint AS logged,
            ("window"->>'additional_records')::bigint AS additional,
            "window"->>'carried_from' AS carried,
            span_end <= span_start + interval '1 hour'
                AND span_start = date_bin('1 hour', span_start, %(origin)s) AS is_of_hour,
            date_bin(%(step)s, span_end - interval '1 microsecond', %(origin)s) AS bin
        FROM unnest(%(firsts)s::timestamptz[], %(lasts)s::timestamptz[]) AS stretch (first, last)
        JOIN checks ON deployment_no = %(deployment_no)s AND span_end > first AND span_end <= last
        WHERE state IN ('succeeded', 'insufficient_data', 'failed')
    ),
    lost AS (
        -- A check that succeeded replaces those of the same moment that did not.
        SELECT bin, count(DISTINCT span_end) AS failed, min(reason) AS reason
        FROM ended
        WHERE state <> 'succeeded' AND NOT EXISTS (
            SELECT FROM checks won
            WHERE won.deployment_no = %(deployment_no)s AND won.state = 'succeeded'
                AND won.span_end = ended.span_end
        )
        GROUP BY 1
    ),
    counted AS (
        -- Of checks that begin at one hour the last one counts its records.
        -- They end in that hour, so the order of ends is theirs.
        SELECT bin,
            count(*) FILTER (WHERE state = 'succeeded' AND additional > 0 AND carried IS NULL) AS topped_up,
            sum(logged) FILTER (WHERE is_of_hour AND next_start IS DISTINCT FROM span_start) AS logged
        FROM (
            SELECT *, lead(span_start) OVER (PARTITION BY is_of_hour ORDER BY span_end, no) AS next_start
            FROM ended
            WHERE has_window
        ) checked
        GROUP BY 1
    ),
    changed AS (
        SELECT bin,
            array_agg(span_end ORDER BY span_end, no) AS changed_version_at,
            array_agg(model_revision ORDER BY span_end, no) AS revisions,
            array_agg(monitor_version ORDER BY span_end, no) AS monitors
        FROM (
            SELECT *, lag(no) OVER past AS before, lag(model_revision) OVER past AS revision,
                lag(monitor_version) OVER past AS monitor
            FROM ended
            WHERE state = 'succeeded'
            WINDOW past AS (PARTITION BY bin ORDER BY span_end, no)
        ) succeeded
        WHERE before IS NULL OR model_revision IS DISTINCT FROM revision
            OR monitor_version IS DISTINCT FROM monitor
        GROUP BY 1
    )
    SELECT bin, coalesce(failed, 0)::int AS failed, reason, coalesce(topped_up, 0)::int AS topped_up,
        logged::bigint AS logged, changed_version_at, revisions, monitors
    FROM counted
    FULL JOIN lost USING (bin)
    FULL JOIN changed USING (bin)
    ORDER BY bin
"""

_LOCK_CHANGED = """
    SELECT deployment_no, day FROM check_days
    WHERE NOT is_kept AND changed_at <= %(before)s AND day <= %(today)s - interval '1 day'
    ORDER BY changed_at, deployment_no, day
    LIMIT 1
    FOR UPDATE SKIP LOCKED
"""
_WAITING = """
    SELECT count(*)::int AS days, count(DISTINCT deployment_no)::int AS deployments,
        min(greatest(changed_at, day + interval '1 day')) AS since, min(changed_at) AS changed_at
    FROM check_days
    WHERE NOT is_kept AND day <= %(today)s - interval '1 day'
"""
_POSTPONE = (
    "UPDATE check_days SET changed_at = now() WHERE deployment_no = %(deployment_no)s AND day = %(day)s"
)
_STORE_DAY = f"""
    UPDATE check_days
    SET is_kept = true, ({_DAY_COLUMNS}) = (SELECT {_DAY_COLUMNS} FROM ({_OPEN_DAYS}) joined)
    WHERE deployment_no = %(deployment_no)s AND day = %(day)s
"""  # noqa: S608 - of constants only


class CheckStep(NamedTuple):
    """Checks that ended in one step: without figures, with one reason, and topped up.

    `logged` are records of hours that begin on the clock; None where no check counted them.
    """

    start: datetime
    failed: int
    reason: str | None
    topped_up: int
    logged: int | None


class VersionChange(NamedTuple):
    """Model revision and version of the monitor that a success has, and other ones of the success before."""

    at: datetime
    revision: str | None
    revision_before: str | None
    monitor: int | None
    monitor_before: int | None


class EndedChecks(NamedTuple):
    """Checks that ended in one step. The sequences have an entry for the first success of the step, and for
    each with another model revision or monitor version than the success before; None without a success.
    """

    step: CheckStep
    version_ats: Sequence[datetime] | None
    revisions: Sequence[str | None] | None
    monitors: Sequence[int | None] | None


class ChangedDay(NamedTuple):
    deployment_no: int
    day: datetime


class Stretch(NamedTuple):
    """Time between two moments; None is an open end."""

    first: datetime | None
    last: datetime | None


class WaitingDays(NamedTuple):
    """Numbers of ended days that wait to be added up, and of their deployments. The first of them could be
    added up `since`; `changed_at` is the oldest change.
    """

    days: int
    deployments: int
    since: datetime | None
    changed_at: datetime | None


def read_revision_before(
    session: Session, deployment_no: int, end: datetime
) -> tuple[str | None, datetime] | None:
    """Reads the model revision before that at `end`, and the end of its last success."""
    rows = read_rows(session, _REVISION_BEFORE, {"deployment_no": deployment_no, "end": end})
    return rows[0] if rows else None


def read_ended_checks(session: Session, deployment_no: int, span: Span, step: timedelta) -> list[EndedChecks]:
    """Reads every step in which checks ended, oldest first: stored days, and what no stored day covers."""
    stored_days = []
    if step >= DAY:
        days = cut_to_days(span)
        stored_days = read_rows(
            session, _STORED_DAYS, {"deployment_no": deployment_no, "first": days.start, "last": days.end}
        )
    open_stretches = list_stretches_between((row[0] for row in stored_days), Stretch(span.start, span.end))
    times = {
        "firsts": [stretch.first for stretch in open_stretches],
        "lasts": [stretch.last for stretch in open_stretches],
    }
    open_days = read_rows(
        session,
        _OPEN_DAYS,
        {"deployment_no": deployment_no, "step": min(step, DAY), "origin": ORIGIN, **times},
    )
    rows = [*(row for row in stored_days if row[1] is not None), *open_days]
    return [EndedChecks(CheckStep._make(row[:5]), *row[5:]) for row in sorted(rows, key=itemgetter(0))]


def count_waiting_days(session: Session, *, today: datetime) -> WaitingDays:
    (row,) = read_rows(session, _WAITING, {"today": today})
    return WaitingDays._make(row)


def lock_changed_day(session: Session, *, before: datetime, today: datetime) -> ChangedDay | None:
    """Locks a changed day that is over by `today` and unchanged since `before`.

    Skips locked days: this transaction must not wait for another lock.
    """
    rows = read_rows(session, _LOCK_CHANGED, {"before": before, "today": today})
    return ChangedDay._make(rows[0]) if rows else None


def postpone_day(session: Session, changed: ChangedDay) -> None:
    """Puts the day at the end of those that wait to be added up."""
    session.connection().exec_driver_sql(_POSTPONE, changed._asdict())


def store_day_of_checks(session: Session, deployment_no: int, day: datetime) -> None:
    values = {
        "deployment_no": deployment_no,
        "day": day,
        "step": DAY,
        "origin": ORIGIN,
        "firsts": [day],
        "lasts": [day + DAY],
    }
    session.connection().exec_driver_sql(_STORE_DAY, values)


def join_steps(checks: Iterable[EndedChecks], step: timedelta) -> list[CheckStep]:
    """Joins days to longer steps; steps of at most a day stay as they are."""
    if step <= DAY:
        return [ended.step for ended in checks]
    days_by_start: dict[datetime, list[CheckStep]] = {}
    for ended in checks:
        start = ORIGIN + (ended.step.start - ORIGIN) // step * step
        days_by_start.setdefault(start, []).append(ended.step)
    steps = []
    for start, days in days_by_start.items():
        logged = [day.logged for day in days if day.logged is not None]
        steps.append(
            CheckStep(
                start,
                sum(day.failed for day in days),
                min((day.reason for day in days if day.reason is not None), default=None),
                sum(day.topped_up for day in days),
                sum(logged) if logged else None,
            )
        )
    return steps


def list_version_changes(checks: Iterable[EndedChecks]) -> list[VersionChange]:
    changes = []
    before = None
    for ended in checks:
        for at, revision, monitor in zip(
            ended.version_ats or (), ended.revisions or (), ended.monitors or (), strict=True
        ):
            if before is not None and before != (revision, monitor):
                changes.append(VersionChange(at, revision, before[0], monitor, before[1]))
            before = (revision, monitor)
    return changes


def cut_to_days(span: Span) -> Span:
    """Cuts the span to its first and last midnight (UTC); within one day, the end is before the start."""
    return Span(ORIGIN - (ORIGIN - span.start) // DAY * DAY, ORIGIN + (span.end - ORIGIN) // DAY * DAY)


def list_stretches_between(stored_days: Iterable[datetime], stretch: Stretch) -> list[Stretch]:
    """Lists the parts of a stretch that no stored day covers; days are in their order."""
    stretches = []
    first = stretch.first
    for day in stored_days:
        if first is None or first < day:
            stretches.append(Stretch(first, day))
        first = day + DAY
    if first is None or stretch.last is None or first < stretch.last:
        stretches.append(Stretch(first, stretch.last))
    return stretches
