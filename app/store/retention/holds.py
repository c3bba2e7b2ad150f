"""Stored legal holds."""

from sqlalchemy import Select, func, insert, select, text, update
from sqlalchemy.orm import Session

from ...domain.retention import LegalHold
from ..database.rows import read_row
from ..tables import LegalHoldRow


def hold_of(session: Session, deployment_no: int) -> LegalHold | None:
    row = session.scalar(_in_force(deployment_no))
    return None if row is None else read_row(LegalHold, row)


def place_hold(session: Session, deployment_no: int, *, reason: str, by: str) -> LegalHold:
    """Places a hold, or changes its reason. From the commit on no batch of an erasure begins: each locks the deployment's row first."""
    changed = update(LegalHoldRow).where(LegalHoldRow.deployment_no == deployment_no, LegalHoldRow.released_at.is_(None))
    if session.scalar(changed.values(reason=reason).returning(LegalHoldRow.no)) is None:
        session.execute(insert(LegalHoldRow).values(deployment_no=deployment_no, reason=reason, placed_by=by))
    return read_row(LegalHold, session.scalars(_in_force(deployment_no)).one())


def release_hold(session: Session, deployment_no: int, *, by: str) -> bool:
    changed = update(LegalHoldRow).where(LegalHoldRow.deployment_no == deployment_no, LegalHoldRow.released_at.is_(None))
    return session.scalar(changed.values(released_by=by, released_at=func.now()).returning(LegalHoldRow.no)) is not None


_IS_FREE = text(
    """SELECT NOT EXISTS (SELECT FROM legal_holds WHERE deployment_no = :no AND released_at IS NULL)
       FROM deployments WHERE no = :no"""
)


def may_erase(session: Session, deployment_no: int) -> bool:
    """Returns whether the deployment is there and not on hold, locked until the transaction ends. Writers do not wait."""
    # Placing a hold takes the same lock; writers of records take FOR KEY SHARE.
    session.execute(text("SELECT FROM deployments WHERE no = :no FOR NO KEY UPDATE"), {"no": deployment_no})
    # The first statement's view of the holds is older than the lock.
    return bool(session.scalar(_IS_FREE, {"no": deployment_no}))


def _in_force(deployment_no: int) -> Select[LegalHoldRow]:
    return select(LegalHoldRow).where(LegalHoldRow.deployment_no == deployment_no, LegalHoldRow.released_at.is_(None))
