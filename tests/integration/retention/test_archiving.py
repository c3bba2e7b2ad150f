"""A month of records goes to files and comes back: nothing is lost or doubled, also where a process dies, and no figure changes."""

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import psycopg
import pyarrow.parquet as pq
import pytest

from app.domain.archives import ArchiveState, MonthArchive
from app.domain.checks import Trigger
from app.domain.retention import RecordSelector, RetentionPolicy
from app.errors import Conflict, MonthsAway
from app.retention import archiving
from app.retention.archiving import drop_emptied
from app.retention.expiring import apply_policies
from app.retention.rules import check_selector
from app.store.checks.checks import current_time
from app.store.evidence.changes import note_changed_hours
from app.store.retention.archives import alone, months_past_retention
from app.store.retention.holds import place_hold
from app.store.retention.policies import put_policy
from app.store.retention.record_traces import remember_ids
from tests.builders.archived_months import COUNTED, KEPT, MARCH, MOVED, bring, dying, late, partitions, place, store
from tests.builders.evidence_worlds import update
from tests.builders.kept_records import PERSON, SERIES
from tests.builders.killed_archiving import killed_at
from tests.builders.lender import UNFAIR
from tests.builders.traces import rows_of, tables_with
from tests.scenes import HOUR, NOON, Scene


def test_a_month_is_in_its_files_and_then_back_with_every_row_as_it_was(cold: Scene, tmp_path: Path) -> None:
    before, kept = rows_of(cold.database.url, *MOVED), rows_of(cold.database.url, *KEPT)
    stored = store(cold, tmp_path)

    assert (stored.state, drop_emptied(cold.database, MARCH), partitions(cold)) == (ArchiveState.STORED, True, [])
    assert all(cold.count(table) == 0 for table in MOVED)
    assert {one.name: one.rows for one in stored.tables} == {table: len(rows) for table, rows in before.items()}
    assert all(before.values())
    folder = tmp_path / cold.deployment.id / "2026-03"
    assert {one.name: pq.read_metadata(folder / one.file).num_rows for one in stored.tables} == {
        table: len(rows) for table, rows in before.items()
    }
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["month"], manifest["deployment"], len(manifest["tables"])) == ("2026-03", cold.deployment.id, 3)
    assert {path.stat().st_mode & 0o077 for path in folder.iterdir()} == {0}

    assert bring(cold).archive.state is ArchiveState.BACK
    assert rows_of(cold.database.url, *MOVED) == before
    assert rows_of(cold.database.url, *KEPT) == kept


def test_each_command_again_changes_nothing(cold: Scene, tmp_path: Path) -> None:
    before = rows_of(cold.database.url, *MOVED)
    first = store(cold, tmp_path)
    assert store(cold, tmp_path / "another") == first
    back = bring(cold)
    assert bring(cold).archive == back.archive
    assert rows_of(cold.database.url, *MOVED) == before
    store(cold, tmp_path)
    bring(cold)
    assert rows_of(cold.database.url, *MOVED) == before


def test_figures_roll_ups_and_evidence_are_unchanged_while_away_and_afterwards(cold: Scene, tmp_path: Path) -> None:
    before = rows_of(cold.database.url, *SERIES)
    store(cold, tmp_path)
    with cold.database.transaction() as session:
        note_changed_hours(session, cold.deployment.no, [NOON])
    update(cold, COUNTED)

    assert rows_of(cold.database.url, *SERIES) == before
    assert cold.count("changed_hours") == 1  # it waits
    bring(cold)
    update(cold, COUNTED)
    assert rows_of(cold.database.url, *SERIES) == before
    assert cold.count("changed_hours") == 0


STORING_STEPS = ("note_storing", "prepare_folder", "holds_rows", "write_manifest", "remove_rows", "note_stored", "_audit")
RETURNING_STEPS = ("ensure_months", "make_room", "_copy_rows", "put_back", "note_back", "_audit")


@pytest.mark.parametrize("step", STORING_STEPS)
def test_a_process_that_dies_while_it_stores_leaves_everything_in_the_database(cold: Scene, tmp_path: Path, step: str) -> None:
    before = rows_of(cold.database.url, *MOVED)
    with patch.object(archiving, step, dying(step)), pytest.raises(KeyboardInterrupt):
        store(cold, tmp_path)

    assert rows_of(cold.database.url, *MOVED) == before
    store(cold, tmp_path)
    assert all(cold.count(table) == 0 for table in MOVED)
    bring(cold)
    assert rows_of(cold.database.url, *MOVED) == before


@pytest.mark.parametrize("step", RETURNING_STEPS)
def test_a_process_that_dies_while_it_brings_back_leaves_everything_in_the_files(cold: Scene, tmp_path: Path, step: str) -> None:
    before = rows_of(cold.database.url, *MOVED)
    store(cold, tmp_path)
    drop_emptied(cold.database, MARCH)
    with patch.object(archiving, step, dying(step)), pytest.raises(KeyboardInterrupt):
        bring(cold)

    assert all(cold.count(table) == 0 for table in MOVED)
    bring(cold)
    assert rows_of(cold.database.url, *MOVED) == before


@pytest.mark.parametrize("step", ["write_manifest", "note_stored", "note_back"])
@pytest.mark.nightly
def test_a_killed_process_leaves_the_month_whole_in_one_place(cold: Scene, tmp_path: Path, step: str) -> None:
    before = rows_of(cold.database.url, *MOVED)
    if step == "note_back":
        store(cold, tmp_path)
    there = rows_of(cold.database.url, *MOVED)
    assert killed_at(step, cold.database.url, place(cold), tmp_path) == -9

    assert rows_of(cold.database.url, *MOVED) == there
    with alone(cold.database):  # its locks ended with it
        store(cold, tmp_path)
        bring(cold)
    assert rows_of(cold.database.url, *MOVED) == before


@pytest.mark.nightly
def test_a_record_that_comes_between_the_files_and_the_deletion_is_in_the_files(cold: Scene, tmp_path: Path) -> None:
    records, real, calls = cold.count("payload_records"), archiving.remove_month, []

    def come(*arguments: object) -> MonthArchive:
        calls.append(1)
        if len(calls) == 1:
            late(cold)
            update(cold, COUNTED)
        return real(*arguments)  # type: ignore[arg-type]

    with patch.object(archiving, "remove_month", come):
        stored = store(cold, tmp_path)

    assert (len(calls), stored.count("payload_records"), cold.count("payload_records")) == (2, records + 1, 0)


def test_records_that_keep_coming_stay_in_the_database(cold: Scene, tmp_path: Path) -> None:
    real, calls = archiving.remove_month, []

    def come(*arguments: object) -> MonthArchive:
        calls.append(1)
        cold.number_from(600_000 + len(calls))
        cold.log([{**row, "customer": "late"} for row in UNFAIR.applicants("rent", [50.0])], NOON)
        return real(*arguments)  # type: ignore[arg-type]

    records = cold.count("payload_records")
    with patch.object(archiving, "remove_month", come), pytest.raises(Conflict, match="2026-03 of a-model kept arriving"):
        store(cold, tmp_path)
    assert cold.count("payload_records") == records + len(calls)


def test_late_records_make_a_new_partition_and_stay_when_the_month_comes_back(cold: Scene, tmp_path: Path) -> None:
    before = cold.count("payload_records")
    store(cold, tmp_path)
    assert drop_emptied(cold.database, MARCH)
    late(cold)
    with pytest.raises(psycopg.errors.UniqueViolation):
        late(cold, "ada-1")  # its id stays taken
    assert (partitions(cold), drop_emptied(cold.database, MARCH)) == (["payload_records_2026_03"], False)

    bring(cold)
    assert cold.count("payload_records") == cold.count("payload_keys") == before + 1


def test_of_a_label_that_is_sent_again_while_away_the_first_counts_and_a_new_one_stays(cold: Scene, tmp_path: Path) -> None:
    before = rows_of(cold.database.url, "feedback_records")["feedback_records"]
    store(cold, tmp_path)
    cold.number_from(700_000)
    cold.label([("ada-1", 0), ("r3", 1)], COUNTED)
    update(cold, COUNTED + HOUR)
    back = bring(cold)
    after = rows_of(cold.database.url, "feedback_records")["feedback_records"]

    assert (back.sent_again, set(before) <= set(after), len(after)) == (1, True, len(before) + 1)


def test_a_check_that_needs_the_month_says_which_and_how_to_bring_it_back(cold: Scene, tmp_path: Path) -> None:
    store(cold, tmp_path)
    for start, trigger in ((NOON, Trigger.RANGE), (COUNTED, Trigger.SCHEDULE)):  # the second looks for earlier records
        with pytest.raises(MonthsAway, match="evenhand archives bring-back --month 2026-03 --deployment a-model"):
            cold.check(start, trigger=trigger)
        cold.stop_running()
    bring(cold)
    cold.check(NOON)


def test_a_check_with_enough_later_records_does_not_need_the_month(cold: Scene, tmp_path: Path) -> None:
    store(cold, tmp_path)
    cold.number_from(800_000)
    monitor = cold.monitor()
    cold.watch(replace(monitor, min_records=20, max_records=40))
    rows = UNFAIR.applicants("own", [30.0 + no for no in range(20)]) + UNFAIR.applicants("rent", [30.0 + no for no in range(20)])
    cold.log([{**row, "customer": "may"} for row in rows], COUNTED)
    cold.label([(f"r{800_000 + no}", 1) for no in range(40)], COUNTED)

    assert len(cold.check(COUNTED).measurements) > 0


def test_a_new_revision_waits_for_the_month_where_people_count_once(cold: Scene, tmp_path: Path) -> None:
    store(cold, tmp_path)
    cold.revise("2")
    with pytest.raises(MonthsAway):
        update(cold, COUNTED + 48 * HOUR)
    bring(cold)
    update(cold, COUNTED + 48 * HOUR)


def test_erasing_a_person_is_refused_while_her_records_may_be_away(cold: Scene, tmp_path: Path) -> None:
    store(cold, tmp_path)
    for selector in (RecordSelector(field="customer", value=PERSON), RecordSelector(record_ids=("ada-1", "ada-2"))):
        with cold.database.transaction() as session, pytest.raises(Conflict, match=r"2026-03.*archives bring-back"):
            check_selector(session, cold.deployment.no, selector, None)
    with cold.database.transaction() as session:
        assert check_selector(session, cold.deployment.no, RecordSelector(record_ids=("of-may",)), None)
    bring(cold)
    with cold.database.transaction() as session:
        assert check_selector(session, cold.deployment.no, RecordSelector(record_ids=("ada-1",)), None)


def test_an_erased_person_does_not_come_back(cold: Scene, tmp_path: Path) -> None:
    records = cold.count("payload_records")
    store(cold, tmp_path)
    with cold.database.transaction() as session:
        remember_ids(session, cold.deployment.no, ["ada-1", "ada-2", "ada-3"])
    back = bring(cold)

    assert (back.erased, cold.count("payload_records")) == (6, records - 3)  # three records and three labels
    assert not tables_with(cold.database.url, PERSON) & set(MOVED)
    with psycopg.connect(cold.database.url) as connection:
        answers = """SELECT count(*) FROM counterfactuals
            WHERE record_no IN (SELECT record_no FROM payload_keys WHERE record_id LIKE 'ada-%')"""
        assert connection.execute(answers).fetchone() == (0,)


def test_a_hold_forbids_neither_way(cold: Scene, tmp_path: Path) -> None:
    before = rows_of(cold.database.url, *MOVED)
    with cold.database.transaction() as session:
        place_hold(session, cold.deployment.no, reason="Case 7", by="user:eve")
    store(cold, tmp_path)
    bring(cold)

    assert rows_of(cold.database.url, *MOVED) == before


def test_policies_reach_a_month_only_when_it_is_back(cold: Scene, tmp_path: Path) -> None:
    with cold.database.transaction() as session:
        put_policy(session, cold.deployment.no, RetentionPolicy(records_months=1, feedback_months=1))
    store(cold, tmp_path)
    apply_policies(cold.database)
    with cold.database.transaction() as session:
        aged = months_past_retention(session, current_time(session))

    assert ([one.month for one in aged], cold.count("payload_keys") > 0) == ([MARCH], True)
    bring(cold)
    apply_policies(cold.database)
    assert (cold.count("payload_records"), cold.count("payload_keys"), cold.count("feedback_records")) == (0, 0, 0)
    with cold.database.transaction() as session:
        assert months_past_retention(session, current_time(session)) == []
