"""Figures and checks by steps of time, from stored sums of ended days, else from the checks.

A check that ends at midnight is about the day before. Each step of figures names the checks of its extremes.
A trigger deletes the sums of checks of a day in the transaction that changes one, until
`app/checks/days/roll_up.py` adds it up again.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy.orm import Session

from ...base.values import frozen_by_name
from ...database.binary_rows import driver_connection, read_rows
from ...domain.check import DataSet, Scope, Span

DAY = timedelta(days=1)

ORIGIN = datetime(1970, 1, 5, tzinfo=UTC)
"""A Monday: steps of days and weeks begin at whole multiples from it."""

_SCOPES = [scope.value for scope in (Scope.GROUP, Scope.REFERENCE, Scope.ATTRIBUTE, Scope.OVERALL)]
"""Scopes whose figures are joined in steps; figures of other scopes are chosen from these."""

# Of checks that end at one moment, that of an hour counts, of several the newest; others are superseded.
_SUPERSEDED_CHECKS = """
    SELECT array_agg(no) AS nos
    FROM (
        SELECT no, row_number() OVER (
            PARTITION BY span_end ORDER BY span_end - span_start <= interval '1 hour' DESC, no DESC
        ) AS place
        FROM checks
        WHERE deployment_no = %(deployment_no)s AND state = 'succeeded'
            AND span_end > %(first)s AND span_end <= %(last)s
    ) ranked
    WHERE place > 1
"""
_IS_NOT_SUPERSEDED = """
    (superseded.nos IS NULL OR figure.check_no <> ALL(superseded.nos) OR NOT EXISTS (
        SELECT FROM checks this
        JOIN checks rival ON rival.deployment_no = this.deployment_no AND rival.span_end = this.span_end
        JOIN measurements other ON other.check_no = rival.no
        WHERE this.no = figure.check_no
            AND other.metric = figure.metric AND other.data = figure.data AND other.scope = figure.scope
            AND other.attribute IS NOT DISTINCT FROM figure.attribute
            AND other."group" IS NOT DISTINCT FROM figure."group"
            AND (rival.span_end - rival.span_start <= interval '1 hour', rival.no)
                > (this.span_end - this.span_start <= interval '1 hour', this.no)
    ))
"""
_STEP_COLUMNS = """
    max(figure.at),
    count(*) FILTER (WHERE NOT carried_forward), count(*) FILTER (WHERE carried_forward),
    count(*) FILTER (WHERE verdict = 'unfair' AND NOT carried_forward),
    count(*) FILTER (WHERE verdict = 'suspected' AND NOT carried_forward),
    count(*) FILTER (WHERE verdict = 'unwatched' AND NOT carried_forward),
    count(*) FILTER (WHERE verdict = 'undecided' AND NOT carried_forward),
    count(*) FILTER (WHERE verdict = 'fair' AND NOT carried_forward),
    count(*) FILTER (WHERE verdict = 'insufficient_data' AND NOT carried_forward),
    count(*) FILTER (WHERE value IS NULL AND NOT carried_forward),
    min(ARRAY[value, check_no]) FILTER (WHERE value IS NOT NULL),
    max(ARRAY[value, check_no]) FILTER (WHERE value IS NOT NULL),
    CASE WHEN NOT bool_or(value IS NOT NULL AND lower IS NULL) THEN min(lower) END,
    CASE WHEN NOT bool_or(value IS NOT NULL AND upper IS NULL) THEN max(upper) END,
    max(n), min(lower_limit), max(upper_limit), min(figure.reason) FILTER (WHERE value IS NULL)
"""
# IS NOT DISTINCT FROM could not use the index.
_OF_SELECTION = """
    deployment_no = %(deployment_no)s AND metric = %(metric{no})s AND data = %(data{no})s
    AND attribute IS {attribute} AND (%(groups{no})s::text[] IS NULL OR "group" = ANY(%(groups{no})s))
"""
# The columns of `figure_days` in the order of `_STEP_COLUMNS`.
_STORED_COLUMNS = """last_at, figures, carried, unfair, suspected, unwatched, undecided, fair, insufficient,
        absent, lowest, highest, lower, upper, n, lower_limit, upper_limit, reason"""
_WITH_SUPERSEDED = f"WITH superseded AS MATERIALIZED ({_SUPERSEDED_CHECKS})"
_FIGURES = f"""
    SELECT attribute, scope, "group", definition,
        date_bin(%(step)s, figure.at - interval '1 microsecond', %(origin)s), {_STEP_COLUMNS}
    FROM measurements figure, superseded
    WHERE {_OF_SELECTION} AND scope = ANY(%(scopes)s)
        AND at > %(first)s AND at <= %(last)s AND {_IS_NOT_SUPERSEDED}
    GROUP BY 1, 2, 3, 4, 5
"""  # noqa: S608 - of constants only
_DAYS = f"""
    SELECT attribute, scope, "group", definition, day, {_STORED_COLUMNS}
    FROM figure_days
    WHERE {_OF_SELECTION} AND day >= %(first)s AND day < %(last)s
"""  # noqa: S608 - of constants only

_DELETE_DAY = "DELETE FROM figure_days WHERE deployment_no = %(deployment_no)s AND day = %(first)s"

# By check numbers: no index has the time without a metric.
_JOIN_DAY = f"""
    {_WITH_SUPERSEDED}
    INSERT INTO figure_days (deployment_no, metric, data, attribute, scope, "group", definition, day,
        {_STORED_COLUMNS})
    SELECT figure.deployment_no, metric, data, attribute, scope, "group", definition, %(first)s,
        {_STEP_COLUMNS}
    FROM checks of_day
    JOIN measurements figure ON figure.check_no = of_day.no, superseded
    WHERE of_day.deployment_no = %(deployment_no)s
        AND of_day.span_end > %(first)s AND of_day.span_end <= %(last)s
        AND scope = ANY(%(scopes)s) AND {_IS_NOT_SUPERSEDED}
    GROUP BY 1, 2, 3, 4, 5, 6, 7
"""  # noqa: S608 - of constants only

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


@frozen_by_name
class FigureSelection:
    """Selects the figures of groups and attributes, or only those of all records together (`of_all`)."""

    metric: str
    data: DataSet
    of_all: bool = False
    groups: tuple[str, ...] | None = None
    """Labels of the groups; None for all scopes."""


class FigureStep(NamedTuple):
    """Figures of one group and definition in one step; `carried` ones are in no other count.

    `lowest` and `highest` are each a value and the number of its check. `lower` and `upper` are the outermost
    ends of the intervals, None if unbounded or absent; `n` is the largest number of records.
    """

    attribute: str | None
    scope: str
    group: str | None
    definition: int
    start: datetime
    last_at: datetime
    figures: int
    carried: int
    unfair: int
    suspected: int
    unwatched: int
    undecided: int
    fair: int
    insufficient: int
    absent: int
    lowest: list[float] | None
    highest: list[float] | None
    lower: float | None
    upper: float | None
    n: int
    lower_limit: float | None
    upper_limit: float | None
    reason: str | None


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


def read_figure_steps(
    session: Session, deployment_no: int, span: Span, step: timedelta, *selections: FigureSelection
) -> list[FigureStep]:
    """Joins the figures of checks that end in (start, end] to steps, in no order."""
    values = _list_values(deployment_no, span, selections) | {"step": step, "origin": ORIGIN}
    rows = read_rows(session, _WITH_SUPERSEDED + _unite(_FIGURES, selections), values)
    return [FigureStep._make(row) for row in rows]


def read_figure_days(
    session: Session, deployment_no: int, span: Span, *selections: FigureSelection
) -> list[FigureStep]:
    """Reads the stored steps of the days (UTC) that begin in [start, end), in no order."""
    rows = read_rows(session, _unite(_DAYS, selections), _list_values(deployment_no, span, selections))
    return [FigureStep._make(row) for row in rows]


def join_day(session: Session, deployment_no: int, at: datetime) -> None:
    """Joins again the figures of checks that end on the day (UTC) of `at`: they have changed."""
    first = ORIGIN + (at - timedelta.resolution - ORIGIN) // DAY * DAY
    values = {"deployment_no": deployment_no, "first": first, "last": first + DAY, "scopes": _SCOPES}
    connection = driver_connection(session)
    # SQLAlchemy has sent the rows at once.
    connection.execute(_DELETE_DAY, values)
    connection.execute(_JOIN_DAY, values)


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


def _unite(statement: str, selections: Sequence[FigureSelection]) -> str:
    return " UNION ALL ".join(
        statement.format(no=no, attribute="NULL" if selection.of_all else "NOT NULL")
        for no, selection in enumerate(selections)
    )


def _list_values(deployment_no: int, span: Span, selections: Sequence[FigureSelection]) -> dict[str, object]:
    values = {"deployment_no": deployment_no, "first": span.start, "last": span.end, "scopes": _SCOPES}
    for no, selection in enumerate(selections):
        groups = None if selection.groups is None else list(selection.groups)
        values |= {f"metric{no}": selection.metric, f"data{no}": selection.data.value, f"groups{no}": groups}
    return values
