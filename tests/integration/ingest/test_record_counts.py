"""The numbers of records by minute equal the records, whatever clients, connections, people and the scheduler do."""

import asyncio
import random
import threading
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from app.base.clock import utc_now
from app.database.engine import Database
from app.database.partitions import ensure_months
from app.intake.writing.group_commit import GroupCommit
from app.intake.writing.write_batches import WriteOutcome
from app.sources.stored import window_queries as counts
from app.sources.stored.window_queries import fold_counts
from tests.builders.batches import batch, make_target, with_commits
from tests.builders.bodies import deployment
from tests.builders.queries import rows
from tests.builders.writers import CUT_A_WRITER
from tests.integration.ingest.logging import log_payload, record
from tests.service import RunningService

_COUNTED = "SELECT minute, deployment_no, sum(records) FROM record_counts GROUP BY 1, 2 ORDER BY 1, 2"
_STORED = """
    SELECT date_trunc('minute', logged_at), deployment_no, count(*) FROM payload_records
    WHERE logged_at > now() - interval '2 hours' GROUP BY 1, 2 ORDER BY 1, 2
"""


def counted(database: Database) -> list[Any]:
    """The sums, by minute and deployment, after a look whether the records give the same."""
    found, stored = rows(database, _COUNTED), rows(database, _STORED)
    assert found == stored
    return found


def total(database: Database) -> int:
    return sum(records for _, _, records in counted(database))


def fold(database: Database) -> None:
    with database.transaction() as session:
        fold_counts(session)


def age(database: Database, *, by: timedelta) -> None:
    """Moves all records and their counts into the past."""
    past = utc_now() - by
    with database.transaction() as session:
        ensure_months(session, [(past.year, past.month)])
        session.execute(text("UPDATE payload_records SET logged_at = logged_at - CAST(:by AS interval)"), {"by": by})
        session.execute(text("UPDATE record_counts SET minute = minute - CAST(:by AS interval)"), {"by": by})


def test_every_accepted_record_is_counted_once_and_no_other(service: RunningService) -> None:
    log_payload(service, record(id="a"), record(id="b"))
    log_payload(service, record(id="a"), record(id="c"), record(id="c"))
    service.client.post("/v1/deployments/credit-risk/payload-records", json={"records": [record(id="a", prediction=0)]})
    service.client.post("/v1/deployments/credit-risk/payload-records", json={"records": [record(features={"Age": 1})]})

    assert total(service.database) == 3


def test_records_of_an_import_count_in_their_own_minutes_and_those_of_long_ago_do_not(service: RunningService) -> None:
    now = utc_now()
    ages = [timedelta(minutes=1), timedelta(minutes=1), timedelta(minutes=50), timedelta(hours=5), timedelta(days=400)]
    sent = [record(id=str(no), scored_at=(now - ago).isoformat()) for no, ago in enumerate(ages)]
    log_payload(service, *sent, historical="true")
    again = log_payload(service, *sent, record(id="new", scored_at=(now - ages[2]).isoformat()), historical="true")

    assert (again["accepted"], again["duplicate"]) == (1, 5)
    assert total(service.database) == 4


@pytest.mark.thorough
def test_random_writes_with_repeated_ids_imports_and_folds_in_between_leave_equal_numbers(service: RunningService) -> None:
    chance, now = random.Random(11), utc_now()
    service.client.post("/v1/deployments", json=deployment(id="other")).raise_for_status()
    for _ in range(40):
        path = f"/v1/deployments/{chance.choice(['credit-risk', 'other'])}/payload-records"
        historical = chance.random() < 0.4
        sent = []
        for _ in range(chance.randrange(1, 9)):
            one = record(id=f"r{chance.randrange(120)}")
            ago = timedelta(minutes=chance.choice([0, 1, 2, 59, 90, 3000]))
            sent.append(one | {"scored_at": (now - ago).isoformat()} if historical else one)
        service.client.post(path, json={"records": sent}, params={"historical": "true"} if historical else {})
        if chance.random() < 0.2:
            fold(service.database)

    assert total(service.database) > 50


def test_connections_that_are_cut_under_load_leave_equal_numbers(database: Database) -> None:
    target = make_target(database)

    async def work(commits: GroupCommit) -> list[WriteOutcome]:
        answered: list[WriteOutcome] = []

        async def client(number: int) -> None:
            for n in range(20):
                answered.append(await commits.write(batch(target, f"{number}-{n}")))  # noqa: PERF401 - read as it grows

        clients = asyncio.gather(*map(client, range(12)))
        with psycopg.connect(database.url, autocommit=True) as killer:
            seen = -1
            while not clients.done():
                if len(answered) > seen:
                    seen = len(answered)
                    killer.execute(CUT_A_WRITER)
                await asyncio.sleep(0.02)
        await clients
        return answered

    with_commits(database, work)

    assert total(database) == 12 * 20


def test_a_batch_whose_commit_was_not_confirmed_is_not_counted_again(database: Database) -> None:
    target = make_target(database)
    sent = batch(target, "a", "b")

    async def work(commits: GroupCommit) -> None:
        await commits.write(sent)
        await commits.write(sent)  # as a writer does that lost its connection in the commit

    with_commits(database, work)

    assert total(database) == 2


def test_a_write_that_is_rolled_back_counts_nothing(database: Database) -> None:
    target = make_target(database)

    async def work(commits: GroupCommit) -> list[Any]:
        sent = [batch(target, "a"), batch(target, "b", features="[no json"), batch(target, "c", row_version="1")]
        return await asyncio.gather(*map(commits.write, sent), return_exceptions=True)

    with_commits(database, work)

    assert total(database) == 1


def test_folding_leaves_one_row_a_past_minute_and_the_same_numbers(service: RunningService) -> None:
    for no in range(4):
        log_payload(service, record(id=f"a{no}"))
    age(service.database, by=timedelta(minutes=30))
    for no in range(3):
        log_payload(service, record(id=f"b{no}"))
    before = counted(service.database)

    fold(service.database)
    folded = rows(service.database, "SELECT records FROM record_counts WHERE minute < now() - interval '10 minutes' ORDER BY 1")
    fold(service.database)

    assert counted(service.database) == before
    assert len(folded) <= 2  # the minute may have ended while the four were sent
    assert sum(records for (records,) in folded) == 4
    assert rows(service.database, "SELECT count(*) FROM record_counts WHERE minute > now() - interval '10 minutes'") == [(3,)]


def test_minutes_that_are_shown_no_more_are_forgotten(service: RunningService) -> None:
    log_payload(service, record(id="a"))
    age(service.database, by=counts.KEPT + timedelta(minutes=1))

    fold(service.database)

    assert rows(service.database, "SELECT count(*) FROM record_counts") == [(0,)]


def test_folds_of_several_processes_at_once_change_no_number(service: RunningService) -> None:
    for no in range(30):
        log_payload(service, record(id=f"a{no}"))
    age(service.database, by=timedelta(minutes=5))
    before = counted(service.database)

    threads = [threading.Thread(target=fold, args=(service.database,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counted(service.database) == before


def test_a_deletion_under_way_holds_up_no_fold_and_leaves_no_count(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment(id="other")).raise_for_status()
    for no in range(3):
        log_payload(service, record(id=f"a{no}"))
        service.client.post("/v1/deployments/other/payload-records", json={"records": [record()]}).raise_for_status()
    age(service.database, by=timedelta(minutes=5))
    with psycopg.connect(service.database.url) as deleting:
        deleting.execute("SELECT no FROM deployments WHERE id = 'other' FOR UPDATE")
        deleting.execute("DELETE FROM record_counts WHERE deployment_no = (SELECT no FROM deployments WHERE id = 'other')")
        fold(service.database)
        deleting.rollback()
    assert total(service.database) == 6

    service.client.delete("/v1/deployments/other").raise_for_status()

    assert total(service.database) == 3
