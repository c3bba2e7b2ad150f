"""Routes of users. For admins only."""

from typing import Annotated

from fastapi import APIRouter, Path

from ...base.errors import InvalidInput
from ...web.route_declarations import CONFLICT, NOT_FOUND, ShortNumberPaging
from ..audit.activity_queries import changes_between, record_activity
from ..gate.caller import Admin, SessionIn
from ..keys.routes import require_deployment_no
from .bodies import UserIn, UserOut, UserPage, UserPatch
from .user_rules import build_user_facts, create_user, page_users, update_user

router = APIRouter(prefix="/v1/users", tags=["users"])

UserName = Annotated[
    str,
    Path(
        description="The user's name.",
        max_length=64,
        pattern=r"^[a-z0-9][a-z0-9._@-]*$",
        examples=["ada.lovelace"],
    ),
]


@router.post("", status_code=201, operation_id="createUser", responses=CONFLICT)
def post_user(body: UserIn, admin: Admin, session: SessionIn) -> UserOut:
    """Creates a user, who logs in to the pages with the name and the password."""
    bound_no = require_deployment_no(body.deployment_id, session)
    user = create_user(
        session, body.name, password=body.password.get_secret_value(), role=body.role, deployment_no=bound_no
    )
    record_activity(
        session,
        admin.actor,
        "user.created",
        subject=user.name,
        details=changes_between(None, build_user_facts(user)),
    )
    return UserOut.from_object(user)


@router.get("")
def list_users(_admin: Admin, session: SessionIn, paging: ShortNumberPaging) -> UserPage:
    """Returns all users, disabled ones too, oldest first."""
    return UserPage.of(page_users(session, paging), paging)


@router.patch("/{name}", responses=NOT_FOUND)
def change_user(name: UserName, body: UserPatch, admin: Admin, session: SessionIn) -> UserOut:
    """Changes a user's password or role, or disables the user. Processes that have just seen the user
    notice within 5 seconds.
    """
    # An admin who locks themselves out could not undo it.
    if admin.actor == f"user:{name}" and (body.disabled or body.role is not None):
        raise InvalidInput(
            "disabled" if body.disabled else "role",
            "cannot be changed by the user it is about; ask another admin",
        )
    password = None if body.password is None else body.password.get_secret_value()
    changed = update_user(
        session, name, by=admin.actor, password=password, role=body.role, disabled=body.disabled
    )
    return UserOut.from_object(changed)
