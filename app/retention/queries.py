"""Stored erasures, policies and legal holds; files that Evenhand wrote about records in tables."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import InstrumentedAttribute, Session

from ..base.errors import Conflict, require_present
from ..base.values import frozen_by_name
from ..database.binary_rows import list_column_values, page_newest, read_row
from ..database.tables import DeploymentRow, ErasureRow, LegalHoldRow, RetentionPolicyRow
from ..deployments.queries import read_tables
from ..domain.deployment import PayloadTable, TableFormat
from ..domain.paging import Paging
from .policy import (
    Counts,
    ErasureKind,
    ErasureState,
    RecordSelector,
    RetentionPolicy,
    add_counts,
    build_receipt,
    hash_receipt,
    hash_request,
)


def request_erasure(
    session: Session,
    deployment_no: int,
    deployment_id: str,
    *,
    erasure_id: str,
    selector: RecordSelector,
    by: str,
) -> tuple[ErasureRow, bool]:
    request_hash = hash_request(deployment_id, selector.document())
    values = {
        **_build_values(erasure_id, deployment_no, deployment_id, ErasureKind.PERSON, by),
        "selector": selector.document(),
        "scope": selector.scope(),
        "request_hash": request_hash,
    }
    insertion = (
        insert(ErasureRow).values(values).on_conflict_do_nothing(index_elements=["deployment_id", "id"])
    )
    is_new = session.scalar(insertion.returning(ErasureRow.no)) is not None
    stored = get_erasure(session, deployment_id, erasure_id)
    if stored.request_hash != request_hash:
        raise Conflict(
            f"There is an erasure {erasure_id} of {deployment_id} already, of other records. Choose another "
            "id."
        )
    return stored, is_new


def count_aged(
    session: Session, deployment_no: int, deployment_id: str, *, scope: Mapping[str, Any], counts: Counts
) -> None:
    if not counts:
        return
    is_open = (ErasureRow.kind == ErasureKind.RETENTION, ErasureRow.finished_at.is_(None))
    row = session.scalar(
        select(ErasureRow).where(ErasureRow.deployment_no == deployment_no, *is_open).with_for_update()
    )
    if row is None:
        values = _build_values(
            str(uuid.uuid4()), deployment_no, deployment_id, ErasureKind.RETENTION, "schedule"
        )
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


def lock_open(session: Session, no: int) -> ErasureRow | None:
    statement = select(ErasureRow).where(ErasureRow.no == no, ErasureRow.finished_at.is_(None))
    return session.scalar(statement.with_for_update(skip_locked=True))


def list_open_erasures(session: Session, kind: ErasureKind) -> list[tuple[int, int]]:
    statement = select(ErasureRow.no, ErasureRow.deployment_no).where(
        ErasureRow.finished_at.is_(None), ErasureRow.kind == kind.value
    )
    rows = session.execute(statement.order_by(ErasureRow.no))
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
    """Whether an erasure began that long ago: no write is open that did not know of it."""
    statement = select(
        ErasureRow.started_at <= func.now() - func.make_interval(0, 0, 0, 0, 0, 0, seconds)
    ).where(ErasureRow.no == no)
    return bool(session.scalar(statement))


def count_erased(session: Session, no: int, counts: Counts) -> None:
    row = session.get_one(ErasureRow, no, populate_existing=True)
    row.counts = add_counts(row.counts, counts)
    session.flush()


def finish_erasure(session: Session, no: int) -> ErasureRow:
    values = {"state": ErasureState.FINISHED, "finished_at": func.now(), "selector": None}
    session.execute(update(ErasureRow).where(ErasureRow.no == no).values(values))
    # The hash is of the times that Postgres stored.
    row = session.get_one(ErasureRow, no, populate_existing=True)
    row.hash = hash_receipt(build_receipt(row))
    return row


def get_erasure(session: Session, deployment_id: str, erasure_id: str) -> ErasureRow:
    statement = select(ErasureRow).where(
        ErasureRow.deployment_id == deployment_id, ErasureRow.id == erasure_id
    )
    return require_present(session.scalar(statement), "erasure", erasure_id)


def read_erasures(session: Session, deployment_no: int, paging: Paging) -> Sequence[ErasureRow]:
    statement = select(ErasureRow).where(ErasureRow.deployment_no == deployment_no)
    return session.scalars(page_newest(statement, ErasureRow.no, paging)).all()


def _build_values(
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


def find_hold(session: Session, deployment_no: int) -> LegalHoldRow | None:
    return session.scalar(select(LegalHoldRow).where(_is_in_force(deployment_no)))


def place_hold(session: Session, deployment_no: int, *, reason: str, by: str) -> LegalHoldRow:
    """From the commit on no batch of an erasure begins: each locks the deployment's row first."""
    is_in_force = _is_in_force(deployment_no)
    change = update(LegalHoldRow).where(is_in_force).values(reason=reason)
    if session.scalar(change.returning(LegalHoldRow.no)) is None:
        session.execute(insert(LegalHoldRow).values(deployment_no=deployment_no, reason=reason, placed_by=by))
    return session.scalars(select(LegalHoldRow).where(is_in_force)).one()


def release_hold(session: Session, deployment_no: int, *, by: str) -> bool:
    change = (
        update(LegalHoldRow).where(_is_in_force(deployment_no)).values(released_by=by, released_at=func.now())
    )
    return session.scalar(change.returning(LegalHoldRow.no)) is not None


_IS_FREE = text(
    """SELECT NOT EXISTS (SELECT FROM legal_holds WHERE deployment_no = :no AND released_at IS NULL)
       FROM deployments WHERE no = :no"""
)


def may_erase(session: Session, deployment_no: int) -> bool:
    """Whether a deployment is there and not on hold; locked until the transaction ends. Writers do not wait."""
    # Placing a hold takes the same lock; writers of records take FOR KEY SHARE.
    session.execute(text("SELECT FROM deployments WHERE no = :no FOR NO KEY UPDATE"), {"no": deployment_no})
    # The first statement's view of the holds is older than the lock.
    return bool(session.scalar(_IS_FREE, {"no": deployment_no}))


def _is_in_force(deployment_no: int | InstrumentedAttribute[int]) -> ColumnElement[bool]:
    return and_(LegalHoldRow.deployment_no == deployment_no, LegalHoldRow.released_at.is_(None))


@frozen_by_name
class AppliedPolicy:
    """Policy of a deployment without a hold. Answers are erased up to `answers_until`."""

    deployment_no: int
    deployment_id: str
    policy: RetentionPolicy
    answers_until: datetime | None


def read_retention_policy(session: Session, deployment_no: int) -> RetentionPolicy:
    """Version 0, which keeps everything, where none was set."""
    row = session.get(RetentionPolicyRow, deployment_no, populate_existing=True)
    return RetentionPolicy() if row is None else read_row(RetentionPolicy, row)


def put_policy(session: Session, deployment_no: int, policy: RetentionPolicy) -> RetentionPolicy:
    """As the next version unless it is the same. The deployment is locked."""
    stored = read_retention_policy(session, deployment_no)
    if stored == replace(policy, version=stored.version) and stored.version:
        return stored
    next_policy = replace(policy, version=stored.version + 1)
    values = list_column_values(next_policy)
    insertion = insert(RetentionPolicyRow).values(deployment_no=deployment_no, **values)
    session.execute(
        insertion.on_conflict_do_update(
            index_elements=["deployment_no"], set_={**values, "updated_at": func.now()}
        )
    )
    return next_policy


def read_policies_to_apply(session: Session) -> list[AppliedPolicy]:
    is_on_hold = select(LegalHoldRow.no).where(_is_in_force(DeploymentRow.no)).exists()
    statement = select(RetentionPolicyRow, DeploymentRow.id).join(
        DeploymentRow, DeploymentRow.no == RetentionPolicyRow.deployment_no
    )
    return [
        read_row(AppliedPolicy, row, deployment_id=name, policy=read_row(RetentionPolicy, row))
        for row, name in session.execute(statement.where(~is_on_hold).order_by(DeploymentRow.no))
    ]


def note_answers_erased(session: Session, deployment_no: int, until: datetime) -> None:
    session.execute(
        update(RetentionPolicyRow)
        .where(RetentionPolicyRow.deployment_no == deployment_no)
        .values(answers_until=until)
    )


_FIND_AGED_FILES = text(
    """SELECT "window"->>'flag_file' AS path FROM checks
       WHERE deployment_no = :no AND "window" ? 'flag_file' AND "window"->>'flag_file' > :after
       GROUP BY 1 HAVING max(span_end) <= :before ORDER BY 1 LIMIT :limit"""
)

_FORGET_FILES = text(
    """UPDATE checks SET "window" = "window" - 'flag_file' WHERE deployment_no = :no AND "window"->>'flag_file' = ANY(:paths)"""
)


def find_aged_flag_files(
    session: Session, deployment_no: int, *, after: str, before: datetime, limit: int
) -> list[str]:
    """Finds the next files all of whose checks end until `before`."""
    return list(
        session.scalars(
            _FIND_AGED_FILES, {"no": deployment_no, "after": after, "before": before, "limit": limit}
        )
    )


def forget_flag_files(session: Session, deployment_no: int, paths: Sequence[str]) -> None:
    session.execute(_FORGET_FILES, {"no": deployment_no, "paths": list(paths)})


DELETED_TABLE = "payload_table"

_FIND_DELETED_TABLES = text(
    """SELECT deployment_id, details->'payload_table'->0->>0 AS location, details->'payload_table'->0->>1 AS format
       FROM activities WHERE action = 'deployment.deleted' AND details ? 'payload_table' ORDER BY no"""
)


def read_payload_tables(session: Session) -> dict[int, tuple[str, PayloadTable]]:
    rows = session.execute(select(DeploymentRow.no, DeploymentRow.id, DeploymentRow.record_tables))
    tables = {no: (deployment_id, read_tables(stored).payload) for no, deployment_id, stored in rows}
    return {no: (deployment_id, table) for no, (deployment_id, table) in tables.items() if table is not None}


def read_deleted_tables(session: Session) -> list[tuple[str, PayloadTable]]:
    return [
        (row.deployment_id, PayloadTable(location=row.location, format=TableFormat(row.format)))
        for row in session.execute(_FIND_DELETED_TABLES)
    ]
