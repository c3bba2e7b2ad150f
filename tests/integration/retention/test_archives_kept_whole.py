"""A month is not moved where it is needed, its files are not those that were written, or another process moves one."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import psycopg
import pytest
from sqlalchemy import text

from app.domain.archives import ArchiveState, CalendarMonth
from app.domain.checks import Span
from app.domain.definitions import definition_of
from app.domain.retention import RecordSelector
from app.errors import Conflict, NotFound, SetupError
from app.retention import archiving
from app.retention.archiving import drop_emptied, store_month
from app.store.checks.checks import current_time
from app.store.deployments.deployments import Deployments
from app.store.evidence.changes import note_changed_hours
from app.store.retention.archives import MonthPlace, alone, find_archives
from app.store.retention.erasures import request_erasure
from app.store.retention.months import drop_emptied_month
from tests.builders.archived_months import COUNTED, MARCH, MOVED, bring, dying, execute, partitions, store
from tests.builders.evidence_worlds import update
from tests.builders.lender import UNFAIR
from tests.builders.traces import rows_of
from tests.scenes import HOUR, NOON, PlainSealer, Scene


@pytest.mark.parametrize("harm", ["changed", "missing"])
def test_files_that_are_not_those_that_were_written_are_refused(cold: Scene, tmp_path: Path, harm: str) -> None:
    before = rows_of(cold.database.url, *MOVED)
    stored = store(cold, tmp_path)
    path = Path(stored.folder) / "payload_records.parquet"
    content = path.read_bytes()
    path.unlink()
    if harm == "changed":
        path.write_bytes(content[:-20] + bytes([content[-20] ^ 1]) + content[-19:])
    with pytest.raises(SetupError, match=r"payload_records.parquet is (missing|not the file that was written).*[Rr]estore"):
        bring(cold)
    assert cold.count("payload_records") == 0

    moved = tmp_path / "moved"
    moved.mkdir()
    (tmp_path / cold.deployment.id).rename(moved / cold.deployment.id)
    (moved / cold.deployment.id / "2026-03" / "payload_records.parquet").write_bytes(content)
    bring(cold, moved)
    assert rows_of(cold.database.url, *MOVED) == before


def test_files_with_other_rows_of_the_right_hash_are_refused(cold: Scene, tmp_path: Path) -> None:
    store(cold, tmp_path)
    execute(cold, "UPDATE archived_months SET tables = jsonb_set(tables, '{2,digest}', '\"7\"')")
    with pytest.raises(SetupError, match="are not those that left the database"):
        bring(cold)
    assert cold.count("payload_records") == 0


def test_no_writer_of_records_waits_while_rows_are_removed_or_brought_back(cold: Scene, tmp_path: Path) -> None:
    def look(step: str) -> Callable[..., object]:
        real = getattr(archiving, step)

        def locked(*arguments: object, **options: object) -> object:
            with psycopg.connect(cold.database.url) as writer:  # as a write of records locks
                writer.execute("SELECT FROM deployments FOR KEY SHARE NOWAIT")
                writer.execute("LOCK TABLE payload_records, payload_keys, feedback_records, counterfactuals IN ROW EXCLUSIVE MODE NOWAIT")
            return real(*arguments, **options)

        return locked

    with patch.object(archiving, "note_stored", look("note_stored")):
        store(cold, tmp_path)
    with patch.object(archiving, "note_back", look("note_back")):
        bring(cold)


def test_a_partition_is_dropped_only_when_nobody_uses_the_log(cold: Scene, tmp_path: Path) -> None:
    store(cold, tmp_path)
    with psycopg.connect(cold.database.url) as reader:
        reader.execute("SELECT count(*) FROM payload_records")
        assert drop_emptied_month(cold.database, MARCH) is None
        with psycopg.connect(cold.database.url) as writer:
            writer.execute("LOCK TABLE payload_records IN ROW EXCLUSIVE MODE NOWAIT")
    assert (drop_emptied_month(cold.database, MARCH), drop_emptied_month(cold.database, MARCH), partitions(cold)) == (True, True, [])


@pytest.mark.nightly
def test_a_month_that_is_still_needed_stays(stage: Scene, tmp_path: Path) -> None:
    with pytest.raises(Conflict, match="not counted for evidence over time yet"):
        store(stage, tmp_path)
    update(stage, NOON + timedelta(days=40))
    with pytest.raises(Conflict, match="label_horizon_hours"):
        store(stage, tmp_path)
    update(stage, COUNTED)
    with stage.database.transaction() as session:
        note_changed_hours(session, stage.deployment.no, [NOON])
    with pytest.raises(Conflict, match="changed hours are not counted"):
        store(stage, tmp_path)
    update(stage, COUNTED)
    run = stage.queue(Span(start=NOON, end=NOON + HOUR))
    with pytest.raises(Conflict, match=f"the check {run.id} reads records of it"):
        store(stage, tmp_path)
    stage.stop_running()
    with stage.database.transaction() as session:
        selector = RecordSelector(record_ids=("ada-1",))
        request_erasure(session, stage.deployment.no, stage.deployment.id, erasure_id="case-1", selector=selector, by="user:eve")
    with pytest.raises(Conflict, match="the erasure case-1 is not finished"):
        store(stage, tmp_path)
    with stage.database.transaction() as session:
        present = CalendarMonth.of(current_time(session))
    with pytest.raises(Conflict, match="it has not ended"):
        store_month(stage.database, MonthPlace(stage.deployment.no, present), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_another_deployment_keeps_its_records_of_the_month(cold: Scene, tmp_path: Path) -> None:
    with cold.database.transaction() as session:
        created, _ = Deployments(session, PlainSealer()).create("neighbour", replace(definition_of(cold.deployment), name="Neighbour"))
    other = Scene(cold.database, created)
    other.number_from(100_000)
    other.log([{**row, "id": "n", "customer": "n"} for row in UNFAIR.applicants("own", [50.0])], NOON)
    store(cold, tmp_path)
    assert (cold.count("payload_records"), drop_emptied(cold.database, MARCH)) == (1, False)
    store(other, tmp_path)
    assert (cold.count("payload_records"), drop_emptied(cold.database, MARCH)) == (0, True)
    bring(other)
    assert cold.count("payload_records") == 1


def test_files_of_another_month_or_installation_are_not_replaced(cold: Scene, tmp_path: Path) -> None:
    folder = tmp_path / cold.deployment.id / "2026-03"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    with pytest.raises(Conflict, match="holds the files of another month or installation"):
        store(cold, tmp_path)
    with patch.object(archiving, "write_manifest", dying("write_manifest")), pytest.raises(KeyboardInterrupt):
        store(cold, tmp_path / "first")
    with pytest.raises(Conflict, match=r"was being stored in .*first"):
        store(cold, tmp_path / "second")


def test_what_is_not_there_is_named(cold: Scene, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="stored month"):
        bring(cold)
    with pytest.raises(NotFound, match="a-model in 2025-01"):
        store_month(cold.database, MonthPlace(cold.deployment.no, CalendarMonth(2025, 1)), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="cannot be written or read: Not a directory"):
        store(cold, tmp_path / "file")


def test_one_process_at_a_time_moves_months(cold: Scene) -> None:
    with alone(cold.database), pytest.raises(Conflict, match="Another command moves a month"), alone(cold.database):
        pass
    with alone(cold.database):
        pass


def test_the_audit_names_folder_counts_and_hashes(cold: Scene, tmp_path: Path) -> None:
    stored = store(cold, tmp_path)
    bring(cold)
    with psycopg.connect(cold.database.url) as connection:
        events = connection.execute(
            "SELECT action, subject, deployment_id, details FROM audit_events WHERE action LIKE 'archive.%' ORDER BY no"
        ).fetchall()

    assert [event[:3] for event in events] == [
        ("archive.stored", "2026-03", "a-model"),
        ("archive.brought_back", "2026-03", "a-model"),
    ]
    assert events[0][3]["sha256"] == {one.name: one.sha256 for one in stored.tables}
    assert events[1][3]["rows"] == {one.name: one.rows for one in stored.tables}
    with cold.database.transaction() as session:
        assert [one.state for one in find_archives(session)] == [ArchiveState.BACK]
        session.execute(text("DELETE FROM deployments"))
        assert find_archives(session) == []
