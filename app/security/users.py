"""People who log in: created by an admin, with a name, a password and a role."""

import re

from sqlalchemy.orm import Session

from ..errors import FieldProblem, InvalidInput
from ..store.people import users
from ..store.people.users import User
from .passwords import hash_password, password_problem
from .principals import Role

NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}", re.ASCII)

ROLES = frozenset(Role) - {Role.INGEST}
"""A role that may only log records has nothing to look at."""


def create_user(session: Session, name: str, *, password: str, role: Role, deployment_no: int | None = None) -> User:
    problems = [*_password_problems(name, password), *_role_problems(role, bound=deployment_no is not None)]
    if not NAME.fullmatch(name):
        rule = "must have 1 to 64 of the characters a-z, 0-9, `.`, `_`, `@` and `-`, and begin with a letter or digit"
        problems.insert(0, FieldProblem("name", rule))
    if problems:
        raise InvalidInput(problems)
    return users.add(session, name, password_hash=hash_password(password), role=role.value, deployment_no=deployment_no)


def change_password(session: Session, user: User, password: str) -> None:
    """Gives the user another password; every log-in of the user ends."""
    problems = [*_password_problems(user.name, password), *_issuer_problems(user, "password")]
    if problems:
        raise InvalidInput(problems)
    users.set_password(session, user, hash_password(password))


def change_role(session: Session, user: User, role: Role) -> None:
    """Gives the user another role. Raises InvalidInput if people cannot have it, or not for one deployment only."""
    problems = [*_role_problems(role, bound=user.deployment_no is not None), *_issuer_problems(user, "role")]
    if problems:
        raise InvalidInput(problems)
    users.set_role(session, user, role.value)


def _password_problems(name: str, password: str) -> list[FieldProblem]:
    problem = password_problem(password, name=name)
    return [] if problem is None else [FieldProblem("password", problem)]


def _issuer_problems(user: User, field: str) -> list[FieldProblem]:
    return [] if user.issuer is None else [FieldProblem(field, f"comes from the issuer {user.issuer}, at each log-in; change it there")]


def _role_problems(role: Role, *, bound: bool) -> list[FieldProblem]:
    if role not in ROLES:
        return [FieldProblem("role", "must be aggregates, read, manage or admin: a person who may only log records has nothing to look at")]
    if role is Role.ADMIN and bound:
        return [FieldProblem("deployment_id", "an admin cannot be bound to a deployment; use the role manage")]
    return []
