"""Users, those of an issuer, and who may work on alerts."""

import re

from sqlalchemy.orm import Session

from ...base.errors import Conflict, FieldProblem, Forbidden, Unauthenticated, refuse
from ...domain.paging import Paging
from ..audit.activity_queries import changes_between, record_activity
from ..issuer.verify_token import Identity
from ..passwords import hash_password, password_problem
from ..principals import USER, Permission, Role
from . import queries as users
from .queries import User

NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}", re.ASCII)

ROLES = frozenset(Role) - {Role.INGEST}
"""A role that may only log records has nothing to look at."""


def create_user(
    session: Session, name: str, *, password: str, role: Role, deployment_no: int | None = None
) -> User:
    problems = [*_password_problems(name, password), *_role_problems(role, bound=deployment_no is not None)]
    if not NAME.fullmatch(name):
        rule = (
            "must have 1 to 64 of the characters a-z, 0-9, `.`, `_`, `@` and `-`, and begin with a "
            "letter or digit"
        )
        problems.insert(0, FieldProblem("name", rule))
    refuse(problems)
    columns = {"password_hash": hash_password(password), "role": role, "deployment_no": deployment_no}
    if not users.add(session, name=name, **columns):
        raise Conflict(f"There is a user {name} already. Choose another name, or change that user.")
    return users.get(session, name)


def change_password(session: Session, user: User, password: str) -> None:
    refuse([*_password_problems(user.name, password), *_issuer_problems(user, "password")])
    users.set_password(session, user, hash_password(password))


def change_role(session: Session, user: User, role: Role) -> None:
    """Raises InvalidInput if people cannot have it, or not for one deployment only."""
    refuse([*_role_problems(role, bound=user.deployment_no is not None), *_issuer_problems(user, "role")])
    users.change(session, user, role=role)


def _password_problems(name: str, password: str) -> list[FieldProblem]:
    problem = password_problem(password, name=name)
    return [] if problem is None else [FieldProblem("password", problem)]


def _issuer_problems(user: User, field: str) -> list[FieldProblem]:
    return (
        []
        if user.issuer is None
        else [FieldProblem(field, f"comes from the issuer {user.issuer}, at each log-in; change it there")]
    )


def _role_problems(role: Role, *, bound: bool) -> list[FieldProblem]:
    if role not in ROLES:
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


def admit_user(session: Session, identity: Identity, *, is_log_in: bool) -> User:
    """A log-in renews the stored role and deployment; a bearer token has its own and changes nothing.

    Raises Unauthenticated if disabled here, Forbidden without the identity's deployment.
    """
    no = bound_number(session, identity)
    grant = {"role": identity.grant.role, "deployment": identity.grant.deployment_id}
    user = users.find_of_issuer(session, identity.issuer, identity.subject)
    if user is None:
        for name in (identity.name, identity.distinct_name):
            columns = {"issuer": identity.issuer, "subject": identity.subject, "deployment_no": no}
            if users.add(session, name=name, role=identity.grant.role, **columns):
                details = changes_between(None, {**grant, "issuer": identity.issuer})
                record_activity(session, f"{USER}{name}", "user.created", subject=name, details=details)
                break
        user = users.find_of_issuer(session, identity.issuer, identity.subject)
    if user is None or user.disabled_at is not None:
        raise Unauthenticated("This user is disabled. Ask an admin.")
    if is_log_in and (user.role, user.deployment_no) != (identity.grant.role, no):
        users.change(session, user, role=identity.grant.role, deployment_no=no)
        details = changes_between({"role": user.role, "deployment": user.deployment_id}, grant)
        record_activity(session, f"{USER}{user.name}", "user.changed", subject=user.name, details=details)
    return user


def bound_number(session: Session, identity: Identity) -> int | None:
    """Number of the deployment that the identity is bound to; None for all.

    Raises:
    Forbidden: there is no such deployment. Without it, the role would be one for all.
    """
    deployment_id = identity.grant.deployment_id
    if deployment_id is None:
        return None
    no = users.number_of_deployment(session, deployment_id)
    if no is None:
        raise Forbidden(f"Your role is for the deployment {deployment_id}, which does not exist here.")
    return no


MOST_ASSIGNEES = 500


def is_assignable(user: User, deployment_no: int | None) -> bool:
    may_acknowledge = Permission.ACKNOWLEDGE in user.role.permissions
    return may_acknowledge and user.disabled_at is None and user.deployment_no in {None, deployment_no}


def list_assignees(session: Session, deployment_no: int | None) -> list[str]:
    listed = users.page(session, Paging(MOST_ASSIGNEES))
    return sorted(user.name for user in listed if is_assignable(user, deployment_no))
