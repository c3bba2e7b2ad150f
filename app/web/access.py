"""The typed aliases of a route's signature: the caller, the permission, the deployment.

`scope="function"` ends the request's transaction before the answer: else a failed commit would be answered
200.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Path, Request
from sqlalchemy.orm import Session
from starlette.types import Scope

from ..clock import utc_now
from ..domain.deployments import Deployment
from ..errors import Conflict, NotFound
from ..security.principals import Permission, Principal
from ..services import Services
from ..store.deployments.deployments import Deployments
from .auditing import note_request
from .texts import ID_PATTERN

DeploymentId = Annotated[
    str,
    Path(description="The deployment's id.", pattern=ID_PATTERN, examples=["credit-risk"]),
]


IS_INNER = "is_inner"
"""In the state of a request of a face."""


def provide_services(scope: Scope, services: Services) -> None:
    scope.setdefault("state", {})["services"] = services


async def services_of(request: Request) -> Services:
    services: Services = request.state.services
    return services


ServicesIn = Annotated[Services, Depends(services_of)]


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


async def principal_of(request: Request) -> Principal:
    principal: Principal = request.state.principal
    return principal


AnyKey = Annotated[Principal, Depends(principal_of)]


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


async def deployments_in(session: SessionIn, services: ServicesIn) -> Deployments:
    return Deployments(session, services.secret_box)


DeploymentsIn = Annotated[Deployments, Depends(deployments_in)]


def readable(principal: Reader, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    return _require_seen(principal, deployments.get(deployment_id))


def loggable(principal: Logger, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    """Deployment that the caller may log records of; it is there until the answer."""
    return _require_seen(principal, deployments.get_for_log(deployment_id))


def managed(principal: Manager, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    return _require_seen(principal, deployments.get(deployment_id))


def locked(principal: Manager, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    """Like `managed`; nothing else can change the deployment until the answer."""
    return _require_seen(principal, deployments.get_for_change(deployment_id))


ReadableDeployment = Annotated[Deployment, Depends(readable)]


def require_logged(principal: Reader, deployments: DeploymentsIn, deployment_id: DeploymentId) -> None:
    """Refuses a deployment without logged records; one that the caller must not see is left to the route."""
    try:
        deployment = _require_seen(principal, deployments.get(deployment_id))
    except NotFound:
        return
    if deployment.payload is not None:
        raise Conflict(
            f"The records of {deployment.id} lie in your own tables. Single records, mitigation, attributions and scans for subgroups"
            " need records in Evenhand's database and are not there for it; checks, series, evidence, alerts and reports are."
            " Flagged records are written as Parquet: `flag_file` in a check's window names the file."
        )


NEEDS_LOGGED = Depends(require_logged)
LoggableDeployment = Annotated[Deployment, Depends(loggable)]
ManagedDeployment = Annotated[Deployment, Depends(managed)]
LockedDeployment = Annotated[Deployment, Depends(locked)]


def _require_seen(principal: Principal, deployment: Deployment) -> Deployment:
    # As for an id that does not exist: a bound key must not be able to distinguish the two.
    if not principal.sees(deployment.no):
        raise NotFound("deployment", deployment.id)
    return deployment
