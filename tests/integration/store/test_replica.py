"""Pages read from a replica, and never less than was committed before they were asked for."""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from pydantic import SecretStr
from sqlalchemy import text
from structlog.testing import capture_logs

from app.database import engine as replicas
from app.database.engine import Database, Replica
from app.database.migrations import upgrade
from tests.builders.bodies import deployment
from tests.builders.standby import Pair, replicated_postgres
from tests.service import running_service

PATIENT = patch.multiple(replicas, PATIENCE_SECONDS=60.0, REPLICA_PAUSE_SECONDS=0.0)
"""A busy machine may take its time."""


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with replicated_postgres() as pair:
        database = Database(pair.primary.url)
        upgrade(database)
        with database.transaction() as session:
            session.execute(text("CREATE TABLE numbers (no int)"))
        database.close()
        yield pair


@pytest.fixture
def primary(pair: Pair) -> Iterator[Database]:
    database = Database(pair.primary.url)
    yield database
    database.close()


def read(replica: Replica) -> tuple[bool, int]:
    """Whether the replica answered, and the newest number that it sees."""
    with replica.transaction() as session:
        is_replica, newest = session.execute(text("SELECT pg_is_in_recovery(), (SELECT max(no) FROM numbers)")).one()
    return is_replica, newest


def add(database: Database, no: int) -> None:
    with database.transaction() as session:
        session.execute(text("INSERT INTO numbers VALUES (:no)"), {"no": no})


@pytest.mark.thorough
def test_a_reader_never_sees_less_than_was_committed_before(pair: Pair, primary: Database) -> None:
    replica = Replica(pair.replica.url, primary)
    with PATIENT:
        for no in range(50):
            add(primary, no)
            assert read(replica) == (True, no)

    pair.tell_replica("SELECT pg_wal_replay_pause()")
    add(primary, 50)
    with capture_logs() as lines:
        assert [read(replica), read(replica)] == [(False, 50)] * 2
    assert [line["event"] for line in lines] == ["replica_left"]
    pair.tell_replica("SELECT pg_wal_replay_resume()")
    with PATIENT, capture_logs() as lines, patch.object(replica, "_asked_again_at", 0.0):
        assert read(replica) == (True, 50)
    assert [line["event"] for line in lines] == ["replica_used"]
    replica.close()


@pytest.mark.thorough
def test_a_page_is_read_from_the_replica_and_its_audit_is_kept(pair: Pair, primary: Database, tmp_path: Path) -> None:
    asked, choose = [], Replica._choose  # noqa: SLF001 - what it chose is not shown

    def note(replica: Replica) -> Database:
        chosen = choose(replica)
        asked.append(chosen is not replica._primary)  # noqa: SLF001 - as above
        return chosen

    used = patch.object(Replica, "_choose", note)
    settings = {"database_replica_url": SecretStr(pair.replica.url)}
    with PATIENT, used, running_service(primary, tmp_path, **settings) as service:
        service.client.post("/v1/deployments", json=deployment()).raise_for_status()
        record = {"id": "r-1", "features": {"Age": 31, "Sex": "female", "Owner": True}, "prediction": 1, "label": "Risk"}
        body = {"records": [record]}
        service.client.post("/v1/deployments/credit-risk/payload-records", json=body).raise_for_status()
        assert asked == []
        assert "credit-risk" in service.client.get("/").raise_for_status().text
        assert "r-1" in service.client.get("/deployments/credit-risk/transactions").raise_for_status().text
        assert asked
        assert all(asked)
        events = service.client.get("/v1/audit-events", params={"action": "records.read"}).raise_for_status().json()["audit_events"]

    assert [event["route"] for event in events] == ["GET /deployments/{deployment_id}/transactions"]


@pytest.mark.thorough
def test_a_replica_that_is_gone_or_promoted_costs_no_page(pair: Pair, primary: Database) -> None:
    replica = Replica(pair.replica.url, primary)
    pair.tell_replica("SELECT pg_promote()")
    add(primary, 51)
    with PATIENT, patch.object(replicas, "PATIENCE_SECONDS", 0.0):
        assert read(replica) == (False, 51)
        pair.replica.stop()
        assert read(replica) == (False, 51)
    replica.close()
