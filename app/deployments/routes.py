"""Routes of deployments."""

import re
import secrets
from collections.abc import Sequence

from fastapi import APIRouter, Response
from pydantic import ValidationError

from ..access.audit.activity_queries import record_activity
from ..access.gate.caller import Manager, Reader, Services, ServicesIn, SessionIn, WholeManager
from ..access.principals import Principal
from ..base.errors import Conflict, EndpointRefused, FieldProblem, Forbidden, InvalidInput, refuse
from ..base.strict_json import JsonObject
from ..calls.egress_policy import check_url, parse_url
from ..calls.model_uris import check_model
from ..calls.pinned_transport import find_tls_problems
from ..domain.deployment import Endpoint
from ..payloads.registry import get_codec
from ..sources.tables.allowed_locations import find_location_problems
from ..web.problems import field_problems
from ..web.route_declarations import CONFLICT, Answers, ShortNumberPaging
from .bodies import DeploymentIn, DeploymentOut, DeploymentPage, DeploymentPatch, write_definition_json
from .change_texts import list_definition_changes
from .definition_rules import find_definition_problems
from .deployment_in_address import DeploymentsIn, LockedDeployment, ReadableDeployment
from .monitor.queries import find_monitor, find_monitor_problems
from .queries import Definition, Deployments, build_definition
from .validate_only import ValidateOnly, keep_unless

router = APIRouter(prefix="/v1/deployments", tags=["deployments"])

_UNCHANGED: Answers = {
    200: {
        "model": DeploymentOut,
        "description": "There already, with the same content; or, where it is only checked, what would be "
        "stored",
    }
}


@router.post("", status_code=201, responses=_UNCHANGED | CONFLICT)
def create_deployment(
    *,
    body: DeploymentIn,
    principal: WholeManager,
    session: SessionIn,
    services: ServicesIn,
    response: Response,
    validate_only: ValidateOnly = False,
) -> DeploymentOut:
    """Creates a deployment. The same id with the same content again changes nothing, so a request may be
    repeated.
    """
    definition = check_definition(body.to_domain(), services)
    with keep_unless(session, validate_only):
        stored, is_new = Deployments(session, services.secret_box).create(
            body.id or _make_id(body.name), definition
        )
        if is_new:
            changes = list_definition_changes(None, definition)
            record_activity(session, principal.actor, "deployment.created", stored, details=changes)
    response.status_code = 201 if is_new and not validate_only else 200
    return DeploymentOut.of(stored)


@router.get("")
def list_deployments(
    principal: Reader, deployments: DeploymentsIn, paging: ShortNumberPaging
) -> DeploymentPage:
    """Returns the deployments, oldest first. A key that is bound to one deployment sees that one."""
    return DeploymentPage.of(
        deployments.page(paging, only_no=principal.deployment_no), paging, DeploymentOut.of
    )


@router.get("/{deployment_id}")
def read_deployment(deployment: ReadableDeployment) -> DeploymentOut:
    """Returns one deployment. Credentials of its endpoint are never returned."""
    return DeploymentOut.of(deployment)


@router.patch("/{deployment_id}", responses=CONFLICT)
def change_deployment(
    *,
    body: DeploymentPatch,
    deployment: LockedDeployment,
    principal: Manager,
    session: SessionIn,
    services: ServicesIn,
    validate_only: ValidateOnly = False,
) -> DeploymentOut:
    """Changes a deployment by a JSON merge patch: members that are left out stay. Other columns make a new
    schema version.

    Pointing the endpoint at another host needs its credentials again, so that no caller can send the
    stored ones to their own host.
    """
    before = build_definition(deployment)
    stored_json = write_definition_json(before)
    try:
        # Checked as if it had been sent whole.
        patched = DeploymentIn.model_validate(body.merged_into(stored_json)).to_domain()
    except ValidationError as error:
        raise InvalidInput(field_problems(error.errors())) from error
    if principal.deployment_no is not None:
        _require_same_places(stored_json, write_definition_json(patched), principal)
    changed = check_definition(
        patched, services, _find_secret_problems(deployment.endpoint, patched.endpoint, body)
    )

    if (before.payload is None) != (changed.payload is None):
        raise Conflict(
            "A deployment whose records are logged cannot become one whose records lie in your own tables, "
            "or back. Register another one."
        )
    with keep_unless(session, validate_only):
        stored = Deployments(session, services.secret_box).change(deployment, changed)
        monitor = find_monitor(session, stored.no)
        broken = monitor and find_monitor_problems(monitor, stored.schema, stored.problem_type)
        if broken:
            raise Conflict(
                f"The fairness monitor would no longer fit: {InvalidInput(broken)}. Change or delete the "
                "monitor first."
            )
        if before != changed:
            changes = list_definition_changes(before, changed)
            record_activity(session, principal.actor, "deployment.changed", stored, details=changes)
    return DeploymentOut.of(stored)


def _make_id(name: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:48].strip("-")
    # Two deployments of one name get two ids; a name of other scripts leaves no slug.
    return f"{slug or 'deployment'}-{secrets.token_hex(4)}"


def check_definition(
    definition: Definition, services: Services, further_problems: Sequence[FieldProblem] = ()
) -> Definition:
    """Returns the definition. Raises InvalidInput with every problem of it, the further ones included."""
    problems = list(find_definition_problems(definition))
    for side, table in (("payload", definition.payload), ("feedback", definition.feedback)):
        if table is not None:
            problems += find_location_problems(table, services.settings.table_folders, side)
    endpoint = definition.endpoint
    if endpoint is not None:
        addresses = [("uri", endpoint.uri) if endpoint.is_loaded else ("url", endpoint.url)]
        if endpoint.credentials is not None:
            addresses.append(("credentials.token_url", endpoint.credentials.token_url))
        for field, address in addresses:
            try:
                # A rule of the definition says whether there must be one.
                if address and field == "uri":
                    check_model(address, services.policy.model_prefixes)
                elif address:
                    check_url(address, services.policy)
            except EndpointRefused as error:
                problems.append(FieldProblem(f"endpoint.{field}", str(error)))
        if endpoint.tls is not None:
            problems += find_tls_problems(endpoint.tls, endpoint.url)
        columns = [column.name for column in definition.features]
        problems += get_codec(endpoint.payload_format).find_mapping_problems(endpoint, columns)
    problems += further_problems
    refuse(problems)
    return definition


def _require_same_places(before: JsonObject, after: JsonObject, principal: Principal) -> None:
    sections = {"payload": ("location", "format"), "feedback": ("location", "format"), "endpoint": ("uri",)}
    new_places = [
        f"{section}.{name}"
        for section, names in sections.items()
        for name in names
        if after[section] and after[section][name] not in ("", (before[section] or {}).get(name))
    ]
    if new_places:
        fields = ", ".join(new_places)
        raise Forbidden(f"{principal.subject} is bound to one deployment and may not set {fields}.")


def _find_secret_problems(
    before: Endpoint | None, after: Endpoint | None, patch: DeploymentPatch
) -> list[FieldProblem]:
    """A caller who moves the endpoint to another origin would get to know the stored secrets."""
    if before is None or after is None or patch.endpoint is None or before.url == after.url:
        return []
    # Not from https to http, nor to another service of the host.
    if _parse_origin(after.url) in (None, _parse_origin(before.url)):
        return []
    message = "must be sent again (or null) when the endpoint moves to another scheme, host or port"
    problems = []
    if after.credentials is not None and "credentials" not in patch.endpoint.model_fields_set:
        problems.append(FieldProblem("endpoint.credentials", message))
    if after.tls is not None and after.tls.key and (patch.endpoint.tls is None or not patch.endpoint.tls.key):
        problems.append(FieldProblem("endpoint.tls.key", message))
    kept_headers = [
        name for name in after.headers if name in before.headers and name not in patch.endpoint.headers
    ]
    return problems + [FieldProblem(f"endpoint.headers.{name}", message) for name in kept_headers]


def _parse_origin(url: str) -> tuple[str, str, int | None] | None:
    try:
        parsed = parse_url(url)
    except EndpointRefused:
        return None
    return parsed.scheme, parsed.host, parsed.port
