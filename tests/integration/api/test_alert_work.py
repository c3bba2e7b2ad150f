"""Work on alerts over HTTP: several acknowledged at once, who is assigned, comments, and a reader's right to all of that."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.access.principals import Role
from app.database.engine import Database
from tests.builders.alert_history import History
from tests.builders.bodies import deployment
from tests.scenes import SceneMemory
from tests.service import RunningService, running_service

UNKNOWN = "00000000-0000-4000-8000-000000000000"
A_PASSWORD = "a long password of ours"  # noqa: S105 - of nobody


@pytest.fixture
def history(database: Database, memory: SceneMemory) -> History:
    """Alerts about two groups."""

    def make() -> History:
        history = History(database)
        history.ends(0, {"female": "unfair", "other": "unfair"})
        history.evaluate()
        return history

    return memory.recall(database, make)


@pytest.fixture
def service(history: History, tmp_path: Path) -> Iterator[RunningService]:
    """The service on these alerts, with a second deployment, a reader and one who is disabled or bound elsewhere."""
    with running_service(history.database, tmp_path) as service:
        service.client.post("/v1/deployments", json=deployment()).raise_for_status()
        for user in ({"name": "ada"}, {"name": "gone"}, {"name": "bound", "deployment_id": "credit-risk"}):
            service.client.post("/v1/users", json={"role": "read", "password": A_PASSWORD} | user).raise_for_status()
        service.client.patch("/v1/users/gone", json={"disabled": True}).raise_for_status()
        yield service


def acknowledge(service: RunningService, ids: list[str], **request: Any) -> httpx.Response:  # noqa: ANN401 - httpx' own
    return service.client.post("/v1/alert-acknowledgements", json={"alerts": ids, "note": " On it. "}, **request)


def activities(history: History, action: str) -> list[str]:
    with history.database.transaction() as session:
        return list(session.scalars(text("SELECT subject FROM activities WHERE action = :action ORDER BY no"), {"action": action}))


def test_several_alerts_are_acknowledged_by_one_request_and_again_changes_nothing(service: RunningService, history: History) -> None:
    ids = [alert.id for alert in history.alerts()]
    first = acknowledge(service, [*reversed(ids), ids[0]])
    second = acknowledge(service, ids, headers=service.as_(Role.MANAGE))

    body = first.raise_for_status().json()
    assert (body["changed"], [one["id"] for one in body["alerts"]]) == (2, [*reversed(ids), ids[0]])
    assert {(one["state"], one["note"]) for one in body["alerts"]} == {("acknowledged", "On it.")}
    assert {one["assignee"] for one in body["alerts"]} == {body["alerts"][0]["acknowledged_by"]}
    assert (second.json()["changed"], {one["acknowledged_by"] for one in second.json()["alerts"]}) == (
        0,
        {body["alerts"][0]["acknowledged_by"]},
    )
    assert activities(history, "alert.acknowledged") == ids


def test_an_alert_that_was_resolved_meanwhile_is_left_as_it_is(service: RunningService, history: History) -> None:
    ids = [alert.id for alert in history.alerts()]
    history.ends(1, {"female": "fair"})
    history.evaluate()
    body = acknowledge(service, ids).raise_for_status().json()

    assert (body["changed"], [one["state"] for one in body["alerts"]]) == (1, ["resolved", "acknowledged"])


def test_all_alerts_are_acknowledged_or_none(service: RunningService, history: History) -> None:
    known = history.alerts()[0].id
    refused = acknowledge(service, [known, UNKNOWN])
    elsewhere = acknowledge(service, [known], headers=service.as_(Role.READ, other_no(history)))

    assert [(answer.status_code, answer.json()["errors"][0]["field"]) for answer in (refused, elsewhere)] == [
        (422, "alerts[1]"),
        (422, "alerts[0]"),
    ]
    assert history.alerts()[0].acknowledged_at is None
    assert acknowledge(service, []).status_code == 422
    assert acknowledge(service, [known] * 501).status_code == 422


def test_who_may_read_acknowledges_and_who_logs_does_not(service: RunningService, history: History) -> None:
    alert = history.alerts()[0]

    assert acknowledge(service, [alert.id], headers=service.as_(Role.INGEST)).status_code == 403
    assert acknowledge(service, [alert.id], headers=service.as_(Role.READ)).json()["changed"] == 1


def test_an_alert_is_assigned_to_a_person_and_to_nobody(service: RunningService, history: History) -> None:
    address = f"/v1/alerts/{history.alerts()[0].id}/assignment"
    first = service.client.put(address, json={"assignee": "user:ada"}).raise_for_status().json()
    again = service.client.put(address, json={"assignee": "user:ada"}).raise_for_status().json()
    nobody = service.client.put(address, json={"assignee": None}).raise_for_status().json()
    own = service.client.put(address, json={"assignee": service.client.get("/v1/me").json()["actor"]})

    assert (first["assignee"], first["state"], again) == ("user:ada", "open", first)
    assert (nobody["assignee"], nobody["assigned_at"]) == (None, None)
    assert own.status_code == 200
    assert len(activities(history, "alert.assigned")) == 3


def test_an_alert_is_assigned_only_to_users_who_may_acknowledge_it(
    service: RunningService, history: History, subtests: pytest.Subtests
) -> None:
    for assignee in ("user:nobody", "user:gone", "user:bound", "ada", "user:", "", 7):
        with subtests.test(assignee=assignee):
            answer = service.client.put(f"/v1/alerts/{history.alerts()[0].id}/assignment", json={"assignee": assignee})

            assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "assignee")


def test_who_acknowledges_works_on_it_unless_somebody_else_does(service: RunningService, history: History) -> None:
    first, second = (alert.id for alert in history.alerts())
    service.client.put(f"/v1/alerts/{first}/assignment", json={"assignee": "user:ada"}).raise_for_status()
    taken = [service.client.post(f"/v1/alerts/{one}/acknowledgement").json() for one in (first, second)]

    assert [one["assignee"] for one in taken] == ["user:ada", taken[1]["acknowledged_by"]]


def test_a_resolved_alert_is_assigned_to_nobody_else(service: RunningService, history: History) -> None:
    alert = history.alerts()[0].id
    service.client.put(f"/v1/alerts/{alert}/assignment", json={"assignee": "user:ada"}).raise_for_status()
    history.ends(1, {"female": "fair"})
    history.evaluate()

    assert service.client.put(f"/v1/alerts/{alert}/assignment", json={"assignee": "user:ada"}).status_code == 200
    assert service.client.put(f"/v1/alerts/{alert}/assignment", json={"assignee": None}).status_code == 409


def test_several_alerts_are_assigned_by_one_request_all_or_none(service: RunningService, history: History) -> None:
    ids = [alert.id for alert in history.alerts()]

    def assign(assignee: object, alerts: list[str]) -> httpx.Response:
        return service.client.post("/v1/alert-assignments", json={"alerts": alerts, "assignee": assignee})

    refused = [assign("user:gone", ids), assign("user:ada", [*ids, UNKNOWN])]
    first, again, nobody = assign("user:ada", ids), assign("user:ada", ids), assign(None, ids[:1])

    assert [answer.json()["errors"][0]["field"] for answer in refused] == ["assignee", "alerts[2]"]
    assert [answer.json()["changed"] for answer in (first, again, nobody)] == [2, 0, 1]
    assert [alert.assignee for alert in history.alerts()] == [None, "user:ada"]


def test_several_alerts_are_closed_only_with_evidence_and_a_note_by_those_who_manage(service: RunningService, history: History) -> None:
    ids = [alert.id for alert in history.alerts()]

    def close(note: str, **request: Any) -> httpx.Response:  # noqa: ANN401 - httpx' own
        return service.client.post("/v1/alert-closures", json={"alerts": ids, "note": note}, **request)

    without_evidence = close("Known.")
    history.execute("UPDATE alert_figures SET kind = 'evidence'")
    blank, forbidden = close(" "), close("Known.", headers=service.as_(Role.READ))
    closed, again = close("Known."), close("Another note.")

    assert [answer.status_code for answer in (without_evidence, blank, forbidden)] == [409, 422, 403]
    assert [answer.json()["changed"] for answer in (closed, again)] == [2, 0]
    assert {(alert.resolution, alert.closing_note) for alert in history.alerts()} == {("closed", "Known.")}
    assert activities(history, "alert.closed") == ids


def test_comments_are_listed_oldest_first_and_stored_once(service: RunningService, history: History) -> None:
    base = f"/v1/alerts/{history.alerts()[0].id}/comments"
    ids = [str(uuid.uuid4()) for _ in range(3)]
    for no, id_ in enumerate(ids):
        for _ in range(2):
            service.client.put(f"{base}/{id_}", json={"text": f" Line {no}.\nMore. "}).raise_for_status()
    page = service.client.get(base, params={"limit": 2}).json()
    rest = service.client.get(base, params={"limit": 2, "cursor": page["next_cursor"]}).json()

    assert [comment["text"] for comment in (*page["comments"], *rest["comments"])] == [f"Line {no}.\nMore." for no in range(3)]
    assert (page["comments"][0]["author"], rest["next_cursor"]) == (service.client.get("/v1/me").json()["actor"], None)
    assert len(activities(history, "alert.commented")) == 3


def test_a_comment_with_the_id_of_another_or_without_words_is_refused(service: RunningService, history: History) -> None:
    address = f"/v1/alerts/{history.alerts()[0].id}/comments/{uuid.uuid4()}"
    service.client.put(address, json={"text": "First."}).raise_for_status()

    assert service.client.put(address, json={"text": "Second."}).status_code == 409
    assert service.client.put(address, json={"text": "First."}, headers=service.as_(Role.MANAGE)).status_code == 409
    for words in ("", "  ", "a\u0007b", "x" * 10_001):
        answer = service.client.put(address, json={"text": words})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "text")
    assert service.client.put(f"/v1/alerts/{UNKNOWN}/comments/{UNKNOWN}", json={"text": "x"}).status_code == 404
    assert service.client.get(f"/v1/alerts/{UNKNOWN}/comments").status_code == 404


def other_no(history: History) -> int:
    with history.database.transaction() as session:
        return int(session.scalars(text("SELECT no FROM deployments WHERE id = 'credit-risk'")).one())
