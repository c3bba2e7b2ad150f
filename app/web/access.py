"""Who asks, for what: the typed aliases that a route's signature is made of.

A request is one transaction. `scope="function"` ends it before the answer is sent: with FastAPI's default a failed commit would
still be answered 200.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Path, Request
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.domain.deployments import Deployment
from app.errors import NotFound
from app.security.principals import Permission, Principal
from app.services import Services
from app.store.deployments import Deployments
from app.web.texts import ID_PATTERN

DeploymentId = Annotated[
    str,
    Path(description="The deployment's id.", pattern=ID_PATTERN, examples=["credit-risk"]),
]


async def services_of(request: Request) -> Services:
    """The services that the composition root opened."""
    services: Services = request.app.state.services
    return services


ServicesIn = Annotated[Services, Depends(services_of)]


async def turn(services: ServicesIn) -> AsyncIterator[None]:
    """A place among the requests that may hold a connection.

    Without it the thread pool could fill up with requests that wait for a connection, while those that hold one wait for a thread.
    """
    async with services.turns:
        yield


def transaction(services: ServicesIn, _turn: Annotated[None, Depends(turn, scope="function")]) -> Iterator[Session]:
    """The request's one transaction."""
    with services.database.transaction() as session:
        yield session


SessionIn = Annotated[Session, Depends(transaction, scope="function")]


async def now() -> datetime:
    """The moment of the request."""
    return utc_now()


NowIn = Annotated[datetime, Depends(now)]


async def principal_of(request: Request) -> Principal:
    """The holder of the key that was sent, as the gate found it."""
    principal: Principal = request.state.principal
    return principal


AnyKey = Annotated[Principal, Depends(principal_of)]


def allowed(permission: Permission) -> Callable[[Principal], Awaitable[Principal]]:
    """A dependency: the caller, if the role has the permission (for which deployments is decided where one is found)."""

    async def check(principal: AnyKey) -> Principal:
        principal.require_role(permission)
        return principal

    return check


Reader = Annotated[Principal, Depends(allowed(Permission.READ))]
Logger = Annotated[Principal, Depends(allowed(Permission.LOG))]
Manager = Annotated[Principal, Depends(allowed(Permission.MANAGE))]
Admin = Annotated[Principal, Depends(allowed(Permission.ADMIN))]


async def deployments_in(session: SessionIn, services: ServicesIn) -> Deployments:
    """The stored deployments, in the request's transaction."""
    return Deployments(session, services.secret_box)


DeploymentsIn = Annotated[Deployments, Depends(deployments_in)]


def readable(principal: Reader, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    """The deployment in the address, if the caller may read it."""
    return _seen(principal, deployments.get(deployment_id))


def managed(principal: Manager, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    """The deployment in the address, if the caller may change it or start checks of it."""
    return _seen(principal, deployments.get(deployment_id))


def locked(principal: Manager, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    """The same, and nobody else can change it or its monitor until the answer."""
    return _seen(principal, deployments.get_for_change(deployment_id))


ReadableDeployment = Annotated[Deployment, Depends(readable)]
ManagedDeployment = Annotated[Deployment, Depends(managed)]
LockedDeployment = Annotated[Deployment, Depends(locked)]


def _seen(principal: Principal, deployment: Deployment) -> Deployment:
    # The same words as for an id that does not exist: a bound key must not be able to tell the two apart.
    if not principal.sees(deployment.no):
        raise NotFound("deployment", deployment.id)
    return deployment
