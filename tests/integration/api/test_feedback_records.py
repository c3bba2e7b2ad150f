"""Reading ground-truth labels over HTTP: with the features of their record or their own, in pages, counted."""

from typing import Any

import pytest

from tests.builders.bodies import deployment
from tests.service import RunningService

DEPLOYMENT = "/v1/deployments/credit-risk"
PATH = f"{DEPLOYMENT}/feedback-records"
FEATURES = {"Age": 30, "Sex": "male", "Owner": True}


@pytest.fixture
def labelled(service: RunningService) -> RunningService:
    """The service with a record, its label, a label that came with features, and one that waits for its record."""
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    record = {"id": "a/1", "features": FEATURES, "meta": {"Postcode": "01"}, "prediction": 0, "probability": 0.25, "label": "Risk"}
    service.client.post(f"{DEPLOYMENT}/payload-records", json={"records": [record]}).raise_for_status()
    labels: list[dict[str, Any]] = [
        {"id": "a/1", "label": "No Risk"},
        {"id": "b", "label": "Risk", "features": FEATURES | {"Age": 31}, "prediction": "No Risk", "probability": 0.75},
        {"id": "c", "label": "Risk"},
    ]
    for label in labels:
        service.client.post(PATH, json={"records": [label]}).raise_for_status()
    return service


def test_labels_are_listed_newest_first_with_the_features_of_their_record_or_their_own(labelled: RunningService) -> None:
    waiting, own, of_record = labelled.client.get(PATH).raise_for_status().json()["feedback_records"]

    assert (waiting["id"], waiting["features"], waiting["has_record"]) == ("c", None, False)
    assert (own["features"]["Age"], own["label"], own["prediction"], own["probability"]) == (31, "Risk", "No Risk", 0.75)
    assert (of_record["features"], of_record["meta"], of_record["prediction"]) == (FEATURES, {"Postcode": "01"}, "Risk")
    assert (of_record["label"], of_record["has_record"]) == ("No Risk", True)


def test_labels_come_in_pages_and_are_counted_in_their_window(labelled: RunningService) -> None:
    first = labelled.client.get(PATH, params={"limit": 2, "count": True}).json()
    rest = labelled.client.get(PATH, params={"limit": 2, "cursor": first["next_cursor"]}).json()
    newest = first["feedback_records"][0]["logged_at"]
    before = labelled.client.get(PATH, params={"until": newest, "count": True}).json()

    assert [label["id"] for label in first["feedback_records"] + rest["feedback_records"]] == ["c", "b", "a/1"]
    assert (first["count"], rest["count"], rest["next_cursor"], before["count"]) == (3, None, None, 2)


def test_one_label_is_read_by_its_id(labelled: RunningService) -> None:
    assert labelled.client.get(f"{PATH}/a%2F1").json()["label"] == "No Risk"
    assert labelled.client.get(f"{PATH}/nothing").status_code == 404
    assert labelled.client.get(PATH, params={"cursor": "?"}).status_code == 422


def test_payload_records_of_a_window_are_counted(labelled: RunningService) -> None:
    path = f"{DEPLOYMENT}/payload-records"

    assert labelled.client.get(path, params={"count": True, "limit": 1}).json()["count"] == 1
    assert labelled.client.get(path, params={"count": True, "until": "2026-01-01T00:00:00Z"}).json()["count"] == 0
    assert labelled.client.get(path).json()["count"] is None


@pytest.mark.parametrize("kind", ["payload", "feedback"])
def test_a_record_that_is_sent_again_with_another_time_is_a_duplicate_if_asked_for(labelled: RunningService, kind: str) -> None:
    time = {"payload": "scored_at", "feedback": "labelled_at"}[kind]
    record = {"id": "again", "features": FEATURES, **({"prediction": 0} if kind == "payload" else {"label": "Risk"})}
    path = f"{DEPLOYMENT}/{kind}-records"

    def send(at: str, **switches: bool) -> Any:  # noqa: ANN401 - JSON
        return labelled.client.post(path, json={"records": [record | {time: at}]}, params=switches).json()

    assert send("2026-03-01T09:00:00", first_time_counts=True)["rejected"] == 1
    assert send("2026-03-01T09:00:00", assume_utc=True)["accepted"] == 1
    assert send("2026-03-01T10:00:00Z", first_time_counts=True)["duplicate"] == 1
    assert labelled.client.post(path, json={"records": [record]}, params={"assume_utc": "perhaps"}).status_code == 422
