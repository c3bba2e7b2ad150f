"""Every list of the API and of the pages, asked to go on behind a place that it never named."""

import base64
import json

import pytest

from tests.builders.bodies import deployment, monitor
from tests.service import RunningService

NUMBERS = [0, 1, 2**15, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 2**130]
CURSORS = [
    *(base64.urlsafe_b64encode(number.to_bytes(20)).decode() for number in NUMBERS),
    *(base64.urlsafe_b64encode(number.to_bytes(8)).decode() for number in NUMBERS if number < 2**64),
    *(
        base64.urlsafe_b64encode(json.dumps(place).encode()).decode()
        for place in (
            ["2026-01-01T00:00:00Z", 2**63],
            ["0001-01-01T00:00:00+14:00", 1],
            ["9999-12-31T23:59:59-14:00", 1],
            ["severity", 0, 0, "", 2**63],
            ["name", 0, 0, "\ufffe", 2**31],
            ["severity", 1e308, -1e308, "x", 1],
            [1e308, 2**63 - 1, "Sex"],
            [0, 2**63, "Sex"],
        )
    ),
    "AAAA",
    "=",
    "é",
]


@pytest.fixture
def watched(service: RunningService) -> RunningService:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    service.client.put("/v1/deployments/credit-risk/fairness-monitor", json=monitor()).raise_for_status()
    return service


@pytest.mark.nightly
def test_a_cursor_that_no_list_made_is_refused_or_leads_to_a_page(watched: RunningService) -> None:
    paths = watched.client.get("/openapi.json").json()["paths"]
    lists = [
        path.replace("{deployment_id}", "credit-risk")
        for path, operations in paths.items()
        if any(parameter["name"] == "cursor" for parameter in operations.get("get", {}).get("parameters", ()))
    ]
    assert len(lists) > 10
    pages = ["/activity", "/alerts", "/deployments/credit-risk/checks", "/deployments/credit-risk/transactions"]

    answers = {
        (path, cursor): watched.client.get(path, params={"cursor": cursor}).status_code for path in [*lists, *pages] for cursor in CURSORS
    }

    assert {asked: status for asked, status in answers.items() if status >= 500} == {}
    assert {status for (path, _), status in answers.items() if path in lists and "{" not in path} == {200, 422}
