"""Reading payload records over HTTP: who may, ids of every sort, cursors, and what is refused."""

import base64
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import select

from app.access.principals import Role
from app.database.tables import DeploymentRow
from tests.builders.bodies import deployment, monitor
from tests.service import RunningService

DEPLOYMENT = "/v1/deployments/credit-risk"
PATH = f"{DEPLOYMENT}/payload-records"
IDS = [
    "plain",
    "a/b",
    "a//b/",
    "with space",
    "?check=1#x",
    "100%25",
    "Größe 😀",
    "..",
    "a'; DROP TABLE payload_records; --",
    "\\",
    "payload-records",
]


def record(no: int, record_id: str) -> dict[str, Any]:
    return {
        "id": record_id,
        "features": {"Age": 20 + no, "Sex": "female" if no % 2 else "male", "Owner": None},
        "meta": {"Postcode": f"0{no}"},
        "prediction": no % 2,
        "probability": 0.25,
        "label": "Risk" if no % 2 else "No Risk",
    }


@pytest.fixture
def logged(service: RunningService) -> RunningService:
    """The service with a watched deployment and one record of each id."""
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    service.client.put(f"{DEPLOYMENT}/fairness-monitor", json=monitor()).raise_for_status()
    answer = service.client.post(PATH, json={"records": [record(no, record_id) for no, record_id in enumerate(IDS)]})
    assert answer.json()["accepted"] == len(IDS), answer.text
    return service


def listed(service: RunningService, **wanted: object) -> Sequence[str]:
    answer = service.client.get(PATH, params=wanted)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json()["payload_records"]]


def test_records_can_be_logged_and_read_at_one_address(logged: RunningService) -> None:
    one = logged.client.get(PATH, params={"limit": 1}).json()["payload_records"][0]

    assert listed(logged) == IDS[::-1]
    assert one.pop("logged_at")
    assert one.pop("scored_at")
    assert one == {
        "id": "payload-records",
        "model_revision": "r1",
        "features": {"Age": 30, "Sex": "male", "Owner": None},
        "meta": {"Postcode": "010"},
        "prediction": 0,
        "probability": 0.25,
        "label": "No Risk",
        "outcome": "favourable",
        "groups": [
            {"attribute": "Sex", "group": "male", "role": "reference"},
            {"attribute": "Age", "group": "26-75", "role": "reference"},
        ],
        "changes": {},
        "mitigated": None,
        "sample_rate": None,
        "flags": [],
        "window_part": None,
    }


def test_a_record_is_found_by_its_id_whatever_it_is(logged: RunningService, subtests: pytest.Subtests) -> None:
    for record_id in IDS:
        with subtests.test(record_id=record_id):
            answer = logged.client.get(f"{PATH}/{quote(record_id, safe='').replace('..', '%2E%2E')}")

            assert answer.status_code == 200, answer.text
            assert (answer.json()["id"], answer.json()["counterfactuals"], answer.json()["feedback"]) == (record_id, [], None)


def test_the_label_that_was_observed_stands_beside_the_record(logged: RunningService) -> None:
    logged.client.post(f"{DEPLOYMENT}/feedback-records", json={"records": [{"id": "a/b", "label": "No Risk"}]}).raise_for_status()

    feedback = logged.client.get(f"{PATH}/a%2Fb").json()["feedback"]

    assert (feedback["label"], feedback["outcome"]) == ("No Risk", "favourable")


def test_filters_and_pages_work_together(logged: RunningService) -> None:
    found, cursor = [], None
    while cursor or not found:
        page = logged.client.get(PATH, params={"limit": 2, "attribute": "Sex", "group": "female"} | ({"cursor": cursor} if cursor else {}))
        found, cursor = found + [one["id"] for one in page.json()["payload_records"]], page.json()["next_cursor"]

    assert found == IDS[1::2][::-1] == listed(logged, outcome="unfavourable")
    assert listed(logged, changed="any") == listed(logged, mitigated="changed") == listed(logged, until="2020-01-01T00:00:00Z") == []


def test_records_are_shown_to_readers_of_the_deployment_only(logged: RunningService) -> None:
    reader, logger = logged.as_(Role.READ), logged.as_(Role.INGEST)
    logged.client.post("/v1/deployments", json=deployment(id="another")).raise_for_status()
    with logged.database.transaction() as session:
        other = session.scalars(select(DeploymentRow.no).where(DeploymentRow.id == "another")).one()
    bound_elsewhere = logged.as_(Role.READ, other)

    for path in (PATH, f"{PATH}/plain"):
        assert [logged.client.get(path, headers=who).status_code for who in (reader, logger, bound_elsewhere)] == [200, 403, 404]
    assert logged.client.get(PATH, headers={"Authorization": ""}).status_code == 401


def test_other_methods_are_refused_with_those_there_are(logged: RunningService) -> None:
    answers = {method: logged.client.request(method, PATH) for method in ("PUT", "DELETE", "PATCH")}

    assert {method: (answer.status_code, answer.headers["Allow"]) for method, answer in answers.items()} == dict.fromkeys(
        answers, (405, "GET, POST")
    )
    document = logged.client.get("/openapi.json").json()
    assert set(document["paths"]["/v1/deployments/{deployment_id}/payload-records"]) == {"get", "post"}


def test_what_cannot_be_understood_is_refused(logged: RunningService, subtests: pytest.Subtests) -> None:
    for parameters in (
        {"cursor": "x"},
        {"cursor": base64.urlsafe_b64encode(b'["2026-01-01T00:00:00",1]').decode()},
        {"cursor": base64.urlsafe_b64encode(b'["2026-01-01T00:00:00Z",9223372036854775808]').decode()},
        {"limit": 0},
        {"limit": 1001},
        {"outcome": "good"},
        {"changed": "yes"},
        {"mitigated": "true"},
        {"since": "yesterday"},
        {"since": "0001-01-01T00:00:00+14:00"},
        {"check": "1"},
        {"attribute": "Sex", "group": "a\0"},
        {"attribute": "Sex", "group": "women"},
        {"attribute": "Colour"},
        {"group": "female"},
    ):
        with subtests.test(parameters=parameters):
            assert logged.client.get(PATH, params=parameters).status_code == 422


def test_what_is_not_there_is_not_found(logged: RunningService) -> None:
    nobody = {"check": "00000000-0000-0000-0000-000000000000"}

    assert logged.client.get(f"{PATH}/nobody").status_code == 404
    assert logged.client.get(f"{PATH}/plain", params=nobody).status_code == 404
    assert logged.client.get(PATH, params=nobody).status_code == 404
    assert logged.client.get(f"{PATH}/a%00b").status_code == 422
    assert logged.client.get(f"{PATH}/%FF").status_code == 404


@pytest.mark.parametrize("cursor", [b'["0001-01-01T00:00:00+14:00",0]', b'["9999-12-31T23:59:59-14:00",0]'])
def test_a_cursor_from_the_edge_of_the_calendar_does_no_harm(logged: RunningService, cursor: bytes) -> None:
    answer = logged.client.get(PATH, params={"cursor": base64.urlsafe_b64encode(cursor).decode(), "outcome": "favourable"})

    assert answer.status_code == 200


def test_a_record_says_the_share_that_is_logged_where_it_comes_from(logged: RunningService) -> None:
    sampled = record(1, "sampled") | {"sample_rate": 0.1}
    assert logged.client.post(PATH, json={"records": [sampled]}).json()["accepted"] == 1

    found = {one["id"]: one["sample_rate"] for one in logged.client.get(PATH).json()["payload_records"]}
    assert (found["sampled"], found["plain"]) == (0.1, None)
    assert logged.client.get(f"{PATH}/sampled").json()["sample_rate"] == 0.1
