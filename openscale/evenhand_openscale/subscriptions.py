"""Routes of subscriptions: a subscription is a deployment, under the same id."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from ..api.debiased_predictions import predict_debiased
from ..api.deployments import change_deployment, create_deployment, delete_deployment
from ..api.schemas.deployments import DeploymentIn, DeploymentPatch
from ..domain.deployments import Deployment
from ..errors import InvalidInput
from ..security.principals import Permission
from ..store.openscale.marts import DEFAULT_MART, find_mart, find_provider
from ..store.openscale.subscriptions import StoredSubscription, put_subscription, subscriptions_of
from ..web.access import Logger as LoggerIn
from ..web.access import NowIn, ServicesIn
from ..web.media import is_json, reads_body
from .assets import (
    AssetIn,
    AssetPropertiesIn,
    columns_json,
    columns_of,
    deployment_field_as_sent,
    outputs_json,
    problem_type_of,
    properties_of,
)
from .batch_tables import DataSourceIn, data_sources_of, require_engine, tables_json
from .bodies import Answer, Operation, Sent, active, fields_named, is_among, patched, read_as, resource, without_none
from .callers import Caller, CallerIn
from .credentials import credentials_json, credentials_of, payload_format_of

router = APIRouter(prefix="/openscale/v2/subscriptions", tags=["subscriptions"])

BATCH = "batch"
"""Deployments whose records lie in files."""

NO_URL = "https://dummyScoringUrl"
"""Address that the SDK itself sends for a headless subscription that it makes of training statistics."""

_OWN = {"label_column", "labels", "prediction_names", "transaction_id_field"}
"""Properties that a deployment does not know."""


class ScoringEndpointIn(Sent):
    """The address that scores rows."""

    url: str | None = Field(default=None, max_length=2000)
    credentials: dict[str, Any] | None = None
    request_headers: dict[str, str] | None = None


class DeployedIn(Sent):
    """The deployment of the model."""

    deployment_id: str = Field(max_length=500)
    name: str = Field(min_length=1, max_length=200)
    deployment_type: str = Field(default="online", max_length=100)
    url: str | None = Field(default=None, max_length=2000)
    description: str | None = Field(default=None, max_length=2000)
    created_at: str | None = Field(default=None, max_length=100)
    scoring_endpoint: ScoringEndpointIn | None = None


class SubscriptionIn(Sent):
    """A subscription."""

    data_mart_id: str = Field(max_length=100)
    service_provider_id: str | None = Field(default=None, max_length=100)
    asset: AssetIn
    deployment: DeployedIn
    asset_properties: AssetPropertiesIn = AssetPropertiesIn()
    risk_evaluation_status: dict[str, Any] | None = None
    analytics_engine: dict[str, Any] | None = None
    data_sources: list[DataSourceIn] | None = None

    def tables(self) -> Answer:
        """Returns the tables in which the records of a batch subscription lie, as REST v1 takes them; empty where records are logged.

        Raises:
            InvalidInput: the type of the deployment and the tables do not fit, or a table lies where Evenhand does not read.
        """
        if self.deployment.deployment_type != BATCH:
            for name, stated in {"data_sources": self.data_sources, "analytics_engine": self.analytics_engine}.items():
                if stated:
                    raise InvalidInput.of(name, f"is of a batch subscription: state the deployment_type {BATCH}, or leave it out")
            return {}
        require_engine(self.analytics_engine)
        return tables_json(self.data_sources or [], self.asset_properties)


@router.get("")
def read_subscriptions(request: Request, caller: CallerIn) -> Answer:
    """Returns the subscriptions that all filters let through, those made over REST v1 included."""
    deployments = caller.seen()
    stored = subscriptions_of(caller.session, [one.no for one in deployments])
    found = [answer_of(one, stored.get(one.no)) for one in deployments]
    wanted = {name: value for name, value in request.query_params.items() if name in _FILTERS}
    return {
        "subscriptions": [one for one in found if all(is_among(sent, _dig(one["entity"], _FILTERS[name])) for name, sent in wanted.items())]
    }


_FILTERS = {
    "data_mart_id": ("data_mart_id",),
    "service_provider_id": ("service_provider_id",),
    "asset.asset_id": ("asset", "asset_id"),
    "asset.asset_type": ("asset", "asset_type"),
    "deployment.deployment_id": ("deployment", "deployment_id"),
    "deployment.deployment_type": ("deployment", "deployment_type"),
    "risk_evaluation_status.state": ("risk_evaluation_status", "state"),
    "integration_reference.integrated_system_id": ("integration_reference", "integrated_system_id"),
    "integration_reference.external_id": ("integration_reference", "external_id"),
    "pre_production_reference_id": ("pre_production_reference_id",),
}


@router.post("", status_code=201)
def add_subscription(body: SubscriptionIn, caller: CallerIn, response: Response) -> Answer:
    """Adds a subscription: registers the deployment."""
    caller.principal.require(Permission.MANAGE)
    find_mart(caller.session, ascii(body.data_mart_id)[1:-1])
    with fields_named(deployment_field_as_sent):
        created = create_deployment(
            body=read_as(DeploymentIn, _definition_json(body, caller)),
            principal=caller.principal,
            session=caller.session,
            services=caller.services,
            response=Response(),
            validate_only=False,
        )
    deployment = caller.find(created.id)
    _keep(caller, deployment, body)
    response.headers["Location"] = f"/v2/subscriptions/{deployment.id}"
    return answer_of(deployment, subscriptions_of(caller.session, [deployment.no])[deployment.no])


@router.get("/{subscription_id}")
def read_subscription(subscription_id: str, caller: CallerIn) -> Answer:
    """Returns one subscription."""
    return _answer(caller, caller.find(subscription_id))


@router.patch("/{subscription_id}")
def change_subscription(subscription_id: str, body: list[Operation], caller: CallerIn) -> Answer:
    """Changes a subscription by a JSON patch: the deployment, and what only the subscription knows."""
    deployment = caller.find(subscription_id, Permission.MANAGE)
    before = _answer(caller, deployment)["entity"]
    changed = read_as(SubscriptionIn, patched(before, body))
    find_mart(caller.session, ascii(changed.data_mart_id)[1:-1])
    if problem_type_of(changed.asset) is not deployment.problem_type:
        raise InvalidInput.of("asset.problem_type", "cannot be changed: stored records would change their meaning. Add a subscription")
    with fields_named(deployment_field_as_sent):
        change_deployment(
            body=read_as(DeploymentPatch, _patch_json(changed, before)),
            deployment=deployment,
            principal=caller.principal,
            session=caller.session,
            services=caller.services,
            validate_only=False,
        )
    deployment = caller.find(subscription_id)
    _keep(caller, deployment, changed)
    return _answer(caller, deployment)


@router.delete("/{subscription_id}", status_code=202)
def remove_subscription(subscription_id: str, caller: CallerIn) -> Answer:
    """Deletes a subscription and everything that belongs to it: the deployment, its records, monitors and measurements."""
    deployment = caller.find(subscription_id, Permission.MANAGE)
    delete_deployment(deployment, caller.deployments, caller.session, caller.principal)
    return {}


class SchemasIn(Sent):
    """Rows to infer a schema from."""

    input_data: list[dict[str, Any]] = Field(min_length=1, max_length=100)


@router.post("/{subscription_id}/schemas")
def infer_schemas(subscription_id: str, body: SchemasIn, caller: CallerIn) -> Answer:
    """Returns the schema that rows show: the type of each field by its values."""
    deployment = caller.find(subscription_id)
    table = body.input_data[0]
    fields, values = table.get("fields"), table.get("values")
    if not isinstance(fields, list) or not isinstance(values, list) or not all(isinstance(row, list) for row in values):
        raise InvalidInput.of("input_data[0]", "must be {fields: […], values: [[…]]}")
    inferred = [
        {"name": str(name), "type": _spark_type([row[at] for row in values if at < len(row)]), "nullable": True, "metadata": {}}
        for at, name in enumerate(fields)
    ]
    subscription = _answer(caller, deployment)
    properties = subscription["entity"]["asset_properties"]
    properties["input_data_schema"] = {"type": "struct", "fields": inferred}
    return {"subscription": subscription}


@router.post("/{subscription_id}/predictions")
@reads_body
async def score_subscription(subscription_id: str, request: Request, principal: LoggerIn, services: ServicesIn, now: NowIn) -> Response:
    """Scores rows by the deployment's own model, and adds the debiased prediction to each answer."""
    return await predict_debiased(request, principal, services, subscription_id, now)


def answer_of(deployment: Deployment, stored: StoredSubscription | None) -> Answer:
    """Returns the deployment as a subscription. One that was registered over REST v1 is in the mart that every installation has."""
    kept: Mapping[str, Any] = {} if stored is None else stored.entity
    url = None if deployment.endpoint is None else deployment.endpoint.url or None
    asset = {"asset_id": deployment.id, "asset_type": "model", "input_data_type": "structured", **kept.get("asset", {})}
    deployed = {"deployment_id": deployment.id, "deployment_type": "online", **kept.get("deployment", {})}
    if deployment.payload is not None:
        deployed["deployment_type"] = BATCH
    if url is not None:
        endpoint: Answer = {"url": url}
        if deployment.endpoint is not None and deployment.endpoint.credentials is not None:
            endpoint["credentials"] = {"secret_id": deployment.id}
        if deployment.endpoint is not None and deployment.endpoint.headers:
            endpoint["request_headers"] = dict.fromkeys(deployment.endpoint.headers, "***")
        deployed["scoring_endpoint"] = endpoint
    entity = {
        "data_mart_id": DEFAULT_MART if stored is None else stored.data_mart_id,
        "service_provider_id": (stored and stored.provider_id) or DEFAULT_MART,
        "asset": {"name": deployment.name, **asset, "problem_type": deployment.problem_type.value},
        "deployment": {**deployed, "name": deployment.name},
        "asset_properties": properties_of(deployment, kept.get("asset_properties", {})),
        **{name: kept[name] for name in ("risk_evaluation_status", "analytics_engine") if name in kept},
        **({} if deployment.payload is None else {"data_sources": data_sources_of(deployment)}),
    }
    return resource(
        deployment.id,
        f"/v2/subscriptions/{deployment.id}",
        active(entity),
        created_at=deployment.created_at,
        created_by="evenhand" if stored is None else stored.created_by,
        modified_at=deployment.updated_at,
    )


def _answer(caller: Caller, deployment: Deployment) -> Answer:
    return answer_of(deployment, subscriptions_of(caller.session, [deployment.no]).get(deployment.no))


def _definition_json(body: SubscriptionIn, caller: Caller) -> Answer:
    """Returns the deployment as REST v1 takes it."""
    columns = columns_of(body.asset_properties)
    return {
        "name": body.deployment.name,
        "problem_type": problem_type_of(body.asset).value,
        "features": columns_json(columns.features),
        "meta": columns_json(columns.meta),
        "outputs": outputs_json(body.asset_properties),
        "endpoint": _endpoint_json(body, caller),
        **body.tables(),
    }


def _endpoint_json(body: SubscriptionIn, caller: Caller) -> Answer | None:
    """Returns the endpoint that is called for copies; None where none is stated. The provider's credentials are used unless it has own."""
    endpoint = body.deployment.scoring_endpoint
    url = (endpoint and endpoint.url) or (None if body.deployment.url == NO_URL else body.deployment.url)
    provider = None
    if body.service_provider_id and body.service_provider_id != DEFAULT_MART:
        provider = find_provider(caller.session, caller.services.secret_box, ascii(body.service_provider_id)[1:-1])
    if not url:
        return None
    of_provider = {} if provider is None else provider.secrets.get("credentials") or {}
    own = endpoint.credentials if endpoint else None
    sent = credentials_of(own or of_provider)
    headers = _own_headers(endpoint.request_headers if endpoint else None)
    if not headers and provider is not None:
        headers = _own_headers(provider.secrets.get("request_headers"))
    payload_format = payload_format_of(own or of_provider)
    return {"url": url, "payload_format": payload_format, "credentials": credentials_json(sent), "headers": headers}


def _own_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """Returns the headers without one that says that JSON is sent, which published scripts state and which is so anyhow."""
    return {
        name: value
        for name, value in (headers or {}).items()
        if name.lower() != "content-type" or not is_json(value.partition(";")[0].strip().lower())
    }


def _patch_json(changed: SubscriptionIn, before: Mapping[str, Any]) -> Answer:
    """Returns the change of the deployment as REST v1 takes it. Credentials that are not sent stay."""
    properties = changed.asset_properties
    if properties.training_data_schema is not None:
        # Compared as it is read: the answer has members that a body has not.
        known = AssetPropertiesIn.model_validate(before["asset_properties"]).model_dump()
        # A training schema that was not sent would bring columns back that the patch has removed.
        if properties.training_data_schema.model_dump() == known["training_data_schema"]:
            properties = properties.model_copy(update={"training_data_schema": None})
    columns = columns_of(properties)
    patch: Answer = {
        "name": changed.deployment.name,
        "features": columns_json(columns.features),
        "meta": columns_json(columns.meta),
        "outputs": outputs_json(changed.asset_properties),
        **changed.tables(),
    }
    endpoint = changed.deployment.scoring_endpoint
    if endpoint is None or not endpoint.url:
        return {**patch, "endpoint": None}
    members: Answer = {"url": endpoint.url}
    # A secret_id is what was read, not a secret.
    if endpoint.credentials is not None and "secret_id" not in endpoint.credentials:
        members["credentials"] = credentials_json(credentials_of(endpoint.credentials))
    # Masked values are those that are stored: sent back as they were read, they mean no change.
    headers = {name: value for name, value in _own_headers(endpoint.request_headers).items() if value != "***"}
    return {**patch, "endpoint": {**members, **({"headers": headers} if headers else {})}}


def _keep(caller: Caller, deployment: Deployment, body: SubscriptionIn) -> None:
    """Stores what only the subscription knows; facts of its data sets stay."""
    before = subscriptions_of(caller.session, [deployment.no]).get(deployment.no)
    entity = without_none(
        {
            "asset": without_none(body.asset.model_dump(exclude={"problem_type"})),
            "deployment": without_none(body.deployment.model_dump(exclude={"scoring_endpoint", "name"})),
            "asset_properties": without_none(body.asset_properties.model_dump(include=_OWN)),
            "risk_evaluation_status": body.risk_evaluation_status,
            "analytics_engine": body.analytics_engine,
            "data_sets": before and before.entity.get("data_sets"),
        }
    )
    provider_id = None if body.service_provider_id == DEFAULT_MART else body.service_provider_id
    stored = StoredSubscription(
        deployment_no=deployment.no,
        data_mart_id=body.data_mart_id,
        provider_id=provider_id,
        entity=entity,
        created_by=caller.principal.actor,
    )
    put_subscription(caller.session, stored)


def _spark_type(values: list[Any]) -> str:
    found = {type(value) for value in values if value is not None}
    if found and found <= {bool}:
        return "boolean"
    if found and found <= {int}:
        return "integer"
    return "double" if found and found <= {int, float} else "string"


def _dig(entity: Mapping[str, Any], path: tuple[str, ...]) -> object:
    found: Any = entity
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found
