"""Payload records by minute: counted by writers, added up, then forgotten."""

from datetime import datetime, timedelta

from sqlalchemy import text
from sqlalchemy.orm import Session

KEPT = timedelta(hours=2)
"""An hour is shown; a late clock or a stopped scheduler does no harm."""

_SETTLED = timedelta(minutes=1)

_IS_ALONE = text("SELECT pg_try_advisory_xact_lock(4540261128)")

# A deployment that is being deleted is skipped, not waited for.
_LOCK = text("""
    SELECT no FROM deployments WHERE no IN (SELECT deployment_no FROM record_counts)
        ORDER BY no FOR KEY SHARE SKIP LOCKED
""")

_FORGET = text(
    "DELETE FROM record_counts WHERE minute < now() - CAST(:kept AS interval) AND deployment_no = ANY (:nos)"
)

_FOLD = text("""
    WITH several AS (
        SELECT minute, deployment_no FROM record_counts
        WHERE minute < now() - CAST(:settled AS interval) AND deployment_no = ANY (:nos)
        GROUP BY minute, deployment_no HAVING count(*) > 1
    ), taken AS (
        DELETE FROM record_counts c USING several s WHERE c.minute = s.minute
            AND c.deployment_no = s.deployment_no
        RETURNING c.minute, c.deployment_no, c.records
    )
    INSERT INTO record_counts (minute, deployment_no, records)
    SELECT minute, deployment_no, sum(records) FROM taken GROUP BY minute, deployment_no
""")


def fold_counts(session: Session) -> None:
    """Joins the rows of each past minute, and deletes old ones, for one process at a time. Readers see the
    same.
    """
    if not session.scalar(_IS_ALONE):
        return
    nos = list(session.scalars(_LOCK))
    session.execute(_FORGET, {"kept": KEPT, "nos": nos})
    session.execute(_FOLD, {"settled": _SETTLED, "nos": nos})


def is_counted(minute: datetime, now: datetime) -> bool:
    return minute > now - KEPT
