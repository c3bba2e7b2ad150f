"""Few records are written by one statement, many by COPY: whatever is sent, both store the same."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.domain.arrivals import RecordSource
from app.ingest.checked import CheckedPayload
from app.ingest.encode import payload_batch
from app.ingest.limits import StatedTimes
from app.ingest.plan import plan_for
from app.store.database.engine import Database
from app.store.writing import PayloadBatch, StaleTarget, Target, few_records
from app.store.writing.few_records import MOST_BYTES, MOST_RECORDS, fit_one_statement
from app.store.writing.link import Link, StatementFailed
from app.store.writing.payload_writer import write_payload
from app.store.writing.writer import Writer
from app.telemetry.outages import OutageLog
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
    value.filter(lambda one: one is not None),  # prediction
    st.none() | value,  # probability
    st.none() | value,  # label
    st.none() | st.dictionaries(text, value, max_size=2),  # debiased
    st.none() | st.floats(0.01, 1.0),  # sample rate
)
STORED = """
SELECT r.record_id, r.schema_version, r.model_revision, r.scored_at, r.features::text, r.meta::text, r.prediction::text,
       r.probability::text, r.label::text, r.debiased::text, r.sample_rate, r.logged_at = k.logged_at, k.record_no = r.record_no
FROM payload_records r JOIN deployments d ON d.no = r.deployment_no JOIN payload_keys k USING (deployment_no, record_id)
WHERE d.id = '{id}' AND r.record_no >= {first} ORDER BY r.record_no"""
COUNTED = """
SELECT 'arrivals', source, sum(records) FROM arrivals a JOIN deployments d ON d.no = a.deployment_no WHERE d.id = '{id}' GROUP BY source
UNION ALL
SELECT 'minutes', '', sum(records) FROM record_counts c JOIN deployments d ON d.no = c.deployment_no WHERE d.id = '{id}'
ORDER BY 1, 2"""


@pytest.fixture
def targets(database: Database) -> tuple[Target, Target]:
    return make_target(database, "few"), make_target(database, "copied")


def write(batches: Sequence[PayloadBatch], url: str) -> None:
    """Writes the batches in one transaction, as a writer of the service does."""

    async def story() -> None:
        writer = Writer(url, OutageLog("lost", "found"))
        try:
            await writer.write(batches)
        finally:
            writer.close()

    asyncio.run(story())


def batches_of(target: Target, records: Sequence[tuple[Any, ...]], revision: str, first: int) -> list[PayloadBatch]:
    """Two batches of different sources, of records with drawn cells; their ids are made different."""
    plan = plan_for(replace(target, model_revision=revision))
    half = (len(records) + 1) // 2
    found = []
    for part, source in ((records[:half], RecordSource.REST), (records[half:], RecordSource.GATEWAY)):
        ids, features, meta, predictions, probabilities, labels, debiased, rates = map(list, zip(*part, strict=True)) if part else [[]] * 8
        checked = CheckedPayload(
            sent=len(part),
            source=source,
            indexes=list(range(len(part))),
            times=[None] * len(part),
            features=features,
            meta=meta,
            labels=labels,
            predictions=predictions,
            probabilities=probabilities,
            debiased=debiased,
            sample_rates=rates,
        )
        numbers = range(first, first + len(part))
        named = [f"{one}-{number}" for one, number in zip(ids, numbers, strict=True)]
        first += len(part)
        if part:
            found.append(payload_batch(checked, plan, StatedTimes(NOW, historical=False), ids=named, numbers=numbers))
    return found


_first = iter(range(1, 10**9, 1000))


@pytest.mark.thorough
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(record, min_size=1, max_size=6), text.filter(bool))
@example([("a", ["\\N", "\\"], [None], "\\\\", None, "x", {"\\": "\t"}, 0.5)], "r\\1")
@example([("\\N", [1.5], None, 1, None, None, None, None)], "\t")
def test_both_ways_store_the_same(
    database: Database, targets: tuple[Target, Target], monkeypatch: pytest.MonkeyPatch, records: list[tuple[Any, ...]], revision: str
) -> None:
    few, copied = targets
    first = next(_first)
    write(batches_of(few, records, revision, first), database.url)
    with monkeypatch.context() as patch:
        patch.setattr(few_records, "MOST_RECORDS", 0)
        write(batches_of(copied, records, revision, first + 500), database.url)

    found = [rows(database, STORED.format(id=one.id, first=first)) for one in targets]
    stored = [[(row[0].rpartition("-")[0], *row[1:]) for row in one] for one in found]
    assert stored[0] == stored[1]
    assert all(row[-2:] == (True, True) for row in stored[0])
    # Postgres writes 1e16 without its exponent.
    assert [json.loads(row[4], parse_int=float) for row in stored[0]] == [
        json.loads(json.dumps(one[1]), parse_int=float) for one in records
    ]
    counted = [rows(database, COUNTED.format(id=one.id)) for one in targets]
    assert counted[0] == counted[1]


@pytest.mark.parametrize(
    ("changed", "fits"),
    [
        ({}, True),
        ({"row_version": "0"}, False),
        ({"numbers": range(MOST_RECORDS)}, False),
        ({"records": b"1\t2" * MOST_BYTES}, False),
        ({"records": rb"1\t2"}, False),
        ({"records": b"1\0002\n"}, False),
        ({"records": rb"\N" + b"\t" + rb"a\\tb" + b"\n"}, True),
    ],
)
def test_what_one_statement_takes(database: Database, *, changed: dict[str, Any], fits: bool) -> None:
    target = make_target(database)
    other = batch(target, "b")
    members = {name: getattr(other, name) for name in other.__struct_fields__}

    assert fit_one_statement([batch(target, "a"), PayloadBatch(**(members | changed))]) is fits


def test_historical_records_are_copied_with_their_times(database: Database) -> None:
    of_now = batch(make_target(database), "a")

    assert not fit_one_statement(
        [PayloadBatch(**{name: getattr(of_now, name) for name in of_now.__struct_fields__} | {"historical": True})]
    )


def test_batches_of_two_deployments_do_not_share_a_statement(database: Database) -> None:
    assert not fit_one_statement([batch(make_target(database, name), "a") for name in ("d", "e")])


def test_a_changed_deployment_gets_no_record_and_the_connection_goes_on(database: Database) -> None:
    target = make_target(database)

    async def story() -> None:
        writer = Writer(database.url, OutageLog("lost", "found"))
        with pytest.raises(StaleTarget) as raised:
            await writer.write([stale := batch(target, "a", row_version="1")])
        assert list(raised.value.batches) == [stale]
        await writer.write([batch(target, "b")])
        writer.close()

    asyncio.run(story())
    assert rows(database, "SELECT record_id FROM payload_records") == [("b",)]
    assert rows(database, "SELECT record_id FROM payload_keys") == [("b",)]
    assert rows(database, "SELECT sum(records) FROM record_counts") == [(1,)]


def test_a_refused_row_leaves_nothing_and_says_why(database: Database) -> None:
    target = make_target(database)

    async def story() -> None:
        link = await Link.open(database.url, preparation=few_records.PREPARATION)
        with pytest.raises(StatementFailed) as raised:
            await write_payload(link, [batch(target, "a"), batch(target, "b", features="[no json")])
        assert raised.value.sqlstate == "22P02"
        assert not link.is_lost
        link.close()

    asyncio.run(story())
    assert rows(database, "SELECT count(*) FROM payload_keys") == [(0,)]
    assert rows(database, "SELECT count(*) FROM record_counts") == [(0,)]
