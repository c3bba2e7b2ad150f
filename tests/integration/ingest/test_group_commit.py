import asyncio
import random
from collections import Counter
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from app.base.errors import NotFound, Unavailable
from app.database.engine import Database
from app.deployments.queries import Deployments
from app.domain.record import Receipt
from app.intake.logging.service import Ingestion
from app.intake.writing.group_commit import GroupCommit
from app.intake.writing.write_batches import RowsRefused, StaleTarget, WriteOutcome
from app.intake.writing.write_session import WriteSession
from tests.builders.batches import NOW, batch, make_target, request, with_commits, with_ingestions
from tests.builders.queries import rows
from tests.builders.writers import CUT_A_WRITER, held_up
from tests.integration.ingest.logging import stored_ids
from tests.scenes import PlainSealer


def test_concurrent_batches_share_commits(database: Database) -> None:
    targets = [make_target(database, name) for name in ("d", "e")]

    async def work(commits: GroupCommit) -> list[WriteOutcome]:
        return await asyncio.gather(*(commits.write(batch(targets[n % 2], f"r{n}")) for n in range(50)))

    outcomes = with_commits(database, work)

    assert outcomes == [WriteOutcome()] * 50
    assert len(stored_ids(database)) == 50
    assert rows(database, "SELECT count(DISTINCT logged_at) <= 3 FROM payload_keys") == [(True,)]


def test_an_id_that_two_clients_send_at_once_is_stored_once_and_each_is_told_the_truth(database: Database) -> None:
    target = make_target(database)

    async def work(commits: GroupCommit) -> list[WriteOutcome]:
        sent = [batch(target, "a", "b"), batch(target, "b", "c"), batch(target, "a", "d", features="[2]"), batch(target, "e")]
        return await asyncio.gather(*map(commits.write, sent))

    outcomes = with_commits(database, work)

    assert [(list(o.duplicates), list(o.conflicts)) for o in outcomes] == [([], []), ([0], []), ([], [0]), ([], [])]
    assert stored_ids(database) == ["a", "b", "c", "d", "e"]


def test_a_poisonous_batch_fails_alone(database: Database) -> None:
    target = make_target(database)

    async def work(commits: GroupCommit) -> list[Any]:
        sent = [batch(target, "a"), batch(target, "b", features="[no json"), batch(target, "c")]
        return await asyncio.gather(*map(commits.write, sent), return_exceptions=True)

    outcomes = with_commits(database, work)

    assert [type(outcome) for outcome in outcomes] == [WriteOutcome, RowsRefused, WriteOutcome]
    assert str(outcomes[1]) == "invalid input syntax for type json"  # and nothing of the row, which may be told and logged
    assert stored_ids(database) == ["a", "c"]


def test_a_batch_that_was_checked_against_an_older_deployment_is_handed_back_alone(database: Database) -> None:
    target = make_target(database)

    async def work(commits: GroupCommit) -> list[Any]:
        sent = [batch(target, "a"), batch(target, "b", row_version="1"), batch(target, "c")]
        return await asyncio.gather(*map(commits.write, sent), return_exceptions=True)

    outcomes = with_commits(database, work)

    assert [type(outcome) for outcome in outcomes] == [WriteOutcome, StaleTarget, WriteOutcome]
    assert stored_ids(database) == ["a", "c"]


def test_more_than_may_wait_is_turned_away_and_what_waits_is_still_written(database: Database) -> None:
    target = make_target(database)

    async def work(commits: GroupCommit) -> Counter[type]:
        with psycopg.connect(database.url) as blocker:  # an uncommitted record of the same id holds the first write up
            blocker.execute("INSERT INTO payload_keys (deployment_no, record_id, record_no) VALUES (%s, 'a', 0)", [target.no])
            writes = [asyncio.create_task(commits.write(batch(target, name, f"{name}2"))) for name in "a"]
            await held_up(blocker)
            writes += [asyncio.create_task(commits.write(batch(target, name, f"{name}2"))) for name in "bcdef"]
            await asyncio.sleep(0)
            blocker.rollback()
        return Counter(type(result) for result in await asyncio.gather(*writes, return_exceptions=True))

    found = with_commits(database, work, writers=1, pending_records=4)

    assert found == {WriteOutcome: 3, Unavailable: 3}
    assert len(stored_ids(database)) == 6


def test_a_write_that_another_process_holds_up_does_not_hold_up_the_others(database: Database) -> None:
    target = make_target(database)

    async def work(commits: GroupCommit) -> tuple[WriteOutcome, bool]:
        with psycopg.connect(database.url) as blocker:
            blocker.execute("INSERT INTO payload_keys (deployment_no, record_id, record_no) VALUES (%s, 'a', 0)", [target.no])
            held = asyncio.create_task(commits.write(batch(target, "a")))
            await held_up(blocker)
            free = await commits.write(batch(target, "b"))
            was_held = not held.done()
            blocker.rollback()
        await held
        return free, was_held

    assert with_commits(database, work) == (WriteOutcome(), True)


@pytest.mark.thorough
def test_services_side_by_side_store_each_id_once_and_their_receipts_add_up(database: Database) -> None:
    make_target(database)
    shuffled = random.Random(7)
    sent = [[f"r{shuffled.randrange(60)}" for _ in range(5)] for _ in range(120)]

    async def work(ingestions: list[Ingestion]) -> list[Receipt]:
        return await asyncio.gather(*(ingestions[n % 2].log_payload("d", request(*ids), now=NOW) for n, ids in enumerate(sent)))

    receipts = with_ingestions(database, 2, work)

    assert all((r.accepted + r.duplicate, r.rejected) == (5, 0) for r in receipts)
    assert sum(r.accepted for r in receipts) == len({name for ids in sent for name in ids}) == len(stored_ids(database))


@pytest.mark.thorough
def test_connections_that_are_cut_under_load_lose_and_double_nothing(database: Database) -> None:
    make_target(database)

    async def work(ingestions: list[Ingestion]) -> list[Receipt]:
        receipts: list[Receipt] = []

        async def client(number: int) -> None:
            for n in range(30):
                receipts.append(await ingestions[0].log_payload("d", request(f"{number}-{n}"), now=NOW))  # noqa: PERF401 - read as it grows

        clients = asyncio.gather(*map(client, range(16)))
        with psycopg.connect(database.url, autocommit=True) as killer:
            answered = -1
            while not clients.done():
                # By progress, not by the clock: on a busy machine every attempt of a write would be cut, and it would rightly give up.
                if len(receipts) > answered:
                    answered = len(receipts)
                    killer.execute(CUT_A_WRITER)
                await asyncio.sleep(0.02)
        await clients
        return receipts

    receipts = with_ingestions(database, 1, work)

    assert {(r.accepted, r.duplicate, r.rejected) for r in receipts} == {(1, 0, 0)}
    assert len(stored_ids(database)) == len(receipts) == 480


def test_a_deployment_that_is_deleted_under_load_leaves_no_record_behind(database: Database) -> None:
    make_target(database)

    async def work(ingestions: list[Ingestion]) -> list[str]:
        is_loaded = asyncio.Event()

        async def client(number: int) -> str:
            for n in range(10_000):
                try:
                    await ingestions[0].log_payload("d", request(f"{number}-{n}"), now=NOW)
                except NotFound:
                    return "not found"
                except Unavailable:
                    continue
                if n == 20:
                    is_loaded.set()
            return "never refused"

        clients = asyncio.gather(*map(client, range(8)))
        await is_loaded.wait()
        await asyncio.to_thread(_delete, database)
        return await clients

    assert with_ingestions(database, 1, work) == ["not found"] * 8
    assert rows(database, "SELECT (SELECT count(*) FROM payload_keys), (SELECT count(*) FROM payload_records)") == [(0, 0)]


def test_what_was_submitted_is_written_before_the_service_stops(database: Database) -> None:
    target = make_target(database)

    async def work(commits: GroupCommit) -> WriteOutcome:
        write = asyncio.create_task(commits.write(batch(target, "a")))
        await asyncio.sleep(0)
        await commits.stop()
        with pytest.raises(Unavailable):
            await commits.write(batch(target, "b"))
        return await write

    assert with_commits(database, work) == WriteOutcome()
    assert stored_ids(database) == ["a"]


def test_a_database_that_is_away_is_logged_once_and_once_when_it_is_back(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    target = make_target(database)
    opened = WriteSession.open

    async def refuse(_url: str, **_options: object) -> WriteSession:
        raise psycopg.OperationalError("connection refused")

    async def work(commits: GroupCommit) -> WriteOutcome:
        for name in "abcdefgh":
            with pytest.raises(Unavailable):
                await commits.write(batch(target, name))
        monkeypatch.setattr(WriteSession, "open", opened)
        return await commits.write(batch(target, "z"))

    monkeypatch.setattr("app.intake.writing.writer.PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(WriteSession, "open", refuse)
    with capture_logs() as lines:
        assert with_commits(database, work) == WriteOutcome()

    events = [(line["event"], line.get("reason"), line.get("failures")) for line in lines if line["event"].startswith("database_")]
    assert events == [("database_unreachable", "connection refused", None), ("database_reachable", None, 8)]


def _delete(database: Database) -> None:
    with database.transaction() as session:
        Deployments(session, PlainSealer()).delete("d")
