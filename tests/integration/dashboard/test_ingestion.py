"""The page of ingestion says what came in, what did not, and what to do about it."""

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.builders.bodies import deployment
from tests.builders.page_words import says, words
from tests.builders.queries import rows
from tests.progress import wait_until
from tests.service import RunningService

PAGE = "/deployments/credit-risk/ingestion"
PAYLOAD = "/v1/deployments/credit-risk/payload-records"


@pytest.fixture(autouse=True)
def _registered(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()


def test_before_the_first_record_the_page_says_how_to_log(reader: httpx.Client) -> None:
    found = words(reader.get(PAGE).text)

    assert "No record arrived in these hours." in found
    assert "No record was rejected." in found
    assert "Nothing asks for attention" not in found


@pytest.mark.nightly
def test_sources_rejections_and_waiting_labels_are_shown(
    service: RunningService, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    good = {"features": {"Age": 33, "Sex": "female", "Owner": True}, "prediction": 1}
    bad = {"features": {"Age": "<b>Anna</b>", "Sex": "female", "Owner": True}, "prediction": 1}
    service.client.post(PAYLOAD, json={"records": [good, good, bad]}, headers={"Evenhand-Source": "client"})
    service.client.post("/v1/deployments/credit-risk/feedback-records", json={"records": [{"id": "a", "label": "Risk"}]})
    wait_until(lambda: rows(service.database, "SELECT 1 FROM rejection_counts") != [], "the rejection is stored")

    page = reader.get(PAGE, params={"range": "week"})
    found = words(page.text)

    assert says(found, "1 of 4")
    assert found == snapshot
    assert "Anna" not in page.text


@pytest.mark.parametrize("query", ["hours=24", "range=x", "more=1"])
def test_a_time_that_is_not_offered_is_refused(reader: httpx.Client, query: str) -> None:
    assert reader.get(f"{PAGE}?{query}").status_code == 422


def test_hours_in_which_nothing_came_in_are_one_line(service: RunningService, reader: httpx.Client) -> None:
    service.client.post(PAYLOAD, json={"records": [{"features": {"Age": 33, "Sex": "female", "Owner": True}, "prediction": 1}]})

    found = words(reader.get(PAGE).text)

    assert "nothing, in 23 hours" in found
    assert "Nothing asks for attention" in found


@pytest.mark.nightly
def test_events_that_are_no_calls_are_counted_with_the_reason(
    service: RunningService, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    headers = {"ce-specversion": "1.0", "ce-id": "a", "ce-source": "b", "ce-type": "feedback"}
    service.client.post("/v1/deployments/credit-risk/events", json={}, headers=headers).raise_for_status()
    wait_until(lambda: rows(service.database, "SELECT 1 FROM intake_counts") != [], "the event is counted")

    found = words(reader.get(PAGE).text)

    assert says(found, "'feedback'")
    assert found == snapshot
