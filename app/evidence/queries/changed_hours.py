"""Hours to which something was added after their end.

Record numbers cannot find these: processes reserve them in blocks. So each transaction that may add to a
past hour notes it. An hour is counted only when no live write can be open.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import delete, text
from sqlalchemy.orm import Session

from ...checks.correction import CorrectedCount
from ...database.tables import ChangedHourRow
from .eras import Era

MOST_NOTES = 10_000
"""Max notes of changed hours that one transaction reads."""


def changed_hours(session: Session, deployment_no: int, era: Era) -> list[tuple[int, datetime]]:
    """Returns the first MOST_NOTES notes for the present era, a number and an hour each, by hour. Drops
    those of erased records.
    """
    if era.counted_until is not None:
        # What was erased cannot be counted again: the counts stay.
        session.execute(
            text(
                """DELETE FROM changed_hours c USING erased_hours e
                   WHERE c.deployment_no = :no AND e.deployment_no = c.deployment_no AND e.hour = c.hour
                       AND c.hour < :counted_until
                     AND (c.era_no IS NULL OR c.era_no = :era)"""
            ),
            {"no": deployment_no, "era": era.no, "counted_until": era.counted_until},
        )
    rows = session.execute(
        text(
            """SELECT no, hour FROM changed_hours WHERE deployment_no = :no AND (era_no IS NULL OR era_no = :era)
               ORDER BY hour, no LIMIT :most"""
        ),
        {"no": deployment_no, "era": era.no, "most": MOST_NOTES},
    )
    return [(no, hour) for no, hour in rows]


def count_corrections(
    session: Session, deployment_no: int, era: Era, since: Collection[datetime]
) -> Mapping[datetime, list[CorrectedCount]]:
    """Returns how many values of counted hours were corrected since each of these times, by kind."""
    statement = text(
        """SELECT s.since, c.what, count(*) FROM unnest(CAST(:since AS timestamptz[])) AS s (since)
           JOIN corrections c ON c.made_at >= s.since AND (c.previous_at IS NULL OR c.previous_at < s.since)
           WHERE c.deployment_no = :no AND c.logged_at < :until
           GROUP BY 1, 2 ORDER BY 1, 2"""
    )
    values = {"no": deployment_no, "since": list(since), "until": era.counted_until}
    counts: dict[datetime, list[CorrectedCount]] = {}
    for start, what, count in session.execute(statement, values):
        counts.setdefault(start, []).append(CorrectedCount(what, count))
    return counts


def forget_changes(session: Session, nos: Sequence[int], era: Era) -> None:
    """Deletes notes that the era has counted; other model revisions keep them."""
    # Earlier eras of a revision are never used again.
    session.execute(
        text(
            """INSERT INTO changed_hours (deployment_no, hour, era_no)
               SELECT DISTINCT c.deployment_no, c.hour, e.no FROM changed_hours c JOIN evidence_eras e
                   USING (deployment_no)
               WHERE c.no = ANY(:nos) AND c.era_no IS NULL AND e.no <> :era AND c.hour <= e.counted_until
                 AND e.no = (SELECT max(n.no) FROM evidence_eras n
                             WHERE n.deployment_no = e.deployment_no AND n.model_revision = e.model_revision)
                 AND NOT EXISTS (SELECT FROM changed_hours k
                                 WHERE k.deployment_no = c.deployment_no AND k.hour = c.hour
                                     AND k.era_no = e.no)"""
        ),
        {"nos": list(nos), "era": era.no},
    )
    session.execute(delete(ChangedHourRow).where(ChangedHourRow.no.in_(nos)))
