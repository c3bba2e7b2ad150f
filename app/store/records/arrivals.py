"""Arrived and rejected records by hour: added up, read, and forgotten after some weeks."""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...domain.arrivals import KEPT, Arrivals, RejectionCount
from ...domain.checks import Span
from ..database.rows import read_row
from ..tables import ArrivalRow, DeploymentRow, FeedbackRecordRow, RejectionCountRow

MOST_WAITING: Final = 1000
"""Max labels without a record that are counted; more are shown as "more than"."""

MOST_REASONS: Final = 10_000

_IS_ALONE = text("SELECT pg_try_advisory_xact_lock(4540261130)")

# A deployment that is being deleted is skipped, not waited for.
_LOCK = text("""
    SELECT no FROM deployments WHERE no IN (SELECT deployment_no FROM arrivals) ORDER BY no FOR KEY SHARE SKIP LOCKED
""")

_FORGET = tuple(
    text(f"DELETE FROM {table} WHERE hour < now() - CAST(:kept AS interval) AND deployment_no = ANY (:nos)")  # noqa: S608 - our names
    for table in ("arrivals", "rejection_counts")
)

# The present hour as well: later rows are added by a later call.
_FOLD = text("""
    WITH several AS (
        SELECT deployment_no, hour, source, kind FROM arrivals
        WHERE hour >= now() - interval '1 day' AND deployment_no = ANY (:nos)
        GROUP BY 1, 2, 3, 4 HAVING count(*) > 1
    ), taken AS (
        DELETE FROM arrivals a USING several s
        WHERE (a.deployment_no, a.hour, a.source, a.kind) = (s.deployment_no, s.hour, s.source, s.kind)
        RETURNING a.deployment_no, a.hour, a.source, a.kind, a.records
    )
    INSERT INTO arrivals (deployment_no, hour, source, kind, records)
    SELECT deployment_no, hour, source, kind, sum(records) FROM taken GROUP BY 1, 2, 3, 4
""")


def fold_arrivals(session: Session) -> None:
    """Replaces the rows of each hour, source and kind by their sum, and deletes old hours.

    Readers see the same numbers. Does nothing while another process does it.
    """
    if not session.scalar(_IS_ALONE):
        return
    nos = list(session.scalars(_LOCK))
    for statement in _FORGET:
        session.execute(statement, {"kept": KEPT, "nos": nos})
    session.execute(_FOLD, {"nos": nos})


def arrivals_in(session: Session, deployment_no: int, hours: Span) -> Sequence[Arrivals]:
    row = ArrivalRow
    statement = (
        select(row.hour, row.source, row.kind, func.sum(row.records).label("records"))
        .where(row.deployment_no == deployment_no, row.hour >= hours.start, row.hour < hours.end)
        .group_by(row.hour, row.source, row.kind)
        .order_by(row.hour, row.source, row.kind)
    )
    return [read_row(Arrivals, counted, records=int(counted.records)) for counted in session.execute(statement)]


def rejections_in(session: Session, deployment_no: int, hours: Span) -> Sequence[RejectionCount]:
    row = RejectionCountRow
    statement = (
        select(row)
        .where(row.deployment_no == deployment_no, row.hour >= hours.start, row.hour < hours.end)
        .order_by(row.hour.desc(), row.records.desc())
        .limit(MOST_REASONS)
    )
    return [read_row(RejectionCount, counted) for counted in session.scalars(statement)]


def add_rejections(session: Session, counts: Mapping[int, Sequence[RejectionCount]]) -> None:
    """Adds rejected records by deployment, without deployments that are gone."""
    # A deployment that is deleted now would make the next statement refuse all rows.
    there = select(DeploymentRow.no).where(DeploymentRow.no.in_(counts)).order_by(DeploymentRow.no)
    found = session.scalars(there.with_for_update(read=True, key_share=True, skip_locked=True)).all()
    rows = [
        {
            "deployment_no": no,
            "hour": one.hour,
            "source": one.source,
            "kind": one.kind,
            "reason": one.reason,
            "field": one.field,
            "records": one.records,
        }
        for no in found
        for one in counts[no]
    ]
    # Processes lock rows in the same order.
    rows.sort(key=lambda row: tuple(map(str, row.values())))
    if rows:
        insertion = insert(RejectionCountRow)
        added = RejectionCountRow.records + insertion.excluded.records
        key = ["deployment_no", "hour", "source", "kind", "reason", "field"]
        session.execute(insertion.on_conflict_do_update(index_elements=key, set_={"records": added}), rows)


def waiting_labels(session: Session, deployment_no: int) -> int:
    """Returns the labels whose record has not arrived; one more than `MOST_WAITING` means "more than"."""
    row = FeedbackRecordRow
    # A partial index holds these labels alone.
    some = select(row.feedback_no).where(row.deployment_no == deployment_no, row.usable_at.is_(None)).limit(MOST_WAITING + 1)
    return session.scalar(select(func.count()).select_from(some.subquery())) or 0
