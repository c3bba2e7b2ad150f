"""The numbers of arrived and of rejected records equal those of the receipts, by source, whatever clients and the scheduler do."""

import asyncio
import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from app.base.clock import floor_to_hour, utc_now
from app.database.engine import Database
from app.database.reseal import begin_sealing
from app.domain.check import Span
from app.domain.record_times import KEPT, LogKind, RecordSource
from app.intake.volume.arrival_queries import count_waiting_labels, fold_arrivals, read_arrivals, read_rejections
from app.intake.writing.group_commit import GroupCommit
from tests.builders.batches import batch, make_target, with_commits
from tests.builders.bodies import deployment
from tests.builders.queries import rows
from tests.integration.ingest.logging import FEEDBACK, PAYLOAD, features, record
from tests.progress import wait_until
from tests.service import RunningService

_SUMS = "SELECT source, kind, sum(records)::int FROM arrivals GROUP BY 1, 2 ORDER BY 1, 2"
_REJECTED = "SELECT source, kind, reason, field, records FROM rejection_counts ORDER BY 1, 2, 3, 4"


def send(service: RunningService, path: str, *records: dict[str, Any], source: str | None = None, **query: str) -> dict[str, Any]:
    headers = {} if source is None else {"Evenhand-Source": source}
    answer: dict[str, Any] = service.client.post(path, json={"records": records}, params=query, headers=headers).json()
    return answer


def fold(database: Database) -> None:
    with database.transaction() as session:
        fold_arrivals(session)


def rejected(database: Database, number: int) -> list[Any]:
    wait_until(lambda: len(rows(database, _REJECTED)) >= number, "the rejections are stored")
    return rows(database, _REJECTED)


@pytest.mark.thorough
def test_each_stored_record_counts_once_for_its_source_whatever_is_sent_twice(service: RunningService) -> None:
    chance, accepted = random.Random(5), Counter[tuple[str, str]]()
    for _ in range(40):
        source = chance.choice(["rest", "client", "import"])
        kind = chance.choice(["payload", "feedback"])
        historical = chance.random() < 0.4
        ids = [f"r{chance.randrange(60)}" for _ in range(chance.randrange(1, 7))]
        time = {"scored_at" if kind == "payload" else "labelled_at": (utc_now() - timedelta(days=100)).isoformat()} if historical else {}
        sent = [(record(id=id_) if kind == "payload" else {"id": id_, "label": "Risk"}) | time for id_ in ids]
        query = {"historical": "true"} if historical else {}
        answer = send(service, PAYLOAD if kind == "payload" else FEEDBACK, *sent, source=None if source == "rest" else source, **query)
        accepted[source, kind] += answer["accepted"]
        if chance.random() < 0.2:
            fold(service.database)

    found = {(source, kind): records for source, kind, records in rows(service.database, _SUMS)}

    assert found == {key: records for key, records in accepted.items() if records}


def test_rows_are_added_up_while_a_secret_is_stored(database: Database) -> None:
    target = make_target(database)
    for record_id in ("a", "b"):
        with_commits(database, lambda commits, one=record_id: commits.write(batch(target, one, source=RecordSource.REST)))
    several = "SELECT count(*)::int FROM arrivals"
    before = rows(database, several)

    with database.transaction() as storing:
        begin_sealing(storing)
        fold(database)

    assert (before, rows(database, several)) == ([(2,)], [(1,)])


def test_batches_of_several_sources_in_one_commit_are_counted_apart_also_where_an_id_is_taken(database: Database) -> None:
    target = make_target(database)
    sent = [batch(target, "a", "b", source=RecordSource.REST), batch(target, "b", "c", source=RecordSource.EVENT)]

    async def work(commits: GroupCommit) -> None:
        await commits.write(batch(target, "a", source=RecordSource.GATEWAY))
        await asyncio.gather(*map(commits.write, sent))
        await commits.write(sent[0])  # as a writer does that lost its connection in the commit

    with_commits(database, work)

    assert rows(database, _SUMS) == [("event", "payload", 1), ("gateway", "payload", 1), ("rest", "payload", 1)]


def test_folding_leaves_one_row_an_hour_and_forgets_what_is_kept_no_longer(service: RunningService) -> None:
    for no in range(4):
        send(service, PAYLOAD, record(id=str(no)))
    fold(service.database)
    assert rows(service.database, "SELECT records FROM arrivals") == [(4,)]

    with service.database.transaction() as session:
        session.execute(text("UPDATE arrivals SET hour = hour - CAST(:by AS interval)"), {"by": KEPT + timedelta(hours=2)})
    fold(service.database)

    assert rows(service.database, "SELECT records FROM arrivals") == []


@pytest.mark.nightly
def test_rejections_are_counted_by_field_and_reason_and_no_value_is_stored(service: RunningService) -> None:
    send(service, PAYLOAD, record(), record(features=features(Age="secret")), record(features=features(Age="other")), source="client")
    send(service, PAYLOAD, record(features={"Age": 1}), record(features=features() | {"my-secret": 1}))
    send(service, PAYLOAD, record(id="a"), record(id="a", prediction=0))
    send(service, FEEDBACK, {"label": "Risk"})
    service.client.post(PAYLOAD, content=b"[secret")

    found = rejected(service.database, 6)

    assert found == [
        ("client", "payload", "wrong_type", "Age", 2),
        ("rest", "feedback", "missing", "features", 1),
        ("rest", "payload", "conflict", "id", 1),
        ("rest", "payload", "missing", "Sex", 1),
        ("rest", "payload", "unknown_field", "", 1),
        ("rest", "payload", "unreadable", "body", 1),
    ]


@pytest.mark.nightly
def test_counts_are_read_for_one_deployment_and_its_hours(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment(id="other")).raise_for_status()
    send(service, PAYLOAD, record(), record(features={}))
    send(service, "/v1/deployments/other/payload-records", record())
    send(service, FEEDBACK, {"id": "to-come", "label": "Risk"})
    rejected(service.database, 1)
    ((no,),) = rows(service.database, "SELECT no FROM deployments WHERE id = 'credit-risk'")
    hour = floor_to_hour(utc_now())
    span = Span(start=hour - timedelta(hours=1), end=hour + timedelta(hours=1))

    with service.database.transaction() as session:
        arrivals, rejections = read_arrivals(session, no, span), read_rejections(session, no, span)
        earlier = read_arrivals(session, no, Span(start=hour - timedelta(hours=9), end=hour - timedelta(hours=1)))
        waiting = count_waiting_labels(session, no)

    assert [(arrival.kind, arrival.records) for arrival in arrivals] == [(LogKind.FEEDBACK, 1), (LogKind.PAYLOAD, 1)]
    assert [rejection.records for rejection in rejections] == [1]
    assert (earlier, waiting) == ([], 1)


def test_a_source_that_a_caller_may_not_name_is_refused(service: RunningService, subtests: pytest.Subtests) -> None:
    for name in ("gateway", "event", "REST", "", "x" * 500):
        with subtests.test(name=name):
            answer = service.client.post(PAYLOAD, json={"records": [record()]}, headers={"Evenhand-Source": name})

            assert answer.status_code == 422
            assert answer.json()["errors"][0]["field"] == "Evenhand-Source"
            assert len(answer.text) < 1000


@pytest.mark.nightly
def test_a_deleted_deployment_takes_its_counts_with_it(service: RunningService) -> None:
    send(service, PAYLOAD, record(), record(features={}))
    rejected(service.database, 1)

    service.client.delete("/v1/deployments/credit-risk").raise_for_status()

    assert rows(service.database, _SUMS) == rows(service.database, _REJECTED) == []
