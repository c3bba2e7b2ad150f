import gzip
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.access.principals import Role
from tests.builders.bodies import deployment
from tests.builders.queries import rows
from tests.integration.ingest.logging import FEEDBACK, PAYLOAD, counts, features, log_payload, record, stored_ids
from tests.service import RunningService

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["records", "features", "prediction", "request", "id"]) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=12)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


def test_a_record_is_stored_as_it_was_sent(service: RunningService) -> None:
    answer = service.client.post(
        PAYLOAD,
        json={
            "records": [record(id="a", meta={"Postcode": None}, probability=[1.0, 0], label="Risk", scored_at="2026-01-31T12:00:00+02:00")]
        },
    )

    assert answer.status_code == 200
    assert answer.json() == {"sent": 1, "accepted": 1, "duplicate": 0, "rejected": 0, "rejections": [], "conflicts": []}
    stored = rows(
        service.database, "SELECT record_id, features, meta, prediction #>> '{}', probability::text, label, scored_at FROM payload_records"
    )
    assert stored == [("a", [33, "female", True], [None], "1", "[1, 0]", "Risk", datetime(2026, 1, 31, 10, tzinfo=UTC))]


def test_the_openscale_form_is_stored_the_same_way_under_numbered_ids(service: RunningService) -> None:
    pair = {
        "scoring_id": "s",
        "request": {"fields": ["Sex", "Age", "Owner"], "values": [["female", 33, True], ["male", 44, None]]},
        "response": {
            "fields": ["prediction", "probability", "predictedLabel"],
            "values": [[1, [0.1, 0.9], "Risk"], [0, [0.8, 0.2], "No Risk"]],
        },
    }

    receipt = service.client.post(PAYLOAD, json=[pair]).json()

    assert counts(receipt) == (2, 2, 0, 0)
    stored = rows(service.database, "SELECT record_id, features, label FROM payload_records ORDER BY 1")
    assert stored == [("s-1", [33, "female", True], "Risk"), ("s-2", [44, "male", None], "No Risk")]


def test_good_records_are_kept_and_bad_ones_listed_with_their_index_and_reason(service: RunningService) -> None:
    answer = service.client.post(PAYLOAD, json={"records": [record(id="a"), record(id="b", features={"Age": 1}), record(id="c")]})

    assert answer.status_code == 200
    assert counts(answer.json()) == (3, 2, 0, 1)
    assert answer.json()["rejections"] == [
        {"index": 1, "field": "features.Sex", "reason": "is missing; a feature without a value must be sent as null"}
    ]
    assert stored_ids(service.database) == ["a", "c"]


def test_a_request_of_which_nothing_was_stored_is_a_problem_that_holds_the_receipt(service: RunningService) -> None:
    answer = service.client.post(PAYLOAD, json={"records": [record(features=features(Age="old"))]})

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert counts(answer.json()) == (1, 0, 0, 1)
    assert answer.json()["errors"][0]["field"] == "records[0].features.Age"
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


def test_a_missing_feature_is_named_with_the_column_that_may_be_it(service: RunningService, subtests: pytest.Subtests) -> None:
    for sent, field, reason in (
        ({"Age": 33, "Gender": "f", "Owner": True}, "features.Sex", "is missing; did you mean 'Gender' → 'Sex'?"),
        ({"Age": 33, "sex": "f", "owned": True}, "features.Sex", "is missing; did you mean 'sex' → 'Sex'?"),
        ({"Age": 33, "Sex": "f", "Plot": 1, "Ward": 2}, "features.Owner", "is missing; a feature without a value must be sent as null"),
        (
            {"Age": 33, "Sex": "f", "Owner": True, "Plot": 1},
            "features.Plot",
            "is not a column of the schema; the schema has Age, Sex, Owner",
        ),
    ):
        with subtests.test(sent=sent, field=field, reason=reason):
            answer = service.client.post(PAYLOAD, json=[record(features=sent)])
            pair = {
                "request": {"fields": list(sent), "values": [list(sent.values())]},
                "response": {"fields": ["prediction"], "values": [[1]]},
            }
            paired = service.client.post(PAYLOAD, json=pair)

            assert answer.json()["detail"] == f"The record was not stored. records[0].{field}: {reason}"
            assert paired.json()["rejections"][0]["field"] == field.removeprefix("features.")
            assert reason.startswith(paired.json()["rejections"][0]["reason"])


def test_records_without_the_object_around_them_are_taken(service: RunningService) -> None:
    several = service.client.post(PAYLOAD, json=[record(id="a"), record(id="b")])
    single = service.client.post(PAYLOAD, json=record(id="c"))
    flat = service.client.post(PAYLOAD, json=[{**features(), "prediction": 1}])
    labels = service.client.post(FEEDBACK, json=[{"id": "d", "features": features(), "label": 1}])

    assert (counts(several.json()), counts(single.json()), counts(labels.json())) == ((2, 2, 0, 0), (1, 1, 0, 0), (1, 1, 0, 0))
    assert rows(service.database, "SELECT features FROM feedback_records") == [([33, "female", True],)]
    assert (flat.status_code, flat.json()["detail"]) == (
        422,
        "body: must be records {features: {…}, prediction: …}, or logged pairs {request, response}",
    )


def test_the_same_again_is_a_duplicate_and_other_content_a_conflict_that_changes_nothing(service: RunningService) -> None:
    log_payload(service, record(id="a"), record(id="b", scored_at="2026-01-31T12:00:00Z"))

    again = log_payload(service, record(id="a"), record(id="b"), record(id="c"))
    other = service.client.post(PAYLOAD, json={"records": [record(id="a", prediction=0), record(id="b", scored_at="2026-01-31T13:00:00Z")]})

    assert counts(again) == (3, 1, 2, 0)
    assert other.status_code == 409
    assert counts(other.json()) == (2, 0, 0, 2)
    assert [(c["index"], c["id"]) for c in other.json()["conflicts"]] == [(0, "a"), (1, "b")]
    assert rows(service.database, "SELECT record_id, prediction FROM payload_records ORDER BY 1") == [("a", 1), ("b", 1), ("c", 1)]


def test_an_id_twice_in_one_batch_is_stored_once_and_the_first_wins(service: RunningService) -> None:
    receipt = log_payload(service, record(id="a", prediction=0), record(id="a", prediction=0.0), record(id="a"), record(id="b"))

    assert counts(receipt) == (4, 2, 1, 1)
    assert [c["index"] for c in receipt["conflicts"]] == [2]
    assert rows(service.database, "SELECT record_id, prediction FROM payload_records ORDER BY 1") == [("a", 0), ("b", 1)]


def test_records_without_ids_are_stored_each_time_under_ids_of_ours(service: RunningService) -> None:
    for _ in range(2):
        assert counts(log_payload(service, record(), record())) == (2, 2, 0, 0)

    assert len(stored_ids(service.database)) == 4


def test_historical_records_lie_in_the_months_they_were_scored_in(service: RunningService) -> None:
    receipt = log_payload(
        service,
        record(id="a", scored_at="2019-12-31T23:59:59Z"),
        record(id="b", scored_at="2021-02-03T04:05:06+01:00"),
        record(id="c"),
        historical="true",
    )
    again = log_payload(service, record(id="a", scored_at="2019-12-31T23:59:59Z"), historical="true")

    assert counts(receipt) == (3, 2, 0, 1)
    assert counts(again) == (1, 0, 1, 0)
    stored = rows(service.database, "SELECT record_id, logged_at FROM payload_records ORDER BY 1")
    assert stored == [("a", datetime(2019, 12, 31, 23, 59, 59, tzinfo=UTC)), ("b", datetime(2021, 2, 3, 3, 5, 6, tzinfo=UTC))]
    assert stored_ids(service.database) == ["a", "b"]


def test_an_ordinary_record_is_logged_now_whatever_it_says_of_its_scoring(service: RunningService) -> None:
    log_payload(service, record(id="a", scored_at="2026-01-31T12:00:00Z"))

    assert rows(service.database, "SELECT now() - logged_at < interval '1 minute', scored_at < logged_at FROM payload_records") == [
        (True, True)
    ]


def test_gzip_bodies_are_read(service: RunningService) -> None:
    body = gzip.compress(json.dumps({"records": [record(id="a")]}).encode())

    answer = service.client.post(PAYLOAD, content=body, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})

    assert answer.status_code == 200
    assert stored_ids(service.database) == ["a"]


def test_a_change_of_schema_is_seen_by_the_next_record(service: RunningService) -> None:
    log_payload(service, record(id="a"))
    wider = [*deployment()["features"], {"name": "Height", "type": "number"}]
    service.client.patch("/v1/deployments/credit-risk", json={"features": wider, "model_revision": "r2"}).raise_for_status()

    new = log_payload(service, record(id="b", features=features(Height=1.8)))
    old = log_payload(service, record(id="c"))

    assert counts(new) == (1, 1, 0, 0)
    assert old["rejections"][0]["field"] == "features.Height"
    assert rows(service.database, "SELECT schema_version, model_revision FROM payload_records WHERE record_id = 'b'") == [(2, "r2")]


def test_a_deleted_deployment_takes_no_more_records(service: RunningService) -> None:
    log_payload(service, record(id="a"))
    service.client.delete("/v1/deployments/credit-risk").raise_for_status()

    answers = [service.client.post(PAYLOAD, json=body) for body in ({"records": [record(id="b")]}, {"records": [{}]}, [])]

    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert stored_ids(service.database) == []


def test_a_month_without_a_partition_gets_one(service: RunningService) -> None:
    for (name,) in rows(service.database, "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'payload_records'::regclass"):
        with service.database.engine.begin() as connection:
            connection.exec_driver_sql(f"DROP TABLE {name}")

    assert counts(log_payload(service, record(id="a"))) == (1, 1, 0, 0)


def test_requests_that_cannot_be_served_get_a_problem(service: RunningService, subtests: pytest.Subtests) -> None:
    for headers, content, status in (
        ({"Authorization": ""}, b"{}", 401),
        ({"Authorization": "Bearer evk_wrong"}, b"{}", 401),
        ({"Content-Type": "text/csv"}, b"a,b\n", 415),
        ({"Content-Encoding": "br"}, b"{}", 415),
        ({"Content-Encoding": "gzip"}, b"{}", 422),
        ({}, b"", 422),
        ({}, b"{", 422),
        ({}, b'{"records": []}', 422),
        ({}, json.dumps({"records": [1] * 10_001}).encode(), 413),
        ({}, b" " * (64 * 1024 * 1024 + 1), 413),
    ):
        with subtests.test(headers=headers, content=content, status=status):
            answer = service.client.post(
                PAYLOAD, content=content, headers={"Content-Type": "application/json", "X-Request-Id": "mine", **headers}
            )

            assert answer.status_code == status
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.headers["x-request-id"] == answer.json()["request_id"] == "mine"


@pytest.mark.nightly
def test_only_keys_that_may_log_are_let_in_and_bound_ones_see_their_own_deployment(service: RunningService) -> None:
    other = service.client.post("/v1/deployments", json=deployment(id="other")).json()
    own_no = rows(service.database, "SELECT no FROM deployments WHERE id = 'credit-risk'")[0][0]
    body = {"records": [record()]}

    ingest, read = service.as_(Role.INGEST, own_no), service.as_(Role.READ)

    assert other["id"] == "other"
    assert service.client.post(PAYLOAD, json=body, headers=ingest).status_code == 200
    assert service.client.post(PAYLOAD.replace("credit-risk", "other"), json=body, headers=ingest).status_code == 404
    assert service.client.post(PAYLOAD, json=body, headers=read).status_code == 403
    assert service.client.post(PAYLOAD.replace("credit-risk", "nobody"), json=body).status_code == 404
    assert service.client.put(PAYLOAD, json=body).json()["detail"] == f"{PAYLOAD} takes GET, POST, not PUT."
    assert service.client.post(PAYLOAD, json=body, params={"historical": "maybe"}).json()["errors"][0]["field"] == "historical"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(ids=st.lists(names, min_size=1, max_size=5), sexes=st.lists(st.none() | texts, min_size=5, max_size=5), label=texts)
@pytest.mark.nightly
def test_what_was_accepted_reads_back_equal(service: RunningService, ids: list[str], sexes: list[str | None], label: str) -> None:
    with service.database.engine.begin() as connection:
        connection.exec_driver_sql("TRUNCATE payload_keys, payload_records")
    sent = {record_id: record(id=record_id, features=features(Sex=sex), label=label) for record_id, sex in zip(ids, sexes, strict=False)}

    receipt = log_payload(service, *sent.values())

    assert counts(receipt) == (len(sent), len(sent), 0, 0)
    stored = rows(service.database, "SELECT record_id, features, label FROM payload_records")
    assert {record_id: (found, text) for record_id, found, text in stored} == {
        record_id: ([33, sent[record_id]["features"]["Sex"], True], label) for record_id in sent
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(body=json_values)
@pytest.mark.nightly
def test_no_json_whatsoever_gives_an_error_of_ours_or_a_stored_row(service: RunningService, body: Any) -> None:  # noqa: ANN401
    for path in (PAYLOAD, PAYLOAD.replace("payload", "feedback")):
        answer = service.client.post(
            path, content=json.dumps(body).encode("utf-8", "replace"), headers={"Content-Type": "application/json"}
        )

        assert answer.status_code == 422, answer.text
    assert stored_ids(service.database) == []
