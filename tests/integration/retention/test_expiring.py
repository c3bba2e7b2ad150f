"""Records past their retention are gone from every table: whole months dropped, the rest deleted, and every figure as it was."""

from dataclasses import replace
from datetime import UTC, datetime
from unittest.mock import patch

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.database.tables import ErasureRow
from app.deployments.queries import Deployments, build_definition
from app.domain.deployment import Deployment
from app.retention import expire as expiring
from app.retention.expire import apply_policies
from app.retention.policy import RetentionPolicy
from app.retention.queries import place_hold, put_policy
from app.worker.looks import look_for_aged_records
from tests.builders.kept_records import PERSON, SERIES
from tests.builders.lender import UNFAIR
from tests.builders.traces import rows_of, tables_with, tables_with_number
from tests.scenes import NOON, PlainSealer, Scene

MONTH = "payload_records_2026_03"
AGED = RetentionPolicy(records_months=1, feedback_months=1)


def keep(stage: Scene, policy: RetentionPolicy, deployment: Deployment | None = None) -> None:
    with stage.database.transaction() as session:
        put_policy(session, (deployment or stage.deployment).no, policy)


def neighbour(stage: Scene) -> Scene:
    """Another deployment with records in the same month."""
    with stage.database.transaction() as session:
        created, _ = Deployments(session, PlainSealer()).create("neighbour", replace(build_definition(stage.deployment), name="Neighbour"))
    other = Scene(stage.database, created)
    other.number_from(100_000)
    other.log([{**row, "id": f"n{place}", "customer": "n"} for place, row in enumerate(UNFAIR.applicants("own", [50.0, 60.0]))], NOON)
    return other


def tables(stage: Scene) -> set[str]:
    with psycopg.connect(stage.database.url) as connection:
        return {name for (name,) in connection.execute("SELECT relname FROM pg_class WHERE relname LIKE 'payload_records_2026_03'")}


def of(ended: list[ErasureRow], stage: Scene) -> ErasureRow:
    return next(erasure for erasure in ended if erasure.deployment_id == stage.deployment.id)


@pytest.mark.thorough
def test_a_month_of_aged_records_is_dropped_with_everything_derived_and_every_series_is_unchanged(stage: Scene) -> None:
    before, records = rows_of(stage.database.url, *SERIES), stage.count("payload_records")
    keep(stage, AGED)
    ended = of(apply_policies(stage.database, batch_records=50), stage)

    assert tables(stage) == set()
    assert ended.counts["payload_records"] == ended.counts["payload_keys"] == records
    assert all(stage.count(table) == 0 for table in ("payload_records", "payload_keys", "counterfactuals", "flagged_records"))
    assert stage.count("feedback_records") == 0
    assert tables_with(stage.database.url, PERSON) <= {"call_halves"}  # a call that waits is minutes old
    assert tables_with_number(stage.database.url, 5) <= {"evidence_people"}
    assert rows_of(stage.database.url, *SERIES) == before


@pytest.mark.thorough
def test_a_month_that_others_still_need_loses_the_records_of_the_one_deployment_only(stage: Scene) -> None:
    other = neighbour(stage)
    keep(stage, AGED)
    ended = apply_policies(stage.database, batch_records=50)

    assert tables(stage) == {MONTH}
    assert (stage.count("payload_records"), stage.count("payload_keys")) == (2, 2)
    assert [erasure.deployment_id for erasure in ended] == [stage.deployment.id]
    keep(stage, RetentionPolicy(records_months=1), other.deployment)
    apply_policies(stage.database)
    assert tables(stage) == set()


def test_policies_of_different_length_each_end_the_records_that_they_are_about(stage: Scene) -> None:
    keep(stage, RetentionPolicy(answers_months=1))
    answers = of(apply_policies(stage.database), stage)
    assert set(answers.counts) == {"counterfactuals"}
    assert stage.count("payload_records") == stage.count("payload_keys") > 0

    keep(stage, RetentionPolicy(feedback_months=1))
    labels = of(apply_policies(stage.database), stage)
    assert labels.counts == {"feedback_records": 5}

    keep(stage, RetentionPolicy(records_months=1200))
    assert apply_policies(stage.database) == []


def test_a_second_run_finds_nothing_to_do(stage: Scene) -> None:
    keep(stage, AGED)
    apply_policies(stage.database)
    before = rows_of(stage.database.url, "erasures")

    assert apply_policies(stage.database) == []
    assert rows_of(stage.database.url, "erasures") == before


def test_a_hold_beats_the_policy(stage: Scene) -> None:
    keep(stage, AGED)
    with stage.database.transaction() as session:
        place_hold(session, stage.deployment.no, reason="Case 7", by="user:eve")
    before = rows_of(stage.database.url, "payload_records", "payload_keys", "counterfactuals", "feedback_records", "flagged_records")

    assert apply_policies(stage.database) == []
    assert rows_of(stage.database.url, *before) == before


def test_a_hold_that_is_placed_while_a_month_is_being_dropped_puts_the_month_back(stage: Scene) -> None:
    records = stage.count("payload_records")
    keep(stage, AGED)
    detach = expiring.detach_month

    def detach_and_hold(*arguments: object) -> None:
        detach(*arguments)  # type: ignore[arg-type]
        with stage.database.transaction() as session:
            place_hold(session, stage.deployment.no, reason="Case 7", by="user:eve")

    with patch.object(expiring, "detach_month", detach_and_hold):
        assert apply_policies(stage.database) == []
    assert (stage.count("payload_records"), stage.count("payload_keys")) == (records, records)


@pytest.mark.thorough
@pytest.mark.parametrize("broken", ["erase_aged", "drop_month"])
def test_a_process_that_dies_while_it_drops_a_month_leaves_what_the_next_run_finishes(stage: Scene, broken: str) -> None:
    records, before = stage.count("payload_records"), rows_of(stage.database.url, *SERIES)
    keep(stage, AGED)
    real, calls = getattr(expiring, broken), []

    def die(*arguments: object, **options: object) -> object:
        calls.append(arguments)
        if broken == "drop_month" or len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    with patch.object(expiring, broken, die), pytest.raises(KeyboardInterrupt):
        apply_policies(stage.database, batch_records=50)
    assert stage.count(MONTH) == records  # still whole, and out of the log
    assert stage.count("payload_records") == 0
    ended = of(apply_policies(stage.database, batch_records=50), stage)

    assert tables(stage) == set()
    assert ended.counts["payload_records"] == ended.counts["payload_keys"] == records
    assert rows_of(stage.database.url, *SERIES) == before


@pytest.mark.thorough
def test_a_month_that_was_being_detached_when_the_server_stopped_is_finished(stage: Scene) -> None:
    keep(stage, AGED)
    # A reader keeps the month from being detached until it is given up.
    with psycopg.connect(stage.database.url) as reader:
        reader.execute("SELECT count(*) FROM payload_records")
        with stage.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("SET statement_timeout = '300ms'"))
            with pytest.raises(DBAPIError):
                connection.execute(text(f"ALTER TABLE payload_records DETACH PARTITION {MONTH} CONCURRENTLY"))
            connection.execute(text("RESET statement_timeout"))
    apply_policies(stage.database)

    assert tables(stage) == set()


@pytest.mark.thorough
def test_one_process_at_a_time_applies_the_policies(stage: Scene) -> None:
    keep(stage, AGED)
    with psycopg.connect(stage.database.url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(4540261150)")
        look_for_aged_records(stage.database)
        assert stage.count("payload_records") > 0
        other.execute("SELECT pg_advisory_unlock(4540261150)")
    look_for_aged_records(stage.database)

    assert stage.count("payload_records") == 0
    assert datetime.now(UTC) > NOON
