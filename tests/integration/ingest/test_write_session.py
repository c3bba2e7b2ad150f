"""A write stores what was sent, or nothing: whatever its cells hold, and however it ends."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.database.engine import Database
from app.domain.record_times import RecordSource
from app.intake.logging.encode_lines import encode_payload
from app.intake.logging.ingest_plan import CheckedPayload, StatedTimes, build_plan
from app.intake.writing.write_batches import StaleTarget
from app.intake.writing.write_session import WriteSession
from app.intake.writing.write_target import Target
from app.intake.writing.writer import write_payload
from tests.builders.batches import NOW, batch, make_target
from tests.builders.queries import rows

text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6) | st.sampled_from(
    ["\\N", "\\", "\\\\N", "a\\tb", "tab\t", "line\n", "\r", "{}", '"', "\\.", "null", "NULL", "\u2028", "é\U0001f642"]
)
record_id = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=6) | st.sampled_from(
    ["\\N", "\\", "a\\tb"]
)
value = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | text
record = st.tuples(
    record_id,
    st.lists(value, min_size=1, max_size=4),  # features
    st.none() | st.lists(value, max_size=2),  # meta
    value.filter(lambda prediction: prediction is not None),
    st.none() | value,  # probability
    st.none() | value,  # label
    st.none() | st.dictionaries(text, value, max_size=2),  # mitigated
    st.none() | st.floats(0.01, 1.0),  # sample rate
)
STORED = """
SELECT r.record_id, r.features::text, r.meta::text, r.prediction::text, r.probability::text, r.label::text, r.mitigated::text,
       r.sample_rate, r.model_revision, r.logged_at = k.logged_at
FROM payload_records r JOIN payload_keys k USING (deployment_no, record_id, record_no)
WHERE r.record_no >= {first} ORDER BY r.record_no"""
_first = iter(range(1, 10**9, 1000))


def with_session(database: Database, work: Callable[[WriteSession], Awaitable[None]], **options: float) -> None:
    """Runs `work` with a session."""

    async def run() -> None:
        session = await WriteSession.open(database.url, **options)
        try:
            await work(session)
        finally:
            await session.close()

    asyncio.run(run())


@pytest.fixture
def target(database: Database) -> Target:
    return make_target(database)


@pytest.mark.thorough
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(record, min_size=1, max_size=6), text.filter(bool))
@example([("a", ["\\N", "\\"], [None], "\\\\", None, "x", {"\\": "\t"}, 0.5)], "r\\1")
@example([("\\N", [1.5], None, 1, None, None, None, None)], "\t")
def test_what_is_stored_is_what_was_sent(database: Database, target: Target, records: list[tuple[Any, ...]], revision: str) -> None:
    first = next(_first)
    ids, features, meta, predictions, probabilities, labels, mitigated, rates = map(list, zip(*records, strict=True))
    checked = CheckedPayload(
        sent=len(records),
        source=RecordSource.REST,
        indexes=list(range(len(records))),
        times=[None] * len(records),
        features=features,
        meta=meta,
        labels=labels,
        predictions=predictions,
        probabilities=probabilities,
        mitigated=mitigated,
        sample_rates=rates,
    )
    numbers = range(first, first + len(records))
    named = [f"{drawn}-{number}" for drawn, number in zip(ids, numbers, strict=True)]
    plan = build_plan(replace(target, model_revision=revision))
    drawn_batch = encode_payload(checked, plan, StatedTimes(NOW, historical=False), named, numbers)

    async def work(session: WriteSession) -> None:
        await write_payload(session, [drawn_batch])

    with_session(database, work)

    # Postgres writes 1e16 without its exponent.
    stored = [
        (row[0], *(None if cell is None else json.loads(cell, parse_int=float) for cell in row[1:7]), *row[7:])
        for row in rows(database, STORED.format(first=first))
    ]
    sent = [
        (name, *(None if cell is None else json.loads(json.dumps(cell), parse_int=float) for cell in cells), rate, revision, True)
        for name, (_, *cells, rate) in zip(named, records, strict=True)
    ]
    assert stored == sent


def test_a_write_that_waits_past_its_time_is_rolled_back(database: Database, target: Target) -> None:
    async def work(session: WriteSession) -> None:
        with psycopg.connect(database.url) as blocker:
            blocker.execute("INSERT INTO payload_keys (deployment_no, record_id, record_no) VALUES (%s, 'b', 0)", [target.no])
            with pytest.raises(TimeoutError):
                await write_payload(session, [batch(target, "a", "b")])
            blocker.rollback()
        assert session.is_lost

    with_session(database, work, seconds=0.3)
    _require_nothing_stored(database)


def test_a_write_of_a_process_that_stood_still_past_its_time_is_rolled_back(database: Database, target: Target) -> None:
    async def work(session: WriteSession) -> None:
        async def write() -> None:
            async with session.transaction([batch(target, "a")]):
                await session.copy("payload_keys", "deployment_no, record_id, record_no", f"{target.no}\ta\t1\n".encode())
                time.sleep(0.5)  # noqa: ASYNC251 - as if the machine had paused it
                await session.commit(b"")

        with pytest.raises(TimeoutError):
            await write()
        assert session.is_lost

    with_session(database, work, seconds=0.3)
    _require_nothing_stored(database)


def test_a_write_whose_request_is_cancelled_is_rolled_back(database: Database, target: Target) -> None:
    async def work(session: WriteSession) -> None:
        with psycopg.connect(database.url) as blocker:
            blocker.execute("INSERT INTO payload_keys (deployment_no, record_id, record_no) VALUES (%s, 'b', 0)", [target.no])
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(write_payload(session, [batch(target, "a", "b")]), 0.3)
            blocker.rollback()
        assert session.is_lost

    with_session(database, work)
    _require_nothing_stored(database)


def test_a_refused_row_leaves_nothing_and_the_connection_goes_on(database: Database, target: Target) -> None:
    async def work(session: WriteSession) -> None:
        with pytest.raises(psycopg.DataError) as raised:
            await write_payload(session, [batch(target, "a"), batch(target, "b", features="[no json")])
        assert raised.value.sqlstate == "22P02"
        assert not session.is_lost
        _require_nothing_stored(database)
        await write_payload(session, [batch(target, "c")])

    with_session(database, work)
    assert rows(database, "SELECT record_id FROM payload_records") == [("c",)]


def test_a_changed_deployment_gets_no_record_and_the_connection_goes_on(database: Database, target: Target) -> None:
    async def work(session: WriteSession) -> None:
        stale = batch(target, "a", row_version="1")
        with pytest.raises(StaleTarget) as raised:
            await write_payload(session, [stale, fresh := batch(target, "b")])
        assert list(raised.value.batches) == [stale]
        assert not session.is_lost
        await write_payload(session, [fresh])

    with_session(database, work)
    assert rows(database, "SELECT record_id FROM payload_records") == [("b",)]
    assert rows(database, "SELECT record_id FROM payload_keys") == [("b",)]
    assert rows(database, "SELECT sum(records) FROM record_counts") == [(1,)]


def test_a_connection_goes_on_after_the_same_statement_many_times_and_a_rollback(database: Database, target: Target) -> None:
    """The driver prepares a statement that it has sent five times, and at the next ROLLBACK it deallocates all that is prepared."""

    async def work(session: WriteSession) -> None:
        for _ in range(12):
            async with session.transaction([batch(target, "a")]):
                await session.commit(b"")
        with pytest.raises(StaleTarget):
            await write_payload(session, [batch(target, "a", row_version="1")])
        await write_payload(session, [batch(target, "b")])

    with_session(database, work)
    assert rows(database, "SELECT record_id FROM payload_records") == [("b",)]


@pytest.mark.nightly
def test_a_broken_connection_is_noticed_even_if_the_event_loop_never_tells(database: Database) -> None:
    """An event loop may drop the watch on a socket that breaks (uvloop does): the wait must end all the same."""

    async def work(session: WriteSession) -> None:
        ((pid,),) = await session.run(b"SELECT pg_backend_pid()")
        waiting = asyncio.create_task(session.run(b"SELECT pg_sleep(60)"))
        with psycopg.connect(database.url, autocommit=True) as connection:
            sleeping = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
            while connection.execute(sleeping, [pid]).fetchall() == [(0,)]:  # noqa: ASYNC110 - no event says it
                await asyncio.sleep(0.01)
            asyncio.get_running_loop().remove_reader(session._connection.fileno())  # noqa: SLF001 - what the event loop does behind our back
            connection.execute("SELECT pg_terminate_backend(%s)", [pid])

        with pytest.raises(psycopg.OperationalError):
            await waiting
        assert session.is_lost

    with_session(database, work, seconds=60)


def _require_nothing_stored(database: Database) -> None:
    for table in ("payload_keys", "payload_records", "record_counts", "arrivals"):
        assert rows(database, f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608 - our own names
