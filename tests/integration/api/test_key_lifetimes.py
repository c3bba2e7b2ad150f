"""Keys that expire, the moment of their last use, and rotation with an overlap."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, text

from app.access import authenticator
from app.access.authenticator import Authenticator
from app.access.keys.queries import USE_NOTE_INTERVAL, create_key, get_key, note_key_use, read_key_id
from app.access.principals import Role
from app.access.users.browser_sessions import log_in_with_key
from app.base.errors import Forbidden, Unauthenticated
from app.database.engine import Database
from app.database.tables import ActivityRow, ApiKeyRow
from tests.builders.statements import counted
from tests.service import RunningService


def _make(database: Database, **options: object) -> str:
    with database.transaction() as session:
        return create_key(session, role=Role.READ, name="k", **options)  # type: ignore[arg-type]


def _set(database: Database, column: str, value: datetime) -> None:
    with database.transaction() as session:
        session.execute(text(f"UPDATE api_keys SET {column} = :value"), {"value": value})  # noqa: S608 - names of columns written here


def _last_used(database: Database) -> datetime | None:
    with database.transaction() as session:
        return session.scalar(select(ApiKeyRow.last_used_at))


def test_an_expired_key_is_refused_with_the_moment_at_which_it_expired(service: RunningService) -> None:
    made = service.client.post("/v1/api-keys", json={"name": "k", "role": "read", "expires_at": "2030-01-31T00:00:00Z"}).json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    before = service.client.get("/v1/me", headers=headers).status_code
    with service.database.transaction() as session:
        session.execute(text("UPDATE api_keys SET expires_at = '2026-01-31T12:00:00Z' WHERE id = :id"), {"id": made["id"]})

    with service.new_client() as other:  # another process, whose cache is empty
        with pytest.raises(Unauthenticated, match=r"expired at 2026-01-31 12:00:00 UTC"):
            asyncio.run(Authenticator(service.database).authenticate(headers["Authorization"]))
        page = other.post("/login", data={"key": made["key"]}, headers={"Sec-Fetch-Site": "same-origin"})

    assert before == 200
    assert (page.status_code, "expired at 2026-01-31" in page.text) == (401, True)
    assert made["expires_at"] == "2030-01-31T00:00:00Z"


def test_a_cached_key_is_not_believed_beyond_its_end(database: Database) -> None:
    seconds = [100.0]
    asker = Authenticator(database, clock=lambda: seconds[0])
    key = _make(database, expires_at=datetime.now(UTC) + timedelta(seconds=3))
    asyncio.run(asker.authenticate(f"Bearer {key}"))
    _set(database, "expires_at", datetime.now(UTC) - timedelta(seconds=1))

    seconds[0] = 103.1

    with pytest.raises(Unauthenticated, match="expired"):
        asyncio.run(asker.authenticate(f"Bearer {key}"))


def test_the_session_of_a_key_ends_with_the_key(service: RunningService) -> None:
    key = _make(service.database)
    with service.database.transaction() as session:
        token = log_in_with_key(session, key, address="")
    _set(service.database, "expires_at", datetime.now(UTC) - timedelta(seconds=1))

    with service.new_client(cookies={"evenhand_session": token}) as browser:
        assert browser.get("/v1/me").status_code == 401


def test_an_end_that_makes_no_sense_is_refused(service: RunningService, subtests: pytest.Subtests) -> None:
    for expires_at in ("2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "tomorrow", "9999-12-31T23:59:59-14:00"):
        with subtests.test(expires_at=expires_at):
            answer = service.client.post("/v1/api-keys", json={"name": "k", "role": "read", "expires_at": expires_at})

            assert answer.status_code == 422
            assert [problem["field"] for problem in answer.json()["errors"]] == ["expires_at"]


def test_last_use_is_written_at_most_once_a_minute_for_a_key(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [0.0]
    asker = Authenticator(database, clock=lambda: seconds[0])
    key = _make(database)
    unused = _last_used(database)
    asyncio.run(asker.authenticate(f"Bearer {key}"))
    first = _last_used(database)
    for _ in range(100):
        asyncio.run(asker.authenticate(f"Bearer {key}"))
    for _ in range(5):
        seconds[0] += 5
        asyncio.run(asker.authenticate(f"Bearer {key}"))
    within_a_minute = _last_used(database)
    _set(database, "last_used_at", datetime.now(UTC) - USE_NOTE_INTERVAL)
    seconds[0] += 5

    with counted(monkeypatch) as statements:
        asyncio.run(asker.authenticate(f"Bearer {key}"))

    assert unused is None
    assert first is not None
    assert first == within_a_minute
    assert datetime.now(UTC) - (_last_used(database) or datetime.min.replace(tzinfo=UTC)) < timedelta(minutes=1)
    assert not statements  # look-ups are not counted, and nothing is written outside of one


def test_a_key_ends_by_the_databases_clock_and_its_use_is_noted_after_a_clock_that_was_ahead(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, now = _make(database), datetime.now(UTC)
    _set(database, "last_used_at", now + timedelta(days=3))
    asyncio.run(Authenticator(database).authenticate(f"Bearer {key}"))
    assert (_last_used(database) or now) < now + timedelta(hours=1)

    _set(database, "expires_at", now)
    monkeypatch.setattr(authenticator, "utc_now", lambda: now - timedelta(days=3))
    with pytest.raises(Unauthenticated, match="expired"):
        asyncio.run(Authenticator(database).authenticate(f"Bearer {key}"))


def test_two_processes_store_one_use(database: Database) -> None:
    key = _make(database)
    with database.transaction() as session:
        stored = get_key(session, str(read_key_id(key)))
    now = datetime.now(UTC)

    for moment in (now, now + timedelta(seconds=30)):
        with database.transaction() as session:
            note_key_use(session, stored, now=moment)

    assert _last_used(database) == now


def test_a_database_that_takes_no_writes_still_lets_keys_in(database: Database) -> None:
    key = _make(database)
    with database.engine.begin() as connection:
        connection.execute(text("CREATE RULE no_writes AS ON UPDATE TO api_keys DO INSTEAD SELECT 1 / 0"))
    try:
        found = asyncio.run(Authenticator(database).authenticate(f"Bearer {key}"))
    finally:
        with database.engine.begin() as connection:
            connection.execute(text("DROP RULE no_writes ON api_keys"))

    assert found.role is Role.READ
    assert _last_used(database) is None


def test_a_rotated_key_works_until_the_overlap_is_over_and_its_successor_like_it(service: RunningService) -> None:
    made = service.client.post("/v1/api-keys", json={"name": "scorer", "role": "manage"}).json()

    rotated = service.client.post(f"/v1/api-keys/{made['id']}/rotations", json={"overlap_hours": 2})
    old, new = rotated.json()["old"], rotated.json()["new"]
    again = service.client.post(f"/v1/api-keys/{made['id']}/rotations", json={})

    assert rotated.status_code == 201
    assert {name: new[name] for name in ("name", "role", "deployment_id", "replaces", "expires_at")} == {
        "name": "scorer",
        "role": "manage",
        "deployment_id": None,
        "replaces": made["id"],
        "expires_at": None,
    }
    left = datetime.fromisoformat(old["expires_at"]) - datetime.now(UTC)
    assert timedelta(hours=1, minutes=55) < left <= timedelta(hours=2)
    for key in (made["key"], new["key"]):
        assert service.client.get("/v1/me", headers={"Authorization": f"Bearer {key}"}).status_code == 200
    assert (again.status_code, new["id"] in again.json()["detail"]) == (409, True)
    with service.database.transaction() as session:
        noted = session.execute(select(ActivityRow.subject, ActivityRow.details).where(ActivityRow.action == "api_key.rotated")).one()
        audited = session.scalar(text("SELECT count(*) FROM audit_events WHERE action = 'api_key.rotated'"))
    assert (noted.subject, noted.details["new_key"], audited) == (made["id"], new["id"], 1)
    assert new["key"] not in str(noted.details)


def test_a_new_key_lives_as_long_as_the_old_one_was_to_and_an_overlap_makes_no_key_live_longer(service: RunningService) -> None:
    end = datetime.now(UTC) + timedelta(days=1)
    made = service.client.post("/v1/api-keys", json={"name": "k", "role": "read", "expires_at": end.isoformat()}).json()

    rotated = service.client.post(f"/v1/api-keys/{made['id']}/rotations", json={"overlap_hours": 24 * 60}).json()

    assert datetime.fromisoformat(rotated["old"]["expires_at"]) == end
    assert abs(datetime.fromisoformat(rotated["new"]["expires_at"]) - end) < timedelta(minutes=5)


def test_a_key_that_is_over_is_not_rotated(service: RunningService) -> None:
    made = service.client.post("/v1/api-keys", json={"name": "k", "role": "read"}).json()
    service.client.delete(f"/v1/api-keys/{made['id']}")

    answer = service.client.post(f"/v1/api-keys/{made['id']}/rotations", json={})

    assert (answer.status_code, "revoked" in answer.json()["detail"]) == (409, True)
    assert service.client.post("/v1/api-keys/aaaaaaaa/rotations", json={}).status_code == 404
    assert service.client.post(f"/v1/api-keys/{made['id']}/rotations", json={"overlap_hours": 99_999}).status_code == 422


def test_a_lost_successor_is_revoked_and_the_key_rotated_again(service: RunningService) -> None:
    made = service.client.post("/v1/api-keys", json={"name": "k", "role": "read"}).json()
    lost = service.client.post(f"/v1/api-keys/{made['id']}/rotations", json={}).json()["new"]["id"]
    service.client.delete(f"/v1/api-keys/{lost}")

    assert service.client.post(f"/v1/api-keys/{made['id']}/rotations", json={}).status_code == 201


def test_a_key_without_the_permission_to_read_may_still_not_log_in(service: RunningService) -> None:
    with service.database.transaction() as session, pytest.raises(Forbidden):
        log_in_with_key(session, service.key(Role.INGEST), address="")
