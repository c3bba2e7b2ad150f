"""People who may work on the alerts of a deployment."""

from typing import Final

from sqlalchemy.orm import Session

from ..domain.paging import Paging
from ..store.people import users
from ..store.people.users import User
from .principals import Permission, Role

MOST_ASSIGNEES: Final = 500


def is_assignable(user: User, deployment_no: int) -> bool:
    may_acknowledge = Permission.ACKNOWLEDGE in Role(user.role).permissions
    return may_acknowledge and user.disabled_at is None and user.deployment_no in {None, deployment_no}


def list_assignees(session: Session, deployment_no: int) -> list[str]:
    known = users.page(session, Paging(MOST_ASSIGNEES))
    return sorted(user.name for user in known if is_assignable(user, deployment_no))
