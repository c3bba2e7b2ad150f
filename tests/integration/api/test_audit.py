import threading
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.access.audit.activity_queries import record_activity
from app.access.audit.event_queries import check_chain, read_sealed_events, seal_events
from app.access.principals import Role
from app.database.engine import Database
from tests.builders.bodies import deployment, monitor
from tests.service import RunningService

ADDRESS = "/v1/deployments/credit-risk"
RECORD = {"id": "r-1", "features": {"Age": 31, "Sex": "female", "Owner": True}, "prediction": 1, "label": "Risk"}


def events(service: RunningService, **query: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    answer = service.client.get("/v1/audit-events", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["audit_events"]
    return found


def seal(database: Database) -> None:
    with database.transaction() as session:
        seal_events(session)


def fault_of(database: Database) -> str | None:
    with database.transaction() as session:
        return check_chain(read_sealed_events(session)).fault


def tamper(database: Database, statement: str) -> None:
    """Does what only somebody with the rights of the tables' owner can do."""
    with database.transaction() as session:
        session.execute(text("SET LOCAL session_replication_role = replica"))
        session.execute(text(statement))


def test_a_change_says_who_from_where_and_which_fields_but_no_values(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    answer = service.client.patch(ADDRESS, json={"name": "Other"}, headers={"X-Request-ID": "mine"})
    newest = events(service, limit=1)[0]

    assert answer.status_code == 200
    assert (newest["action"], newest["outcome"], newest["deployment_id"]) == ("deployment.changed", "done", "credit-risk")
    assert newest["route"] == "PATCH /v1/deployments/{deployment_id}"
    assert (newest["request_id"], newest["address"]) == ("mine", "127.0.0.1")
    assert newest["details"] == {"fields": ["name"]}


def test_a_change_that_leaves_no_activity_is_audited_in_the_transaction_of_the_request(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    newest = events(service, limit=1)[0]

    assert (newest["action"], newest["outcome"], newest["route"]) == ("request.made", "done", "POST /v1/deployments")


@pytest.mark.thorough
def test_reads_and_exports_of_records_are_audited_and_reads_of_figures_are_not(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    service.client.put(f"{ADDRESS}/fairness-monitor", json=monitor()).raise_for_status()
    service.client.post(f"{ADDRESS}/payload-records", json={"records": [RECORD]}).raise_for_status()
    before = len(events(service))
    reader = service.as_(Role.READ)
    for path in ("", "/checks", "/measurements", "/activities"):
        service.client.get(ADDRESS + path, headers=reader)
    assert len(events(service)) == before

    service.client.get(f"{ADDRESS}/payload-records?attribute=Sex&group=female", headers=reader).raise_for_status()
    service.client.get(f"{ADDRESS}/payload-records/r-1", headers=reader).raise_for_status()
    service.client.get("/deployments/credit-risk/transactions", headers=reader).raise_for_status()
    service.client.get(f"{ADDRESS}/flagged-records.csv", headers=reader).raise_for_status()
    exported, page, one, several = events(service)[:4]

    assert [found["action"] for found in (several, one, page, exported)] == [*["records.read"] * 3, "flagged_records.exported"]
    assert several["details"] == {"ids": {}, "parameters": ["attribute", "group"]}
    assert one["details"] == {"ids": {"record_id": "r-1"}, "parameters": []}
    assert page["route"] == "GET /deployments/{deployment_id}/transactions"
    assert exported["actor"] == service.client.get("/v1/me", headers=reader).json()["actor"]


def test_refusals_are_audited_those_of_unknown_callers_up_to_a_bound(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    reader = service.as_(Role.READ)
    assert service.client.delete(ADDRESS, headers=reader).status_code == 403
    assert service.client.patch(ADDRESS, json={"nonsense": 1}).status_code == 422
    with service.new_client() as stranger:
        for _ in range(70):
            assert stranger.get(f"{ADDRESS}/payload-records/r-1").status_code == 401
    by_strangers = events(service, action="request.unauthenticated", limit=100)
    invalid, forbidden = events(service, action="request.refused")

    assert (forbidden["outcome"], forbidden["details"]["status"], forbidden["route"]) == (
        "refused",
        403,
        "DELETE /v1/deployments/{deployment_id}",
    )
    assert invalid["details"]["status"] == 422
    assert len(by_strangers) == 60
    assert "r-1" not in str(by_strangers)


def test_log_ins_and_log_outs_are_audited_without_what_was_typed(service: RunningService) -> None:
    service.client.post("/v1/users", json={"name": "ada", "password": "four plain words here", "role": "read"})
    with service.new_client(headers={"Sec-Fetch-Site": "same-origin"}) as browser:
        browser.post("/login", data={"name": "ada", "password": "not this one"})
        browser.post("/login", data={"name": "four plain words here", "password": ""})
        browser.post("/login", data={"name": "ada", "password": "four plain words here"})
        browser.post("/logout")
    found = [(event["actor"], event["action"], event["address"]) for event in events(service)[:4]]

    assert found == [
        ("user:ada", "session.ended", "127.0.0.1"),
        ("user:ada", "session.started", "127.0.0.1"),
        ("unknown", "session.refused", "127.0.0.1"),
        ("user:ada", "session.refused", "127.0.0.1"),
    ]
    assert "four plain words" not in str(events(service))


def test_ingestion_leaves_no_events(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    before = len(events(service))
    service.client.post(f"{ADDRESS}/payload-records", json={"records": [RECORD]}).raise_for_status()

    assert len(events(service)) == before


def test_events_are_listed_by_pages_for_admins_only(service: RunningService) -> None:
    for no in range(5):
        service.client.post("/v1/api-keys", json={"name": f"key {no}", "role": "ingest"}).raise_for_status()
    found, cursor = [], None
    while True:
        query = {"limit": 2} if cursor is None else {"limit": 2, "cursor": cursor}
        answer = service.client.get("/v1/audit-events", params=query).raise_for_status().json()
        found += answer["audit_events"]
        cursor = answer["next_cursor"]
        if cursor is None:
            break

    assert [event["no"] for event in found] == sorted((event["no"] for event in events(service)), reverse=True)
    assert service.client.get("/v1/audit-events", headers=service.as_(Role.MANAGE)).status_code == 403
    assert service.client.get("/audit", headers=service.as_(Role.READ)).status_code == 403


def test_the_page_shows_events_and_whether_they_are_sealed(service: RunningService) -> None:
    service.client.post("/v1/api-keys", json={"name": "a key", "role": "ingest"}).raise_for_status()
    unsealed = service.client.get("/audit").raise_for_status().text
    seal(service.database)
    sealed = service.client.get("/audit").raise_for_status().text

    assert "1 event is not sealed yet" in unsealed
    assert "All events are sealed" in sealed
    assert "POST /v1/api-keys" in sealed


def test_the_database_refuses_to_change_or_delete_events(database: Database) -> None:
    with database.transaction() as session:
        record_activity(session, "command line", "user.created", subject="ada")
    seal(database)
    for statement in ("UPDATE audit_events SET actor = 'x'", "DELETE FROM audit_events", "TRUNCATE audit_events"):
        with pytest.raises(DBAPIError, match="neither changed nor deleted"), database.engine.begin() as connection:
            connection.exec_driver_sql(statement)

    assert fault_of(database) is None


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM audit_events WHERE position = 2",
        "UPDATE audit_events SET actor = 'x' WHERE position = 2",
        "UPDATE audit_events SET details = '{}' WHERE position = 2",
        "UPDATE audit_events a SET subject = b.subject FROM audit_events b WHERE a.position * b.position = 6 AND a.position IN (2, 3)",
    ],
)
def test_a_sealed_event_that_was_deleted_changed_or_moved_is_noticed(database: Database, statement: str) -> None:
    for no in range(4):
        with database.transaction() as session:
            record_activity(session, "command line", "user.created", subject=f"person-{no}", details={"role": [None, "read"]})
    seal(database)
    assert fault_of(database) is None
    tamper(database, statement)

    assert "position 2" in str(fault_of(database))


def test_events_of_writers_that_commit_out_of_order_are_all_sealed_once(database: Database) -> None:
    late_inserted, may_commit = threading.Event(), threading.Event()

    def commit_late() -> None:
        with database.transaction() as session:
            record_activity(session, "late", "user.created")
            late_inserted.set()
            may_commit.wait()

    late = threading.Thread(target=commit_late)
    late.start()
    late_inserted.wait()
    with database.transaction() as session:  # does not wait for the other writer
        record_activity(session, "early", "user.created")
    sealers = [threading.Thread(target=seal, args=(database,)) for _ in range(4)]
    for sealer in sealers:
        sealer.start()
    for sealer in sealers:
        sealer.join()
    may_commit.set()
    late.join()
    seal(database)
    with database.transaction() as session:
        sealed = [(event.actor, event.position, event.no) for event in read_sealed_events(session)]

    assert sealed == [("early", 1, 2), ("late", 2, 1)]
    assert fault_of(database) is None


def test_a_read_whose_event_cannot_be_stored_is_not_answered(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    with service.database.transaction() as session:
        session.execute(text("ALTER TABLE audit_events RENAME TO gone"))
    answers: list[httpx.Response] = [
        service.client.get(f"{ADDRESS}/payload-records"),
        service.client.patch(ADDRESS, json={"name": "Other"}),
    ]
    with service.database.transaction() as session:
        session.execute(text("ALTER TABLE gone RENAME TO audit_events"))

    assert all(answer.status_code >= 500 for answer in answers)
    assert service.client.get(ADDRESS).json()["name"] == "Credit risk"
