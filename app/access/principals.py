"""Principals, their roles and permissions."""

from datetime import datetime
from enum import StrEnum

from ..base.errors import Forbidden, NotFound
from ..base.values import frozen


class Permission(StrEnum):
    """One thing a caller may be allowed to do."""

    LOG = "log"
    READ = "read"
    RECORDS = "records"
    ACKNOWLEDGE = "acknowledge"
    MANAGE = "manage"
    ADMIN = "admin"


class Role(StrEnum):
    """The purpose of a key."""

    INGEST = "ingest"
    AGGREGATES = "aggregates"
    READ = "read"
    MANAGE = "manage"
    ADMIN = "admin"

    @property
    def permissions(self) -> frozenset[Permission]:
        return _PERMISSIONS[self]


_PERMISSIONS = {
    Role.INGEST: frozenset({Permission.LOG}),
    Role.AGGREGATES: frozenset({Permission.READ}),
    Role.READ: frozenset({Permission.READ, Permission.RECORDS, Permission.ACKNOWLEDGE}),
    Role.MANAGE: frozenset(
        {Permission.LOG, Permission.READ, Permission.RECORDS, Permission.ACKNOWLEDGE, Permission.MANAGE}
    ),
    Role.ADMIN: frozenset(Permission),
}


USER_PREFIX = "user:"


@frozen
class Principal:
    """The holder of a key, or a person who logged in.

    `actor` is the key's id, or `user:` and the person's name. `deployment_no` is the only deployment of a
    bound key; None for all. `expires_at` is None for a session, and a key or token without end.
    """

    actor: str
    role: Role
    deployment_no: int | None = None
    name: str = ""
    expires_at: datetime | None = None

    @property
    def may_read_records(self) -> bool:
        return Permission.RECORDS in self.role.permissions

    def sees(self, deployment_no: int) -> bool:
        return self.deployment_no is None or self.deployment_no == deployment_no

    def require_sight(self, deployment_no: int, deployment_id: str) -> None:
        """Raises NotFound, as for an unknown id: the holder of a bound key cannot find out ids."""
        if not self.sees(deployment_no):
            raise NotFound("deployment", deployment_id)

    @property
    def author(self) -> str:
        return self.name if self.actor.startswith(USER_PREFIX) else f"{self.name} (key {self.actor})"

    @property
    def subject(self) -> str:
        return f"The user {self.name}" if self.actor.startswith(USER_PREFIX) else "This key"

    def require_somewhere(self, permission: Permission) -> None:
        """Raises Forbidden unless the caller has the permission for some deployment at least."""
        if permission not in self.role.permissions:
            raise Forbidden(f"{self.subject} has the role {self.role}, which may not {_ACTIONS[permission]}.")

    def require(self, permission: Permission) -> None:
        """Raises Forbidden unless the caller has the permission for the installation as a whole."""
        self.require_somewhere(permission)
        if self.deployment_no is not None:
            raise Forbidden(
                f"{self.subject} is bound to one deployment and may not do this for the whole installation."
            )


_ACTIONS = {
    Permission.LOG: "log records",
    Permission.READ: "read",
    Permission.RECORDS: "read single records, only figures about groups of them",
    Permission.ACKNOWLEDGE: "acknowledge, assign or comment on alerts",
    Permission.MANAGE: "change deployments, monitors, checks or stored values; that needs the role manage",
    Permission.ADMIN: "manage keys and users",
}
