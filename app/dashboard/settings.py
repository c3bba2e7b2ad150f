"""Settings: people, keys and where alerts are sent to. For admins; others see who they are themselves."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.dashboard.rendering import page
from app.security.principals import Permission, Role
from app.security.users import ROLES
from app.store import users
from app.store.api_keys import ApiKeys
from app.web.access import NowIn, Reader, SessionIn

router = APIRouter(include_in_schema=False)

SHOWN = 500
"""Users and keys each; the API lists any number of them."""


@router.get("/settings")
def settings_page(request: Request, principal: Reader, session: SessionIn, now: NowIn) -> Response:
    """Who may come in, and with what."""
    is_admin = Permission.ADMIN in principal.role.permissions
    values = {
        "is_admin": is_admin,
        "users": users.page(session, after_no=0, limit=SHOWN) if is_admin else [],
        "keys": ApiKeys(session).page(after_no=0, limit=SHOWN) if is_admin else [],
        "roles_of_people": [role.value for role in Role if role in ROLES],
        "roles": [role.value for role in Role],
        "now": now,
    }
    return page(request, "settings.html", values)
