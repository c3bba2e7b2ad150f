"""Records by the SDK's forms: durable, each scoring id once, in one call or in many."""

import json
from collections.abc import Iterator

import pytest

from app.store.database.engine import Database
from openscale.tests.bodies import BASE, FEATURES, added, applicants, decided, payload, read, subscription
from tests.databases import Databases
from tests.service import RunningService, running_service


@pytest.fixture(scope="module")
def service(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with databases.lent() as url:
        database = Database(url)
        with running_service(database, tmp_path_factory.mktemp("records")) as service:
            yield service
        database.close()


@pytest.fixture
def subscribed(service: RunningService) -> str:
    """The id of a subscription that no other test uses."""
    found: str = added(service.client, "subscriptions", subscription())["metadata"]["id"]
    return found


def count(service: RunningService, data_set: str) -> int:
    found: int = read(service.client, f"data_sets/{data_set}/records", limit=0, include_total_count=True)["total_count"]
    return found


def test_ten_thousand_records_in_one_call_are_stored_once_each_however_often_they_are_sent(
    service: RunningService, subscribed: str
) -> None:
    path = f"data_sets/payload_logging.{subscribed}/records"
    body = payload(applicants(10_000), "batch")

    for _ in range(2):
        answer = service.client.post(f"{BASE}/{path}", json=body)
        assert (answer.status_code, answer.json()["state"]) == (202, "active")
    assert count(service, f"payload_logging.{subscribed}") == 10_000
    assert read(service.client, f"{path}/batch-10000")["entity"]["values"]["scoring_id"] == "batch-10000"


@pytest.mark.nightly
def test_many_calls_store_each_scoring_id_once(service: RunningService, subscribed: str) -> None:
    path = f"{BASE}/data_sets/payload_logging.{subscribed}/records"
    bodies = [json.dumps(payload(applicants(10), f"call-{n % 90}")) for n in range(100)]
    headers = {"content-type": "application/json"}

    assert {service.client.post(path, content=body, headers=headers).status_code for body in bodies} == {202}
    assert count(service, f"payload_logging.{subscribed}") == 900


def test_wrapped_and_bare_requests_and_answers_are_read_alike(service: RunningService, subscribed: str) -> None:
    rows = applicants(2)
    bare, answered = {"fields": FEATURES, "values": rows}, {"fields": ["prediction", "probability"], "values": decided(rows)}
    echoed = {"fields": [*FEATURES, "prediction", "probability"], "values": [[*a, *b] for a, b in zip(rows, decided(rows), strict=True)]}
    pairs = [
        {"scoring_id": "a", "request": bare, "response": answered, "multiple_records": True, "user_id": "x", "asset_revision": "3"},
        {"scoring_id": "b", "request": {"input_data": [bare]}, "response": {"predictions": [answered]}},
        {"scoring_id": "c", "request": bare, "response": {**echoed, "labels": ["no", "yes"]}},
    ]

    added(service.client, f"data_sets/payload_logging.{subscribed}/records", pairs)
    listed = read(service.client, f"data_sets/payload_logging.{subscribed}/records")["records"]
    facts = {(one["metadata"]["id"][0], one["entity"]["values"]["sex"], one["entity"]["values"]["prediction"]) for one in listed}
    assert facts == {(name, sex, prediction) for name in "abc" for (sex, _, _), (prediction, _) in zip(rows, decided(rows), strict=True)}


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
    assert sorted((one["entity"]["values"]["income"], one["entity"]["values"]["approved"]) for one in listed) == [
        (1.5, 1),
        (2.5, 0),
        (3.5, 1),
    ]


def test_feedback_may_bring_the_models_answer_which_a_logged_one_precedes(service: RunningService, subscribed: str) -> None:
    path = f"data_sets/feedback.{subscribed}/records"
    added(service.client, f"data_sets/payload_logging.{subscribed}/records", payload([["male", 1, 20]], "logged"))
    own = {"sex": "female", "income": 1.5, "age": 30, "approved": 1}
    stated = [{**own, "record_id": "own", "_original_prediction": 0, "_original_probability": 0.25, "_debiased_prediction": 1}]
    stated.append({"record_id": "logged-1", "approved": 0, "_original_prediction": 0})
    added(service.client, path, stated)

    found = {one["metadata"]["id"]: one["entity"]["values"] for one in read(service.client, path)["records"]}
    assert (found["own"]["_original_prediction"], found["own"]["_original_probability"]) == (0, 0.25)
    assert found["logged-1"]["_original_prediction"] == 1
    answer = service.client.post(f"{BASE}/{path}", json=[{**own, "_original_prediction": [0]}])
    assert (answer.status_code, "_original_prediction" in answer.json()["errors"][0]["message"]) == (422, True), answer.text


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


def test_historical_feedback_is_placed_by_openscales_name_of_its_time(service: RunningService, subscribed: str) -> None:
    path = f"data_sets/feedback.{subscribed}/records"
    labelled = {"sex": "female", "income": 20_000, "age": 30, "approved": 1}
    added(service.client, f"{path}?is_historical_data=true", [{**labelled, "record_timestamp": "2026-03-01 09:00:00"}])
    # Otherwise it is a column like any other that the schema does not have.
    added(service.client, path, [{**labelled, "record_timestamp": "last week"}])

    (found,) = read(service.client, path, start="2026-03-01", end="2026-03-02")["records"]
    assert found["entity"]["values"]["record_timestamp"] == "2026-03-01T09:00:00.000000Z"
    refused = service.client.post(f"{BASE}/{path}?is_historical_data=true", json=[labelled])
    assert (refused.status_code, "labelled_at: is missing" in refused.text) == (422, True)
