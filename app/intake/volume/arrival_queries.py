"""Records by hour: arrived, rejected, not received, and calls through the gateway or by events."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Row, case, cast, func, or_, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...base.values import frozen_by_name
from ...database.binary_rows import list_column_values, read_row, within
from ...database.tables import (
    ArrivalRow,
    FeedbackRecordRow,
    IntakeCountRow,
    MissingRecordRow,
    RejectionCountRow,
)
from ...deployments.queries import find_existing_numbers
from ...domain.check import Span
from ...domain.record_times import KEPT, Arrivals, RejectionCount
from ..gateway.call_events import IntakeCount


@frozen_by_name
class MissingTotals:
    """Records of one hour that a sender dropped, and those that its sample leaves out."""

    hour: datetime
    not_received: int
    left_out: int


MAX_WAITING_LABELS = 1000

MAX_REJECTION_ROWS = 10_000

_TRY_LOCK = text("SELECT pg_try_advisory_xact_lock(4540261130)")

# A deployment that is being deleted is skipped, not waited for.
_LOCK_DEPLOYMENTS = text("""
    SELECT no FROM deployments
    WHERE no IN (SELECT deployment_no FROM arrivals)
    ORDER BY no
    FOR KEY SHARE SKIP LOCKED
""")

_DELETE_OLD = tuple(
    text(f"DELETE FROM {table} WHERE hour < now() - CAST(:kept AS interval) AND deployment_no = ANY (:nos)")  # noqa: S608 - our names
    for table in ("arrivals", "rejection_counts")
)

# Joins the present hour as well: later rows are joined by a later call.
_JOIN_ROWS = text("""
    WITH several AS (
        SELECT deployment_no, hour, source, kind FROM arrivals
        WHERE hour >= now() - interval '1 day' AND deployment_no = ANY (:nos)
        GROUP BY 1, 2, 3, 4
        HAVING count(*) > 1
    ), taken AS (
        DELETE FROM arrivals a USING several s
        WHERE (a.deployment_no, a.hour, a.source, a.kind) = (s.deployment_no, s.hour, s.source, s.kind)
        RETURNING a.deployment_no, a.hour, a.source, a.kind, a.records
    )
    INSERT INTO arrivals (deployment_no, hour, source, kind, records)
    SELECT deployment_no, hour, source, kind, sum(records) FROM taken GROUP BY 1, 2, 3, 4
""")


def fold_arrivals(session: Session) -> None:
    """Joins the rows of an hour, source and kind, and deletes old hours; sums that are read stay the same.
    Does nothing while another process does this.
    """
    if not session.scalar(_TRY_LOCK):
        return
    nos = list(session.scalars(_LOCK_DEPLOYMENTS))
    for statement in _DELETE_OLD:
        session.execute(statement, {"kept": KEPT, "nos": nos})
    session.execute(_JOIN_ROWS, {"nos": nos})


def read_arrivals(session: Session, deployment_no: int, hours: Span) -> Sequence[Arrivals]:
    statement = (
        select(
            ArrivalRow.hour,
            ArrivalRow.source,
            ArrivalRow.kind,
            cast(func.sum(ArrivalRow.records), BigInteger).label("records"),
        )
        .where(
            ArrivalRow.deployment_no == deployment_no,
            ArrivalRow.hour >= hours.start,
            ArrivalRow.hour < hours.end,
        )
        .group_by(ArrivalRow.hour, ArrivalRow.source, ArrivalRow.kind)
        .order_by(ArrivalRow.hour, ArrivalRow.source, ArrivalRow.kind)
    )
    return [read_row(Arrivals, row) for row in session.execute(statement)]


def read_rejections(session: Session, deployment_no: int, hours: Span) -> Sequence[RejectionCount]:
    statement = (
        select(RejectionCountRow)
        .where(
            RejectionCountRow.deployment_no == deployment_no,
            RejectionCountRow.hour >= hours.start,
            RejectionCountRow.hour < hours.end,
        )
        .order_by(RejectionCountRow.hour.desc(), RejectionCountRow.records.desc())
        .limit(MAX_REJECTION_ROWS)
    )
    return [read_row(RejectionCount, row) for row in session.scalars(statement)]


def add_rejections(session: Session, counts: dict[int, list[RejectionCount]]) -> None:
    present_numbers = find_existing_numbers(session, counts)
    rows = [
        {"deployment_no": no, **list_column_values(rejected)}
        for no in present_numbers
        for rejected in counts[no]
    ]
    # Processes lock rows in the same order.
    rows.sort(key=lambda row: tuple(map(str, row.values())))
    if rows:
        insertion = insert(RejectionCountRow)
        added = RejectionCountRow.records + insertion.excluded.records
        key = ["deployment_no", "hour", "source", "kind", "reason", "field"]
        session.execute(insertion.on_conflict_do_update(index_elements=key, set_={"records": added}), rows)


def count_waiting_labels(session: Session, deployment_no: int) -> int:
    # A partial index holds these labels alone.
    waiting = (
        select(FeedbackRecordRow.feedback_no)
        .where(FeedbackRecordRow.deployment_no == deployment_no, FeedbackRecordRow.usable_at.is_(None))
        .limit(MAX_WAITING_LABELS + 1)
    )
    return session.scalar(select(func.count()).select_from(waiting.subquery())) or 0


def add_counts(session: Session, counts: Sequence[IntakeCount]) -> None:
    if not counts:
        return
    present_numbers = find_existing_numbers(session, {count.deployment_no for count in counts})
    # Processes lock rows in one order.
    ordered = sorted(counts, key=lambda count: (count.deployment_no, count.hour, count.source, count.outcome))
    rows = [list_column_values(count) for count in ordered if count.deployment_no in present_numbers]
    if not rows:
        return
    insertion = insert(IntakeCountRow)
    new = insertion.excluded
    added = {
        "count": IntakeCountRow.count + new.count,
        "reason": func.coalesce(new.reason, IntakeCountRow.reason),
    }
    keys = ["deployment_no", "hour", "source", "outcome"]
    session.execute(insertion.on_conflict_do_update(index_elements=keys, set_=added), rows)


def read_intake_hours(
    session: Session, deployment_no: int, *, since: datetime | None, until: datetime | None, limit: int
) -> dict[datetime, list[IntakeCount]]:
    """Half-open, newest first."""
    hours = (
        select(IntakeCountRow.hour)
        .where(IntakeCountRow.deployment_no == deployment_no, *within(IntakeCountRow.hour, since, until))
        .distinct()
        .order_by(IntakeCountRow.hour.desc())
        .limit(limit)
    )
    statement = select(IntakeCountRow).where(
        IntakeCountRow.deployment_no == deployment_no, IntakeCountRow.hour.in_(hours)
    )
    counts: dict[datetime, list[IntakeCount]] = {}
    for row in session.scalars(
        statement.order_by(IntakeCountRow.hour.desc(), IntakeCountRow.source, IntakeCountRow.outcome)
    ):
        counts.setdefault(row.hour, []).append(read_row(IntakeCount, row))
    return counts


_RATE = case((MissingRecordRow.left_out > 0, MissingRecordRow.sample_rate))
# Sums of 64 bits are numerics to the database.
_SUMS = (
    *(
        cast(func.coalesce(func.sum(column), 0), BigInteger).label(column.key)
        for column in (MissingRecordRow.not_received, MissingRecordRow.left_out)
    ),
    func.min(_RATE).label("lowest_rate"),
    func.max(_RATE).label("highest_rate"),
)


def put_missing(
    session: Session, deployment_no: int, sender: str, sample_rate: float, totals: Sequence[MissingTotals]
) -> None:
    if not totals:
        return
    insertion = insert(MissingRecordRow)
    new = insertion.excluded
    sender_values = {"deployment_no": deployment_no, "sender": sender, "sample_rate": sample_rate}
    # Requests lock rows in one order.
    rows = [
        sender_values | list_column_values(total) for total in sorted(totals, key=lambda total: total.hour)
    ]
    highest = {
        "not_received": func.greatest(MissingRecordRow.not_received, new.not_received),
        "left_out": func.greatest(MissingRecordRow.left_out, new.left_out),
    }
    is_higher = or_(
        MissingRecordRow.not_received < new.not_received, MissingRecordRow.left_out < new.left_out
    )
    session.execute(
        insertion.on_conflict_do_update(
            index_elements=["deployment_no", "hour", "sender"], set_=highest, where=is_higher
        ),
        rows,
    )


def read_missing_hours(
    session: Session, deployment_no: int, *, since: datetime | None, until: datetime | None, limit: int
) -> Sequence[Row[Any]]:
    """Hours in [since, until), newest first: hour, senders, and the sums and rates of `_SUMS`."""
    statement = select(MissingRecordRow.hour, func.count().label("senders"), *_SUMS)
    missing = statement.where(
        MissingRecordRow.deployment_no == deployment_no, *within(MissingRecordRow.hour, since, until)
    )
    return session.execute(
        missing.group_by(MissingRecordRow.hour).order_by(MissingRecordRow.hour.desc()).limit(limit)
    ).all()
