"""All points of one metric of an attribute, straight from the driver for speed."""

from datetime import datetime
from typing import NamedTuple, TypeAlias, cast

from sqlalchemy.orm import Session

from ...base.clock import HOUR
from ...base.frozen import frozen_by_name
from ...database.binary_rows import read_rows
from ...domain.check import DataSet, Scope


@frozen_by_name
class SeriesKey:
    """One metric on one data set of one attribute (None: all records), half-open. `worst` is asked for
    alone.
    """

    metric: str
    data: DataSet
    attribute: str | None
    scopes: tuple[Scope, ...]
    since: datetime | None = None
    until: datetime | None = None


StoredPoint: TypeAlias = tuple[
    int,
    str,
    str | None,
    float | None,
    float | None,
    float | None,
    int,
    str | None,
    str | None,
    bool,
    float | None,
    float | None,
    int,
]
"""check_no, scope, group, value, lower, upper, n, verdict, reason, carried_forward, lower_limit, upper_limit,
definition.

A class would cost as much as the read.
"""


class EndedRun(NamedTuple):
    """A check that ended by itself."""

    no: int
    id: str
    state: str
    span_start: datetime
    span_end: datetime
    reason: str | None
    monitor_version: int | None
    model_revision: str | None

    @property
    def is_hourly(self) -> bool:
        """Whether it is of an hour or part of one."""
        return self.span_end - self.span_start <= HOUR


class SpanCount(NamedTuple):
    """Records in a check's span, added earlier ones (none where carried forward), and those of the span
    beyond the newest ones.
    """

    span_start: datetime
    span_end: datetime
    logged: int
    additional: int
    beyond_newest: int


# IS NOT DISTINCT FROM could not use the index.
_OF_SERIES = """
    FROM measurements
    WHERE deployment_no = %(deployment_no)s AND metric = %(metric)s AND data = %(data)s AND {of_attribute}
        AND {of_scopes}
      AND at >= coalesce(%(since)s, '-infinity'::timestamptz) AND at < coalesce(%(until)s,
          'infinity'::timestamptz)
"""
_POINTS = (
    "SELECT check_no, {subject}, value, lower, upper, n, verdict, reason, carried_forward, lower_limit, "
    "upper_limit, definition"
    f" {_OF_SERIES}"
    " ORDER BY at, no"
)

_ENDED = """
    FROM checks
    WHERE deployment_no = %(deployment_no)s AND state IN ('succeeded', 'insufficient_data', 'failed')
      AND span_end >= coalesce(%(since)s, '-infinity'::timestamptz) AND span_end < coalesce(%(until)s,
          'infinity'::timestamptz)
"""
_RUNS = (
    f"SELECT no, id, state, span_start, span_end, reason, monitor_version, model_revision {_ENDED} "
    "ORDER BY span_end, no"
)
_COUNTS = f"""
    SELECT span_start, span_end, ("window"->>'logged_in_span')::bigint,
           CASE WHEN "window" ? 'carried_from' AND "window"->>'logged_in_span' = '0' THEN 0
                ELSE ("window"->>'additional_records')::bigint END,
           ("window"->>'logged_in_span')::bigint - ("window"->>'records')::bigint
    {_ENDED}
      AND "window" ? 'logged_in_span' AND span_end <= span_start + interval '1 hour'
      AND span_start = date_trunc('hour', span_start, 'UTC')
    ORDER BY span_end, no
"""


def stored_points(session: Session, deployment_no: int, key: SeriesKey) -> list[StoredPoint]:
    values = {
        "deployment_no": deployment_no,
        "metric": key.metric,
        "data": key.data.value,
        "attribute": key.attribute,
        "since": key.since,
        "until": key.until,
        "scopes": [scope.value for scope in key.scopes],
    }
    # The group furthest out differs: its points are one series.
    is_worst = key.scopes == (Scope.WORST,)
    statement = _POINTS.format(
        subject="'worst', NULL" if is_worst else 'scope, "group"',
        of_attribute="attribute IS NULL" if key.attribute is None else "attribute = %(attribute)s",
        of_scopes="worst_of IS NOT NULL" if is_worst else "scope = ANY(%(scopes)s)",
    )
    return cast("list[StoredPoint]", read_rows(session, statement, values))


def ended_runs(
    session: Session, deployment_no: int, since: datetime | None, until: datetime | None
) -> list[EndedRun]:
    """Returns the checks that end in [since, until) by their ends, cancelled ones left out."""
    return [
        EndedRun._make(row)
        for row in read_rows(session, _RUNS, {"deployment_no": deployment_no, "since": since, "until": until})
    ]


def span_counts(
    session: Session, deployment_no: int, since: datetime | None, until: datetime | None
) -> list[SpanCount]:
    """Returns the counts of checks within an hour, from its start, that end in [since, until); each hour's
    longest.
    """
    rows = read_rows(session, _COUNTS, {"deployment_no": deployment_no, "since": since, "until": until})
    # Of one hour the last one stays.
    return list({row[0]: SpanCount._make(row) for row in rows}.values())
