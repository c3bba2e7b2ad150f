"""Users: only what identifies one, never the password itself."""

from datetime import datetime

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...base.errors import require_present
from ...base.values import frozen_by_name
from ...database.binary_rows import page_oldest, read_row
from ...database.tables import DeploymentRow, SessionRow, UserRow
from ...domain.paging import Paging
from ..principals import Role


@frozen_by_name
class User:
    """Those of an `issuer` have no password; `deployment_id` binds the user to one."""

    no: int
    name: str
    password_hash: str | None
    role: Role
    deployment_no: int | None
    deployment_id: str | None
    created_at: datetime
    disabled_at: datetime | None
    issuer: str | None = None


def add(session: Session, **values: object) -> bool:
    added = insert(UserRow).values(values).on_conflict_do_nothing().returning(UserRow.no)
    return session.scalar(added) is not None


def get(session: Session, name: str) -> User:
    return require_present(find(session, name), "user", name)


def find(session: Session, name: str) -> User | None:
    return _find(session, UserRow.name == name)


def _find(session: Session, *conditions: ColumnElement[bool]) -> User | None:
    row = session.execute(_SELECT.where(*conditions)).one_or_none()
    return None if row is None else read_row(User, row)


def page(session: Session, paging: Paging) -> list[User]:
    return [read_row(User, row) for row in session.execute(page_oldest(_SELECT, UserRow.no, paging))]


def find_of_issuer(session: Session, issuer: str, subject: str) -> User | None:
    return _find(session, UserRow.issuer == issuer, UserRow.subject == subject)


def number_of_deployment(session: Session, deployment_id: str) -> int | None:
    return session.scalar(select(DeploymentRow.no).where(DeploymentRow.id == deployment_id))


def name_deployment(session: Session, no: int) -> str | None:
    return session.scalar(select(DeploymentRow.id).where(DeploymentRow.no == no))


def change(session: Session, user: User, **values: object) -> None:
    session.execute(update(UserRow).where(UserRow.no == user.no).values(values))


def set_password(session: Session, user: User, password_hash: str) -> None:
    change(session, user, password_hash=password_hash)
    end_sessions(session, user)


def set_disabled(session: Session, user: User, *, disabled: bool) -> None:
    # The first time stays.
    change(session, user, disabled_at=func.coalesce(UserRow.disabled_at, func.now()) if disabled else None)
    if disabled:
        end_sessions(session, user)


def end_sessions(session: Session, user: User) -> None:
    session.query(SessionRow).filter(SessionRow.user_no == user.no).delete(synchronize_session=False)


_SELECT = select(UserRow.__table__, DeploymentRow.id.label("deployment_id")).outerjoin(
    DeploymentRow, DeploymentRow.no == UserRow.deployment_no
)
