"""One person's records are erased from every table, and every figure stays as it was."""

import uuid
from datetime import timedelta
from unittest.mock import patch

import psycopg
import pytest
from msgspec import structs
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.database.tables import ErasureRow
from app.domain.record import digest_id
from app.intake.gateway.call_events import CallHalf, CallSide, CallSource
from app.intake.gateway.store_calls import add_halves
from app.intake.logging.model_call import CapturedBody
from app.retention import erase as erasing
from app.retention.erase import perform_erasures
from app.retention.policy import RecordSelector, build_receipt, hash_receipt
from app.retention.queries import get_erasure, place_hold, release_hold, request_erasure
from app.sources.stored.window_queries import note_changed_hours
from tests.builders.evidence_worlds import update
from tests.builders.kept_records import PERSON, SERIES
from tests.builders.traces import rows_of, tables_with, tables_with_number
from tests.scenes import HOUR, NOON, Scene

AT_ONCE = timedelta(0)
BY_IDS = RecordSelector(record_ids=("ada-1", "ada-2", "ada-3"))
BY_FIELD = RecordSelector(field="customer", value=PERSON)
MARKS = (PERSON, "ada-1", "ada-2", "ada-3")


def ask(stage: Scene, selector: RecordSelector, erasure_id: str = "") -> ErasureRow:
    with stage.database.transaction() as session:
        name = erasure_id or str(uuid.uuid4())
        return request_erasure(session, stage.deployment.no, stage.deployment.id, erasure_id=name, selector=selector, by="user:eve")[0]


def places(stage: Scene) -> set[str]:
    return {table for mark in MARKS for table in tables_with(stage.database.url, mark)}


def numbers(stage: Scene) -> list[int]:
    with psycopg.connect(stage.database.url) as connection:
        return [no for (no,) in connection.execute("SELECT record_no FROM payload_keys WHERE record_id LIKE 'ada-%'")]


def test_the_scene_holds_the_person_in_every_table_that_an_erasure_is_about(stage: Scene) -> None:
    assert places(stage) == {"payload_records", "payload_keys", "feedback_records", "call_halves", "checks", "intake_counts"}
    by_number = {table for no in numbers(stage) for table in tables_with_number(stage.database.url, no)}
    assert by_number >= {"counterfactuals", "flagged_records", "evidence_people"}


@pytest.mark.nightly
def test_no_table_holds_the_person_afterwards_and_every_series_is_unchanged(stage: Scene) -> None:
    for selector in (BY_FIELD, BY_IDS):
        before, mine = rows_of(stage.database.url, *SERIES), numbers(stage)
        asked = ask(stage, selector)
        ended = perform_erasures(stage.database, settled_after=AT_ONCE, batch_records=2)

        assert [erasure.id for erasure in ended] == [asked.id]
        assert places(stage) == set()
        assert {table for no in mine for table in tables_with_number(stage.database.url, no)} == set()
        assert rows_of(stage.database.url, *SERIES) == before
    assert ended[0].counts == {}


def test_a_half_of_a_call_that_is_no_record_is_erased_and_none_is_stored_afterwards(stage: Scene) -> None:
    half = CallHalf(
        deployment_id=stage.deployment.id,
        deployment_no=stage.deployment.no,
        call_id="never-paired",
        side=CallSide.REQUEST,
        source=CallSource.EVENTS,
        received_at=NOON,
        stated_at=None,
        body=CapturedBody(b"Ada"),
    )
    with stage.database.transaction() as session:
        add_halves(session, [half], {})
    ask(stage, RecordSelector(record_ids=("never-paired",)))
    (ended,) = perform_erasures(stage.database, settled_after=AT_ONCE)
    with stage.database.transaction() as session:
        add_halves(session, [half, structs.replace(half, call_id="of-another")], {})

    assert ended.counts["call_halves"] == 1
    assert tables_with(stage.database.url, "never-paired") == set()
    assert tables_with(stage.database.url, "of-another") == {"call_halves"}


def test_the_receipt_counts_what_was_erased_and_its_hash_is_in_the_audit(stage: Scene) -> None:
    ask(stage, BY_FIELD)
    (ended,) = perform_erasures(stage.database, settled_after=AT_ONCE)

    assert ended.counts["payload_records"] == ended.counts["payload_keys"] == ended.counts["feedback_records"] == 3
    assert ended.counts["counterfactuals"] >= 3
    assert ended.counts["flagged_records"] >= 1
    assert {name: ended.counts[name] for name in ("call_halves", "evidence_people", "checks", "intake_counts")} == {
        "call_halves": 1,
        "evidence_people": 1,
        "checks": 1,
        "intake_counts": 1,
    }
    assert ended.hash == hash_receipt(build_receipt(ended))
    assert PERSON not in str(build_receipt(ended))
    with psycopg.connect(stage.database.url) as connection:
        events = connection.execute("SELECT details->>'hash', details->'erased' FROM audit_events WHERE action = 'erasure.finished'")
        assert events.fetchall() == [(ended.hash, dict(ended.counts))]


def test_an_hour_is_not_counted_again_once_records_of_it_were_erased(stage: Scene) -> None:
    before = rows_of(stage.database.url, *SERIES)
    ask(stage, BY_IDS)
    perform_erasures(stage.database, settled_after=AT_ONCE)
    with stage.database.transaction() as session:
        note_changed_hours(session, stage.deployment.no, [NOON])
    update(stage, NOON + 3 * HOUR)

    assert rows_of(stage.database.url, *SERIES) == before
    assert stage.count("changed_hours") == 0


@pytest.mark.nightly
def test_a_process_that_dies_in_the_middle_leaves_whole_batches_and_the_next_one_goes_on(stage: Scene) -> None:
    whole = ask(stage, BY_FIELD)
    with stage.database.engine.begin() as connection:
        connection.execute(
            text(
                """CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                   IF (SELECT count(*) FROM payload_keys WHERE record_id LIKE 'ada-%') < 2 THEN RAISE 'died'; END IF; RETURN OLD; END $$"""
            )
        )
        connection.execute(text("CREATE TRIGGER dying AFTER DELETE ON payload_records FOR EACH ROW EXECUTE FUNCTION die()"))
    with patch.object(erasing, "MAX_SEARCHED_ROWS", 1), pytest.raises(DBAPIError, match="died"):
        perform_erasures(stage.database, settled_after=AT_ONCE, batch_records=1)
    with stage.database.engine.begin() as connection:
        connection.execute(text("DROP TRIGGER dying ON payload_records"))
        connection.execute(text("DROP FUNCTION die"))
    left = len(numbers(stage))
    (ended,) = perform_erasures(stage.database, settled_after=AT_ONCE, batch_records=1)

    assert left == 2
    assert (ended.id, ended.counts["payload_records"], places(stage)) == (whole.id, 3, set())


@pytest.mark.nightly
def test_a_hold_beats_a_request_until_it_is_released(stage: Scene) -> None:
    before = places(stage)
    asked = ask(stage, BY_FIELD)
    with stage.database.transaction() as session:
        place_hold(session, stage.deployment.no, reason="Case 7", by="user:eve")
    assert perform_erasures(stage.database, settled_after=AT_ONCE) == []
    assert places(stage) - {"erasures"} == before

    with stage.database.transaction() as session:
        assert release_hold(session, stage.deployment.no, by="user:eve")
    assert [erasure.id for erasure in perform_erasures(stage.database, settled_after=AT_ONCE)] == [asked.id]
    assert places(stage) == set()


def test_the_receipt_waits_until_writes_that_began_before_have_ended(stage: Scene) -> None:
    asked = ask(stage, BY_IDS)

    assert perform_erasures(stage.database) == []
    # A write that began before the request commits now.
    with psycopg.connect(stage.database.url) as connection:
        connection.execute(
            "INSERT INTO payload_keys (deployment_no, record_id, record_no, logged_at) VALUES (%s, 'ada-2', 9999, %s)",
            [stage.deployment.no, NOON],
        )
    assert [erasure.id for erasure in perform_erasures(stage.database, settled_after=AT_ONCE)] == [asked.id]
    assert places(stage) == set()


def test_the_same_request_again_is_the_same_erasure(stage: Scene) -> None:
    first, again = ask(stage, BY_IDS, "case-1"), ask(stage, BY_IDS, "case-1")
    with stage.database.transaction() as session:
        stored = get_erasure(session, stage.deployment.id, "case-1")

    assert first.no == again.no == stored.no
    assert build_receipt(first) == build_receipt(again) == build_receipt(stored)


def test_the_ids_are_remembered_by_digests_alone(stage: Scene) -> None:
    ask(stage, BY_FIELD)
    perform_erasures(stage.database, settled_after=AT_ONCE)

    with psycopg.connect(stage.database.url) as connection:
        digests = {bytes(digest) for (digest,) in connection.execute("SELECT digest FROM erased_ids")}
    assert digests == {digest_id(f"ada-{no}") for no in (1, 2, 3)}
