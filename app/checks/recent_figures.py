"""Figures of one metric in the newest checks."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.orm import Session

from ..base.strict_json import JsonObject
from ..base.values import frozen, frozen_by_name
from ..database.binary_rows import read_row
from ..domain.check import DataSet

# Checks of longer ranges are not in the hourly series; one hour fills in history. Figures are found by the
# index of series: by check_no every other metric would be read, too.
_RECENT = text("""
    SELECT recent.no, recent.id, recent.at, coalesce(origin.span_end, recent.at) AS measured_at,
        recent.origin_id IS NOT NULL AS carried_forward, recent.monitor_version, recent.unseen,
        recent.is_topped_up, figure.check_no, figure.data, figure.attribute, figure."group", figure.value,
        figure.verdict, figure.definition, figure.carried_forward AS is_figure_carried
    FROM (
        SELECT DISTINCT ON (span_end) no, id, span_end AS at, "window"->>'carried_from' AS origin_id,
            monitor_version,
            jsonb_strip_nulls(jsonb_build_object(
                'correlated_features', "window"->'correlated_features',
                'attributes_unseen_by_model', "window"->'attributes_unseen_by_model'
            )) AS unseen,
            coalesce(("window"->>'additional_records')::numeric, 0) > 0 AS is_topped_up
        FROM checks
        WHERE deployment_no = :deployment_no AND state = 'succeeded'
            AND span_end <= coalesce(:until, 'infinity'::timestamptz)
            AND (trigger <> 'range' OR span_end <= span_start + interval '1 hour')
        ORDER BY span_end DESC, no DESC
        LIMIT :limit
    ) recent
    LEFT JOIN checks origin ON origin.id = recent.origin_id
    LEFT JOIN measurements figure ON figure.deployment_no = :deployment_no AND figure.metric = :metric
        AND figure.at = recent.at AND figure.check_no = recent.no AND figure.scope = 'group'
        AND figure.attribute IS NOT NULL AND figure."group" IS NOT NULL
    ORDER BY recent.at, figure.no
""")


@frozen_by_name
class RecentCheck:
    """A check with figures. `measured_at` is the end of the measured span.

    `unseen` holds members of its window: attributes that the model does not see. `is_topped_up`: the check
    has records of earlier hours.
    """

    no: int
    id: str
    at: datetime
    measured_at: datetime
    carried_forward: bool
    monitor_version: int | None
    unseen: JsonObject
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


@frozen
class RecentFigures:
    checks: Sequence[RecentCheck]
    figures: Sequence[RecentFigure]


def read_recent_figures(
    session: Session, deployment_no: int, metric: str, *, limit: int, until: datetime | None = None
) -> RecentFigures:
    """Reads the newest checks up to `until`, one for each end, and their figures of groups, oldest first."""
    rows = session.execute(
        _RECENT, {"deployment_no": deployment_no, "metric": metric, "limit": limit, "until": until}
    ).all()
    oldest_first = {row.no: row for row in rows}.values()
    return RecentFigures(
        [read_row(RecentCheck, row) for row in reversed(oldest_first)],
        [
            read_row(RecentFigure, row, carried_forward=row.is_figure_carried)
            for row in rows
            if row.check_no is not None
        ],
    )
