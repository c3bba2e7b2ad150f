"""Every route of the API and of the pages: asks for a permission, and tells a caller that is bound elsewhere nothing."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from sqlalchemy import select
from starlette.routing import BaseRoute

from app import main
from app.access.gate.caller import find_principal
from app.access.principals import Role
from app.database.tables import DeploymentRow
from app.pages import application as pages
from tests.builders.bodies import deployment, monitor
from tests.builders.open_routes import FOR_EVERYBODY
from tests.service import RunningService

FOR_ANY_KEY = {"/v1/me", "/v1/metrics", "/v1/metrics/{metric_key}", "/docs", "/docs/{name}", "/openapi.json", "/help", "/help/{name:path}"}
FOR_WHOEVER_IS_KNOWN = {"/logout"}

OWN = "own-model"
SECRET = "secret-model"  # noqa: S105 - the id of a deployment


def _routes() -> Iterator[APIRoute]:
    routers = (*main._ROUTERS, *pages._ROUTERS)  # noqa: SLF001 - the two lists of all routes
    found: list[BaseRoute] = [route for router in routers for route in router.routes]
    for route in found:
        assert isinstance(route, APIRoute), route
        yield route


def _calls(dependant: Dependant) -> Iterator[Any]:
    for inner in dependant.dependencies:
        yield inner.call
        yield from _calls(inner)


def _asks(route: APIRoute) -> str:
    """What the route asks of its caller."""
    calls = list(_calls(route.dependant))
    if any(call.__qualname__.startswith("require_permission.") for call in calls):
        return "permission"
    return "key" if find_principal in calls else "nothing"


def test_every_route_asks_for_a_permission_but_those_that_are_listed_here() -> None:
    asked = {(route.path, _asks(route)) for route in _routes()}

    assert {path for path, word in asked if word == "key"} == FOR_ANY_KEY
    assert {path for path, word in asked if word == "nothing"} == FOR_EVERYBODY | FOR_WHOEVER_IS_KNOWN


def _addresses(deployment_id: str) -> Iterator[tuple[str, str]]:
    """(the route's path, an address of it) of everything that can be read."""
    values = {"deployment_id": deployment_id, "form": "html", "metric": "disparate_impact", "format": "csv"}
    identity = "0c3a7a55-1f6b-4f0e-9d0a-6d3a5a0f2c11"
    for route in _routes():
        if "GET" in route.methods and route.path not in FOR_EVERYBODY:
            address = re.sub(r"\{(\w+)(:path)?\}", lambda found: values.get(found[1], identity), route.path)
            yield route.path, address


@pytest.fixture
def bound(service: RunningService) -> RunningService:
    """A deployment nobody but admins should hear of, which people have worked on, and another one."""
    for name in (SECRET, OWN):
        service.client.post("/v1/deployments", json=deployment(id=name, name=f"The {name}")).raise_for_status()
        service.client.put(f"/v1/deployments/{name}/fairness-monitor", json=monitor()).raise_for_status()
    service.client.post("/v1/api-keys", json={"name": f"for {SECRET}", "role": "read", "deployment_id": SECRET}).raise_for_status()
    channel = {"name": f"Team of {SECRET}", "kind": "webhook", "url": f"http://127.0.0.1:9/{SECRET}"}
    service.client.put("/v1/alert-channels/c", json=channel).raise_for_status()
    service.client.post(f"/v1/deployments/{SECRET}/checks").raise_for_status()
    return service


@pytest.mark.parametrize(
    "role", [pytest.param(Role.INGEST, marks=pytest.mark.nightly), pytest.param(Role.READ, marks=pytest.mark.nightly), Role.MANAGE]
)
def test_a_key_that_is_bound_elsewhere_learns_nothing_of_a_deployment(bound: RunningService, role: Role) -> None:
    with bound.database.transaction() as session:
        own_no = session.scalars(select(DeploymentRow.no).where(DeploymentRow.id == OWN)).one()
    headers = bound.as_(role, own_no) | {"Accept": "text/html"}

    told = {}
    for path, address in dict.fromkeys((*_addresses(SECRET), *_addresses(OWN))):  # those of no deployment once
        for query in ("", f"?deployment={SECRET}", f"?text={SECRET}"):
            answer = bound.client.get(address + query, headers=headers)
            is_foreign = "{deployment_id}" in path and SECRET in address
            if answer.status_code >= 500 or (is_foreign and answer.is_success) or SECRET in _without(answer.text, address, query):
                told[address] = (answer.status_code, query)

    assert told == {}


def _without(text: str, address: str, query: str) -> str:
    """What an answer says beyond what it was asked."""
    for asked in (address, query, f'value="{SECRET}"', f"text={SECRET}", f"no deployment {SECRET}"):
        text = text.replace(asked, "") if asked else text
    return text


def test_a_key_for_logging_reads_nothing(bound: RunningService) -> None:
    headers = bound.as_(Role.INGEST) | {"Accept": "text/html"}

    answers = {
        path: bound.client.get(address, headers=headers).status_code for path, address in _addresses(SECRET) if path not in FOR_ANY_KEY
    }

    assert set(answers.values()) <= {403}, {path: status for path, status in answers.items() if status != 403}
