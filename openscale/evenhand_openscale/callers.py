"""The caller of a route of this face, and what it may find: role and deployment binding hold as in REST v1."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from sqlalchemy.orm import Session

from ..domain.deployments import Deployment
from ..errors import NotFound
from ..security.principals import Permission, Principal
from ..services import Services
from ..store.deployments.deployments import Deployments
from ..web.access import AnyKey, ServicesIn, SessionIn
from ..web.texts import ID_PATTERN

MAX_LISTED = 1000
"""Max deployments that one list of subscriptions, data sets or instances goes through; the SDK knows no pages."""

_ID = re.compile(ID_PATTERN)
_KIND = re.compile(r"([a-z0-9_]{1,40})\.(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller, within the request's one transaction."""

    principal: Principal
    session: Session
    services: Services

    @property
    def deployments(self) -> Deployments:
        """Returns the stored deployments."""
        return Deployments(self.session, self.services.secret_box)

    def require(self, permission: Permission) -> None:
        """Returns if the caller's role has the permission, for some deployment at least.

        Raises:
            Forbidden: it has not.
        """
        self.principal.require_role(permission)

    def find(self, subscription_id: str, permission: Permission = Permission.READ) -> Deployment:
        """Returns the deployment that the subscription is, locked where the permission is to change it.

        Raises:
            Forbidden: the caller's role lacks the permission.
            NotFound: there is none of that id, as far as the caller may know.
        """
        self.require(permission)
        # Before the database: it takes no NUL character, and its error would be a 500.
        require_id(subscription_id)
        try:
            found = (
                self.deployments.get_for_change(subscription_id)
                if permission is Permission.MANAGE
                else self.deployments.get(subscription_id)
            )
        except NotFound as error:
            raise NotFound("subscription", subscription_id) from error
        if not self.principal.sees(found.no):
            raise NotFound("subscription", subscription_id)  # the same words as for an id that does not exist
        return found

    def seen(self) -> Sequence[Deployment]:
        """Returns the deployments that the caller may read, oldest first."""
        self.require(Permission.READ)
        return self.deployments.page(after_no=0, limit=MAX_LISTED, only_no=self.principal.deployment_no)


def require_id(subscription_id: str) -> None:
    """Returns if the text can be the id of a subscription.

    Raises:
        NotFound: it cannot.
    """
    if not _ID.fullmatch(subscription_id):
        raise NotFound("subscription", ascii(subscription_id)[1:-1][:100])


async def caller_of(principal: AnyKey, session: SessionIn, services: ServicesIn) -> Caller:
    """Returns the caller; each route says which permission it needs."""
    return Caller(principal, session, services)


CallerIn = Annotated[Caller, Depends(caller_of)]


def joined_id(kind: str, subscription_id: str) -> str:
    """Returns the id of the data set or monitor instance of that kind: a deployment has one of each, so it needs no name of its own."""
    return f"{kind}.{subscription_id}"


def split_id(identifier: str, kinds: Collection[str] | None, noun: str) -> tuple[str, str]:
    """Returns the kind and the subscription's id that `joined_id` put together.

    Raises:
        NotFound: it was not made by it, or the kind is not one of these; without kinds each is one.
    """
    found = _KIND.fullmatch(identifier)
    if found is None or (kinds is not None and found[1] not in kinds):
        raise NotFound(noun, ascii(identifier)[1:-1][:100])
    return found[1], found[2]
