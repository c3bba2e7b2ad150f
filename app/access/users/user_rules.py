"""Users, those of an issuer, and who may work on alerts. Never the password itself."""

import re
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...base.errors import Conflict, FieldProblem, Forbidden, Unauthenticated, refuse, require_present
from ...base.values import frozen_by_name
from ...database.binary_rows import page_oldest, read_row
from ...database.tables import DeploymentRow, SessionRow, UserRow
from ...domain.paging import Paging
from ..audit.activity_queries import changes_between, record_activity
from ..issuer.verify_token import Identity
from ..passwords import find_password_problem, hash_password
from ..principals import USER_PREFIX, Permission, Role

NAME_FORM = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}", re.ASCII)

USER_ROLES = frozenset(Role) - {Role.INGEST}
"""A role that may only log records has nothing to look at."""


@frozen_by_name
class User:
    """A stored user. One of an `issuer` has no password; `deployment_id` binds the user to a deployment."""

    no: int
    name: str
    password_hash: str | None
    role: Role
    deployment_no: int | None
    deployment_id: str | None
    created_at: datetime
    disabled_at: datetime | None
    issuer: str | None = None


def add_user(session: Session, **values: object) -> bool:
    """False if the name, or the person of the issuer, is there already."""
    insertion = insert(UserRow).values(values).on_conflict_do_nothing().returning(UserRow.no)
    return session.scalar(insertion) is not None


def get_user(session: Session, name: str) -> User:
    return require_present(find_user(session, name), "user", name)


def find_user(session: Session, name: str) -> User | None:
    return _find_one_user(session, UserRow.name == name)


def _find_one_user(session: Session, *conditions: ColumnElement[bool]) -> User | None:
    row = session.execute(_SELECT.where(*conditions)).one_or_none()
    return None if row is None else read_row(User, row)


def page_users(session: Session, paging: Paging) -> list[User]:
    return [read_row(User, row) for row in session.execute(page_oldest(_SELECT, UserRow.no, paging))]


def find_of_issuer(session: Session, issuer: str, subject: str) -> User | None:
    return _find_one_user(session, UserRow.issuer == issuer, UserRow.subject == subject)


def find_deployment_no(session: Session, deployment_id: str) -> int | None:
    return session.scalar(select(DeploymentRow.no).where(DeploymentRow.id == deployment_id))


def name_deployment(session: Session, no: int) -> str | None:
    return session.scalar(select(DeploymentRow.id).where(DeploymentRow.no == no))


def change_user(session: Session, user: User, **values: object) -> None:
    session.execute(update(UserRow).where(UserRow.no == user.no).values(values))


def end_sessions(session: Session, user: User) -> None:
    session.query(SessionRow).filter(SessionRow.user_no == user.no).delete(synchronize_session=False)


_SELECT = select(UserRow.__table__, DeploymentRow.id.label("deployment_id")).outerjoin(
    DeploymentRow, DeploymentRow.no == UserRow.deployment_no
)


def create_user(
    session: Session, name: str, *, password: str, role: Role, deployment_no: int | None = None
) -> User:
    problems = [
        *_find_password_problems(name, password),
        *_find_role_problems(role, bound=deployment_no is not None),
    ]
    if not NAME_FORM.fullmatch(name):
        rule = (
            "must have 1 to 64 of the characters a-z, 0-9, `.`, `_`, `@` and `-`, and begin with a "
            "letter or digit"
        )
        problems.insert(0, FieldProblem("name", rule))
    refuse(problems)
    columns = {"password_hash": hash_password(password), "role": role, "deployment_no": deployment_no}
    if not add_user(session, name=name, **columns):
        raise Conflict(f"There is a user {name} already. Choose another name, or change that user.")
    return get_user(session, name)


def build_user_facts(user: User) -> dict[str, Any]:
    return {"role": user.role, "deployment": user.deployment_id, "disabled": user.disabled_at is not None}


def update_user(
    session: Session,
    name: str,
    *,
    by: str,
    password: str | None = None,
    role: Role | None = None,
    disabled: bool | None = None,
) -> User:
    """Raises NotFound, and InvalidInput, also for a role that people or bound users cannot have."""
    user = get_user(session, name)
    if password is not None:
        refuse([*_find_password_problems(name, password), *_find_issuer_problems(user, "password")])
        change_user(session, user, password_hash=hash_password(password))
        end_sessions(session, user)
    if role is not None:
        refuse(
            [
                *_find_role_problems(role, bound=user.deployment_no is not None),
                *_find_issuer_problems(user, "role"),
            ]
        )
        change_user(session, user, role=role)
    if disabled is not None:
        # Of several times, the first one stays.
        since = func.coalesce(UserRow.disabled_at, func.now()) if disabled else None
        change_user(session, user, disabled_at=since)
    if disabled:
        end_sessions(session, user)
    # Read again: `user` is as it was before the changes.
    changed = get_user(session, name)
    details = changes_between(build_user_facts(user), build_user_facts(changed)) | (
        {} if password is None else {"password": "changed"}
    )
    if details:
        record_activity(session, by, "user.changed", subject=name, details=details)
    return changed


def _find_password_problems(name: str, password: str) -> list[FieldProblem]:
    problem = find_password_problem(password, name=name)
    return [] if problem is None else [FieldProblem("password", problem)]


def _find_issuer_problems(user: User, field: str) -> list[FieldProblem]:
    return (
        []
        if user.issuer is None
        else [FieldProblem(field, f"comes from the issuer {user.issuer}, at each log-in; change it there")]
    )


def _find_role_problems(role: Role, *, bound: bool) -> list[FieldProblem]:
    if role not in USER_ROLES:
        return [
            FieldProblem(
                "role",
                "must be aggregates, read, manage or admin: a person who may only log records has nothing "
                "to look at",
            )
        ]
    if role is Role.ADMIN and bound:
        return [
            FieldProblem("deployment_id", "an admin cannot be bound to a deployment; use the role manage")
        ]
    return []


def admit_user(session: Session, identity: Identity, deployment_no: int | None, *, is_log_in: bool) -> User:
    """Finds or creates the user of an identity, which is bound to `deployment_no`. A log-in renews the stored
    role and deployment; a bearer token changes nothing.

    Raises Unauthenticated if the user is disabled here.
    """
    grant = {"role": identity.grant.role, "deployment": identity.grant.deployment_id}
    user = find_of_issuer(session, identity.issuer, identity.subject)
    if user is None:
        for name in (identity.name, identity.distinct_name):
            columns = {"issuer": identity.issuer, "subject": identity.subject}
            if add_user(session, name=name, role=identity.grant.role, deployment_no=deployment_no, **columns):
                details = changes_between(None, {**grant, "issuer": identity.issuer})
                record_activity(
                    session, f"{USER_PREFIX}{name}", "user.created", subject=name, details=details
                )
                break
        user = find_of_issuer(session, identity.issuer, identity.subject)
    if user is None or user.disabled_at is not None:
        raise Unauthenticated("This user is disabled. Ask an admin.")
    if is_log_in and (user.role, user.deployment_no) != (identity.grant.role, deployment_no):
        change_user(session, user, role=identity.grant.role, deployment_no=deployment_no)
        details = changes_between({"role": user.role, "deployment": user.deployment_id}, grant)
        record_activity(
            session, f"{USER_PREFIX}{user.name}", "user.changed", subject=user.name, details=details
        )
    return user


def find_bound_number(session: Session, identity: Identity) -> int | None:
    """Number of the deployment that the identity is bound to; None for all.

    Raises Forbidden if there is no such deployment: the role would be one for all.
    """
    deployment_id = identity.grant.deployment_id
    if deployment_id is None:
        return None
    no = find_deployment_no(session, deployment_id)
    if no is None:
        raise Forbidden(f"Your role is for the deployment {deployment_id}, which does not exist here.")
    return no


MAX_ASSIGNEES = 500


def is_assignable(user: User, deployment_no: int | None) -> bool:
    may_acknowledge = Permission.ACKNOWLEDGE in user.role.permissions
    return may_acknowledge and user.disabled_at is None and user.deployment_no in {None, deployment_no}


def list_assignees(session: Session, deployment_no: int | None) -> list[str]:
    users = page_users(session, Paging(MAX_ASSIGNEES))
    return sorted(user.name for user in users if is_assignable(user, deployment_no))
