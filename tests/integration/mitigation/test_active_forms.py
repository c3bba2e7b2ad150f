"""The forms in which records may be sent to the mitigated endpoint, what it refuses, and what it stores."""

import gzip
import json
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from tests.builders.queries import rows
from tests.builders.row_server import credit, row_server
from tests.integration.mitigation.live import ADDRESS, FEATURES, SEX, applicant, ask, register
from tests.service import RunningService

PATH = f"{ADDRESS}/mitigated-predictions"
META = [{"name": "branch", "type": "string"}]
NAMES = [feature["name"] for feature in FEATURES]

SAID = {"mode", "settings_version", "profile_version", "bias_detector_version", "is_provisional", "notes", "warning"}
IN_TABLES = {"ids", "logged"}
OURS = ["mitigated_prediction", "mitigated_probability", "changed", "changed_by", "mitigation"]


def table(*applicants: dict[str, Any]) -> dict[str, Any]:
    return {"fields": NAMES, "values": [[one[name] for name in NAMES] for one in applicants]}


def test_fields_and_values_are_answered_in_the_same_form(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        answer = service.client.post(PATH, json=table(applicant(), applicant(sex="male"))).json()

    assert set(answer) == {"fields", "values"} | SAID | IN_TABLES
    assert answer["fields"] == ["prediction", "probability", *OURS]
    assert answer["values"] == [
        [0, pytest.approx(0.4), 1, pytest.approx(0.6), True, ["sex"], "changed"],
        [1, pytest.approx(0.6), 1, pytest.approx(0.6), False, [], "reference"],
    ]
    assert answer["logged"] == {"stored": 2, "duplicate": 0, "conflict": 0}
    assert len(set(answer["ids"])) == 2


def test_input_data_is_answered_with_a_table_of_predictions(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        answer = service.client.post(PATH, json={"input_data": [table(applicant())]}).json()

    assert set(answer) == {"predictions"} | SAID | IN_TABLES
    assert answer["predictions"][0]["fields"] == ["prediction", "probability", *OURS]


@pytest.mark.parametrize("mlflow", [True, False])
@pytest.mark.parametrize("form", ["dataframe_split", "dataframe_records"])
def test_the_forms_of_mlflow_are_answered_with_an_object_a_row(service: RunningService, form: str, mlflow: bool) -> None:  # noqa: FBT001
    split = {"columns": NAMES, "data": [list(applicant().values())], "index": [0]}
    with row_server() as server:
        register(service, server, SEX, mlflow=mlflow)
        answer = service.client.post(PATH, json={form: split if form == "dataframe_split" else [applicant()]}).json()

    (row,) = answer["predictions"]
    assert list(row) == ["prediction", "probability", *OURS]
    assert (row["mitigated_prediction"], row["changed_by"]) == (1, ["sex"])
    assert set(answer) == {"predictions"} | SAID | IN_TABLES


def test_a_model_that_names_no_column_is_answered_under_the_deployments_name(service: RunningService) -> None:
    with row_server() as server:
        server.outputs = lambda row: credit(row)["prediction"]
        register(service, server, SEX, mlflow=True, outputs={"prediction": "verdict"})
        answer = service.client.post(PATH, json={"dataframe_records": [applicant()]}).json()

    assert answer["predictions"] == [
        {"verdict": 0, "mitigated_prediction": 1, "changed": True, "changed_by": ["sex"], "mitigation": "changed"}
    ]


def test_columns_may_come_in_any_order_and_hold_meta_fields(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX, meta=META)
        mixed = {"fields": ["branch", *reversed(NAMES)], "values": [["north", *reversed(list(applicant().values()))]]}
        apart = table(applicant()) | {"meta": {"fields": ["branch"], "values": [["south"]]}}
        records = {"records": [{"features": applicant(), "meta": {"branch": "east"}}]}
        objects = {"dataframe_records": [{"branch": "west"} | applicant()]}
        answers = [service.client.post(PATH, json=body) for body in (mixed, apart, records, objects)]

    assert [answer.status_code for answer in answers] == [200] * 4
    assert [meta for (meta,) in rows(service.database, "SELECT meta FROM payload_records ORDER BY record_no")] == [
        ["north"],
        ["south"],
        ["east"],
        ["west"],
    ]
    assert rows(service.database, "SELECT DISTINCT features FROM payload_records") == [(["female", "green", 40, 10_000],)]


def test_the_models_other_columns_come_along_and_one_with_a_name_of_ours_gets_another(
    service: RunningService, snapshot: SnapshotAssertion
) -> None:
    def chatty(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, **credit(row), "changed": "never", "reasons": ["income"]}

    with row_server(chatty) as server:
        register(service, server, SEX)
        as_table = service.client.post(PATH, json=table(applicant())).json()
        as_records = ask(service, applicant())

    assert as_table["fields"] == [*NAMES, "prediction", "probability", "model_changed", "reasons", *OURS]
    assert as_table["values"][0][:8] == [*applicant().values(), 0, pytest.approx(0.4), "never", ["income"]]
    assert as_table["notes"] == snapshot
    assert as_records["predictions"][0]["other_outputs"] == {"changed": "never", "reasons": ["income"]}


def test_both_answers_are_stored_with_the_record(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        ask(service, applicant(), applicant(sex="male"))

    first, second = rows(
        service.database, "SELECT record_id, features, prediction, probability, label, mitigated FROM payload_records ORDER BY record_id"
    )
    assert first[:3] == ("a-0", ["female", "green", 40, 10_000], 0)
    assert first[3] == pytest.approx(0.4)
    assert first[5] == {
        "prediction": 1,
        "probability": pytest.approx(0.6),
        "label": None,
        "changed": True,
        "changed_by": ["sex"],
        "mitigation": "changed",
        "mode": "lift_only",
        "settings_version": 0,
        "profile_version": 1,
        "bias_detector_version": None,
    }
    assert (second[5]["mitigation"], second[5]["changed"]) == ("reference", False)


def test_records_that_are_logged_otherwise_have_no_mitigated_answer(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        service.client.post(f"{ADDRESS}/payload-records", json={"records": [{"features": applicant(), "prediction": 1}]})
        historical = [{"features": applicant(), "prediction": 1, "scored_at": "2026-01-01T12:00:00Z"}]
        service.client.post(f"{ADDRESS}/payload-records", params={"historical": True}, json={"records": historical})

    assert rows(service.database, "SELECT mitigated FROM payload_records") == [(None,), (None,)]


def test_a_request_sent_again_is_a_duplicate_even_under_other_settings_and_other_content_a_conflict(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        ask(service, applicant())
        service.client.put(f"{ADDRESS}/mitigation", json={"mode": "reference_substitution"})
        again = ask(service, applicant())
        other = ask(service, applicant(age=41))

    assert [answer["predictions"][0]["logged"] for answer in (again, other)] == ["duplicate", "conflict"]
    assert rows(service.database, "SELECT mitigated->>'mode' FROM payload_records") == [("lift_only",)]


def test_gzip_is_taken(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        body = gzip.compress(json.dumps({"records": [{"features": applicant()}]}).encode())
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        answer = service.client.post(PATH, content=body, headers=headers)

    assert answer.json()["predictions"][0]["mitigation"] == "changed"


def test_one_bad_value_refuses_the_whole_request_and_is_named(service: RunningService, subtests: pytest.Subtests) -> None:
    with row_server() as server:
        register(service, server, SEX, meta=META)
        for body, field in (
            ({"records": [{"features": applicant()}, {"features": applicant(age="old")}]}, "records[1].features.age"),
            ({"records": [{"features": applicant(), "meta": {"shop": "x"}}]}, "records[0].meta.shop"),
            ({"records": [{"features": {"sex": "male"}}]}, "records[0].features.colour"),
            ({"records": [{"features": applicant(height=3)}]}, "records[0].features.height"),
            ({"records": [{"features": applicant(), "id": ""}]}, "records[0].id"),
            ({"records": [{"features": applicant(), "prediction": 1}]}, "records[0].prediction"),
            ({"records": [{"id": "a"}]}, "records[0].features"),
            ({"records": [[1]]}, "records[0]"),
            ({"records": []}, "records"),
            ({"records": {}}, "records"),
            ({"records": [], "historical": True}, "historical"),
            (table(applicant(), applicant(income="much")), "values[1].income"),
            ({"fields": NAMES, "values": [["male"]]}, "values[0]"),
            ({"fields": [*NAMES, "height"], "values": [[*applicant().values(), 1]]}, "fields[4]"),
            ({"fields": NAMES[:3], "values": [list(applicant().values())[:3]]}, "fields"),
            ({"fields": ["sex", *NAMES], "values": [["male", *applicant().values()]]}, "fields[1]"),
            ({"fields": NAMES, "values": []}, "values"),
            ({"input_data": [table(applicant(age=1.5))]}, "input_data[0].values[0].age"),
            ({"input_data": []}, "input_data"),
            (table(applicant()) | {"meta": {"fields": ["branch"], "values": [[7]]}}, "meta.values[0].branch"),
            (table(applicant()) | {"meta": {"fields": ["branch"], "values": []}}, "meta.values"),
            (table(applicant()) | {"meta": {"fields": ["sex"], "values": [["male"]]}}, "meta.fields[0]"),
            ({"dataframe_split": {"columns": NAMES, "data": [list(applicant(age=True).values())]}}, "dataframe_split.data[0].age"),
            ({"dataframe_split": {"columns": NAMES}}, "dataframe_split.data"),
            ({"dataframe_split": [1]}, "dataframe_split"),
            ({"dataframe_records": [applicant(), {"sex": "male"}]}, "dataframe_records[1].colour"),
            ({"dataframe_records": [applicant(sex=1)]}, "dataframe_records[0].sex"),
            ({"dataframe_records": [applicant(height=1)]}, "dataframe_records[0].height"),
            ({"dataframe_records": [1]}, "dataframe_records[0]"),
            ({"inputs": []}, "body"),
            ([1], "body"),
        ):
            with subtests.test(body=body, field=field):
                answer = service.client.post(PATH, json=body)

                assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
                assert server.counts.requests == 0
                assert rows(service.database, "SELECT count(*) FROM payload_records") == [(0,)]


def test_more_than_a_thousand_records_are_too_many(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        answers = [
            service.client.post(PATH, json={"records": [{"features": applicant()}] * 1001}),
            service.client.post(PATH, json=table(*[applicant()] * 1001)),
            service.client.post(PATH, content=b"[" * 1_000_001, headers={"Content-Type": "application/json"}),
        ]

    assert [answer.status_code for answer in answers] == [413] * 3


def test_other_content_types_encodings_and_parameters_are_refused(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        body = json.dumps({"records": [{"features": applicant()}]}).encode()
        kinds = [{"Content-Type": "application/xml"}, {"Content-Type": "application/json", "Content-Encoding": "br"}]
        forms = [service.client.post(PATH, content=body, headers=headers) for headers in kinds]
        times = [
            service.client.post(PATH, content=body, headers=kinds[0] | {"Content-Type": "application/json"}, params=query)
            for query in ({"timeout_seconds": 0}, {"timeout_seconds": 301}, {"timeout_seconds": "nan"}, {"timeout": 5})
        ]

    assert [answer.status_code for answer in forms] == [415, 415]
    assert [answer.json()["errors"][0]["field"] for answer in times] == ["timeout_seconds"] * 3 + ["query.timeout"]


def test_it_is_for_keys_that_may_log(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        number = rows(service.database, "SELECT no FROM deployments")[0][0]
        body = {"records": [{"features": applicant()}]}
        found = {
            "none": service.client.post(PATH, json=body, headers={"Authorization": ""}),
            "read": service.client.post(PATH, json=body, headers=service.as_(Role.READ)),
            "ingest": service.client.post(PATH, json=body, headers=service.as_(Role.INGEST)),
            "bound": service.client.post(PATH, json=body, headers=service.as_(Role.INGEST, number)),
            "unknown": service.client.post("/v1/deployments/nothing/mitigated-predictions", json=body),
        }
        other = {"id": "other", "name": "Other", "problem_type": "binary", "features": FEATURES}
        service.client.post("/v1/deployments", json=other).raise_for_status()
        elsewhere = service.client.post("/v1/deployments/other/mitigated-predictions", json=body, headers=service.as_(Role.INGEST, number))

    assert {who: answer.status_code for who, answer in found.items()} == {
        "none": 401,
        "read": 403,
        "ingest": 200,
        "bound": 200,
        "unknown": 404,
    }
    assert (elsewhere.status_code, elsewhere.json()["detail"]) == (404, "There is no deployment other.")


def test_what_is_missing_is_said(service: RunningService) -> None:
    register(service, None)
    body = {"records": [{"features": applicant()}]}
    without_endpoint = service.client.post(PATH, json=body)
    service.client.patch(ADDRESS, json={"endpoint": {"url": "http://127.0.0.1:9/score"}}).raise_for_status()
    without_monitor = service.client.post(PATH, json=body)

    assert (without_endpoint.status_code, without_monitor.status_code) == (409, 409)
    assert "has no endpoint" in without_endpoint.json()["detail"]
    assert "has no fairness monitor" in without_monitor.json()["detail"]
