"""Routes of service providers, and the discovery of the deployments that a custom provider serves."""

import asyncio
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from ..errors import Conflict, InvalidInput, NotFound
from ..security.principals import Permission
from ..store.openscale.marts import (
    DEFAULT_MART,
    StoredProvider,
    add_provider,
    change_provider,
    delete_provider,
    find_provider,
    list_marts,
    list_providers,
)
from ..web.access import AnyKey, ServicesIn
from .bodies import Answer, Operation, Sent, active, is_among, patched, read_as, resource, without_none
from .callers import CallerIn
from .credentials import credentials_of
from .discovery import list_deployments_of

router = APIRouter(tags=["service providers"])

_PATH = "/openscale/v2/service_providers"
_SINCE = datetime(2026, 1, 1, tzinfo=UTC)
CUSTOM = "custom_machine_learning"
_SECRET = ("password", "apikey", "api_key", "token")
"""Members of credentials that no answer holds."""


class ProviderIn(Sent):
    """A service provider. Evenhand calls custom ones; any other type is only a name."""

    name: str = Field(min_length=1, max_length=200)
    service_type: str = Field(max_length=100)
    description: str | None = Field(default=None, max_length=2000)
    credentials: dict[str, Any] | None = None
    request_headers: dict[str, str] | None = None
    operational_space_id: str | None = Field(default=None, max_length=200)
    deployment_space_id: str | None = Field(default=None, max_length=200)
    integrated_project_id: str | None = Field(default=None, max_length=200)

    def to_entity(self) -> Answer:
        """Returns what is stored openly."""
        return without_none(self.model_dump(exclude={"credentials", "request_headers"}))

    def to_secrets(self) -> Answer:
        """Returns what is stored encrypted: all of the credentials and headers."""
        return without_none({"credentials": self.credentials, "request_headers": self.request_headers})


@router.get(_PATH)
def read_providers(
    caller: CallerIn,
    service_type: str | None = None,
    operational_space_id: str | None = None,
    deployment_space_id: str | None = None,
    integrated_project_id: str | None = None,
) -> Answer:
    """Returns the service providers that all filters let through; a filter is a list joined by commas."""
    caller.require(Permission.READ)
    wanted = {
        "service_type": service_type,
        "operational_space_id": operational_space_id,
        "deployment_space_id": deployment_space_id,
        "integrated_project_id": integrated_project_id,
    }
    found = list_providers(caller.session, caller.services.secret_box)
    chosen = [one for one in found if all(is_among(sent, one.entity.get(name)) for name, sent in wanted.items())]
    return {"service_providers": [_answer(one) for one in chosen]}


@router.post(_PATH, status_code=201)
def add_service_provider(body: ProviderIn, caller: CallerIn, response: Response) -> Answer:
    """Adds a service provider."""
    caller.principal.require(Permission.MANAGE)
    if any(one.entity["name"] == body.name for one in list_providers(caller.session, caller.services.secret_box)):
        raise Conflict(f"There is a service provider {body.name!r} already. Use it, or choose another name.")
    if body.service_type == CUSTOM:
        credentials_of(body.credentials)
    stored = add_provider(
        caller.session,
        caller.services.secret_box,
        str(uuid.uuid4()),
        body.to_entity(),
        body.to_secrets(),
        created_by=caller.principal.actor,
    )
    response.headers["Location"] = f"/v2/service_providers/{stored.id}"
    return _answer(stored)


@router.get(f"{_PATH}/{{service_provider_id}}")
def read_provider(service_provider_id: str, caller: CallerIn) -> Answer:
    """Returns one service provider, without its credentials."""
    caller.require(Permission.READ)
    if service_provider_id == DEFAULT_MART:
        # The provider of deployments that were registered over REST v1: each names its own endpoint.
        entity = {"name": "Evenhand REST v1", "service_type": CUSTOM, "operational_space_id": "production"}
        since = next((mart.created_at for mart in list_marts(caller.session) if mart.id == DEFAULT_MART), _SINCE)
        of_rest_v1 = StoredProvider(id=DEFAULT_MART, entity=entity, secrets={}, created_at=since, created_by="evenhand", modified_at=since)
        return _answer(of_rest_v1)
    return _answer(find_provider(caller.session, caller.services.secret_box, _known(service_provider_id)))


@router.patch(f"{_PATH}/{{service_provider_id}}")
def change_service_provider(service_provider_id: str, body: list[Operation], caller: CallerIn) -> Answer:
    """Changes a service provider by a JSON patch. Subscriptions keep the credentials that they were added with."""
    caller.principal.require(Permission.MANAGE)
    box = caller.services.secret_box
    stored = find_provider(caller.session, box, _known(service_provider_id))
    changed = read_as(ProviderIn, patched({**stored.entity, **stored.secrets}, body))
    if changed.service_type == CUSTOM:
        credentials_of(changed.credentials)
    before, after = _credentials(stored.secrets), changed.credentials or {}
    # Otherwise a caller could have the stored secret sent to a host of their own.
    if any(before.get(name) != after.get(name) for name in ("url", "auth_url")) and any(
        before.get(name) is not None and before.get(name) == after.get(name) for name in _SECRET
    ):
        raise InvalidInput.of("/credentials", "must be sent again as a whole when the provider moves to another address")
    return _answer(change_provider(caller.session, box, stored.id, changed.to_entity(), changed.to_secrets()))


@router.delete(f"{_PATH}/{{service_provider_id}}", status_code=202)
def remove_service_provider(service_provider_id: str, caller: CallerIn) -> Answer:
    """Deletes a service provider. Subscriptions keep the endpoint and the credentials that they were added with.

    Published scripts delete a provider of an earlier run before its subscription.
    """
    caller.principal.require(Permission.MANAGE)
    stored = find_provider(caller.session, caller.services.secret_box, _known(service_provider_id))
    delete_provider(caller.session, stored.id)
    return {}


@router.get("/v1/ml_instances/{service_provider_id}/deployments")
async def discover_deployments(
    service_provider_id: str, principal: AnyKey, services: ServicesIn, limit: Annotated[int, Query(ge=1, le=1000)] = 1000
) -> Answer:
    """Returns the deployments that a custom provider says it serves, as it says it."""
    principal.require(Permission.MANAGE)

    def find() -> StoredProvider:
        with services.database.transaction() as session:
            return find_provider(session, services.secret_box, _known(service_provider_id))

    # No transaction is open while the provider is called.
    stored = await asyncio.to_thread(find)
    if stored.entity["service_type"] != CUSTOM:
        raise NotFound("custom service provider", stored.id)
    found = await list_deployments_of(_credentials(stored.secrets), stored.secrets.get("request_headers") or {}, services.policy)
    return {"count": len(found), "resources": found[:limit]}


def _credentials(secrets: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = secrets.get("credentials") or {}
    return found


def _known(provider_id: str) -> str:
    """Returns the id in a form that the database takes, whatever was sent."""
    return ascii(provider_id)[1:-1][:100]


def _answer(provider: StoredProvider) -> Answer:
    entity = active(provider.entity)
    if provider.secrets.get("credentials"):
        entity["credentials"] = {"secret_id": provider.id}
    if provider.secrets.get("request_headers"):
        # Their values are as secret as credentials.
        entity["request_headers"] = dict.fromkeys(provider.secrets["request_headers"], "***")
    url = f"/v2/service_providers/{provider.id}"
    return resource(
        provider.id, url, entity, created_at=provider.created_at, created_by=provider.created_by, modified_at=provider.modified_at
    )
