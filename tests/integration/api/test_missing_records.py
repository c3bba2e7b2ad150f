"""Records that Evenhand did not get: their senders say how many, and every check of these hours shows it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from app.access.principals import Role
from app.base.clock import HOUR, floor_to_hour
from app.database.tables import MissingRecordRow
from tests.builders.bodies import deployment
from tests.service import RunningService

ONE, OTHER = "0b9d6c1e-5f43-4d1a-9c55-3c8f5f0f9a71", "1c9d6c1e-5f43-4d1a-9c55-3c8f5f0f9a72"
NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)
PATH = "/v1/deployments/loans/missing-records"


@pytest.fixture(autouse=True)
def _loans(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment(id="loans")).raise_for_status()


def put(service: RunningService, sender: str, *hours: dict[str, Any], **others: Any) -> httpx.Response:  # noqa: ANN401 - members of a body
    return service.client.put(f"{PATH}/{sender}", json={"hours": list(hours), **others})


def hour(not_received: int, left_out: int = 0, *, at: datetime = NINE) -> dict[str, Any]:
    return {"hour": at.isoformat(), "not_received": not_received, "left_out": left_out}


def listed(service: RunningService, **query: str) -> list[dict[str, Any]]:
    answer = service.client.get(PATH, params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["hours"]
    return found


def test_totals_of_all_senders_are_added_and_the_same_message_counts_once(service: RunningService) -> None:
    for _ in range(3):
        assert put(service, ONE, hour(12, 90), sample_rate=0.1).status_code == 204
    assert put(service, OTHER, hour(3)).status_code == 204

    expected = {"not_received": 15, "left_out": 90, "lowest_rate": 0.1, "highest_rate": 0.1, "senders": 2}
    assert listed(service) == [{"hour": "2026-03-01T09:00:00Z", **expected}]


def test_a_message_that_comes_late_does_not_lower_a_total(service: RunningService) -> None:
    put(service, ONE, hour(12))
    put(service, ONE, hour(7))

    assert listed(service)[0]["not_received"] == 12


def test_hours_come_in_pages_newest_first(service: RunningService) -> None:
    put(service, ONE, *(hour(1 + n, at=NINE + n * HOUR) for n in range(5)))
    found, query = [], {"limit": "2"}
    while True:
        page = service.client.get(PATH, params=query).json()
        found += [one["not_received"] for one in page["hours"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]

    assert found == [5, 4, 3, 2, 1]
    assert [one["not_received"] for one in listed(service, since="2026-03-01T10:00:00Z", until="2026-03-01T12:00:00Z")] == [3, 2]


def test_a_message_that_cannot_be_true_is_refused_with_its_field(service: RunningService, subtests: pytest.Subtests) -> None:
    for body, field in (
        ({"hours": []}, "hours"),
        ({"hours": [hour(1, at=NINE + timedelta(minutes=1))]}, "hours[0].hour"),
        ({"hours": [hour(1), hour(2)]}, "hours[1].hour"),
        ({"hours": [hour(1, at=datetime(1999, 1, 1, tzinfo=UTC))]}, "hours[0].hour"),
        ({"hours": [hour(1, at=floor_to_hour(datetime.now(UTC)) + 30 * HOUR)]}, "hours[0].hour"),
        ({"hours": [hour(-1)]}, "hours[0].not_received"),
        ({"hours": [hour(1)], "sample_rate": 1.1}, "sample_rate"),
        ({"hours": [hour(1) | {"why": "?"}]}, "hours[0].why"),
    ):
        with subtests.test(body=body, field=field):
            answer = service.client.put(f"{PATH}/{ONE}", json=body)

            assert answer.status_code == 422
            assert field in [error["field"] for error in answer.json()["errors"]], answer.text


def test_a_key_that_may_log_may_say_so_and_not_read(service: RunningService) -> None:
    headers = service.as_(Role.INGEST)

    assert service.client.put(f"{PATH}/{ONE}", json={"hours": [hour(1)]}, headers=headers).status_code == 204
    assert service.client.get(PATH, headers=headers).status_code == 403


def test_they_go_with_their_deployment(service: RunningService) -> None:
    put(service, ONE, hour(1))
    service.client.delete("/v1/deployments/loans").raise_for_status()

    with service.database.transaction() as session:
        assert session.query(MissingRecordRow).count() == 0
