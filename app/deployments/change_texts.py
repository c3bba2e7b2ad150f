"""Changes as activities keep them: never a secret."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.params import Depends as Dependency

from ..access.audit.activity_queries import changes_between, record_activity
from ..access.gate.caller import DeploymentId, Logger, Manager, Reader, ServicesIn, SessionIn
from ..access.principals import Principal
from ..base.errors import Conflict, NotFound
from ..base.strict_json import JsonObject
from ..domain.deployment import Deployment
from ..domain.monitor import Monitor
from .bodies import definition_json
from .monitor.bodies import MonitorIn, MonitorOut
from .queries import Definition, Deployments, WatchedDeployment
from .training.queries import TrainingSummary


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


_OF_MONITOR = {"version", *MonitorIn.model_fields}


def definition_changes(before: Definition | None, after: Definition | None) -> JsonObject:
    return changes_between(_definition_facts(before, None), _definition_facts(after, before))


def monitor_changes(before: Monitor | None, after: Monitor | None) -> JsonObject:
    return changes_between(_monitor_facts(before), _monitor_facts(after))


def training_data_changes(before: TrainingSummary | None, after: TrainingSummary | None) -> JsonObject:
    return changes_between(_summary_facts(before), _summary_facts(after))


def _definition_facts(definition: Definition | None, before: Definition | None) -> JsonObject:
    if definition is None:
        return {}
    document = definition_json(definition)
    endpoint = document["endpoint"]
    if endpoint:
        earlier = (definition_json(before)["endpoint"] if before else None) or {}
        if endpoint["credentials"]:
            is_changed = before is not None and endpoint["credentials"] != earlier.get("credentials")
            endpoint["credentials"] = "changed" if is_changed else "set"
        endpoint["headers"] = _hide_secrets(endpoint["headers"], earlier.get("headers"))
        endpoint["tls"] = _hide_secrets(endpoint["tls"], earlier.get("tls")) or None
    return document


def _hide_secrets(secrets: Mapping[str, str] | None, before: Mapping[str, str] | None) -> dict[str, str]:
    # If both sides said "set", a new password would be no change.
    earlier = {name: text for name, text in (before or {}).items() if text}
    return {
        name: "set" if earlier.get(name, text) == text else "changed"
        for name, text in (secrets or {}).items()
        if text
    }


def _monitor_facts(monitor: Monitor | None) -> Mapping[str, Any]:
    return {} if monitor is None else MonitorOut.of(monitor).model_dump(mode="json", include=_OF_MONITOR)


def _summary_facts(summary: TrainingSummary | None) -> Mapping[str, Any]:
    if summary is None:
        return {}
    return {
        "form": summary.form.value,
        "records": summary.records,
        "label": summary.label,
        "weight": summary.weight,
        "schema_version": summary.schema_version,
        "processed_at": summary.processed_at.isoformat(),
    }


_FILES = frozenset({"csv", "html", "pdf", "json"})

_MAX_QUERY = 200


def exported(what: str) -> Dependency:
    """Notes who fetches a file. One of single records needs `READS_RECORDS` before it."""

    def note(request: Request, principal: Reader, session: SessionIn, deployment: ReadableDeployment) -> None:
        form = request.path_params.get("form", "csv")
        if form in _FILES:
            check_id: str | None = request.path_params.get("check_id")
            details = {"form": form, "query": str(request.query_params)[:_MAX_QUERY]}
            record_activity(
                session, principal.actor, f"{what}.exported", deployment, subject=check_id, details=details
            )

    return Dependency(note)
