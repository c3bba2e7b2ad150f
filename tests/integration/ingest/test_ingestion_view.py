"""The view of ingestion: true sentences about what came in and what did not, at a cost that does not depend on the traffic."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.base.clock import floor_to_hour, utc_now
from app.database.engine import Database
from app.domain.record_times import LogKind, RecordSource, RejectionCount, RejectionReason
from app.intake.gateway.call_events import IntakeCount, IntakeOutcome
from app.intake.volume.arrival_queries import add_counts, add_rejections
from app.intake.volume.hourly_view import REASON_AND_REMEDY, SOURCE_WORDS
from tests.builders.page_words import says
from tests.builders.queries import rows
from tests.builders.statements import counted
from tests.service import RunningService

PATH = "/v1/deployments/credit-risk/ingestion"
HOUR = timedelta(hours=1)


@pytest.fixture
def no(service: RunningService) -> int:
    ((found,),) = rows(service.database, "SELECT no FROM deployments")
    return int(found)


def arrive(database: Database, no: int, ago: int, records: int, source: str = "client", kind: str = "payload") -> None:
    insertion = text("INSERT INTO arrivals (deployment_no, hour, source, kind, records) VALUES (:no, :hour, :source, :kind, :records)")
    with database.transaction() as session:
        hour = floor_to_hour(utc_now()) - ago * HOUR
        session.execute(insertion, {"no": no, "hour": hour, "source": source, "kind": kind, "records": records})


def reject(database: Database, no: int, ago: int, records: int, reason: RejectionReason, field: str = "Age") -> None:
    count = RejectionCount(
        hour=floor_to_hour(utc_now()) - ago * HOUR,
        source=RecordSource.REST,
        kind=LogKind.PAYLOAD,
        reason=reason,
        field=field,
        records=records,
    )
    with database.transaction() as session:
        add_rejections(session, {no: [count]})


def ingestion(service: RunningService, **query: object) -> dict[str, Any]:
    answer: dict[str, Any] = service.client.get(PATH, params=query).raise_for_status().json()
    return answer


def test_every_hour_is_there_and_sources_are_apart(service: RunningService, no: int) -> None:
    arrive(service.database, no, 0, 5)
    arrive(service.database, no, 0, 7, "gateway")
    arrive(service.database, no, 2, 11, "import", "feedback")
    arrive(service.database, no, 9, 100)

    found = ingestion(service, hours=4)["hours"]

    assert [arrival["arrived"] for arrival in found] == [
        [
            {"source": "client", "kind": "payload", "records": 5},
            {"source": "gateway", "kind": "payload", "records": 7},
        ],
        [],
        [{"source": "import", "kind": "feedback", "records": 11}],
        [],
    ]


def test_rejections_of_one_reason_are_added_up_over_the_hours_and_the_worst_is_named(
    service: RunningService, no: int, snapshot: SnapshotAssertion
) -> None:
    arrive(service.database, no, 0, 90)
    reject(service.database, no, 0, 4, RejectionReason.WRONG_TYPE)
    reject(service.database, no, 1, 5, RejectionReason.WRONG_TYPE)
    reject(service.database, no, 1, 1, RejectionReason.UNKNOWN_FIELD, "")
    reject(service.database, no, 2, 3, RejectionReason.UNREADABLE, "body")

    found = ingestion(service)

    assert [(rejection["sentence"], rejection["records"]) for rejection in found["rejections"]] == [
        ("Age is of another type", 9),
        ("a request could not be read as a whole", 3),
        ("a field is not in the schema", 1),
    ]
    assert [hour["rejected"] for hour in found["hours"][:3]] == [4, 6, 0]
    assert says(found["signs"][0], "10", "100", "24", "9")
    assert says(found["signs"][1], "3", "24")
    assert found["signs"] == snapshot


def test_a_silence_is_said_after_a_whole_hour_without_a_record(service: RunningService, no: int, snapshot: SnapshotAssertion) -> None:
    arrive(service.database, no, 1, 5)
    assert ingestion(service)["signs"] == []

    with service.database.transaction() as session:
        session.execute(text("UPDATE arrivals SET hour = hour - interval '1 hour'"))

    since = floor_to_hour(utc_now()) - HOUR
    texts = ingestion(service)["signs"]
    assert says(texts[0], f"{since:%Y-%m-%d %H:%M}", "UTC")
    assert texts == snapshot


def test_dropped_and_left_out_records_are_in_the_hour_that_their_sender_says(
    service: RunningService, no: int, snapshot: SnapshotAssertion
) -> None:
    arrive(service.database, no, 0, 5)
    hour = (floor_to_hour(utc_now()) - HOUR).isoformat()
    body = {"sample_rate": 0.5, "hours": [{"hour": hour, "not_received": 1, "left_out": 40}]}
    sender = "0b9d6c1e-5f43-4d1a-9c55-3c8f5f0f9a71"
    service.client.put(f"/v1/deployments/credit-risk/missing-records/{sender}", json=body).raise_for_status()

    found = ingestion(service)

    assert [(one["not_received"], one["left_out"]) for one in found["hours"][:3]] == [(0, 0), (1, 40), (0, 0)]
    assert says(found["signs"][0], "1", "24")
    assert found["signs"] == snapshot


def test_the_number_of_statements_is_the_same_for_any_traffic(service: RunningService, no: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ingestion(service)
    with counted(monkeypatch) as few:
        ingestion(service)
    for ago in range(30):
        arrive(service.database, no, ago, 5)
        reject(service.database, no, ago, 4, RejectionReason.WRONG_TYPE)

    with counted(monkeypatch) as many:
        ingestion(service, hours=100)

    assert len(many) == len(few)
    assert not any("payload_records" in statement for statement in many)


def test_hours_that_are_not_kept_are_refused(service: RunningService, subtests: pytest.Subtests) -> None:
    for hours in ("0", "745", "x", "1.5"):
        with subtests.test(hours=hours):
            answer = service.client.get(PATH, params={"hours": hours})

            assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "hours")


def test_every_source_and_reason_has_its_words() -> None:
    assert set(SOURCE_WORDS) == set(RecordSource)
    assert set(REASON_AND_REMEDY) == set(RejectionReason)


def ignore(database: Database, no: int, ago: int, events: int, reason: str = "there is no ce-type") -> None:
    one = IntakeCount(
        deployment_no=no,
        hour=floor_to_hour(utc_now()) - ago * HOUR,
        source="events",
        outcome=IntakeOutcome.IGNORED,
        count=events,
        reason=reason,
    )
    with database.transaction() as session:
        add_counts(session, [one])


def test_events_of_which_none_is_used_are_a_sign_and_some_among_others_are_not(
    service: RunningService, no: int, snapshot: SnapshotAssertion
) -> None:
    ignore(service.database, no, 30, 5, "older")
    assert ingestion(service, hours=48)["signs"] == []
    ignore(service.database, no, 2, 1)
    texts = ingestion(service, hours=24)["signs"]
    assert says(texts[0], "24")
    assert texts == snapshot
    ignore(service.database, no, 1, 2, "the body is not JSON")
    texts = ingestion(service, hours=24)["signs"]
    assert says(texts[0], "3", "24", "JSON")
    assert texts == snapshot

    arrive(service.database, no, 1, 1, "event")
    arrive(service.database, no, 0, 1, "event")
    assert ingestion(service, hours=24)["signs"] == []


def test_calls_that_were_answered_before_they_were_read_have_their_reason_elsewhere(
    service: RunningService, no: int, snapshot: SnapshotAssertion
) -> None:
    hour = floor_to_hour(utc_now())
    for source in (RecordSource.REST, RecordSource.GATEWAY):
        count = RejectionCount(hour=hour, source=source, kind=LogKind.PAYLOAD, reason=RejectionReason.UNREADABLE, field="body", records=1)
        with service.database.transaction() as session:
            add_rejections(session, {no: [count]})

    remedies = {rejection["source"]: rejection["remedy"] for rejection in ingestion(service)["rejections"]}
    assert remedies["rest"].startswith("The answer to the request says why.")
    assert "intake-counts" in remedies["gateway"]
    assert remedies["gateway"] == snapshot
