"""Records by the SDK's forms: durable, each scoring id once, in one call or in many."""

import pytest

from tests.builders.openscale_bodies import BASE, FEATURES, added, applicants, payload, read
from tests.service import RunningService


def count(service: RunningService, data_set: str) -> int:
    found: int = read(service.client, f"data_sets/{data_set}/records", limit=0, include_total_count=True)["total_count"]
    return found


def test_feedback_comes_as_objects_tables_and_csv_with_columns_that_are_ignored(service: RunningService, subscribed: str) -> None:
    path = f"data_sets/feedback.{subscribed}/records"
    added(service.client, path, [{"sex": "male", "income": 1.5, "age": 30, "approved": 1, "_original_prediction": 1, "colour": "red"}])
    added(service.client, path, [{"fields": [*FEATURES, "approved"], "values": [["female", 2.5, 31, 0]]}])
    text = "sex;income;age;approved\nskipped;1;1;1\nmale;3.5;32;1\nmale;9;9;0\n"
    options = {"header": "true", "delimiter": ";", "skip": "1", "limit": "1", "csv_max_line_length": "8196"}
    headers = {"content-type": "text/csv"}
    answer = service.client.post(f"{BASE}/{path}", content=text, params=options, headers=headers)

    assert answer.status_code == 202, answer.text
    refused = service.client.post(
        f"{BASE}/{path}", content=text, params={**options, "header": "false"}, headers={"content-type": "text/csv"}
    )
    assert (refused.status_code, "header" in refused.text) == (422, True)
    listed = read(service.client, path)["records"]
    assert sorted((resource["entity"]["values"]["income"], resource["entity"]["values"]["approved"]) for resource in listed) == [
        (1.5, 1),
        (2.5, 0),
        (3.5, 1),
    ]


def test_a_request_says_which_records_were_refused(service: RunningService, subscribed: str) -> None:
    path = f"data_sets/payload_logging.{subscribed}/records"
    answer = service.client.post(f"{BASE}/{path}", json=payload([["male", 1, 20], ["male", "much", 20]], "mixed"))
    found = service.client.get(f"/openscale{answer.headers['location']}").json()

    assert found["state"] == "error"
    assert found["failure"]["errors"][0]["message"].startswith("1 of 2 records were not stored. The first: records[1].income")


def test_a_call_of_which_nothing_is_stored_answers_an_error_that_names_the_field(service: RunningService, subscribed: str) -> None:
    path = f"data_sets/payload_logging.{subscribed}/records"
    answer = service.client.post(f"{BASE}/{path}", json=payload([["male", "much", 20]], "none"))

    assert answer.status_code == 422
    assert "records[0].income: must be a number, found 'much'" in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize("stated", ["2026-03-01 09:00:00.250000", "2026-03-01T09:00:00.250000", "2026-03-01T10:00:00.250000+01:00"])
def test_a_scoring_time_without_an_offset_is_utc_as_scripts_of_openscale_write_it(
    service: RunningService, subscribed: str, stated: str
) -> None:
    path = f"data_sets/payload_logging.{subscribed}/records"
    (call,) = payload(applicants(1), "past")
    added(service.client, f"{path}?is_historical_data=true", [{**call, "scoring_timestamp": stated}])

    assert read(service.client, f"{path}/past-1")["entity"]["values"]["scoring_timestamp"] == "2026-03-01T09:00:00.250000Z"
    # Placed in its hour, it is in a window of that day.
    assert len(read(service.client, path, start="2026-03-01 00:00:00", end="2026-03-02 00:00:00")["records"]) == 1
    address = f"/v1/deployments/{subscribed}/payload-records"
    refused = service.client.post(address, json=[{**call, "scoring_id": "rest", "scoring_timestamp": stated}])
    assert refused.json()["accepted"] == ("+" in stated)
