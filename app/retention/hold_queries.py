"""Stored legal holds and policies of retention."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import ColumnElement, and_, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import InstrumentedAttribute, Session

from ..base.values import frozen_by_name
from ..database.binary_rows import list_column_values, read_row
from ..database.tables import DeploymentRow, LegalHoldRow, RetentionPolicyRow
from .policy import LegalHold, RetentionPolicy


def find_hold(session: Session, deployment_no: int) -> LegalHold | None:
    row = session.scalar(select(LegalHoldRow).where(_in_force(deployment_no)))
    return None if row is None else read_row(LegalHold, row)


def place_hold(session: Session, deployment_no: int, *, reason: str, by: str) -> LegalHold:
    """Places a hold, or changes its reason. From the commit on no batch of an erasure begins: each locks
    the deployment's row first.
    """
    is_held = _in_force(deployment_no)
    if (
        session.scalar(update(LegalHoldRow).where(is_held).values(reason=reason).returning(LegalHoldRow.no))
        is None
    ):
        session.execute(insert(LegalHoldRow).values(deployment_no=deployment_no, reason=reason, placed_by=by))
    return read_row(LegalHold, session.scalars(select(LegalHoldRow).where(is_held)).one())


def release_hold(session: Session, deployment_no: int, *, by: str) -> bool:
    changed = (
        update(LegalHoldRow).where(_in_force(deployment_no)).values(released_by=by, released_at=func.now())
    )
    return session.scalar(changed.returning(LegalHoldRow.no)) is not None


_IS_FREE = text(
    """SELECT NOT EXISTS (SELECT FROM legal_holds WHERE deployment_no = :no AND released_at IS NULL)
       FROM deployments WHERE no = :no"""
)


def may_erase(session: Session, deployment_no: int) -> bool:
    """Returns whether the deployment is there and not on hold, locked until the transaction ends. Writers
    do not wait.
    """
    # Placing a hold takes the same lock; writers of records take FOR KEY SHARE.
    session.execute(text("SELECT FROM deployments WHERE no = :no FOR NO KEY UPDATE"), {"no": deployment_no})
    # The first statement's view of the holds is older than the lock.
    return bool(session.scalar(_IS_FREE, {"no": deployment_no}))


def _in_force(deployment_no: int | InstrumentedAttribute[int]) -> ColumnElement[bool]:
    return and_(LegalHoldRow.deployment_no == deployment_no, LegalHoldRow.released_at.is_(None))


@frozen_by_name
class AppliedPolicy:
    """A policy with its deployment. Answers are erased up to `answers_until`."""

    deployment_no: int
    deployment_id: str
    policy: RetentionPolicy
    answers_until: datetime | None


def read_retention_policy(session: Session, deployment_no: int) -> RetentionPolicy:
    """Policy; version 0, which keeps everything, where none was set."""
    row = session.get(RetentionPolicyRow, deployment_no, populate_existing=True)
    return RetentionPolicy() if row is None else read_row(RetentionPolicy, row)


def put_policy(session: Session, deployment_no: int, policy: RetentionPolicy) -> RetentionPolicy:
    """Stores the policy as the next version unless it is the same. The deployment is locked."""
    stored = read_retention_policy(session, deployment_no)
    if stored == replace(policy, version=stored.version) and stored.version:
        return stored
    numbered = replace(policy, version=stored.version + 1)
    values = list_column_values(numbered)
    insertion = insert(RetentionPolicyRow).values(deployment_no=deployment_no, **values)
    session.execute(
        insertion.on_conflict_do_update(
            index_elements=["deployment_no"], set_={**values, "updated_at": func.now()}
        )
    )
    return numbered


def policies_to_apply(session: Session) -> list[AppliedPolicy]:
    """Policies of deployments that are not on hold."""
    held = select(LegalHoldRow.no).where(_in_force(DeploymentRow.no)).exists()
    statement = select(RetentionPolicyRow, DeploymentRow.id).join(
        DeploymentRow, DeploymentRow.no == RetentionPolicyRow.deployment_no
    )
    return [
        read_row(AppliedPolicy, row, deployment_id=name, policy=read_row(RetentionPolicy, row))
        for row, name in session.execute(statement.where(~held).order_by(DeploymentRow.no))
    ]


def note_answers_erased(session: Session, deployment_no: int, until: datetime) -> None:
    session.execute(
        update(RetentionPolicyRow)
        .where(RetentionPolicyRow.deployment_no == deployment_no)
        .values(answers_until=until)
    )
