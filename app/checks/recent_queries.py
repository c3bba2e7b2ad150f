"""The newest checks of a deployment, and one metric of every group in each."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from ..base.frozen import frozen_by_name
from ..database.binary_rows import read_row
from ..domain.check import DataSet


@frozen_by_name
class RecentCheck:
    """A check with figures. `measured_at` is the end of the measured span.

    `unseen` are attributes that the model does not see. `is_topped_up`: it has records of earlier hours.
    """

    no: int
    id: str
    at: datetime
    measured_at: datetime
    carried_forward: bool
    monitor_version: int | None
    unseen: Mapping[str, Any]
    is_topped_up: bool = False


@frozen_by_name
class RecentFigure:
    check_no: int
    data: DataSet
    attribute: str
    group: str
    value: float | None
    verdict: str | None
    carried_forward: bool
    definition: int


# Checks of longer ranges are no part of the hourly series; one hour fills in history.
_CHECKS = text("""
    SELECT n.no, n.id, n.at, coalesce(o.span_end, n.at) AS measured_at, n.origin IS NOT NULL
        AS carried_forward, n.monitor_version,
           n.unseen, n.is_topped_up
    FROM (
        SELECT DISTINCT ON (c.span_end) c.no, c.id, c.span_end AS at, c."window"->>'carried_from' AS origin,
            c.monitor_version,
               jsonb_strip_nulls(jsonb_build_object(
                   'correlated_features', c."window"->'correlated_features',
                   'attributes_unseen_by_model', c."window"->'attributes_unseen_by_model')) AS unseen,
               coalesce((c."window"->>'additional_records')::numeric, 0) > 0 AS is_topped_up
        FROM checks c
        WHERE c.deployment_no = :deployment_no AND c.state = 'succeeded' AND c.span_end <= coalesce(:until,
            'infinity'::timestamptz)
          AND (c.trigger <> 'range' OR c.span_end <= c.span_start + interval '1 hour')
        ORDER BY c.span_end DESC, c.no DESC LIMIT :most
    ) n LEFT JOIN checks o ON o.id = n.origin
    ORDER BY n.at DESC
""")

# The index of series: by check_no every other metric would be read, too.
_FIGURES = text("""
    SELECT m.check_no, m.data, m.attribute, m."group", m.value, m.verdict, m.carried_forward, m.definition
    FROM measurements m
    WHERE m.deployment_no = :deployment_no AND m.metric = :metric AND m.at >= :since AND m.scope = 'group'
      AND m.attribute IS NOT NULL AND m."group" IS NOT NULL AND m.check_no = ANY(CAST(:check_nos AS bigint[]))
    ORDER BY m.at, m.no
""")


def recent_checks(
    session: Session, deployment_no: int, *, most: int, until: datetime | None = None
) -> list[RecentCheck]:
    """Returns at most `most` newest checks with figures, newest first, one for each end, up to `until`."""
    rows = session.execute(_CHECKS, {"deployment_no": deployment_no, "most": most, "until": until})
    return [RecentCheck(**row) for row in rows.mappings()]


def recent_figures(
    session: Session, deployment_no: int, metric: str, checks: Sequence[RecentCheck]
) -> list[RecentFigure]:
    if not checks:
        return []
    parameters = {
        "deployment_no": deployment_no,
        "metric": metric,
        "since": min(check.at for check in checks),
        "check_nos": [check.no for check in checks],
    }
    return [read_row(RecentFigure, row) for row in session.execute(_FIGURES, parameters)]
