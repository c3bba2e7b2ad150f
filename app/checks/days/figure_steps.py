"""Figures by steps of time, from stored sums of ended days, else from the measurements of checks.

A check that ends at midnight is about the day before. Each step names the checks of its extremes.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy.orm import Session

from ...base.values import frozen_by_name
from ...database.binary_rows import driver_connection, read_rows
from ...domain.check import DataSet, Scope, Span
from .day_queries import DAY, ORIGIN

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
    values = {
        "deployment_no": deployment_no,
        "first": first,
        "last": first + DAY,
        "scopes": _SCOPES,
    }
    connection = driver_connection(session)
    # SQLAlchemy has sent the rows at once.
    connection.execute(_DELETE_DAY, values)
    connection.execute(_JOIN_DAY, values)


def _unite(statement: str, selections: Sequence[FigureSelection]) -> str:
    """Unites the statement for each selection, whose parameters have its number in their names."""
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
