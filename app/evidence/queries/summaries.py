"""Summaries of evidence: the state of each figure at each limit."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import text
from sqlalchemy.orm import Session

from ...base.values import frozen_by_name
from ...database.binary_rows import read_row


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
class EvidenceCounts:
    """Figures with records that are unfair, confirmed fair, and neither, in the present era.

    `unfair_since` is the earliest most likely start. Hours before `counted_until` are counted.
    """

    unfair: int
    confirmed_fair: int
    undecided: int
    unfair_since: datetime | None
    counted_until: datetime | None

    @property
    def compared(self) -> int:
        return self.unfair + self.confirmed_fair + self.undecided


_COUNTS = """
    SELECT e.deployment_no, e.counted_until,
           count(*) FILTER (WHERE s.is_unfair) AS unfair,
           count(*) FILTER (WHERE s.is_fair AND NOT s.is_unfair) AS confirmed_fair,
           count(*) FILTER (WHERE NOT s.is_fair AND NOT s.is_unfair) AS undecided,
           min(s.since) AS unfair_since
    FROM evidence_eras e
    JOIN deployments d ON d.no = e.deployment_no AND d.model_revision = e.model_revision
    JOIN monitors m ON m.deployment_no = e.deployment_no
    LEFT JOIN evidence_figures f ON f.era_no = e.no AND f.ended_at IS NULL
    LEFT JOIN LATERAL (
        SELECT bool_or(l.state = 'unfair') AS is_unfair, bool_and(l.state = 'shown_fair') AS is_fair,
               min(l.since) FILTER (WHERE l.state = 'unfair') AS since
        FROM jsonb_to_recordset(f.summary) AS l (state text, since timestamptz)
    ) s ON true
    WHERE e.deployment_no = ANY(:nos)
      AND e.no = (
          SELECT max(no) FROM evidence_eras n
          WHERE n.deployment_no = e.deployment_no AND n.model_revision = e.model_revision
      )
    GROUP BY 1, 2
"""


def evidence_counts(session: Session, deployment_nos: Sequence[int]) -> Mapping[int, EvidenceCounts]:
    """Returns the counts by deployment, without those whose evidence has not begun."""
    rows = session.execute(text(_COUNTS), {"nos": list(deployment_nos)})
    return {row.deployment_no: read_row(EvidenceCounts, row) for row in rows}
