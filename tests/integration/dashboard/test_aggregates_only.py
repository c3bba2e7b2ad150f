"""The role that sees figures and no records: every readable address, asked with a key and with a session, over real records."""

import re
from itertools import chain

import httpx
import pytest
from fastapi.routing import APIRoute

from app import main
from app.access.principals import Role
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.pages import application as pages
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import NOON, scene
from tests.service import RunningService

DEPLOYMENT = "a-model"
SECRET = "canary"  # noqa: S105 - begins the id of every record

REFUSED = {
    "/v1/deployments/{deployment_id}/payload-records",
    "/v1/deployments/{deployment_id}/payload-records.csv",
    "/v1/deployments/{deployment_id}/payload-records/{record_id:path}",
    "/v1/deployments/{deployment_id}/feedback-records",
    "/v1/deployments/{deployment_id}/feedback-records/{record_id:path}",
    "/v1/deployments/{deployment_id}/corrections",
    "/v1/deployments/{deployment_id}/flagged-records",
    "/v1/deployments/{deployment_id}/flagged-records.csv",
    "/v1/deployments/{deployment_id}/logging-snippets",
    "/deployments/{deployment_id}/transactions",
    "/deployments/{deployment_id}/transactions/{record_id:path}",
    "/deployments/{deployment_id}/second-look",
}
"""Addresses of single records, written by hand from `docs/concepts/keys.md`."""


def _readable() -> set[str]:
    routers = (*main._ROUTERS, *pages._ROUTERS)  # noqa: SLF001 - the lists of all routes
    routes = chain.from_iterable(router.routes for router in routers)
    return {route.path for route in routes if isinstance(route, APIRoute) and "GET" in route.methods}


@pytest.fixture
def known(database: Database, service: RunningService) -> dict[str, str]:
    """Values for the places of addresses, of a deployment whose women were refused, checked and alerted about."""
    with serve(RuleScorer()) as server:
        stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=server.url))
        stage.log(applicants(30, 41, 17, prefix=f"{SECRET}-"), NOON)
        check = stage.check(NOON)
    values = {"deployment_id": DEPLOYMENT, "record_id": f"{SECRET}-1", "format": "csv", "form": "csv", "metric_key": "disparate_impact"}
    corrections = [{"record": f"{SECRET}-1", "what": "prediction", "new": new, "reason": "typed wrongly"} for new in (0, 1)]
    service.client.post(f"/v1/deployments/{DEPLOYMENT}/corrections", json=corrections).raise_for_status()
    checks = service.client.get(f"/v1/deployments/{DEPLOYMENT}/checks").json()["checks"]
    alerts = service.client.get("/v1/alerts").json()["alerts"]
    assert check is not None
    assert checks
    return {
        **values,
        "check_id": checks[0]["id"],
        "alert_id": alerts[0]["id"] if alerts else "",
        "view": "as_logged",
        "metric": "disparate_impact",
    }


def _address(path: str, known: dict[str, str]) -> str:
    identity = "0c3a7a55-1f6b-4f0e-9d0a-6d3a5a0f2c11"
    return re.sub(r"\{(\w+)(:path)?\}", lambda found: known.get(found[1]) or identity, path)


@pytest.mark.nightly
@pytest.mark.parametrize("way", ["key", "session"])
def test_no_address_shows_a_record_and_those_of_records_name_the_role(service: RunningService, known: dict[str, str], way: str) -> None:
    key = service.key(Role.AGGREGATES)
    with service.new_client(headers={"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}) as caller:
        if way == "session":
            assert caller.post("/login", data={"key": key}).status_code == 303
        else:
            caller.headers["Authorization"] = f"Bearer {key}"
        answers = {path: caller.get(_address(path, known)) for path in sorted(_readable())}
    for_records = {path for path, answer in answers.items() if "may not read single records" in answer.text}

    assert for_records == REFUSED
    assert {answers[path].status_code for path in REFUSED} == {403}
    assert all("role aggregates" in answers[path].text for path in REFUSED)
    assert not {path for path, answer in answers.items() if SECRET in answer.text and answer.status_code != 403}
    assert not {path: answer.status_code for path, answer in answers.items() if answer.status_code >= 500}
    assert sum(answer.is_success for answer in answers.values()) > 50


def test_the_same_addresses_show_records_to_readers(service: RunningService, known: dict[str, str]) -> None:
    with service.new_client(headers={"Accept": "text/html", "Authorization": f"Bearer {service.key(Role.READ)}"}) as caller:
        shown = {path for path in REFUSED if SECRET in caller.get(_address(path, known)).text}

    # Nothing is flagged, and there is no data set of that id.
    assert shown >= {path for path in REFUSED if "flagged" not in path and "feedback" not in path and "snippets" not in path} - {
        "/deployments/{deployment_id}/second-look"
    }


@pytest.mark.thorough
def test_pages_have_no_link_to_records_for_the_role(service: RunningService, known: dict[str, str]) -> None:
    links = re.compile(r'href="[^"]*/(transactions|second-look)')
    own = [f"/deployments/{DEPLOYMENT}{end}" for end in ("", "/checks", f"/checks/{known['check_id']}", "/ingestion", "/configure")]
    found: dict[Role, int] = {}
    for role in (Role.AGGREGATES, Role.READ):
        with service.new_client(headers={"Accept": "text/html", "Authorization": f"Bearer {service.key(role)}"}) as caller:
            answers = [caller.get(path) for path in own]
        assert all(answer.is_success for answer in answers)
        found[role] = sum(len(links.findall(answer.text)) for answer in answers)

    assert found[Role.AGGREGATES] == 0
    assert found[Role.READ] > len(own)


def test_a_person_may_have_the_role_and_acknowledges_nothing(service: RunningService) -> None:
    sent = {"name": "auditor", "password": "four plain words here", "role": "aggregates"}
    service.client.post("/v1/users", json=sent).raise_for_status()
    with service.new_client(headers={"Sec-Fetch-Site": "same-origin"}) as browser:
        browser.post("/login", data={"name": "auditor", "password": sent["password"]})
        me = browser.get("/v1/me").json()
        refused = browser.post("/v1/alert-acknowledgements", json={"alerts": []})

    assert (me["role"], me["permissions"]) == ("aggregates", ["read"])
    assert isinstance(refused, httpx.Response)
    assert refused.status_code == 403
