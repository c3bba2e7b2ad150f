"""Routes of deployments: create, list, read, change, delete."""

import re
import secrets
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import ValidationError

from app.api.answers import Answers, problems, problems_of_deployment, problems_with_body
from app.api.schemas.deployments import DeploymentIn, DeploymentOut, DeploymentPage, DeploymentPatch, definition_json
from app.checks.picking import problems_of
from app.domain.definitions import Definition, definition_of
from app.domain.deployment_rules import definition_problems
from app.domain.deployments import Deployment, Endpoint
from app.errors import Conflict, EndpointRefused, InvalidInput, NotFound
from app.scoring.egress import check_url, parse_url
from app.security.principals import Permission
from app.services import Services
from app.store.monitors import monitor_of
from app.web.access import DeploymentsIn, LockedDeployment, Manager, ReadableDeployment, Reader, ServicesIn, SessionIn
from app.web.paging import Limit, cut, number_behind
from app.web.problems import field_problems

router = APIRouter(prefix="/v1/deployments", tags=["deployments"])

_THERE_ALREADY: Answers = {200: {"model": DeploymentOut, "description": "There already, with the same content"}}


@router.post(
    "",
    status_code=201,
    operation_id="createDeployment",
    responses=_THERE_ALREADY | problems_with_body(Conflict),
)
def create_deployment(
    body: DeploymentIn, principal: Manager, deployments: DeploymentsIn, services: ServicesIn, response: Response
) -> DeploymentOut:
    """Creates a deployment. The same id with the same content again changes nothing, so a request may be repeated."""
    principal.require(Permission.MANAGE)
    stored, is_new = deployments.create(body.id or _id_from(body.name), _checked(body.to_domain(), services))
    response.status_code = 201 if is_new else 200
    return DeploymentOut.of(stored)


@router.get("", operation_id="listDeployments", responses=problems())
def list_deployments(
    principal: Reader, deployments: DeploymentsIn, after_no: Annotated[int, Depends(number_behind)], limit: Limit = 100
) -> DeploymentPage:
    """Deployments, oldest first. A key that is bound to one deployment sees that one."""
    found = deployments.page(after_no=after_no, limit=limit + 1, only_no=principal.deployment_no)
    page, next_cursor = cut(found, limit, lambda deployment: deployment.no)
    return DeploymentPage(deployments=[DeploymentOut.of(deployment) for deployment in page], next_cursor=next_cursor)


@router.get("/{deployment_id}", operation_id="readDeployment", responses=problems_of_deployment())
def read_deployment(deployment: ReadableDeployment) -> DeploymentOut:
    """One deployment. Credentials of its endpoint are never returned."""
    return DeploymentOut.of(deployment)


@router.patch("/{deployment_id}", operation_id="changeDeployment", responses=problems_with_body(NotFound, Conflict))
def change_deployment(
    body: DeploymentPatch, deployment: LockedDeployment, deployments: DeploymentsIn, services: ServicesIn, session: SessionIn
) -> DeploymentOut:
    """Changes a deployment by a JSON merge patch: what is left out stays. Other columns make a new schema version.

    Pointing the endpoint at another host needs its credentials again, so that nobody can have the stored ones sent to himself.
    """
    changed = _checked(_patched(deployment, body), services)
    _keeps_secret(deployment.endpoint, changed.endpoint, body)
    stored = deployments.change(deployment, changed)
    monitor = monitor_of(session, stored.no)
    broken = monitor and problems_of(monitor, stored.schema, stored.problem_type)
    if broken:
        raise Conflict(f"The fairness monitor would no longer fit: {InvalidInput(broken)}. Change or delete the monitor first.")
    return DeploymentOut.of(stored)


@router.delete("/{deployment_id}", status_code=204, operation_id="deleteDeployment", responses=problems_of_deployment())
def delete_deployment(deployment: LockedDeployment, deployments: DeploymentsIn) -> None:
    """Deletes a deployment and all that belongs to it: records, feedback, monitor, checks, measurements, bound keys."""
    deployments.delete(deployment.id)


def _id_from(name: str) -> str:
    """An id made of the name and a few random characters."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:48].strip("-")
    return f"{slug or 'deployment'}-{secrets.token_hex(4)}"


def _checked(definition: Definition, services: Services) -> Definition:
    found = definition_problems(definition)
    if found:
        raise InvalidInput(found)
    if definition.endpoint:
        try:
            check_url(definition.endpoint.url, services.settings.allowed_endpoints)
        except EndpointRefused as error:
            raise InvalidInput.of("endpoint.url", str(error)) from error
    return definition


def _patched(deployment: Deployment, patch: DeploymentPatch) -> Definition:
    """The definition after the merge, checked as if it had been sent whole."""
    try:
        return DeploymentIn.model_validate(patch.merged_into(definition_json(definition_of(deployment)))).to_domain()
    except ValidationError as error:
        raise InvalidInput(field_problems(error.errors())) from error


def _keeps_secret(before: Endpoint | None, after: Endpoint | None, patch: DeploymentPatch) -> None:
    """Refuses to send kept credentials to another origin: whoever may change the address would get to know them."""
    if before is None or after is None or after.credentials is None or before.url == after.url:
        return
    if patch.endpoint is not None and "credentials" in patch.endpoint.model_fields_set:
        return
    if _origin(before.url) != _origin(after.url):
        raise InvalidInput.of(
            "endpoint.credentials", "must be sent again (or null) when the endpoint moves to another scheme, host or port"
        )


def _origin(url: str) -> tuple[str, str, int | None]:
    parsed = parse_url(url)
    return parsed.scheme, parsed.host, parsed.port
