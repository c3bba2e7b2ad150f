"""Routes of service providers, and the discovery of the deployments that a custom provider serves."""

import json
import uuid
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy.orm import Session

from .bodies import Operation, Sent, active, is_among, patched, read_as, resource, without_none
from .credentials import credentials_json
from .facts import PROVIDER, Fact, delete_provider, list_facts, put_fact
from .marts import SINCE, THE_MART
from .refused import conflict, invalid, not_found
from .v1 import MANAGE, V1, Document, Json, V1In

router = APIRouter(tags=["service providers"])

_PATH = "/openscale/v2/service_providers"
_FILTERS = ("service_type", "operational_space_id", "deployment_space_id", "integrated_project_id")
CUSTOM = "custom_machine_learning"
_SECRET = ("password", "apikey", "api_key", "token")


class ProviderIn(Sent):
    """A service provider. Evenhand calls custom ones; any other type is only a name."""

    name: str = Field(min_length=1)
    service_type: str
    description: str | None = None
    credentials: Json | None = None
    request_headers: dict[str, str] | None = None
    operational_space_id: str | None = None
    deployment_space_id: str | None = None
    integrated_project_id: str | None = None

    def to_entity(self) -> Json:
        return without_none(self.model_dump(exclude={"credentials", "request_headers"}))

    def to_secrets(self) -> Json:
        return without_none({"credentials": self.credentials, "request_headers": self.request_headers})


@router.get(_PATH)
async def read_providers(v1: V1In) -> Json:
    """Returns the service providers that all filters let through; a filter is a list joined by commas."""
    await v1.require("read")
    filters = {name: v1.request.query_params.get(name) for name in _FILTERS}
    providers = await v1.entry.transact(lambda session: list_facts(session, PROVIDER))
    chosen = [one for one in providers.values() if all(is_among(sent, one.entity.get(name)) for name, sent in filters.items())]
    return {"service_providers": [_answer(v1, provider) for provider in chosen]}


@router.post(_PATH, status_code=201)
async def add_service_provider(body: ProviderIn, v1: V1In, response: Response) -> Json:
    actor = await v1.require(MANAGE, of_all=True)
    if body.service_type == CUSTOM:
        credentials_json(body.credentials)
    provider_id = str(uuid.uuid4())

    def add(session: Session) -> Fact:
        if any(provider.entity["name"] == body.name for provider in list_facts(session, PROVIDER).values()):
            raise conflict(f"There is a service provider {body.name!r} already. Use it, or choose another name.")
        return put_fact(session, PROVIDER, provider_id, body.to_entity(), _seal(v1, session, body.to_secrets()), actor)

    stored = await v1.entry.transact(add)
    response.headers["Location"] = f"/v2/service_providers/{stored.id}"
    return _answer(v1, stored)


@router.get(f"{_PATH}/{{service_provider_id}}")
async def read_provider(service_provider_id: str, v1: V1In) -> Json:
    await v1.require("read")
    if service_provider_id == THE_MART:
        # The provider of deployments that were registered over REST v1: each names its own endpoint.
        since = datetime.fromisoformat(SINCE).astimezone(UTC)
        entity = {"name": "Evenhand REST v1", "service_type": CUSTOM, "operational_space_id": "production"}
        return _answer(v1, Fact(id=THE_MART, entity=entity, created_at=since, created_by="evenhand", modified_at=since))
    return _answer(v1, await find_provider(v1, service_provider_id))


@router.patch(f"{_PATH}/{{service_provider_id}}")
async def change_service_provider(service_provider_id: str, body: list[Operation], v1: V1In) -> Json:
    """Changes a service provider by a JSON patch. Subscriptions keep the credentials that they were added with."""
    actor = await v1.require(MANAGE, of_all=True)
    stored = await find_provider(v1, service_provider_id)
    secrets = secrets_of(v1, stored)
    changed = read_as(ProviderIn, patched({**stored.entity, **secrets}, body))
    if changed.service_type == CUSTOM:
        credentials_json(changed.credentials)
    before, after = secrets.get("credentials") or {}, changed.credentials or {}
    # Otherwise a caller could have the stored secret sent to a host of their own.
    if any(before.get(name) != after.get(name) for name in ("url", "auth_url")) and any(
        before.get(name) is not None and before.get(name) == after.get(name) for name in _SECRET
    ):
        raise invalid("/credentials", "must be sent again as a whole when the provider moves to another address")

    def change(session: Session) -> Fact:
        return put_fact(session, PROVIDER, stored.id, changed.to_entity(), _seal(v1, session, changed.to_secrets()), actor)

    return _answer(v1, await v1.entry.transact(change))


@router.delete(f"{_PATH}/{{service_provider_id}}", status_code=202)
async def remove_service_provider(service_provider_id: str, v1: V1In) -> Json:
    """Deletes a service provider. Subscriptions keep the endpoint and the credentials that they were added with.

    Published scripts delete a provider of an earlier run before its subscription.
    """
    await v1.require(MANAGE, of_all=True)
    stored = await find_provider(v1, service_provider_id)
    await v1.entry.transact(lambda session: delete_provider(session, stored.id))
    return {}


@router.get("/v1/ml_instances/{service_provider_id}/deployments")
async def discover_deployments(service_provider_id: str, v1: V1In, limit: Annotated[int, Query(ge=1, le=1000)] = 1000) -> Json:
    """Returns the deployments that a custom provider says it serves, as it says it."""
    await v1.require(MANAGE, of_all=True)
    stored = await find_provider(v1, service_provider_id)
    if stored.entity["service_type"] != CUSTOM:
        raise not_found("custom service provider", stored.id)
    secrets = secrets_of(v1, stored)
    stated = secrets.get("credentials") or {}
    address = str(stated.get("url") or "").rstrip("/")
    if not address:
        raise invalid("credentials.url", "is missing: without an address a provider cannot be asked for its deployments")
    url = address if address.endswith("/v1/deployments") else f"{address}/v1/deployments"
    headers = secrets.get("request_headers") or {}
    body = await v1.entry.outgoing(url, field="credentials.url", credentials=credentials_json(stated), headers=headers)
    try:
        listed = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise conflict("The service provider's list of deployments is not JSON.") from error
    resources = listed.get("resources") if isinstance(listed, dict) else None
    if not isinstance(resources, list) or not all(isinstance(resource, dict) for resource in resources):
        raise conflict("The service provider's list of deployments has no `resources`.")
    return {"count": len(resources), "resources": resources[:limit]}


async def find_provider(v1: V1, provider_id: str) -> Fact:
    stored = await find_provider_or_none(v1, provider_id)
    if stored is None:
        raise not_found("service provider", provider_id)
    return stored


async def find_provider_or_none(v1: V1, provider_id: str) -> Fact | None:
    known = ascii(provider_id)[1:-1][:100]
    return (await v1.entry.transact(lambda session: list_facts(session, PROVIDER, [known]))).get(known)


def secrets_of(v1: V1, provider: Fact) -> Document:
    secrets: Document = {} if provider.secrets is None else json.loads(v1.entry.unseal(provider.secrets))
    return secrets


def _seal(v1: V1, session: Session, secrets: Json) -> bytes | None:
    return v1.entry.seal(session, json.dumps(secrets).encode()) if secrets else None


def _answer(v1: V1, provider: Fact) -> Json:
    entity, secrets = active(provider.entity), secrets_of(v1, provider)
    if secrets.get("credentials"):
        entity["credentials"] = {"secret_id": provider.id}
    if secrets.get("request_headers"):
        # Their values are as secret as credentials.
        entity["request_headers"] = dict.fromkeys(secrets["request_headers"], "***")
    url = f"/v2/service_providers/{provider.id}"
    times = {"created_at": provider.created_at, "modified_at": provider.modified_at}
    return resource(provider.id, url, entity, created_by=provider.created_by, **times)
