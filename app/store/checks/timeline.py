"""Figures and checks of a time, joined step by step in the database: as many rows come back for a year as for a week.

A step ends with its last moment: a check that ends at midnight is about the day before. The lowest and the highest value of each step
are kept with the checks that they are of.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

import psycopg
from sqlalchemy.orm import Session

from ...domain.checks import DataSet, Scope, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsWanted:
    """Checks whose span ends after the start and up to the end of `span`, joined over `step` from `origin` on, forwards and backwards.

    `revision`: only checks of that model revision.
    """

    span: Span
    step: timedelta
    origin: datetime
    revision: str | None = None

    def values(self, deployment_no: int) -> dict[str, object]:
        """Returns the parameters of the statements."""
        return {
            "deployment_no": deployment_no,
            "start": self.span.start,
            "end": self.span.end,
            "step": self.step,
            "origin": self.origin,
            "revision": self.revision,
        }


class FigureStep(NamedTuple):
    """Figures of one group in one step, of one definition of the metric. Figures that were carried forward count in `carried` only.

    `lowest` and `highest` are a value and the number of its check, None without a value; a step in which all were carried forward has the
    values of these. An end of the intervals is None where one is unbounded, or where there is none. `n` are the records of the last one.
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
    """Checks that ended in one step: how many, how many without figures with the reason of one, how many whose window was topped up.

    `logged` are the records of the hours that began an hour of the clock; None where no check counted them.
    """

    start: datetime
    checks: int
    failed: int
    reason: str | None
    topped_up: int
    logged: int | None


class VersionChange(NamedTuple):
    """First check of another model revision, or of another version of the monitor, than the check before it."""

    at: datetime
    revision: str | None
    revision_before: str | None
    monitor: int | None
    monitor_before: int | None


# Of several checks that end at one moment the one of an hour counts, of these the newest; of each group on its own, as in the series.
# Almost no check has another of the same moment, so the second look is rare.
_SUPERSEDED = """
    SELECT array_agg(no) AS nos FROM (
        SELECT no, row_number() OVER (PARTITION BY span_end ORDER BY span_end - span_start <= interval '1 hour' DESC, no DESC) AS place
        FROM checks
        WHERE deployment_no = %(deployment_no)s AND state = 'succeeded' AND span_end > %(start)s AND span_end <= %(end)s
    ) ranked WHERE place > 1
"""
_FIGURES = """
    WITH superseded AS MATERIALIZED ({superseded})
    SELECT attribute, scope, "group", definition, date_bin(%(step)s, at - interval '1 microsecond', %(origin)s) AS bin, max(at),
           count(*) FILTER (WHERE NOT carried_forward), count(*) FILTER (WHERE carried_forward),
           count(*) FILTER (WHERE verdict = 'unfair' AND NOT carried_forward),
           count(*) FILTER (WHERE verdict = 'suspected' AND NOT carried_forward),
           count(*) FILTER (WHERE verdict = 'unwatched' AND NOT carried_forward),
           count(*) FILTER (WHERE verdict = 'fair' AND NOT carried_forward),
           count(*) FILTER (WHERE verdict = 'insufficient_data' AND NOT carried_forward),
           count(*) FILTER (WHERE value IS NULL AND NOT carried_forward),
           min(ARRAY[value, check_no]) FILTER (WHERE value IS NOT NULL), max(ARRAY[value, check_no]) FILTER (WHERE value IS NOT NULL),
           CASE WHEN bool_or(value IS NOT NULL AND lower IS NULL) THEN NULL ELSE min(lower) END,
           CASE WHEN bool_or(value IS NOT NULL AND upper IS NULL) THEN NULL ELSE max(upper) END,
           max(n), min(lower_limit), max(upper_limit), min(reason) FILTER (WHERE value IS NULL)
    FROM measurements m, superseded
    WHERE deployment_no = %(deployment_no)s AND metric = %(metric)s AND data = %(data)s AND {of_attribute} AND scope = ANY(%(scopes)s)
      AND at > %(start)s AND at <= %(end)s
      AND (%(revision)s::text IS NULL OR check_no IN (
           SELECT no FROM checks WHERE deployment_no = %(deployment_no)s AND model_revision = %(revision)s))
      AND (superseded.nos IS NULL OR check_no <> ALL(superseded.nos) OR NOT EXISTS (
           SELECT FROM measurements other JOIN checks its ON its.no = other.check_no JOIN checks own ON own.no = m.check_no
           WHERE other.deployment_no = m.deployment_no AND other.metric = m.metric AND other.data = m.data AND other.at = m.at
             AND other.attribute IS NOT DISTINCT FROM m.attribute AND other.scope = m.scope AND other."group" IS NOT DISTINCT FROM m."group"
             AND (its.span_end - its.span_start <= interval '1 hour', its.no) > (own.span_end - own.span_start <= interval '1 hour', own.no)))
    GROUP BY 1, 2, 3, 4, 5
    ORDER BY 1, 2, 3, 5, 4
"""

_ENDED = """
    SELECT no, state, span_start, span_end, reason, monitor_version, model_revision,
           ("window"->>'logged_in_span')::bigint AS logged,
           ("window"->>'additional_records')::bigint > 0 AND NOT ("window" ? 'carried_from') AS topped_up
    FROM checks
    WHERE deployment_no = %(deployment_no)s AND state IN ('succeeded', 'insufficient_data', 'failed')
      AND span_end > %(start)s AND span_end <= %(end)s
"""
_CHECKS = f"""
    WITH ended AS MATERIALIZED ({_ENDED}),
    -- Of checks that begin at one hour the last one counts its records.
    counted AS (
        SELECT span_end, logged FROM (
            SELECT span_end, logged, row_number() OVER (PARTITION BY span_start ORDER BY span_end DESC, no DESC) AS place
            FROM ended
            WHERE logged IS NOT NULL AND span_end <= span_start + interval '1 hour' AND span_start = date_trunc('hour', span_start, 'UTC')
        ) of_hours WHERE place = 1
    ),
    logged AS (SELECT date_bin(%(step)s, span_end - interval '1 microsecond', %(origin)s) AS bin, sum(logged)::bigint AS logged
               FROM counted GROUP BY 1),
    -- Of a moment the check that succeeded counts: a later one may replace one that failed.
    moments AS (SELECT span_end, bool_or(state = 'succeeded') AS succeeded, min(reason) AS reason, bool_or(topped_up) AS topped_up
                FROM ended GROUP BY 1),
    steps AS (SELECT date_bin(%(step)s, span_end - interval '1 microsecond', %(origin)s) AS bin, count(*) AS checks,
                     count(*) FILTER (WHERE NOT succeeded) AS failed, min(reason) FILTER (WHERE NOT succeeded) AS reason,
                     count(*) FILTER (WHERE topped_up AND succeeded) AS topped_up
              FROM moments GROUP BY 1)
    SELECT steps.bin, checks, failed, reason, topped_up, logged FROM steps LEFT JOIN logged USING (bin) ORDER BY 1
"""

_CHANGES = """
    SELECT span_end, model_revision, revision_before, monitor_version, monitor_before FROM (
        SELECT span_end, model_revision, monitor_version, lag(model_revision) OVER past AS revision_before,
               lag(monitor_version) OVER past AS monitor_before, lag(no) OVER past AS before
        FROM checks
        WHERE deployment_no = %(deployment_no)s AND state = 'succeeded' AND span_end > %(start)s AND span_end <= %(end)s
        WINDOW past AS (ORDER BY span_end, no)
    ) succeeded
    WHERE before IS NOT NULL AND (model_revision IS DISTINCT FROM revision_before OR monitor_version IS DISTINCT FROM monitor_before)
    ORDER BY span_end
"""

_OLDEST = "SELECT min(span_start) FROM checks WHERE deployment_no = %(deployment_no)s"

# The index of succeeded checks is read from the newest on, up to the first of another revision.
_REVISION_BEFORE = """
    SELECT model_revision, span_end FROM checks
    WHERE deployment_no = %(deployment_no)s AND state = 'succeeded' AND span_end <= %(end)s AND model_revision IS DISTINCT FROM (
        SELECT model_revision FROM checks WHERE deployment_no = %(deployment_no)s AND state = 'succeeded' AND span_end <= %(end)s
        ORDER BY span_end DESC, no DESC LIMIT 1)
    ORDER BY span_end DESC, no DESC LIMIT 1
"""


def figure_steps(
    session: Session, deployment_no: int, wanted: StepsWanted, *, metric: str, data: DataSet, scopes: Sequence[Scope], of_all: bool = False
) -> list[FigureStep]:
    """Returns the figures of every group in every step, by group and oldest first. `of_all`: those of all records, not of an attribute."""
    statement = _FIGURES.format(superseded=_SUPERSEDED, of_attribute="attribute IS NULL" if of_all else "attribute IS NOT NULL")
    values = wanted.values(deployment_no) | {"metric": metric, "data": data.value, "scopes": [scope.value for scope in scopes]}
    return [FigureStep._make(row) for row in _read(session, statement, values)]


def check_steps(session: Session, deployment_no: int, wanted: StepsWanted) -> list[CheckStep]:
    """Returns the ended checks of every step that has some, oldest first."""
    return [CheckStep._make(row) for row in _read(session, _CHECKS, wanted.values(deployment_no))]


def version_changes(session: Session, deployment_no: int, span: Span) -> list[VersionChange]:
    """Returns the changes of model revision and monitor between succeeded checks of the span, oldest first."""
    values = {"deployment_no": deployment_no, "start": span.start, "end": span.end}
    return [VersionChange._make(row) for row in _read(session, _CHANGES, values)]


def oldest_check_start(session: Session, deployment_no: int) -> datetime | None:
    """Returns the earliest start of a check's span; None without a check."""
    return cast("datetime | None", next(_read(session, _OLDEST, {"deployment_no": deployment_no}))[0])


def revision_before(session: Session, deployment_no: int, end: datetime) -> tuple[str | None, datetime] | None:
    """Returns the model revision before the one in use at `end`, and the end of its last succeeded check; None without one."""
    found = next(_read(session, _REVISION_BEFORE, {"deployment_no": deployment_no, "end": end}), None)
    return None if found is None else (cast("str | None", found[0]), cast("datetime", found[1]))


def check_ids(session: Session, nos: Sequence[int]) -> dict[int, str]:
    """Returns the ids of checks by their numbers."""
    return dict(cast("Iterator[tuple[int, str]]", _read(session, "SELECT no, id FROM checks WHERE no = ANY(%(nos)s)", {"nos": nos})))


def _read(session: Session, statement: str, values: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yields the rows one by one, in the binary form of the wire: half the time of rows of SQLAlchemy's."""
    connection = cast("psycopg.Connection", session.connection().connection.driver_connection)
    with connection.cursor(binary=True) as cursor:
        yield from cursor.execute(statement, values)
