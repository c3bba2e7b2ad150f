"""Every route of the application refuses a query parameter that it does not know, and one that is given twice."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from app.intake.hot_routes.hot_route import PREFIX
from app.intake.hot_routes.openapi_entries import describe_ingestion
from app.intake.hot_routes.routes import PARAMETERS
from app.main import _create_api
from app.pages.application import create_pages
from app.web.middleware import list_declared_parameters
from tests.builders.bodies import deployment, monitor
from tests.builders.open_routes import FOR_EVERYBODY
from tests.service import RunningService

IDENTITY = "0c3a7a55-1f6b-4f0e-9d0a-6d3a5a0f2c11"
IN_PATH = {"deployment_id": "credit-risk", "form": "html", "metric": "disparate_impact", "format": "csv"}


@dataclass(frozen=True)
class Way:
    """One method of one address, and its query parameters: True may be repeated."""

    method: str
    template: str
    parameters: dict[str, bool]

    @property
    def address(self) -> str:
        return re.sub(r"\{(\w+)(:path)?\}", lambda found: IN_PATH.get(found[1], IDENTITY), self.template)


def _routes(listed: Iterable[BaseRoute]) -> Iterator[APIRoute]:
    for route in listed:
        inner: Any = getattr(route, "original_router", None)
        if inner is not None:
            yield from _routes(inner.routes)
        else:
            assert isinstance(route, APIRoute), f"{route} has no dependencies, so nothing checks its query"
            yield route


@pytest.fixture(scope="module")
def ways() -> list[Way]:
    """Every way in, of the API, the pages and the two ingestion routes."""
    found = [
        Way(method, route.path, dict(list_declared_parameters(route)))
        for application in (_create_api(), create_pages())
        for route in _routes(application.routes)
        for method in sorted(route.methods)
    ]
    found += [Way("POST", f"{PREFIX}{{deployment_id}}/{name}", dict(known)) for name, known in PARAMETERS.items()]
    assert {one.template for one in found} >= {"/", "/docs", "/openapi.json", "/metrics", "/health/live", "/login", "/v1/overview"}
    return found


@pytest.fixture
def client(service: RunningService) -> httpx.Client:
    """A client of a service with a deployment and its monitor."""
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    service.client.put("/v1/deployments/credit-risk/fairness-monitor", json=monitor()).raise_for_status()
    return service.client


def _errors(answer: httpx.Response) -> dict[str, str]:
    is_problem = answer.headers["content-type"] == "application/problem+json"
    return {error["field"]: error["message"] for error in answer.json().get("errors", [])} if is_problem else {}


@pytest.mark.nightly
def test_a_parameter_that_a_route_does_not_know_is_refused_by_its_name_with_the_known_ones(client: httpx.Client, ways: list[Way]) -> None:
    passed_over = {}
    for way in ways:
        answer = client.request(way.method, way.address, params={"no_such_parameter": "1"})
        message = _errors(answer).get("query.no_such_parameter", "")
        if answer.status_code != 422 or not all(name in message for name in way.parameters):
            passed_over[way.method, way.template] = (answer.status_code, message)

    assert passed_over == {}
    assert client.get("/v1/deployments/credit-risk/fairness-monitor").status_code == 200  # nothing was deleted on the way


@pytest.mark.nightly
def test_a_parameter_that_is_no_list_is_refused_where_it_is_given_twice(client: httpx.Client, ways: list[Way]) -> None:
    single = [(way, name) for way in ways for name, is_list in way.parameters.items() if not is_list]
    wrong = {}
    for way, name in single:
        answer = client.request(way.method, way.address, params=[(name, "1"), (name, "2")])
        if answer.status_code != 422 or f"query.{name}" not in _errors(answer):
            wrong[way.method, way.template, name] = answer.status_code

    assert len(single) > 100
    assert wrong == {}


def test_a_list_may_be_repeated_on_the_page_and_in_the_api(client: httpx.Client, ways: list[Way]) -> None:
    lists = {(way.template, name) for way in ways for name, is_list in way.parameters.items() if is_list}

    of_states = {("/v1/overview", "state"), ("/", "state")}
    report, presets = "/v1/deployments/{deployment_id}/regulator-report.{form}", "/v1/deployments/{deployment_id}/report-presets"
    page = "/deployments/{deployment_id}/reports"
    on_pages = {(page, "attribute"), (page, "control")}
    figures = "/v1/deployments/{deployment_id}/measurements"
    of_check = "/v1/deployments/{deployment_id}/checks/{check_id}/measurements"
    metrics = {(figures, "metric"), (f"{figures}.csv", "metric"), (of_check, "metric")}
    assert lists == of_states | on_pages | metrics | {(report, "sheet"), (report, "attribute"), (report, "control"), (presets, "control")}
    for address, _ in of_states:
        assert client.get(address, params=[("state", "fair"), ("state", "stale")]).status_code == 200


def test_without_a_key_the_answer_is_that_one_is_needed(service: RunningService, ways: list[Way]) -> None:
    stranger = service.new_client()
    answers = {
        (way.method, way.template): stranger.request(way.method, way.address, params={"no_such_parameter": "1"}).status_code
        for way in ways
        if way.template not in FOR_EVERYBODY
    }

    assert set(answers.values()) == {401}, {way: status for way, status in answers.items() if status != 401}


def test_a_person_gets_a_page_that_says_what_was_expected(client: httpx.Client) -> None:
    answer = client.get("/alerts", params={"stat": "<b>open"}, headers={"Accept": "text/html"})

    assert answer.status_code == 422
    assert answer.headers["content-type"].startswith("text/html")
    assert "<code>stat</code> is no parameter of this address; did you mean state? It takes" in answer.text


def test_the_ingestion_routes_document_the_parameters_that_they_take() -> None:
    documented = {
        path.rpartition("/")[2]: {parameter["name"] for parameter in item["post"]["parameters"] if parameter["in"] == "query"}
        for path, item in describe_ingestion().items()
    }

    assert documented == {name: set(known) for name, known in PARAMETERS.items()}


def test_the_label_has_one_name_and_another_is_refused_with_it(client: httpx.Client, subtests: pytest.Subtests) -> None:
    for method, path, sent in (
        ("PUT", "training-data", "label_column"),
        ("POST", "feedback-records", "label_column"),
        ("PUT", "training-data", "labels"),
    ):
        with subtests.test(method=method, path=path, sent=sent):
            answer = client.request(
                method,
                f"/v1/deployments/credit-risk/{path}",
                params={sent: "Risk"},
                content="Age,Sex,Owner,Risk\n33,female,true,Risk\n",
                headers={"Content-Type": "text/csv"},
            )

            assert answer.status_code == 422
            assert "did you mean label?" in _errors(answer)[f"query.{sent}"]


def test_native_feedback_refuses_a_column_that_it_cannot_have(client: httpx.Client) -> None:
    body = {"records": [{"id": "a", "label": "Risk"}]}
    named = client.post("/v1/deployments/credit-risk/feedback-records", json=body, params={"label": "Outcome"})
    usual = client.post("/v1/deployments/credit-risk/feedback-records", json=body, params={"label": "label"})

    assert (named.status_code, list(_errors(named))) == (422, ["label"])
    assert usual.status_code == 200
