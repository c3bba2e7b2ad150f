"""Limits of API keys on logging records, and what keys use."""

import asyncio
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import httpx
import pytest

from app.access.keys import limit_keeper as key_limits
from app.access.keys.limit_keeper import LimitKeeper
from app.access.keys.queries import KeyLimits, find_key_use, put_limits
from app.base.errors import QuotaReached, RateReached, Unavailable
from app.database.engine import Database
from tests.progress import wait_until
from tests.service import RunningService

KEY = "k3v7m2qa"


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def keeper(database: Database, limits: KeyLimits, *, processes: int = 1) -> tuple[LimitKeeper, Clock]:
    clock = Clock()
    with database.transaction() as session:
        put_limits(session, KEY, limits)
    made = LimitKeeper(database, processes=processes, clock=clock)
    asyncio.run(made.sync())
    return made, clock


def test_requests_beyond_the_rate_are_refused_with_the_pause_and_others_are_not(database: Database) -> None:
    limits, clock = keeper(database, KeyLimits(requests_per_second=2))
    for _ in range(4):
        limits.admit_request(KEY, 100)
    with pytest.raises(RateReached, match="2 requests a second") as refused:
        limits.admit_request(KEY, 100)
    for _ in range(100):
        limits.admit_request("another0", 100)
    clock.seconds += refused.value.retry_after_seconds
    limits.admit_request(KEY, 100)

    assert refused.value.retry_after_seconds == 1


def test_each_of_several_processes_has_its_share_of_the_rate(database: Database) -> None:
    limits, _ = keeper(database, KeyLimits(requests_per_second=8), processes=4)
    for _ in range(4):
        limits.admit_request(KEY, 100)

    with pytest.raises(RateReached, match="8 requests a second"):
        limits.admit_request(KEY, 100)


def test_many_records_are_taken_once_and_paid_for_by_a_pause(database: Database) -> None:
    limits, clock = keeper(database, KeyLimits(records_per_second=100))
    limits.admit_request(KEY, 10)
    limits.note_stored(KEY, sent=1000, records=1000, size=10)
    with pytest.raises(RateReached, match="100 records a second") as refused:
        limits.admit_request(KEY, 10)
    clock.seconds = 8.0
    limits.admit_request(KEY, 10)

    assert refused.value.retry_after_seconds == 8


def test_the_storage_is_one_for_all_processes_and_survives_a_restart(database: Database) -> None:
    one, _ = keeper(database, KeyLimits(max_bytes=1000))
    other, _ = keeper(database, KeyLimits(max_bytes=1000))
    one.admit_request(KEY, 600)
    one.note_stored(KEY, sent=1, records=1, size=600)
    with pytest.raises(QuotaReached, match="600"):
        one.admit_request(KEY, 500)
    asyncio.run(one.sync())
    asyncio.run(other.sync())
    with pytest.raises(QuotaReached, match="600"):
        other.admit_request(KEY, 500)
    other.admit_request(KEY, 400)
    asyncio.run(other.sync())

    with database.transaction() as session:
        use = find_key_use(session)[KEY]
    assert (use.requests, use.records, use.bytes, use.refused) == (1, 1, 600, 2)


def test_use_that_could_not_be_stored_is_stored_later(database: Database) -> None:
    limits, _ = keeper(database, KeyLimits(max_bytes=1000))
    limits.note_stored(KEY, sent=2, records=2, size=5)
    with patch.object(Database, "transaction", side_effect=Unavailable("The database does not answer.")):
        asyncio.run(limits.sync())
    asyncio.run(limits.sync())

    with database.transaction() as session:
        assert find_key_use(session)[KEY].bytes == 5


@pytest.fixture
def synchronised() -> Iterator[None]:
    """Limits apply at once, and use is stored at once."""
    with patch.object(key_limits, "SYNC_SECONDS", 0.01):
        yield


@pytest.mark.usefixtures("synchronised")
def test_callers_are_answered_with_the_limit_and_the_pause(service: RunningService) -> None:
    body: dict[str, Any] = {
        "id": "m",
        "name": "M",
        "problem_type": "binary",
        "features": [{"name": "a", "type": "number"}],
        "outputs": {"prediction": "p"},
        "model_revision": "1",
    }
    service.client.post("/v1/deployments", json=body).raise_for_status()
    key = service.client.post("/v1/api-keys", json={"name": "sender", "role": "ingest"}).json()
    address = f"/v1/api-keys/{key['id']}/limits"

    def send() -> httpx.Response:
        records = {"records": [{"features": {"a": 1}, "prediction": 1}]}
        return service.client.post("/v1/deployments/m/payload-records", json=records, headers={"Authorization": f"Bearer {key['key']}"})

    def used() -> dict[str, Any]:
        found: dict[str, Any] = {key["key_id"]: key for key in service.client.get("/v1/key-use").json()["keys"]}[key["id"]]
        return found

    assert send().status_code == 200
    shown = service.client.put(address, json={"max_bytes": 1}).json()
    refused: list[httpx.Response] = []

    def is_refused() -> bool:
        refused[:] = [send()]
        return refused[0].is_error

    wait_until(is_refused, "the storage applies")
    full = refused[0]
    service.client.put(address, json={"requests_per_second": 0.01}).raise_for_status()
    wait_until(lambda: send().status_code != 507, "the storage is lifted")
    wait_until(is_refused, "the rate applies")

    assert shown["max_bytes"] == 1
    assert (full.status_code, full.json()["type"]) == (507, "urn:evenhand:problem:quota-reached")
    assert "Retry-After" in full.headers
    assert (refused[0].status_code, refused[0].json()["type"]) == (429, "urn:evenhand:problem:rate-reached")
    assert 1 <= int(refused[0].headers["Retry-After"]) <= 100
    wait_until(lambda: used()["refused"] >= 2, "the refusals are stored")
    # One look: the numbers of two looks may be of different moments.
    seen = used()
    assert seen["records"] == seen["requests"] >= 2
    assert seen["limits"]["requests_per_second"] == 0.01
    assert service.client.put("/v1/api-keys/aaaaaaaa/limits", json={}).status_code == 404
    assert service.client.put(address, json={"max_bytes": -1}).status_code == 422


def test_a_rotated_key_hands_its_limits_to_its_successor(service: RunningService) -> None:
    made = service.client.post("/v1/api-keys", json={"name": "batch", "role": "ingest"}).raise_for_status().json()
    limits = {"requests_per_second": 20.0, "records_per_second": 5000.0, "max_bytes": None}
    service.client.put(f"/v1/api-keys/{made['id']}/limits", json=limits).raise_for_status()
    rotated = service.client.post(f"/v1/api-keys/{made['id']}/rotations", json={"overlap_hours": 1}).raise_for_status().json()

    assert service.client.get(f"/v1/api-keys/{rotated['new']['id']}/limits").raise_for_status().json() == limits
