"""Who is asking, and what they may do. Roles are fixed; there is nothing to configure."""

from dataclasses import dataclass
from enum import StrEnum

from app.errors import Forbidden, NotFound


class Permission(StrEnum):
    """One thing a caller may be allowed to do."""

    LOG = "log"
    READ = "read"
    MANAGE = "manage"
    ADMIN = "admin"


class Role(StrEnum):
    """What a key is for."""

    INGEST = "ingest"
    READ = "read"
    MANAGE = "manage"
    ADMIN = "admin"

    @property
    def permissions(self) -> frozenset[Permission]:
        """Everything a key of this role may do."""
        return _PERMISSIONS[self]


_PERMISSIONS = {
    Role.INGEST: frozenset({Permission.LOG}),
    Role.READ: frozenset({Permission.READ}),
    Role.MANAGE: frozenset({Permission.LOG, Permission.READ, Permission.MANAGE}),
    Role.ADMIN: frozenset(Permission),
}


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls: the holder of one key, or a person who logged in.

    `actor` is the key's id, or `user:` and the person's name. `deployment_no` is the only deployment a bound key knows of; None for all.
    """

    actor: str
    role: Role
    deployment_no: int | None = None
    name: str = ""

    def sees(self, deployment_no: int) -> bool:
        """Whether the deployment exists at all, as far as this key is concerned."""
        return self.deployment_no is None or self.deployment_no == deployment_no

    @property
    def _whose(self) -> str:
        return f"The user {self.name}" if self.actor.startswith("user:") else "This key"

    def require_role(self, permission: Permission) -> None:
        """Returns if the caller may do it at all; for which deployments is another question.

        Raises:
            Forbidden: the role lacks the permission.
        """
        if permission not in self.role.permissions:
            raise Forbidden(f"{self._whose} has the role {self.role.value}, which may not {_DEEDS[permission]}.")

    def require(self, permission: Permission, deployment_no: int | None = None) -> None:
        """Returns if the caller may do it: to that deployment or, without one, to the installation as a whole.

        A bound key is told that other deployments do not exist, so that nobody can find out ids with it.

        Raises:
            Forbidden: the role lacks the permission, or a bound key asks for the whole installation.
            NotFound: the deployment is not the one that the key is bound to.
        """
        self.require_role(permission)
        if deployment_no is None and self.deployment_no is not None:
            raise Forbidden(f"{self._whose} is bound to one deployment and may not do this for the whole installation.")
        if deployment_no is not None and not self.sees(deployment_no):
            raise NotFound("deployment", "of that id")


_DEEDS = {
    Permission.LOG: "log records",
    Permission.READ: "read",
    Permission.MANAGE: "change deployments, monitors or checks",
    Permission.ADMIN: "manage keys and users",
}
