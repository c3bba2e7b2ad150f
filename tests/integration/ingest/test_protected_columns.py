"""Columns that are stored as pseudonyms or as groups: no table holds a value that was sent, and figures are those of the values."""

import base64
import json
from typing import Any

import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.access.column_keys import make_pseudonym
from app.access.principals import Role
from app.access.secret_box import SecretBox
from app.database.engine import Database
from app.database.reseal import SealedColumn, reseal_column
from app.retention.erase import perform_erasures
from tests.builders.queries import rows
from tests.builders.workers import ended, working
from tests.progress import wait_until
from tests.service import SECRET, RunningService

LOANS = "/v1/deployments/loans"
SECRET_CITY, SECRET_AGE = "Zwickau-unmistakable", 7_919
BANDS = [{"label": "young", "values": [[0, 24]]}, {"label": "older", "values": [[25, 120], SECRET_AGE]}]
COLUMNS: dict[str, Any] = {
    "features": [{"name": "income", "type": "number"}],
    "meta": [
        {"name": "city", "type": "string", "storage": {"kind": "pseudonym"}},
        {"name": "age", "type": "string", "storage": {"kind": "groups", "sent": "integer", "groups": BANDS}},
    ],
}
BODY = {"id": "loans", "name": "Loans", "problem_type": "binary", "model_revision": "1", "outputs": {"prediction": "prediction"}, **COLUMNS}


@pytest.fixture
def loans(service: RunningService) -> RunningService:
    """The service with a deployment whose city is stored as a pseudonym, and whose age as a group."""
    service.client.post("/v1/deployments", json=BODY).raise_for_status()
    return service


def record(no: int, city: str | None = SECRET_CITY, age: int | None = SECRET_AGE, prediction: int = 1) -> dict[str, Any]:
    return {"id": f"r{no}", "features": {"income": 1.5}, "meta": {"city": city, "age": age}, "prediction": prediction}


def log(loans: RunningService, body: object) -> dict[str, Any]:
    answer: dict[str, Any] = loans.client.post(f"{LOANS}/payload-records", json=body).raise_for_status().json()
    return answer


def pseudonym(loans: RunningService, value: str) -> str:
    body = {"column": "city", "values": [value]}
    found: list[str] = loans.client.post(f"{LOANS}/pseudonyms", json=body).raise_for_status().json()["pseudonyms"]
    return found[0]


def stored_meta(database: Database) -> dict[str, list[Any]]:
    return {str(record_id): meta for record_id, meta in rows(database, "SELECT record_id, meta FROM payload_records")}


def places_of(database: Database, needle: str) -> list[str]:
    """The tables that hold the text anywhere in a row, also within bytes."""
    forms = [needle, needle.encode().hex(), base64.b64encode(needle.encode()).decode().rstrip("=")]
    with database.transaction() as session:
        names = session.scalars(text("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")).all()
        return [
            name
            for name in names
            if session.scalar(
                text(f'SELECT EXISTS (SELECT FROM "{name}" t WHERE t::text LIKE ANY(:forms))'),  # noqa: S608 - names of tables
                {"forms": [f"%{form}%" for form in forms]},
            )
        ]


def test_no_table_holds_a_value_that_was_sent_in_any_form(loans: RunningService) -> None:
    pair = {
        "scoring_id": "p",
        "request": {"fields": ["income"], "values": [[2.0]], "meta": {"fields": ["city", "age"], "values": [[SECRET_CITY, SECRET_AGE]]}},
        "response": {"fields": ["prediction"], "values": [[1]]},
    }
    assert log(loans, {"records": [record(1), record(2, city=None, age=None)]})["accepted"] == 2
    assert log(loans, [pair])["accepted"] == 1
    feedback = [{"id": "f", "features": {"income": 1}, "meta": {"city": SECRET_CITY, "age": SECRET_AGE}, "label": 1}]
    loans.client.post(f"{LOANS}/feedback-records", json={"records": feedback}).raise_for_status()
    line = f"income,city,age,label,id\n3,{SECRET_CITY},{SECRET_AGE},1,g\n"
    sent = loans.client.post(f"{LOANS}/feedback-records", params={"label": "label"}, content=line, headers={"Content-Type": "text/csv"})
    assert sent.json()["accepted"] == 1

    meta = stored_meta(loans.database)
    assert meta["r1"][1] == meta["p-1"][1] == "older"
    assert meta["r1"][0] == meta["p-1"][0] == pseudonym(loans, SECRET_CITY)
    assert meta["r2"] == [None, None]
    assert rows(loans.database, "SELECT DISTINCT meta FROM feedback_records") == [(meta["r1"],)]
    assert places_of(loans.database, SECRET_CITY) == []
    assert places_of(loans.database, meta["r1"][0]) != []  # the search finds what is there


def test_a_refused_value_is_quoted_neither_in_the_receipt_nor_in_the_database(loans: RunningService) -> None:
    sent = {"records": [record(1) | {"meta": {"city": SECRET_CITY, "age": f"{SECRET_CITY} years"}}]}

    receipt = loans.client.post(f"{LOANS}/payload-records", json=sent).json()

    assert "must be a value of the type integer" in json.dumps(receipt)
    assert SECRET_CITY not in json.dumps(receipt)
    assert places_of(loans.database, SECRET_CITY) == []


def test_equal_values_have_equal_pseudonyms_so_a_record_sent_again_is_a_duplicate(loans: RunningService) -> None:
    log(loans, {"records": [record(1)]})

    again = log(loans, {"records": [record(1), record(2), record(3, city="elsewhere")]})

    meta = stored_meta(loans.database)
    assert (again["accepted"], again["duplicate"]) == (2, 1)
    assert meta["r1"][0] == meta["r2"][0] != meta["r3"][0]


def test_pseudonyms_differ_between_deployments_and_columns(loans: RunningService) -> None:
    twice = [{"name": name, "type": "string", "storage": {"kind": "pseudonym"}} for name in ("city", "town")]
    loans.client.post("/v1/deployments", json={**BODY, "id": "cars", "meta": twice}).raise_for_status()
    sent = {"records": [{"id": "c", "features": {"income": 1}, "meta": {"city": "Bonn", "town": "Bonn"}, "prediction": 1}]}
    loans.client.post("/v1/deployments/cars/payload-records", json=sent).raise_for_status()

    city, town = stored_meta(loans.database)["c"]
    assert len({city, town, pseudonym(loans, "Bonn")}) == 3


def test_a_value_in_no_group_is_stored_as_missing_and_a_label_as_itself(loans: RunningService) -> None:
    log(loans, {"records": [record(1, age=24), record(2, age=25), record(3, age=121)]})
    labelled = record(4) | {"meta": {"city": "a", "age": "young"}}
    log(loans, {"records": [labelled]})

    assert [stored_meta(loans.database)[f"r{no}"][1] for no in (1, 2, 3, 4)] == ["young", "older", None, "young"]


def test_a_check_counts_groups_and_pseudonyms_as_it_would_the_values(loans: RunningService) -> None:
    here, there = pseudonym(loans, "here"), pseudonym(loans, "there")
    watched = {
        "favourable": [1],
        "unfavourable": [0],
        "attributes": [
            {"feature": "city", "monitored": [here], "reference": [there]},
            {"feature": "age", "monitored": ["young"], "reference": ["older"]},
        ],
        "min_records": 10,
    }
    loans.client.put(f"{LOANS}/fairness-monitor", json=watched).raise_for_status()
    # Here 3 of 10 are approved, there 6 of 10; the young 2 of 10, the older 7 of 10.
    log(
        loans,
        {
            "records": [
                record(no, "here" if no % 2 else "there", 20 if no < 10 else 60, int(no in {1, 2, *range(10, 17)})) for no in range(20)
            ]
        },
    )

    asked = loans.client.post(f"{LOANS}/checks").raise_for_status().json()
    with working(loans.database):
        details = ended(loans, LOANS, asked)

    found = {
        figure["group"]: figure["value"]
        for figure in details["measurements"]
        if (figure["metric"], figure["data"]) == ("disparate_impact", "as_logged") and figure["group"]
    }
    approved_here = sum(no in {1, 2, *range(10, 17)} for no in range(1, 20, 2))
    approved_there = sum(no in {1, 2, *range(10, 17)} for no in range(0, 20, 2))
    assert found == {here: pytest.approx(approved_here / approved_there), "young": pytest.approx(2 / 7)}


def test_a_monitor_that_names_a_value_of_a_protected_column_is_refused(loans: RunningService) -> None:
    watched = {
        "favourable": [1],
        "unfavourable": [0],
        "attributes": [
            {"feature": "city", "monitored": ["Bonn"], "reference": ["Berlin"]},
            {"feature": "age", "monitored": ["middle"], "reference": ["older"]},
        ],
    }

    answer = loans.client.put(f"{LOANS}/fairness-monitor", json=watched)

    problems = {error["field"]: error["message"] for error in answer.json()["errors"]}
    assert answer.status_code == 422
    assert "must be a pseudonym" in problems["attributes[0].monitored[0]"]
    assert "young, older" in problems["attributes[1].monitored[0]"]


def test_a_person_is_erased_by_the_value_and_never_by_a_group(loans: RunningService) -> None:
    log(loans, {"records": [record(1), record(2, city="elsewhere")]})
    asked = {"id": "case-1", "field": "city", "value": SECRET_CITY}

    loans.client.post(f"{LOANS}/erasures", json=asked).raise_for_status()
    assert places_of(loans.database, SECRET_CITY) == []
    perform_erasures(loans.database)
    by_group = loans.client.post(f"{LOANS}/erasures", json={"id": "case-2", "field": "age", "value": SECRET_AGE})

    assert list(stored_meta(loans.database)) == ["r2"]
    assert by_group.status_code == 422
    assert "is stored as groups" in by_group.text


def test_records_from_before_the_column_was_protected_are_erased_with_the_others(service: RunningService) -> None:
    before = [{"name": "city", "type": "string"}, COLUMNS["meta"][1]]
    service.client.post("/v1/deployments", json={**BODY, "meta": before}).raise_for_status()
    log(service, {"records": [record(1)]})
    service.client.patch(LOANS, json={"meta": COLUMNS["meta"]}).raise_for_status()
    log(service, {"records": [record(2), record(3, city="elsewhere")]})

    service.client.post(f"{LOANS}/erasures", json={"id": "case", "field": "city", "value": SECRET_CITY}).raise_for_status()
    perform_erasures(service.database)

    assert list(stored_meta(service.database)) == ["r3"]


def test_a_storage_that_cannot_be_is_refused_by_its_field(service: RunningService, subtests: pytest.Subtests) -> None:
    for part, column, field in (
        ("meta", {"name": "a", "type": "integer", "storage": {"kind": "pseudonym"}}, "meta[0].type"),
        ("meta", {"name": "a", "type": "string", "storage": {"kind": "groups"}}, "meta[0].storage.groups"),
        ("meta", {"name": "a", "type": "string", "storage": {"kind": "pseudonym", "groups": BANDS}}, "meta[0].storage.groups"),
        (
            "meta",
            {"name": "a", "type": "string", "storage": {"kind": "groups", "groups": [{"label": "x", "values": [[1, 2]]}]}},
            "meta[0].storage.groups[0].values[0]",
        ),
        (
            "meta",
            {"name": "a", "type": "string", "storage": {"kind": "groups", "sent": "number", "groups": [BANDS[0], BANDS[0]]}},
            "meta[0].storage.groups[1].label",
        ),
    ):
        with subtests.test(part=part, column=column, field=field):
            answer = service.client.post("/v1/deployments", json={**BODY, part: [column]})

            assert answer.status_code == 422, answer.text
            assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_a_feature_that_the_model_must_be_asked_with_cannot_be_protected(service: RunningService, snapshot: SnapshotAssertion) -> None:
    feature = {"name": "sex", "type": "string", "storage": {"kind": "pseudonym"}}
    endpoint = {"url": "http://127.0.0.1:9/score"}

    refused = service.client.post("/v1/deployments", json={**BODY, "features": [feature], "endpoint": endpoint})
    accepted = service.client.post("/v1/deployments", json={**BODY, "features": [feature]})
    endpoint_later = service.client.patch(LOANS, json={"endpoint": endpoint})

    assert refused.status_code == 422
    assert refused.json()["errors"] == snapshot
    assert accepted.status_code == 201
    assert endpoint_later.json()["errors"] == refused.json()["errors"]


def test_a_column_that_is_listed_again_keeps_its_storage_until_it_is_ended(loans: RunningService) -> None:
    plain = [{"name": column["name"], "type": column["type"]} for column in COLUMNS["meta"]]

    kept = loans.client.patch(LOANS, json={"meta": plain}).raise_for_status().json()
    ended_storage = loans.client.patch(LOANS, json={"meta": [{**plain[0], "storage": None}, plain[1]]}).raise_for_status().json()

    assert [column["storage"] and column["storage"]["kind"] for column in kept["meta"]] == ["pseudonym", "groups"]
    assert [column["storage"] and column["storage"]["kind"] for column in ended_storage["meta"]] == [None, "groups"]
    assert (kept["schema_version"], ended_storage["schema_version"]) == (1, 2)


@pytest.mark.nightly
def test_halves_of_calls_wait_encrypted(service: RunningService) -> None:
    feature = {"name": "city", "type": "string", "storage": {"kind": "pseudonym"}}
    service.client.post("/v1/deployments", json={**BODY, "features": [feature], "meta": []}).raise_for_status()
    bodies = {"request": {"instances": [{"city": SECRET_CITY}]}, "response": {"predictions": [{"prediction": 1}]}}

    def send(side: str) -> None:
        headers = {
            "ce-specversion": "1.0",
            "ce-id": "c1",
            "ce-type": f"org.kubeflow.serving.inference.{side}",
            "ce-source": "here",
            "content-type": "application/json",
        }
        service.client.post(f"{LOANS}/events", headers=headers, content=json.dumps(bodies[side])).raise_for_status()

    send("request")
    wait_until(lambda: rows(service.database, "SELECT count(*) FROM call_halves") == [(1,)], "the half waits")
    assert places_of(service.database, SECRET_CITY) == []
    send("response")
    wait_until(lambda: rows(service.database, "SELECT count(*) FROM payload_records") == [(1,)], "the call is stored")

    ((features,),) = rows(service.database, "SELECT features FROM payload_records")
    asked = service.client.post(f"{LOANS}/pseudonyms", json={"column": "city", "values": [SECRET_CITY]}).json()
    assert features == asked["pseudonyms"]
    assert places_of(service.database, SECRET_CITY) == []


def test_pseudonyms_stay_as_they_are_when_the_secret_key_is_rotated(loans: RunningService) -> None:
    before = pseudonym(loans, "Bonn")

    with loans.database.transaction() as session:
        secrets = reseal_column(session, SealedColumn.COLUMN_KEYS, SecretBox("another secret of this test", SECRET))
        ((sealed,),) = session.execute(text("SELECT column_key FROM deployments WHERE column_key IS NOT NULL"))
    assert (secrets.resealed, secrets.unreadable) == (1, [])
    key = SecretBox("another secret of this test").unseal(sealed)

    assert make_pseudonym(key, "city", "Bonn") == before


def test_who_may_ask_for_pseudonyms_and_that_somebody_did_is_kept(loans: RunningService) -> None:
    body = {"column": "city", "values": [SECRET_CITY]}
    reader = loans.client.post(f"{LOANS}/pseudonyms", json=body, headers=loans.as_(Role.READ))
    other = loans.client.post(f"{LOANS}/pseudonyms", json={"column": "age", "values": [1]})
    wrong = loans.client.post(f"{LOANS}/pseudonyms", json={"column": "city", "values": ["a", 1]})
    loans.client.post(f"{LOANS}/pseudonyms", json=body).raise_for_status()

    activities = loans.client.get(f"{LOANS}/activities").json()["activities"]
    assert (reader.status_code, other.status_code, wrong.status_code) == (403, 422, 422)
    assert wrong.json()["errors"][0]["field"] == "values[1]"
    assert [(activity["action"], activity["subject"]) for activity in activities].count(("pseudonyms.made", "city")) == 1
    assert places_of(loans.database, SECRET_CITY) == []


def test_training_data_count_groups_and_leave_pseudonyms_out(loans: RunningService) -> None:
    lines = "income,city,age,label\n1,Bonn,20,1\n2,Bonn,60,0\n3,Bonn,500,1\n"

    answer = loans.client.put(
        f"{LOANS}/training-data", params={"label": "label"}, content=lines, headers={"Content-Type": "text/csv"}
    ).raise_for_status()

    assert "city" in answer.json()["absent"]
    assert places_of(loans.database, "Bonn") == []


def test_a_subscription_of_openscale_keeps_the_storage(loans: RunningService) -> None:
    loans.client.patch(
        "/openscale/v2/subscriptions/loans", json=[{"op": "replace", "path": "/deployment/name", "value": "Other loans"}]
    ).raise_for_status()

    found = loans.client.get(LOANS).json()
    assert found["name"] == "Other loans"
    assert [column["storage"] and column["storage"]["kind"] for column in found["meta"]] == ["pseudonym", "groups"]
    assert found["schema_version"] == 1
