from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.access.principals import Role
from app.deployments.mitigation_queries import ALL_TOGETHER, DetectorCounts, NewDetector, store_detectors
from app.mitigation.detector.detector_versions import DetectorEvidence, train_detectors
from tests.builders.bodies import deployment
from tests.builders.extras import NEEDS_DETECTOR
from tests.builders.queued_checks import ask
from tests.builders.refused_women import COLUMNS, refused
from tests.service import RunningService

DETECTORS = "/v1/deployments/credit-risk/bias-detectors"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
COUNTS = DetectorCounts(records=9, biased=3, used=9, used_biased=3, held_out=2, held_out_biased=1)
REFUSED = NewDetector(attribute="Sex", counts=COUNTS, made_by="scikit-learn 1", reason="3 of the 9 records are biased.")


@pytest.fixture
def watched(service: RunningService) -> RunningService:
    """The service with a deployment."""
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    return service


def store(service: RunningService, *trainings: list[NewDetector]) -> str:
    """The id of the check that stored them."""
    with service.database.transaction() as session:
        check = ask(session, 1)
        for training in trainings:
            store_detectors(session, 1, training, check_no=check.no, basis="r1", trained_at=NOON)
    return check.id


def read(service: RunningService, **query: object) -> dict[str, Any]:
    answer = service.client.get(DETECTORS, params=query)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_deployment_has_no_bias_detector_unless_it_is_switched_on(watched: RunningService) -> None:
    found = read(watched)

    assert (found["trainings"], found["next_cursor"]) == ([], None)
    assert "held out" in found["note"]


@NEEDS_DETECTOR
def test_a_training_is_shown_with_its_quality_and_where_it_comes_from(watched: RunningService) -> None:
    women = refused(300)
    new = train_detectors(COLUMNS, [DetectorEvidence("Sex", women.ids, women.rows, women.own_scores, women.biased)], {}, now=NOON)
    check_id = store(watched, new)

    (training,) = read(watched)["trainings"]

    assert (training["version"], training["check_id"]) == (1, check_id)
    assert datetime.fromisoformat(training["trained_at"]) == NOON
    together, sex = training["detectors"]
    assert (together["attribute"], sex["attribute"]) == (None, "Sex")
    assert (sex["state"], sex["reason"], sex["threshold"]) == ("trained", None, new[0].threshold)
    assert (sex["records"], sex["biased_records"], sex["used"]) == (300, sum(women.biased), 300)
    assert new[0].quality is not None
    recall = new[0].quality.recall
    assert sex["quality"]["recall"] == {
        "value": recall.value,
        "lower": recall.lower,
        "upper": recall.upper,
        "interval_method": "wilson",
        "n": sex["held_out_biased"],
        "reason": None,
    }
    assert set(sex["quality"]) == {"roc_auc", "precision", "recall", "selected"}


def test_a_refusal_is_shown_with_its_reason_and_without_quality(watched: RunningService) -> None:
    store(watched, [REFUSED])

    ((found,),) = (training["detectors"] for training in read(watched)["trainings"])

    assert found == {
        "attribute": "Sex",
        "state": "refused",
        "reason": "3 of the 9 records are biased.",
        "records": 9,
        "biased_records": 3,
        "used": 9,
        "used_biased": 3,
        "held_out": 2,
        "held_out_biased": 1,
        "threshold": None,
        "quality": None,
    }


def test_pages_follow_each_other_newest_first(watched: RunningService) -> None:
    store(watched, *([[REFUSED, replace(REFUSED, attribute=ALL_TOGETHER)]] * 5))

    first = read(watched, limit=2)
    second = read(watched, limit=2, cursor=first["next_cursor"])
    third = read(watched, limit=2, cursor=second["next_cursor"])

    versions = [[training["version"] for training in page["trainings"]] for page in (first, second, third)]
    assert versions == [[5, 4], [3, 2], [1]]
    assert third["next_cursor"] is None
    assert read(watched, limit=5)["next_cursor"] is None


def test_who_may_read_sees_them_and_a_key_of_another_deployment_does_not(watched: RunningService) -> None:
    second = watched.client.post("/v1/deployments", json=deployment(id="other")).raise_for_status()
    keys = {role.value: watched.as_(role) for role in Role} | {"bound": watched.as_(Role.READ, 1), "foreign": watched.as_(Role.READ, 2)}

    statuses = {name: watched.client.get(DETECTORS, headers=headers).status_code for name, headers in keys.items()}

    assert second.json()["id"] == "other"
    assert statuses == {"ingest": 403, "aggregates": 200, "read": 200, "manage": 200, "admin": 200, "bound": 200, "foreign": 404}


def test_an_unknown_deployment_and_a_foreign_cursor_are_refused(watched: RunningService) -> None:
    assert watched.client.get("/v1/deployments/other/bias-detectors").status_code == 404
    assert watched.client.get(DETECTORS, params={"cursor": "!"}).status_code == 422
    assert watched.client.get(DETECTORS, params={"limit": 0}).status_code == 422
