"""Page of settings: users and keys for admins, and everybody's own account."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from ...access.gate.caller import Reader, SessionIn
from ...access.keys.queries import DEFAULT_OVERLAP_HOURS, page_keys, read_key_use
from ...access.principals import Permission, Role
from ...access.users import user_rules as users
from ...domain.paging import Paging
from ..render import show_page

router = APIRouter(include_in_schema=False)

MAX_SHOWN = 500
"""Users that are shown, and keys."""

ACTIONS = {
    Permission.LOG: "log records and labels",
    Permission.READ: "see figures, checks and alerts",
    Permission.RECORDS: "see single records",
    Permission.ACKNOWLEDGE: "acknowledge and assign alerts and comment on them",
    Permission.MANAGE: "change deployments, monitors, checks and alert rules",
    Permission.ADMIN: "manage users and keys",
}
"""Actions that each permission allows."""


@router.get("/settings")
def show_settings_page(request: Request, principal: Reader, session: SessionIn) -> Response:
    is_admin = Permission.ADMIN in principal.role.permissions
    values = {
        "is_admin": is_admin,
        "actions": [text for permission, text in ACTIONS.items() if permission in principal.role.permissions],
        "users": users.page_users(session, Paging(MAX_SHOWN)) if is_admin else [],
        "keys": page_keys(session, Paging(MAX_SHOWN)) if is_admin else [],
        "used_keys": read_key_use(session) if is_admin else [],
        "roles_of_people": [role.value for role in Role if role in users.USER_ROLES],
        "roles": [role.value for role in Role],
        "usual_overlap_hours": DEFAULT_OVERLAP_HOURS,
    }
    return show_page(request, "settings.html", values)
