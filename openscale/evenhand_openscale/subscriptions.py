"""Routes of subscriptions: a subscription is a deployment, under the same id."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field

from .assets import (
    AssetIn,
    AssetPropertiesIn,
    columns_json,
    deployment_field_as_sent,
    inferred_fields,
    outputs_json,
    properties_of,
    require_structured,
)
from .batch_tables import DataSourceIn, data_sources_of, require_engine, tables_json
from .bodies import Operation, Sent, active, is_among, patched, read_as, resource, without_none
from .credentials import credentials_json, payload_format_of
from .facts import Entity
from .marts import THE_MART, require_mart
from .providers import find_provider, secrets_of
from .refused import invalid
from .v1 import MANAGE, V1, Document, Json, Subscription, V1In, answered

router = APIRouter(prefix="/openscale/v2/subscriptions", tags=["subscriptions"])

BATCH = "batch"

NO_URL = "https://dummyScoringUrl"
"""The SDK itself sends it for a headless subscription that it makes of training statistics."""

_OWN = {"label_column", "labels", "prediction_names", "transaction_id_field"}


class ScoringEndpointIn(Sent):
    url: str | None = None
    credentials: Json | None = None
    request_headers: dict[str, str] | None = None


class DeployedIn(Sent):
    deployment_id: str
    name: str
    deployment_type: str = "online"
    url: str | None = None
    description: str | None = None
    created_at: str | None = None
    scoring_endpoint: ScoringEndpointIn | None = None


class SubscriptionIn(Sent):
    data_mart_id: str
    service_provider_id: str | None = None
    asset: AssetIn
    deployment: DeployedIn
    asset_properties: AssetPropertiesIn = AssetPropertiesIn()
    risk_evaluation_status: Json | None = None
    analytics_engine: Json | None = None
    data_sources: list[DataSourceIn] | None = None

    def tables(self) -> Json:
        """Returns the tables of a batch subscription as REST v1 takes them; empty where records are logged."""
        if self.deployment.deployment_type != BATCH:
            for name, stated in {"data_sources": self.data_sources, "analytics_engine": self.analytics_engine}.items():
                if stated:
                    raise invalid(name, f"is of a batch subscription: state the deployment_type {BATCH}, or leave it out")
            return {}
        require_engine(self.analytics_engine)
        return tables_json(self.data_sources or [], self.asset_properties)

    def kept(self, before: Entity) -> Entity:
        """Returns what only the subscription knows; facts of its data sets and instances stay."""
        own = {
            "provider_id": None if self.service_provider_id == THE_MART else self.service_provider_id,
            "asset": without_none(self.asset.model_dump(exclude={"problem_type"})),
            "deployment": without_none(self.deployment.model_dump(exclude={"scoring_endpoint", "name"})),
            "asset_properties": without_none(self.asset_properties.model_dump(include=_OWN)),
            "risk_evaluation_status": self.risk_evaluation_status,
            "analytics_engine": self.analytics_engine,
            **{name: before.get(name) for name in ("data_sets", "instances")},
        }
        return without_none(own)


@router.get("")
async def read_subscriptions(v1: V1In) -> Json:
    """Returns the subscriptions that all filters let through, those made over REST v1 included."""
    answers = [answer_of(subscription) for subscription in await v1.find_all()]
    filters = {name: sent for name, sent in v1.request.query_params.items() if name in _FILTERS}
    return {
        "subscriptions": [
            answer for answer in answers if all(is_among(sent, _dig(answer["entity"], name)) for name, sent in filters.items())
        ]
    }


_FILTERS = frozenset(
    {
        "data_mart_id",
        "service_provider_id",
        "asset.asset_id",
        "asset.asset_type",
        "deployment.deployment_id",
        "deployment.deployment_type",
        "risk_evaluation_status.state",
        "integration_reference.integrated_system_id",
        "integration_reference.external_id",
        "pre_production_reference_id",
    }
)


@router.post("", status_code=201)
async def add_subscription(body: SubscriptionIn, v1: V1In, response: Response) -> Json:
    await v1.require(MANAGE, of_all=True)
    require_mart(body.data_mart_id)
    require_structured(body.asset)
    definition = {
        **_definition_json(body, body.asset_properties),
        "problem_type": body.asset.problem_type,
        "endpoint": await _endpoint_json(body, v1),
    }
    deployment = await v1.ask("POST", "/v1/deployments", body=definition, as_sent=deployment_field_as_sent)
    response.headers["Location"] = f"/v2/subscriptions/{deployment['id']}"
    return answer_of(await v1.change(Subscription(deployment, None), body.kept))


@router.get("/{subscription_id}")
async def read_subscription(subscription_id: str, v1: V1In) -> Json:
    return answer_of(await v1.find(subscription_id))


@router.patch("/{subscription_id}")
async def change_subscription(subscription_id: str, body: list[Operation], v1: V1In) -> Json:
    await v1.require(MANAGE)
    subscription = await v1.find(subscription_id)
    before = answer_of(subscription)["entity"]
    changed = read_as(SubscriptionIn, patched(before, body))
    require_mart(changed.data_mart_id)
    require_structured(changed.asset)
    if changed.asset.problem_type != subscription.deployment["problem_type"]:
        raise invalid("asset.problem_type", "cannot be changed: stored records would change their meaning. Add a subscription")
    patch = _patch_json(changed, before)
    deployment = await v1.ask("PATCH", f"/v1/deployments/{subscription.id}", body=patch, as_sent=deployment_field_as_sent)
    return answer_of(await v1.change(Subscription(deployment, subscription.fact), changed.kept))


@router.delete("/{subscription_id}", status_code=202)
async def remove_subscription(subscription_id: str, v1: V1In) -> Json:
    """Deletes a subscription and everything that belongs to it: the deployment, its records, monitors and measurements."""
    subscription = await v1.find(subscription_id)
    await v1.ask("DELETE", f"/v1/deployments/{subscription.id}")
    return {}


class SchemasIn(Sent):
    input_data: list[Json] = Field(min_length=1, max_length=100)


@router.post("/{subscription_id}/schemas")
async def infer_schemas(subscription_id: str, body: SchemasIn, v1: V1In) -> Json:
    subscription = answer_of(await v1.find(subscription_id))
    fields, rows = body.input_data[0].get("fields"), body.input_data[0].get("values")
    if not isinstance(fields, list) or not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise invalid("input_data[0]", "must be {fields: […], values: [[…]]}")
    schema = {"type": "struct", "fields": inferred_fields(fields, rows)}
    subscription["entity"]["asset_properties"]["input_data_schema"] = schema
    return {"subscription": subscription}


@router.post("/{subscription_id}/predictions")
async def score_subscription(subscription_id: str, v1: V1In) -> Response:
    """Scores rows by the deployment's own model, and adds the mitigated prediction to each answer."""
    path = f"/v1/deployments/{subscription_id}/mitigated-predictions"
    answer = await v1.entry.call(v1.request, "POST", path, content=v1.request.receive)
    answered(answer)
    return Response(answer.body, media_type=answer.headers["content-type"])


def answer_of(subscription: Subscription) -> Json:
    deployment, kept, endpoint = subscription.deployment, subscription.entity, subscription.deployment["endpoint"]
    asset = {"asset_id": subscription.id, "asset_type": "model", "input_data_type": "structured", **kept.get("asset", {})}
    deployed = {"deployment_id": subscription.id, "deployment_type": "online", **kept.get("deployment", {})}
    if deployment["payload"] is not None:
        deployed["deployment_type"] = BATCH
    if endpoint is not None and endpoint["url"]:
        scoring: Json = {"url": endpoint["url"]}
        if endpoint["credentials"] is not None:
            scoring["credentials"] = {"secret_id": subscription.id}
        if endpoint["header_names"]:
            scoring["request_headers"] = dict.fromkeys(endpoint["header_names"], "***")
        deployed["scoring_endpoint"] = scoring
    entity = {
        "data_mart_id": THE_MART,
        "service_provider_id": kept.get("provider_id") or THE_MART,
        "asset": {"name": deployment["name"], **asset, "problem_type": deployment["problem_type"]},
        "deployment": {**deployed, "name": deployment["name"]},
        "asset_properties": properties_of(deployment, kept.get("asset_properties", {})),
        **{name: kept[name] for name in ("risk_evaluation_status", "analytics_engine") if name in kept},
        **({} if deployment["payload"] is None else {"data_sources": data_sources_of(deployment)}),
    }
    return resource(
        subscription.id,
        f"/v2/subscriptions/{subscription.id}",
        active(entity),
        created_at=deployment["created_at"],
        created_by="evenhand" if subscription.fact is None else subscription.fact.created_by,
        modified_at=deployment["updated_at"],
    )


async def _endpoint_json(body: SubscriptionIn, v1: V1) -> Json | None:
    """Returns the endpoint that is called for copies. The provider's credentials are used unless it has own."""
    endpoint = body.deployment.scoring_endpoint
    url = (endpoint and endpoint.url) or (None if body.deployment.url == NO_URL else body.deployment.url)
    of_provider: Document = {}
    if body.service_provider_id and body.service_provider_id != THE_MART:
        of_provider = secrets_of(v1, await find_provider(v1, body.service_provider_id))
    if not url:
        return None
    stated = (endpoint and endpoint.credentials) or of_provider.get("credentials") or {}
    return {
        "url": url,
        "payload_format": payload_format_of(stated),
        "credentials": credentials_json(stated),
        "headers": _own_headers(endpoint.request_headers if endpoint else None) or _own_headers(of_provider.get("request_headers")),
    }


def _definition_json(body: SubscriptionIn, properties: AssetPropertiesIn) -> Json:
    return {"name": body.deployment.name, **columns_json(properties), "outputs": outputs_json(properties), **body.tables()}


def _own_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """Returns the headers without one that says that JSON is sent, which published scripts state."""
    return {
        name: value
        for name, value in (headers or {}).items()
        if name.lower() != "content-type" or not value.partition(";")[0].strip().lower().endswith("json")
    }


def _patch_json(changed: SubscriptionIn, before: Document) -> Json:
    """Returns the change of the deployment as REST v1 takes it. Credentials that are not sent stay."""
    properties = changed.asset_properties
    if properties.training_data_schema is not None:
        # The answer has members that a body has not.
        known = AssetPropertiesIn.model_validate(before["asset_properties"]).model_dump()
        # A training schema that was not sent would bring columns back that the patch has removed.
        if properties.training_data_schema.model_dump() == known["training_data_schema"]:
            properties = properties.model_copy(update={"training_data_schema": None})
    patch = _definition_json(changed, properties)
    endpoint = changed.deployment.scoring_endpoint
    if endpoint is None or not endpoint.url:
        return {**patch, "endpoint": None}
    members: Json = {"url": endpoint.url}
    # A secret_id is what was read, not a secret.
    if endpoint.credentials is not None and "secret_id" not in endpoint.credentials:
        members["credentials"] = credentials_json(endpoint.credentials)
    # Masked values are those that are stored: sent back as they were read, they mean no change.
    headers = {name: value for name, value in _own_headers(endpoint.request_headers).items() if value != "***"}
    return {**patch, "endpoint": {**members, **({"headers": headers} if headers else {})}}


def _dig(entity: Document, path: str) -> object:
    value: Any = entity
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
