"""The deployment in a route's address, for callers that may see it."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.params import Depends as Dependency

from ..access.audit.activity_queries import record_activity
from ..access.gate.caller import DeploymentId, Logger, Manager, Reader, ServicesIn, SessionIn
from ..access.principals import Principal
from ..base.errors import Conflict, NotFound
from ..domain.deployment import Deployment
from .queries import Deployments, WatchedDeployment


async def open_deployments(session: SessionIn, services: ServicesIn) -> Deployments:
    return Deployments(session, services.secret_box)


DeploymentsIn = Annotated[Deployments, Depends(open_deployments)]


def get_readable(principal: Reader, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    return _require_seen(principal, deployments.get(deployment_id))


def get_watched(
    principal: Reader, deployments: DeploymentsIn, deployment_id: DeploymentId
) -> WatchedDeployment:
    stored = deployments.get_watched(deployment_id)
    _require_seen(principal, stored.deployment)
    return stored


def get_loggable(principal: Logger, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    return _require_seen(principal, deployments.get_for_log(deployment_id))


def get_managed(principal: Manager, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    return _require_seen(principal, deployments.get(deployment_id))


def get_locked(principal: Manager, deployments: DeploymentsIn, deployment_id: DeploymentId) -> Deployment:
    return _require_seen(principal, deployments.get_for_change(deployment_id))


ReadableDeployment = Annotated[Deployment, Depends(get_readable)]


def require_logged(principal: Reader, deployments: DeploymentsIn, deployment_id: DeploymentId) -> None:
    """Raises Conflict if the records lie in tables; the route itself says if there is no such deployment."""
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


Watched = Annotated[WatchedDeployment, Depends(get_watched)]
NEEDS_LOGGED = Depends(require_logged)
LoggableDeployment = Annotated[Deployment, Depends(get_loggable)]
ManagedDeployment = Annotated[Deployment, Depends(get_managed)]
LockedDeployment = Annotated[Deployment, Depends(get_locked)]


def _require_seen(principal: Principal, deployment: Deployment) -> Deployment:
    principal.require_sight(deployment.no, deployment.id)
    return deployment


_FILE_FORMS = frozenset({"csv", "html", "pdf", "json"})

_MAX_QUERY_CHARACTERS = 200


def exported(what: str) -> Dependency:
    """Notes who exports `what`. Routes of single records need `READS_RECORDS` before it."""

    def note(request: Request, principal: Reader, session: SessionIn, deployment: ReadableDeployment) -> None:
        form = request.path_params.get("form", "csv")
        # A file that cannot be noted is not sent.
        if form in _FILE_FORMS:
            check_id: str | None = request.path_params.get("check_id")
            details = {"form": form, "query": str(request.query_params)[:_MAX_QUERY_CHARACTERS]}
            record_activity(
                session, principal.actor, f"{what}.exported", deployment, subject=check_id, details=details
            )

    return Dependency(note)
