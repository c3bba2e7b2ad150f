"""Summaries of evidence: the state of each figure at each limit."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import text
from sqlalchemy.orm import Session

from ...base.values import frozen_by_name
from ...database.binary_rows import read_row
from ...domain.check import DataSet


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """A time of unfairness: most likely first hour, enough evidence, and its end.

    `resolved_at` and `fair_since` are set where evidence has ended it, `closed_at` where a person has.
    `earliest`, `latest` (nearly as likely starts) and `log_evidence` lack where release 0.1 found it.
    `found_at`: corrections of past hours raised it, when the hours before were known. `is_below`: after
    corrections, the evidence is below the threshold.
    """

    since: datetime
    alarm_at: datetime
    earliest: datetime | None = None
    latest: datetime | None = None
    log_evidence: float | None = None
    found_at: datetime | None = None
    is_below: bool = False
    resolved_at: datetime | None = None
    fair_since: datetime | None = None
    closed_at: datetime | None = None


class LimitSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence at one limit, and all alarms, oldest first. `since` is None while undecided."""

    direction: str
    state: str
    since: datetime | None = None
    alarms: list[Alarm] = []


@frozen_by_name
class FigureSummary:
    """Summary after the hours before `until`; a stale one is about to be computed again."""

    id: str
    data: DataSet
    attribute: str
    group: str
    metric: str
    until: datetime
    is_stale: bool
    limits: Sequence[LimitSummary]


@frozen_by_name
class EvidenceCounts:
    """Comparisons with records in each state, in the present era.

    `unfair_since` is the earliest most likely start. Hours before `counted_until` are counted.
    """

    unfair: int
    shown_fair: int
    undecided: int
    unfair_since: datetime | None
    counted_until: datetime | None


_PRESENT = """
    FROM evidence_eras e
    JOIN deployments d ON d.no = e.deployment_no AND d.model_revision = e.model_revision
    JOIN monitors m ON m.deployment_no = e.deployment_no
"""

_NEWEST = """e.no = (SELECT max(no) FROM evidence_eras n WHERE n.deployment_no = e.deployment_no AND n.model_revision = e.model_revision)"""

_COUNTS = f"""
    SELECT e.deployment_no, e.counted_until,
           count(*) FILTER (WHERE s.state = 'unfair') AS unfair,
           count(*) FILTER (WHERE s.state = 'shown_fair') AS shown_fair,
           count(*) FILTER (WHERE s.state = 'undecided') AS undecided,
           min(s.since) FILTER (WHERE s.state = 'unfair') AS unfair_since
    {_PRESENT}
    LEFT JOIN evidence_figures f ON f.era_no = e.no AND f.ended_at IS NULL
    LEFT JOIN LATERAL jsonb_to_recordset(f.summary) AS s (state text, since timestamptz) ON true
    WHERE e.deployment_no = ANY(:nos) AND {_NEWEST} GROUP BY 1, 2
"""


def evidence_counts(session: Session, deployment_nos: Sequence[int]) -> Mapping[int, EvidenceCounts]:
    """Returns the counts by deployment, without those whose evidence has not begun."""
    rows = session.execute(text(_COUNTS), {"nos": list(deployment_nos)})
    return {row.deployment_no: read_row(EvidenceCounts, row) for row in rows}


_SUMMARIES = f"""
    SELECT f.id, f.data, f.attribute, f."group", f.metric, f.until, f.is_stale, f.summary
    {_PRESENT}
    JOIN evidence_figures f ON f.era_no = e.no AND f.ended_at IS NULL
    WHERE e.deployment_no = :no AND {_NEWEST} AND f.metric = :metric
      AND (CAST(:data AS text) IS NULL OR f.data = :data)
      AND (CAST(:attribute AS text) IS NULL OR f.attribute = :attribute)
      AND (CAST(:group AS text) IS NULL OR f."group" = :group)
    ORDER BY f.no
"""


def read_summaries(
    session: Session,
    deployment_no: int,
    metric: str,
    *,
    data: DataSet | None,
    attribute: str | None,
    group: str | None,
) -> list[FigureSummary]:
    """Returns the summaries of one metric in the present era, in order; None allows all."""
    parameters = {
        "no": deployment_no,
        "metric": metric,
        "data": data and data.value,
        "attribute": attribute,
        "group": group,
    }
    return [
        read_row(FigureSummary, row, limits=msgspec.convert(row.summary, list[LimitSummary]))
        for row in session.execute(text(_SUMMARIES), parameters)
    ]
