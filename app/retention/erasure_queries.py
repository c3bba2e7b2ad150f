"""Erasures: requests, progress, receipts."""

import uuid
from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as insert_if_absent
from sqlalchemy.orm import Session

from ..base.errors import Conflict, require_present
from ..database.binary_rows import page_newest, read_row
from ..database.tables import ErasureRow
from ..domain.paging import Paging
from .policy import (
    Counts,
    Erasure,
    ErasureKind,
    ErasureState,
    RecordSelector,
    add_counts,
    hash_receipt,
    hash_request,
    receipt_document,
)


def request_erasure(
    session: Session,
    deployment_no: int,
    deployment_id: str,
    *,
    erasure_id: str,
    selector: RecordSelector,
    by: str,
) -> tuple[Erasure, bool]:
    """Queues the erasure of a person's records; returns it, and whether it is new."""
    hashed = hash_request(deployment_id, selector.document())
    values = {
        **_fresh(erasure_id, deployment_no, deployment_id, ErasureKind.PERSON, by),
        "selector": selector.document(),
        "scope": selector.scope(),
        "request_hash": hashed,
    }
    insertion = (
        insert_if_absent(ErasureRow)
        .values(values)
        .on_conflict_do_nothing(index_elements=["deployment_id", "id"])
    )
    is_new = session.scalar(insertion.returning(ErasureRow.no)) is not None
    stored = get_erasure(session, deployment_id, erasure_id)
    if stored.request_hash != hashed:
        raise Conflict(
            f"There is an erasure {erasure_id} of {deployment_id} already, of other records. Choose another "
            "id."
        )
    return stored, is_new


def count_aged(
    session: Session, deployment_no: int, deployment_id: str, *, scope: Mapping[str, Any], counts: Counts
) -> None:
    """Adds counts of aged rows to the deployment's open erasure, which begins here if there is none."""
    if not counts:
        return
    is_open = (ErasureRow.kind == ErasureKind.RETENTION, ErasureRow.finished_at.is_(None))
    row = session.scalar(
        select(ErasureRow).where(ErasureRow.deployment_no == deployment_no, *is_open).with_for_update()
    )
    if row is None:
        values = _fresh(str(uuid.uuid4()), deployment_no, deployment_id, ErasureKind.RETENTION, "schedule")
        values |= {
            "scope": dict(scope),
            "request_hash": hash_request(deployment_id, scope),
            "counts": dict(counts),
        }
        session.execute(
            insert(ErasureRow).values(values | {"state": ErasureState.RUNNING, "started_at": func.now()})
        )
    else:
        row.counts = add_counts(row.counts, counts)


def lock_open(session: Session, no: int) -> Erasure | None:
    """Locks and returns the erasure if it is open and no other process holds it."""
    statement = select(ErasureRow).where(ErasureRow.no == no, ErasureRow.finished_at.is_(None))
    row = session.scalar(statement.with_for_update(skip_locked=True))
    return None if row is None else read_row(Erasure, row)


def open_erasures(session: Session, kind: ErasureKind) -> list[tuple[int, int]]:
    """Open erasures and their deployments, oldest first."""
    statement = select(ErasureRow.no, ErasureRow.deployment_no).where(
        ErasureRow.finished_at.is_(None), ErasureRow.kind == kind.value
    )
    rows = session.execute(statement.where(ErasureRow.deployment_no.is_not(None)).order_by(ErasureRow.no))
    return [(no, deployment_no) for no, deployment_no in rows if deployment_no is not None]


def read_selector(session: Session, no: int) -> RecordSelector:
    stored = session.scalars(select(ErasureRow.selector).where(ErasureRow.no == no)).one()
    return msgspec.convert(stored or {}, RecordSelector)


def begin_erasure(session: Session, no: int) -> None:
    session.execute(
        update(ErasureRow)
        .where(ErasureRow.no == no)
        .values(state=ErasureState.RUNNING, started_at=func.now())
    )


def has_settled(session: Session, no: int, seconds: float) -> bool:
    """Returns whether the erasure began that long ago: no write is open that did not know of it."""
    began = select(ErasureRow.started_at <= func.now() - func.make_interval(0, 0, 0, 0, 0, 0, seconds)).where(
        ErasureRow.no == no
    )
    return bool(session.scalar(began))


def count_erased(session: Session, no: int, counts: Counts) -> None:
    """Adds to the counts of a locked erasure."""
    row = session.get_one(ErasureRow, no, populate_existing=True)
    row.counts = add_counts(row.counts, counts)
    session.flush()


def finish_erasure(session: Session, no: int) -> Erasure:
    """Ends the erasure: empties its selector, and stores the hash of its receipt."""
    values = {"state": ErasureState.FINISHED, "finished_at": func.now(), "selector": None}
    session.execute(update(ErasureRow).where(ErasureRow.no == no).values(values))
    # The hash is of the times that Postgres stored.
    row = session.get_one(ErasureRow, no, populate_existing=True)
    row.hash = hash_receipt(receipt_document(read_row(Erasure, row)))
    session.flush()
    return read_row(Erasure, row)


def get_erasure(session: Session, deployment_id: str, erasure_id: str) -> Erasure:
    """Erasure, or raises NotFound."""
    statement = select(ErasureRow).where(
        ErasureRow.deployment_id == deployment_id, ErasureRow.id == erasure_id
    )
    return read_row(Erasure, require_present(session.scalar(statement), "erasure", erasure_id))


def read_erasures(session: Session, deployment_no: int, paging: Paging) -> list[Erasure]:
    statement = select(ErasureRow).where(ErasureRow.deployment_no == deployment_no)
    return [read_row(Erasure, row) for row in session.scalars(page_newest(statement, ErasureRow.no, paging))]


def _fresh(
    erasure_id: str, deployment_no: int, deployment_id: str, kind: ErasureKind, by: str
) -> dict[str, Any]:
    return {
        "id": erasure_id,
        "deployment_no": deployment_no,
        "deployment_id": deployment_id,
        "kind": kind,
        "state": ErasureState.QUEUED,
        "counts": {},
        "requested_by": by,
    }
