"""The overview over HTTP: what a key may see, cursors, and what is refused. Its order and states are tested beside the view."""

import base64

import pytest
from sqlalchemy import select

from app.access.principals import Role
from app.database.tables import DeploymentRow
from tests.builders.bodies import deployment, monitor
from tests.service import RunningService

PATH = "/v1/overview"


@pytest.fixture
def three(service: RunningService) -> RunningService:
    """The service with three deployments, the second of them watched."""
    for no in range(3):
        service.client.post("/v1/deployments", json=deployment(id=f"model-{no}", name=f"Größe {no}")).raise_for_status()
    service.client.put("/v1/deployments/model-1/fairness-monitor", json=monitor()).raise_for_status()
    return service


def test_an_empty_installation_is_told_what_to_do(service: RunningService) -> None:
    answer = service.client.get(PATH).json()

    assert (answer["deployments"], answer["next_cursor"]) == ([], None)
    assert answer["next_step"].startswith("No deployment is registered yet")


def test_every_deployment_stands_there_with_what_to_do_next(three: RunningService) -> None:
    answer = three.client.get(PATH).json()

    assert [(one["id"], one["state"]) for one in answer["deployments"]] == [
        ("model-1", "waiting"),
        ("model-0", "no_monitor"),
        ("model-2", "no_monitor"),
    ]
    assert answer["deployments"][0] == {
        "id": "model-1",
        "name": "Größe 1",
        "owner": None,
        "state": "waiting",
        "cause": "no_records",
        "reason": "No check has ended yet: no payload record was ever logged.",
        "next_step": "Log payload records: what the model is asked and what it answers. Configure has code for it.",
        "worst": None,
        "groups": 0,
        "notes": [],
        "judged_groups": 0,
        "trend": [],
        "last_check": None,
        "records_last_hour": 0,
        "open_alerts": 0,
        "evidence": None,
    }
    assert (answer["states"]["no_monitor"], answer["states"]["waiting"], answer["states"]["unfair"]) == (2, 1, 0)


def test_pages_hold_every_deployment_once(three: RunningService, subtests: pytest.Subtests) -> None:
    for sort in ("severity", "name", "last_check"):
        with subtests.test(sort=sort):
            found, cursor = [], None
            while cursor or not found:
                page = three.client.get(PATH, params={"sort": sort, "limit": 1} | ({"cursor": cursor} if cursor else {})).json()
                found, cursor = found + [one["id"] for one in page["deployments"]], page["next_cursor"]

            assert sorted(found) == ["model-0", "model-1", "model-2"]


def test_filters_leave_what_they_say(three: RunningService) -> None:
    filters = [{"state": ["waiting", "fair"]}, {"text": "GRÖSSE 2"}, {"text": "model-0", "state": "no_monitor"}, {"text": "%"}]

    found = [[one["id"] for one in three.client.get(PATH, params=wanted).json()["deployments"]] for wanted in filters]  # type: ignore[arg-type]

    assert found == [["model-1"], ["model-2"], ["model-0"], []]


def test_a_bound_key_sees_its_deployment_only_and_a_key_that_only_logs_nothing(three: RunningService) -> None:
    with three.database.transaction() as session:
        no = session.scalars(select(DeploymentRow.no).where(DeploymentRow.id == "model-2")).one()

    answer = three.client.get(PATH, headers=three.as_(Role.READ, no)).json()

    assert [one["id"] for one in answer["deployments"]] == ["model-2"]
    assert sum(answer["states"].values()) == 1
    assert three.client.get(PATH, headers=three.as_(Role.INGEST)).status_code == 403


def test_what_cannot_be_understood_is_refused(three: RunningService, subtests: pytest.Subtests) -> None:
    for parameters in (
        {"sort": "worst"},
        {"state": "good"},
        {"cursor": "x"},
        {"cursor": base64.urlsafe_b64encode(b'["name",0,0,"a",1]').decode()},
        {"sort": "name", "cursor": base64.urlsafe_b64encode(b'["name",0,0,7,1]').decode()},
        {"limit": 0},
        {"text": "x" * 201},
    ):
        with subtests.test(parameters=parameters):
            assert three.client.get(PATH, params=parameters).status_code == 422


def test_any_text_may_be_looked_for(three: RunningService, subtests: pytest.Subtests) -> None:
    for text in ("\0", "'; DROP TABLE deployments; --", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "%s", "ß"):
        with subtests.test(text=text):
            assert three.client.get(PATH, params={"text": text}).status_code == 200
