"""Figures of a time, joined step by step in the database.

A check that ends at midnight is about the day before. Each step keeps the checks of its extremes.
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast

from sqlalchemy.orm import Session

from ...base.frozen import frozen_by_name
from ...database.binary_rows import read_rows
from ...domain.check import DataSet, Scope, Span

ORIGIN = datetime(1970, 1, 5, tzinfo=UTC)
"""A step's beginning, whatever its length: a Monday."""

DRAWN_SCOPES = (Scope.GROUP, Scope.REFERENCE, Scope.ATTRIBUTE, Scope.OVERALL)
"""Scopes whose figures are joined; others are chosen from these."""


@frozen_by_name
class FiguresWanted:
    """One metric on one data set, of every group, or of all records (`of_all`)."""

    metric: str
    data: DataSet
    of_all: bool = False

    def values(self, deployment_no: int) -> dict[str, object]:
        scopes = [scope.value for scope in DRAWN_SCOPES]
        return {
            "deployment_no": deployment_no,
            "metric": self.metric,
            "data": self.data.value,
            "scopes": scopes,
        }


class FigureStep(NamedTuple):
    """Figures of one group and definition in one step. Carried ones count in `carried` only.

    `lowest` and `highest` are a value and its check's number, of carried figures if there are no others.
    An end of the intervals is None if unbounded or absent. `n` are the records of the last.
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


# Of checks that end at one moment an hour's counts, of these the newest, for each group.
SUPERSEDED = """
    SELECT array_agg(no) AS nos FROM (
        SELECT no, row_number() OVER (PARTITION BY span_end
            ORDER BY span_end - span_start <= interval '1 hour' DESC, no DESC) AS place
        FROM checks
        WHERE deployment_no = %(deployment_no)s AND state = 'succeeded' AND span_end > %(first)s
            AND span_end <= %(last)s
    ) ranked WHERE place > 1
"""
COUNTS_ITSELF = """
    (superseded.nos IS NULL OR m.check_no <> ALL(superseded.nos) OR NOT EXISTS (
        SELECT FROM checks own
        JOIN checks its ON its.deployment_no = own.deployment_no AND its.span_end = own.span_end
        JOIN measurements other ON other.check_no = its.no
        WHERE own.no = m.check_no AND other.metric = m.metric AND other.data = m.data
            AND other.scope = m.scope
          AND other.attribute IS NOT DISTINCT FROM m.attribute AND other."group" IS NOT DISTINCT
              FROM m."group"
          AND (its.span_end - its.span_start <= interval '1 hour',
              its.no) > (own.span_end - own.span_start <= interval '1 hour', own.no)))
"""
JOINED = """
    max(m.at), count(*) FILTER (WHERE NOT carried_forward), count(*) FILTER (WHERE carried_forward),
    count(*) FILTER (WHERE verdict = 'unfair' AND NOT carried_forward),
    count(*) FILTER (WHERE verdict = 'suspected' AND NOT carried_forward),
    count(*) FILTER (WHERE verdict = 'unwatched' AND NOT carried_forward),
    count(*) FILTER (WHERE verdict = 'undecided' AND NOT carried_forward),
    count(*) FILTER (WHERE verdict = 'fair' AND NOT carried_forward),
    count(*) FILTER (WHERE verdict = 'insufficient_data' AND NOT carried_forward),
    count(*) FILTER (WHERE value IS NULL AND NOT carried_forward),
    min(ARRAY[value, check_no]) FILTER (WHERE value IS NOT NULL), max(ARRAY[value, check_no])
        FILTER (WHERE value IS NOT NULL),
    CASE WHEN NOT bool_or(value IS NOT NULL AND lower IS NULL) THEN min(lower) END,
    CASE WHEN NOT bool_or(value IS NOT NULL AND upper IS NULL) THEN max(upper) END,
    max(n), min(lower_limit), max(upper_limit), min(m.reason) FILTER (WHERE value IS NULL)
"""
_OF = """
    deployment_no = %(deployment_no)s AND metric = %(metric)s AND data = %(data)s AND attribute IS {attribute}
"""
_FIGURES = f"""
    WITH superseded AS MATERIALIZED ({SUPERSEDED})
    SELECT attribute, scope, "group", definition, date_bin(%(step)s, m.at - interval '1 microsecond',
        %(origin)s), {JOINED}
    FROM measurements m, superseded
    WHERE {_OF} AND scope = ANY(%(scopes)s) AND at > %(first)s AND at <= %(last)s AND {COUNTS_ITSELF}
    GROUP BY 1, 2, 3, 4, 5
"""  # noqa: S608 - of constants only
_DAYS = f"""
    SELECT attribute, scope, "group", definition, day, last_at, figures, carried, unfair, suspected,
        unwatched, undecided, fair,
           insufficient, absent, lowest, highest, lower, upper, n, lower_limit, upper_limit, reason
    FROM figure_days
    WHERE {_OF} AND day >= %(first)s AND day < %(last)s
"""  # noqa: S608 - of constants only

_OLDEST = "SELECT min(span_start) FROM checks WHERE deployment_no = %(deployment_no)s"

# The index is read from the newest on, up to another revision.
_REVISION_BEFORE = """
    SELECT model_revision, span_end FROM checks
    WHERE deployment_no = %(deployment_no)s AND state = 'succeeded' AND span_end <= %(end)s
        AND model_revision IS DISTINCT FROM (
        SELECT model_revision FROM checks WHERE deployment_no = %(deployment_no)s AND state = 'succeeded'
            AND span_end <= %(end)s
        ORDER BY span_end DESC, no DESC LIMIT 1)
    ORDER BY span_end DESC, no DESC LIMIT 1
"""


def figure_steps(
    session: Session, deployment_no: int, span: Span, step: timedelta, filters: FiguresWanted
) -> list[FigureStep]:
    """Returns the figures of every group and step, in no order; reads every figure."""
    values = filters.values(deployment_no) | {
        "first": span.start,
        "last": span.end,
        "step": step,
        "origin": ORIGIN,
    }
    return [FigureStep._make(row) for row in read_rows(session, _fill_attribute(_FIGURES, filters), values)]


def figure_days(session: Session, deployment_no: int, span: Span, filters: FiguresWanted) -> list[FigureStep]:
    """Returns the same of days (UTC) that begin in the span, half-open, from stored sums."""
    values = filters.values(deployment_no) | {"first": span.start, "last": span.end}
    return [FigureStep._make(row) for row in read_rows(session, _fill_attribute(_DAYS, filters), values)]


def oldest_check_start(session: Session, deployment_no: int) -> datetime | None:
    return cast("datetime | None", read_rows(session, _OLDEST, {"deployment_no": deployment_no})[0][0])


def revision_before(
    session: Session, deployment_no: int, end: datetime
) -> tuple[str | None, datetime] | None:
    """Returns the model revision before that at `end`, and the end of its last success."""
    row = next(iter(read_rows(session, _REVISION_BEFORE, {"deployment_no": deployment_no, "end": end})), None)
    return None if row is None else (cast("str | None", row[0]), cast("datetime", row[1]))


def _fill_attribute(statement: str, filters: FiguresWanted) -> str:
    # IS NOT DISTINCT FROM could not use the index.
    return statement.replace("{attribute}", "NULL" if filters.of_all else "NOT NULL")
