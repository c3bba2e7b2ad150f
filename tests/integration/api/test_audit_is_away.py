"""An audit event that cannot be stored: nothing is read, exported or changed without it, and refusals are sent all the same."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from app.access.principals import Role
from tests.builders.bodies import deployment
from tests.service import RunningService

PATH = "/v1/deployments/credit-risk"
RECORD = {"id": "canary", "features": {"Age": 30, "Sex": "female", "Owner": None}, "prediction": 1, "probability": 0.2, "label": "Risk"}


@contextmanager
def _no_events(service: RunningService) -> Iterator[None]:
    with service.database.engine.begin() as connection:
        connection.execute(text("ALTER TABLE audit_events ADD CONSTRAINT nothing CHECK (false) NOT VALID"))
    try:
        yield
    finally:
        with service.database.engine.begin() as connection:
            connection.execute(text("ALTER TABLE audit_events DROP CONSTRAINT nothing"))


@pytest.fixture
def away(service: RunningService) -> Iterator[RunningService]:
    """A service with a record, whose audit takes no events."""
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    service.client.post(f"{PATH}/payload-records", json={"records": [RECORD]}).raise_for_status()
    with _no_events(service):
        yield service


def test_records_are_neither_read_nor_exported(away: RunningService, subtests: pytest.Subtests) -> None:
    for path in ("/payload-records", "/payload-records/canary", "/payload-records.csv", "/logging-snippets"):
        with subtests.test(path=path):
            answer = away.client.get(f"{PATH}{path}")

            assert answer.status_code == 503
            assert answer.headers["content-type"] == "application/problem+json"
            assert "audit event" in answer.json()["detail"]
            assert "canary" not in answer.text.replace("/payload-records/canary", "")


def test_nothing_is_changed(away: RunningService) -> None:
    answers = [
        away.client.patch(PATH, json={"name": "Another"}),
        away.client.post("/v1/api-keys", json={"name": "k", "role": "read"}),
        away.client.delete(PATH),
    ]
    with away.database.transaction() as session:
        keys = session.scalar(text("SELECT count(*) FROM api_keys WHERE name = 'k'"))

    assert [answer.status_code for answer in answers] == [503, 503, 503]
    assert all("audit event" in answer.json()["detail"] for answer in answers)
    assert away.client.get(PATH).json()["name"] == "Credit risk"
    assert keys == 0


def test_no_session_begins(away: RunningService) -> None:
    with away.new_client(headers={"Sec-Fetch-Site": "same-origin"}) as browser:
        answer = browser.post("/login", data={"key": away.key(Role.READ)})

    assert answer.status_code == 503
    assert "evenhand_session" not in answer.cookies


def test_refusals_and_figures_are_sent(away: RunningService) -> None:
    assert away.client.get("/v1/api-keys", headers=away.as_(Role.READ)).status_code == 403
    assert away.client.get(PATH, headers={"Authorization": "Bearer evk_short"}).status_code == 401
    assert away.client.get(f"{PATH}/checks").status_code == 200


def test_records_are_logged_without_events(away: RunningService) -> None:
    answer = away.client.post(f"{PATH}/payload-records", json={"records": [{**RECORD, "id": "second"}]})

    assert answer.json()["accepted"] == 1
