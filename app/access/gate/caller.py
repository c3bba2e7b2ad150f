"""The typed aliases of a route's signature: the caller, the permission, the deployment.

`scope="function"` ends the request's transaction before the answer: else a failed commit would be answered
200.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, TypeVar

from fastapi import Depends, Path, Request
from sqlalchemy.orm import Session
from starlette.types import Scope

from ...base.clock import utc_now
from ...web.id_and_time import ID_PATTERN
from ..principals import Permission, Principal
from .audit_requests import note_request
from .services import Services

DeploymentId = Annotated[
    str,
    Path(description="The deployment's id.", pattern=ID_PATTERN, examples=["credit-risk"]),
]


Feature = TypeVar("Feature")

IS_INNER = "is_inner"
"""In the state of a request of a face."""


def provide_services(scope: Scope, services: Services, features: Mapping[type, object]) -> None:
    scope.setdefault("state", {}).update(services=services, features=features)


def open_feature(kind: type[Feature]) -> Callable[[Request], Awaitable[Feature]]:
    """A dependency: what a feature keeps open in this process."""

    async def find(request: Request) -> Feature:
        feature: Feature = request.state.features[kind]
        return feature

    return find


async def find_services(request: Request) -> Services:
    services: Services = request.state.services
    return services


ServicesIn = Annotated[Services, Depends(find_services)]


async def turn(services: ServicesIn) -> AsyncIterator[None]:
    """Else requests that wait for a connection fill the thread pool, and those that hold one wait for a thread."""
    async with services.turns:
        yield


def let_replica_answer(scope: Scope) -> None:
    """Lets a replica answer, because the request only reads for a page."""
    scope["state"]["may_read_replica"] = scope["method"] in {"GET", "HEAD"}


def transaction(request: Request, services: ServicesIn, _turn: Annotated[None, Depends(turn, scope="function")]) -> Iterator[Session]:
    if services.replica is not None and request.scope["state"].get("may_read_replica", False):
        # Audited by the layer around it: a replica takes no events.
        with services.replica.transaction() as session:
            yield session
        return
    with services.database.transaction() as session:
        yield session
        # That of the request in whose name this one is made is written before its answer.
        if IS_INNER not in request.scope["state"]:
            note_request(session)


SessionIn = Annotated[Session, Depends(transaction, scope="function")]


async def now() -> datetime:
    return utc_now()


NowIn = Annotated[datetime, Depends(now)]


async def find_principal(request: Request) -> Principal:
    principal: Principal = request.state.principal
    return principal


AnyKey = Annotated[Principal, Depends(find_principal)]


def allowed(permission: Permission) -> Callable[[Principal], Awaitable[Principal]]:
    """A dependency: the caller, if the role has the permission."""

    async def check(principal: AnyKey) -> Principal:
        principal.require_role(permission)
        return principal

    return check


Reader = Annotated[Principal, Depends(allowed(Permission.READ))]
Logger = Annotated[Principal, Depends(allowed(Permission.LOG))]
Acknowledger = Annotated[Principal, Depends(allowed(Permission.ACKNOWLEDGE))]
Manager = Annotated[Principal, Depends(allowed(Permission.MANAGE))]
Admin = Annotated[Principal, Depends(allowed(Permission.ADMIN))]


async def whole_manager(principal: Manager) -> Principal:
    principal.require(Permission.MANAGE)
    return principal


WholeManager = Annotated[Principal, Depends(whole_manager)]
