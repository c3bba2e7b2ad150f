"""Routes of retention, legal holds and erasures."""

from datetime import timedelta
from typing import Any

import pytest

from app.access.principals import Role
from app.database.engine import Database
from app.retention.erase import perform_erasures
from tests.builders.bodies import deployment
from tests.service import RunningService

BASE = "/v1/deployments/kept"


@pytest.fixture
def kept(service: RunningService) -> RunningService:
    """A service with a deployment of a meta field `customer`."""
    body = deployment(id="kept", meta=[{"name": "customer", "type": "string"}])
    service.client.post("/v1/deployments", json=body).raise_for_status()
    return service


def log(service: RunningService, *records: dict[str, Any]) -> dict[str, Any]:
    answer = service.client.post(f"{BASE}/payload-records", json={"records": list(records)})
    return {"status": answer.status_code, **answer.json()}


def test_a_policy_is_kept_in_versions_and_presets_give_its_months(kept: RunningService) -> None:
    nothing = kept.client.get(f"{BASE}/retention").json()
    first = kept.client.put(f"{BASE}/retention", json={"preset": "eu"}).json()
    again = kept.client.put(f"{BASE}/retention", json={"preset": "eu"}).json()
    longer = kept.client.put(f"{BASE}/retention", json={"preset": "colorado", "feedback_months": 60}).json()

    assert (nothing["version"], nothing["records_months"]) == (0, None)
    assert first == again
    assert (first["version"], first["records_months"], first["feedback_months"], first["answers_months"]) == (1, 6, 6, 6)
    assert (longer["version"], longer["records_months"], longer["feedback_months"]) == (2, 36, 60)


def test_a_policy_that_cannot_be_applied_is_refused_by_its_field(kept: RunningService, subtests: pytest.Subtests) -> None:
    for body, field in (
        ({"records_months": 0}, "records_months"),
        ({"records_months": 1201}, "records_months"),
        ({"preset": "eu", "records_months": 5}, "records_months"),
        ({"records_months": 6, "answers_months": 7}, "answers_months"),
        ({"preset": "mars"}, "preset"),
        ({"months": 6}, "months"),
    ):
        with subtests.test(body=body, field=field):
            answer = kept.client.put(f"{BASE}/retention", json=body)

            assert answer.status_code == 422
            assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_a_deployment_on_hold_cannot_be_deleted_until_an_admin_releases_it(kept: RunningService) -> None:
    placed = kept.client.put(f"{BASE}/legal-hold", json={"reason": " Case 7 "}, headers=kept.as_(Role.MANAGE))
    refused = kept.client.delete(BASE)
    by_manager = kept.client.delete(f"{BASE}/legal-hold", headers=kept.as_(Role.MANAGE))
    shown = kept.client.get(f"{BASE}/retention").json()["legal_hold"]
    released = kept.client.delete(f"{BASE}/legal-hold", headers=kept.as_(Role.ADMIN))
    again = kept.client.delete(f"{BASE}/legal-hold", headers=kept.as_(Role.ADMIN))

    assert placed.json()["reason"] == shown["reason"] == "Case 7"
    assert (refused.status_code, by_manager.status_code, released.status_code, again.status_code) == (409, 403, 204, 404)
    assert "legal hold" in refused.json()["detail"]
    assert kept.client.delete(BASE).status_code == 204


def test_erased_ids_are_refused_from_then_on_and_others_are_stored(kept: RunningService, database: Database) -> None:
    row = {"features": {"Age": 30, "Sex": "female", "Owner": True}, "prediction": "Risk", "meta": {"customer": "ada"}}
    assert log(kept, {**row, "id": "a"}, {**row, "id": "b", "meta": {"customer": "bob"}})["accepted"] == 2
    asked = kept.client.post(f"{BASE}/erasures", json={"id": "case-1", "field": "customer", "value": "ada"})
    (done,) = perform_erasures(database, settled_after=timedelta(0))
    receipt = kept.client.get(asked.headers["Location"]).json()
    late = log(kept, {**row, "id": "a"}, {**row, "id": "c", "meta": {"customer": "cem"}})
    alone = log(kept, {**row, "id": "a"})

    assert asked.status_code == 202
    assert (receipt["state"], receipt["erased"]["payload_records"], receipt["hash"]) == ("finished", 1, done.hash)
    assert (late["accepted"], late["rejected"]) == (1, 1)
    assert "erased" in late["rejections"][0]["reason"]
    assert alone["status"] == 422
    assert kept.client.get(f"{BASE}/payload-records/b").status_code == 200
    assert kept.client.get(f"{BASE}/payload-records/a").status_code == 404


def test_a_request_that_names_nobody_is_refused_by_its_field(kept: RunningService, subtests: pytest.Subtests) -> None:
    for body, field in (
        ({"id": "x"}, "record_ids"),
        ({"id": "x", "record_ids": ["a"], "field": "customer", "value": "ada"}, "record_ids"),
        ({"id": "x", "record_ids": [""]}, "record_ids"),
        ({"id": "x", "field": "customer"}, "value"),
        ({"id": "x", "field": "no such", "value": 1}, "field"),
        ({"id": "no blanks", "record_ids": ["a"]}, "id"),
    ):
        with subtests.test(body=body, field=field):
            answer = kept.client.post(f"{BASE}/erasures", json=body)

            assert answer.status_code == 422
            assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_the_same_id_with_another_request_is_a_conflict(kept: RunningService) -> None:
    first = kept.client.post(f"{BASE}/erasures", json={"id": "x", "record_ids": ["b", "a"]})
    same = kept.client.post(f"{BASE}/erasures", json={"id": "x", "record_ids": ["a", "b", "a"]})
    other = kept.client.post(f"{BASE}/erasures", json={"id": "x", "record_ids": ["c"]})

    assert first.json() == same.json()
    assert other.status_code == 409
    assert [erasure["id"] for erasure in kept.client.get(f"{BASE}/erasures").json()["erasures"]] == ["x"]
