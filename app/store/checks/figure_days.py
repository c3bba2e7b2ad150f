"""Figures joined by day as checks are stored: a year is read as 366 rows of each group."""

from datetime import datetime, timedelta
from typing import cast

import psycopg
from sqlalchemy.orm import Session

from .check_days import DAY
from .timeline import COUNTS_ITSELF, DRAWN_SCOPES, JOINED, ORIGIN, SUPERSEDED

_LEAST = timedelta(microseconds=1)

_FORGET = "DELETE FROM figure_days WHERE deployment_no = %(deployment_no)s AND day = %(first)s"

# By check numbers: no index has the time without a metric.
_JOIN = f"""
    WITH superseded AS MATERIALIZED ({SUPERSEDED})
    INSERT INTO figure_days (deployment_no, metric, data, attribute, scope, "group", definition, day, last_at, figures, carried, unfair,
                             suspected, unwatched, fair, insufficient, absent, lowest, highest, lower, upper, n, lower_limit, upper_limit,
                             reason)
    SELECT m.deployment_no, metric, data, attribute, scope, "group", definition, %(first)s, {JOINED}
    FROM checks of_day JOIN measurements m ON m.check_no = of_day.no, superseded
    WHERE of_day.deployment_no = %(deployment_no)s AND of_day.span_end > %(first)s AND of_day.span_end <= %(last)s
      AND scope = ANY(%(scopes)s) AND {COUNTS_ITSELF}
    GROUP BY 1, 2, 3, 4, 5, 6, 7
"""  # noqa: S608 - of constants only


def join_day(session: Session, deployment_no: int, at: datetime) -> None:
    """Joins the figures of the day (UTC) of checks that end then. Called wherever measurements are stored."""
    first = ORIGIN + (at - _LEAST - ORIGIN) // DAY * DAY
    scopes = [scope.value for scope in DRAWN_SCOPES]
    values = {"deployment_no": deployment_no, "first": first, "last": first + DAY, "scopes": scopes}
    connection = cast("psycopg.Connection", session.connection().connection.driver_connection)
    # SQLAlchemy has sent the rows at once.
    connection.execute(_FORGET, values)
    connection.execute(_JOIN, values)
