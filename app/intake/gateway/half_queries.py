"""Halves of calls that wait for the other half."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, delete, select, text, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...base.frozen import frozen, frozen_by_name
from ...database.binary_rows import list_column_values, read_row
from ...database.engine import Database
from ...database.tables import CallHalfRow as Row
from ...database.tables import ErasedIdRow
from ...deployments.queries import find_numbers
from ...domain.record import digest_id
from .spool_entries import CallSide, IntakeCount, IntakeOutcome

MAX_HALVES, MAX_HALVES_BYTES = 50_000, 256 * 1024 * 1024
"""Of one deployment; the oldest expire."""


@frozen_by_name
class StoredHalf:
    """A request or an answer (`side`) of a call; `stated_at` is its sender's time."""

    deployment_no: int
    call_id: str
    side: str
    source: str
    received_at: datetime
    stated_at: datetime | None
    content_type: str
    encoding: str
    body: bytes


@frozen
class CallKey:
    deployment_no: int
    call_id: str


_EXPIRED = {
    CallSide.REQUEST: IntakeOutcome.UNPAIRED_REQUEST,
    CallSide.RESPONSE: IntakeOutcome.UNPAIRED_RESPONSE,
}
_MISSING = {
    CallSide.REQUEST: "no answer of the model came in time: the model may have failed, or its answer was "
    "not reported",
    CallSide.RESPONSE: "the request of this answer did not come in time",
}

# A half of a stored call is a repetition, and no loss.
_EXPIRE = text("""
WITH ranked AS (
    SELECT deployment_no, call_id, side,
        row_number() OVER newest AS place, sum(octet_length(body)) OVER newest AS bytes
    FROM call_halves
    WINDOW newest AS (PARTITION BY deployment_no ORDER BY received_at DESC, call_id, side)
), expired AS (
    DELETE FROM call_halves h USING ranked r
    WHERE h.deployment_no = r.deployment_no AND h.call_id = r.call_id AND h.side = r.side
    AND (h.received_at < :before OR r.place > :most OR r.bytes > :most_bytes)
    RETURNING h.deployment_no, h.call_id, h.side, h.source, h.received_at
)
SELECT e.deployment_no, date_trunc('hour', e.received_at, 'UTC'), e.source, e.side, count(*)
FROM expired e
WHERE NOT EXISTS (
    SELECT FROM payload_keys k WHERE k.deployment_no = e.deployment_no AND k.record_id IN (e.call_id,
        e.call_id || '-1')
)
GROUP BY 1, 2, 3, 4
""")


def add_halves(session: Session, halves: Sequence[StoredHalf]) -> None:
    """Stores halves; stored ones stay, those of a deleted deployment and of erased records are left out."""
    present = find_numbers(session, {half.deployment_no for half in halves})
    digests = [(half.deployment_no, digest_id(half.call_id)) for half in halves]
    columns = (ErasedIdRow.deployment_no, ErasedIdRow.digest)
    erased = {
        (no, digest) for no, digest in session.execute(select(*columns).where(tuple_(*columns).in_(digests)))
    }
    stored = [
        half
        for half, digest in zip(halves, digests, strict=True)
        if half.deployment_no in present and digest not in erased
    ]
    rows = [
        list_column_values(half)
        for half in sorted(stored, key=lambda half: (half.deployment_no, half.call_id, half.side))
    ]
    if rows:
        session.execute(insert(Row).on_conflict_do_nothing(), rows)


def find_halves(session: Session, keys: Sequence[CallKey]) -> list[StoredHalf]:
    rows = session.scalars(select(Row).where(_of_calls(keys)))
    return [read_row(StoredHalf, row) for row in rows]


def remove_halves(database: Database, keys: Sequence[CallKey]) -> None:
    """Deletes the halves of calls whose records are stored; blocks.

    Raises:
        Unavailable: the database does not answer.
    """
    with database.transaction() as session:
        session.execute(delete(Row).where(_of_calls(keys)))


def expire_halves(session: Session, *, before: datetime | None) -> list[IntakeCount]:
    """Deletes halves before that time, and each deployment's beyond the newest MAX_HALVES or
    MAX_HALVES_BYTES.

    Returns their numbers by the hour of receipt, without those of stored records.
    """
    rows = session.execute(_EXPIRE, {"before": before, "most": MAX_HALVES, "most_bytes": MAX_HALVES_BYTES})
    return [
        IntakeCount(
            deployment_no=no,
            hour=hour,
            source=source,
            outcome=_EXPIRED[side],
            count=count,
            reason=_MISSING[side],
        )
        for no, hour, source, side, count in rows
    ]


def _of_calls(keys: Sequence[CallKey]) -> ColumnElement[bool]:
    return tuple_(Row.deployment_no, Row.call_id).in_([(key.deployment_no, key.call_id) for key in keys])
