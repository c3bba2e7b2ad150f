"""The deployment in a route's address, for callers that may see it."""

from typing import Annotated

from fastapi import Depends

from ..access.gate.caller import DeploymentId, Logger, Manager, Reader, ServicesIn, SessionIn
from ..access.principals import Principal
from ..base.errors import Conflict, NotFound
from ..domain.deployment import Deployment
from .queries import Deployments, WatchedDeployment


async def deployments_in(session: SessionIn, services: ServicesIn) -> Deployments:
    return Deployments(session, services.secret_box)


DeploymentsIn = Annotated[Deployments, Depends(deployments_in)]


def readable(principal: Reader, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    return _require_seen(principal, deployments.get(deployment_id))


def watched(principal: Reader, deployments: DeploymentsIn, deployment_id: DeploymentId) -> WatchedDeployment:
    stored = deployments.get_watched(deployment_id)
    _require_seen(principal, stored.deployment)
    return stored


def loggable(principal: Logger, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    return _require_seen(principal, deployments.get_for_log(deployment_id))


def managed(principal: Manager, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    return _require_seen(principal, deployments.get(deployment_id))


def locked(principal: Manager, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    return _require_seen(principal, deployments.get_for_change(deployment_id))


ReadableDeployment = Annotated[Deployment, Depends(readable)]


def require_logged(principal: Reader, deployments: DeploymentsIn, deployment_id: DeploymentId) -> None:
    try:
        deployment = _require_seen(principal, deployments.get(deployment_id))
    except NotFound:
        return
    if deployment.payload is not None:
        raise Conflict(
            f"The records of {deployment.id} lie in your own tables. Single records, mitigation, "
            "attributions and scans for subgroups need records in Evenhand's database and are not there "
            "for it; checks, series, evidence, alerts and reports are. Flagged records are written as "
            "Parquet: `flag_file` in a check's window names the file."
        )


Watched = Annotated[WatchedDeployment, Depends(watched)]
NEEDS_LOGGED = Depends(require_logged)
LoggableDeployment = Annotated[Deployment, Depends(loggable)]
ManagedDeployment = Annotated[Deployment, Depends(managed)]
LockedDeployment = Annotated[Deployment, Depends(locked)]


def _require_seen(principal: Principal, deployment: Deployment) -> Deployment:
    principal.require_sight(deployment.no, deployment.id)
    return deployment
