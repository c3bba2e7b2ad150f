"""Users as bodies."""

from datetime import datetime

from pydantic import Field, SecretStr

from ...web.body import FromText, In, NextPageCursor, Out, PageOut, example
from ...web.route_declarations import ID_PATTERN
from ..principals import Role

_USER = {
    "name": "ada.lovelace",
    "role": "read",
    "deployment_id": None,
    "created_at": "2026-07-01T12:00:00Z",
    "disabled_at": None,
    "issuer": None,
}
_PASSWORD = "a sentence is a good password"  # noqa: S105 - shown in the documentation


class UserIn(In):
    """A new user."""

    model_config = example(
        {"name": "ada.lovelace", "password": _PASSWORD, "role": "read", "deployment_id": None}
    )

    name: str
    """The name to log in with: small letters, digits, `.`, `_`, `@` and `-`."""

    password: FromText[SecretStr]
    """12 to 200 characters."""

    role: FromText[Role]
    """aggregates reads figures but no single records; read reads; manage changes, too; admin also manages
    keys and users."""

    deployment_id: str | None = Field(default=None, pattern=ID_PATTERN)
    """The only deployment the user sees; left out for all."""


class UserPatch(In):
    """A change of a user: what is left out stays."""

    model_config = example({"role": "manage"})

    password: FromText[SecretStr | None] = None
    """Another password; ends every log-in."""

    role: FromText[Role | None] = None
    disabled: bool | None = None
    """True shuts the user out and ends every log-in; false lets the user in again."""


class UserOut(Out):
    """A stored user, without the password."""

    model_config = example(_USER)

    name: str
    role: Role
    deployment_id: str | None
    created_at: datetime
    disabled_at: datetime | None
    issuer: str | None
    """The issuer at which the user logs in; null for one with a password."""


class UserPage(PageOut):
    """Some users, oldest first."""

    users: list[UserOut]
    next_cursor: NextPageCursor
