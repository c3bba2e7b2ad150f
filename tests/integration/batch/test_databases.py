"""Tables of a database: the figures of logged records and of files, and nothing that the operator does not name."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.batch import database_table
from app.batch.engines import LocalEngine
from app.batch.locations import TableAccess
from app.batch.tables import open_table
from app.domain.checks import Span, Trigger
from app.domain.deployments import Endpoint
from app.domain.tables_of_files import PayloadTable, TableFormat
from app.errors import InvalidInput, SetupError
from app.schedule.late_files import look_for_late_files
from app.store.database.engine import Database
from app.store.deployments.listed_files import PAYLOAD, stored_files
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.divided import FEW, MAX_RECORDS, DividedRecords, assert_same_figures, counts, figures
from tests.builders.warehouses import NAME, Warehouse, warehouse_of
from tests.connections import connect
from tests.examples import many
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, Result, Scene, scene


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """The endpoint of a model."""
    with serve(RuleScorer()) as server:
        yield Endpoint(url=server.url)


def check_database(divided: DividedRecords, folder: Path, cuts: list[int], *, max_records: int) -> Result:
    """The check of the same records in tables of a database, which come in several parts and any order."""
    warehouse = warehouse_of(divided.logged, folder, schema=f"s{uuid.uuid4().hex}")
    warehouse.stage.watch(replace(divided.monitor, max_records=max_records))
    rows = divided.mixed()
    for start, end in pairwise([0, *sorted({cut for cut in cuts if cut < len(rows)}), len(rows)]):
        for revision in ("0", "1"):
            warehouse.write([row for row in rows[start:end] if row["revision"] == revision], NOON + HOUR / 4, revision=revision)
    warehouse.label(divided.labels(rows), NOON + HOUR / 2)
    return warehouse.check(NOON)


@pytest.mark.nightly
@settings(max_examples=many(2), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=FEW, cuts=st.lists(st.integers(1, 39), max_size=3), size=st.integers(1, 9), order=st.integers(0, 99))
def test_a_table_of_a_database_has_the_figures_of_logged_records_and_of_files(
    database: Database, endpoint: Endpoint, rows: list[dict[str, Any]], cuts: list[int], size: int, order: int
) -> None:
    divided = DividedRecords(database, endpoint, rows, Random(order))
    with (
        TemporaryDirectory() as name,
        patch.object(database_table, "ROWS_A_PIECE", size),
        patch.object(database_table, "IDS_AT_ONCE", size),
    ):
        folder = Path(name)
        expected = divided.logged.check(NOON)
        whole = check_database(divided, folder / "whole", cuts, max_records=divided.monitor.max_records)
        in_files = divided.check_files(folder / "files", LocalEngine(2), cuts, 0, max_records=MAX_RECORDS)
        in_pieces = check_database(divided, folder / "pieces", cuts, max_records=MAX_RECORDS)

    assert whole.run.state == expected.run.state, whole.run.reason
    assert_same_figures(figures(expected, of_payload=True), figures(whole, of_payload=True))
    assert counts(expected) == counts(whole)
    assert_same_figures(figures(in_files, of_payload=True), figures(in_pieces, of_payload=True))


@pytest.fixture
def stage(database: Database) -> Scene:
    return scene(database, APPLICANT, monitor_of(SEX), endpoint=None)


@pytest.fixture
def warehouse(stage: Scene, tmp_path: Path) -> Warehouse:
    return warehouse_of(stage, tmp_path)


def rows(size: int, prefix: str) -> list[dict[str, Any]]:
    return [row | {"id": f"{prefix}{no:04}"} for no, row in enumerate(applicants(size, size, 5))]


def test_each_record_is_in_one_slice_of_time(warehouse: Warehouse) -> None:
    times = [NOON + HOUR * no / 37 for no in range(37)]
    warehouse.write([row | {"at": times[no % 37]} for no, row in enumerate(rows(60, "a"))], NOON)
    table = open_table(read_payload(warehouse), access(warehouse), "payload")
    span = Span(start=NOON + HOUR / 10, end=NOON + HOUR * 0.9)
    with patch.object(database_table, "ROWS_A_PIECE", 7):
        pieces = table.pieces("scored_at", span)
    found = [one for piece in pieces for part in table.reader().read(piece, ["id"], "scored_at", span) for one in part["id"].to_pylist()]
    whole = [one for part in table.read(["id"], "scored_at", span) for one in part["id"].to_pylist()]

    assert len(pieces) > 10
    assert sorted(found) == sorted(whole)
    assert (
        len(whole) == len(set(whole)) == table.count("scored_at", span) == sum(span.start <= times[no % 37] < span.end for no in range(120))
    )
    assert table.earliest("scored_at", span) == min(time for time in times if time >= span.start)


@pytest.mark.nightly
def test_rows_that_come_late_have_their_hours_checked_again(warehouse: Warehouse, database: Database) -> None:
    look = TableAccess(databases=warehouse.stage.places.databases)
    for no in range(3):
        warehouse.write(rows(20, f"a{no}"), NOON + no * HOUR)
    assert look_for_late_files(database, look) == 0
    for no in range(3):
        warehouse.stage.check(NOON + no * HOUR, trigger=Trigger.SCHEDULE)
    assert look_for_late_files(database, look) == 0

    warehouse.write(rows(10, "late"), NOON + HOUR * 1.5)
    assert look_for_late_files(database, look) == 1
    assert look_for_late_files(database, look) == 0
    warehouse.run("DELETE FROM {schema}.scores WHERE scored_at < '2026-03-02 13:00Z'")
    assert look_for_late_files(database, look) == 1
    # Hours further back than those that are counted stay as they were listed.
    warehouse.write(rows(10, "later"), NOON + 200 * HOUR)
    look_for_late_files(database, look)
    with database.transaction() as session:
        listed = stored_files(session, warehouse.stage.deployment.no, PAYLOAD)
    assert sorted((one.oldest, one.bytes) for one in listed.values() if one.oldest) == [
        (NOON + HOUR, 60),
        (NOON + 2 * HOUR, 40),
        (NOON + 200 * HOUR, 20),
    ]


def read_payload(warehouse: Warehouse) -> PayloadTable:
    found = warehouse.stage.deployment.payload
    assert found is not None
    return found


def access(warehouse: Warehouse) -> TableAccess:
    return warehouse.stage.places.access


@pytest.mark.parametrize(
    "location",
    [
        "other/lake/scores",
        "warehouse/pg_catalog/pg_class",
        "warehouse/information_schema/x",
        "warehouse/lake",
        "warehouse//x",
        "/lake",
    ],
)
def test_only_tables_of_named_databases_are_read(warehouse: Warehouse, location: str) -> None:
    with pytest.raises(InvalidInput) as problem:
        open_table(replace(read_payload(warehouse), location=location), access(warehouse), "payload")
    assert [one.field for one in problem.value.problems] == ["payload.location"]


@pytest.mark.parametrize("name", ["absent", 'scores"; DROP TABLE lake.labels; --', "scores' OR true"])
def test_a_name_is_never_more_than_a_name(warehouse: Warehouse, name: str) -> None:
    with pytest.raises(InvalidInput, match="that its role may read"):
        open_table(replace(read_payload(warehouse), location=f"warehouse/lake/{name}"), access(warehouse), "payload")
    warehouse.label([("a' OR '1'='1", 1)], NOON)


def test_ids_of_any_characters_are_found(warehouse: Warehouse) -> None:
    ids = ["a' OR true --", "back\\slash", '"', "é{}%s", "$1"]
    warehouse.write([row | {"id": ids[no % 5] + str(no)} for no, row in enumerate(rows(20, ""))], NOON)
    warehouse.label([(ids[no % 5] + str(no), 1) for no in range(40)], NOON + HOUR / 2)
    assert (warehouse.check(NOON).run.window or {})["labelled_records"] == 40


def test_a_role_reads_what_it_was_granted_and_nothing_else(warehouse: Warehouse) -> None:
    role = f"r{uuid.uuid4().hex}"
    with connect(warehouse.url) as connection:
        connection.execute(f"CREATE ROLE {role}")
    asked = f"{warehouse.url}{'&' if '?' in warehouse.url else '?'}options=-crole%3D{role}"
    try:
        with pytest.raises(InvalidInput, match=r"no table lake\.scores in the database warehouse that its role may read"):
            open_table(read_payload(warehouse), TableAccess(databases={NAME: asked}), "payload")
    finally:
        with connect(warehouse.url) as connection:
            connection.execute(f"DROP ROLE {role}")


def test_a_database_that_does_not_answer_is_named_without_its_password(warehouse: Warehouse) -> None:
    away = TableAccess(databases={NAME: "postgresql://reader:hidden@127.0.0.1:1/none"})
    with pytest.raises(SetupError, match="The database warehouse of EVENHAND_TABLE_DATABASES does not answer") as problem:
        open_table(read_payload(warehouse), away, "payload")
    assert "hidden" not in str(problem.value)
    assert "hidden" not in repr(away)
    assert "hidden" not in repr(replace(warehouse.stage.places, databases=away.databases))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ("ALTER TABLE {schema}.scores DROP COLUMN income", "payload.columns.values.income"),
        ("ALTER TABLE {schema}.scores ALTER scored_at TYPE timestamp", "payload.columns.scored_at"),
        ("ALTER TABLE {schema}.labels ALTER observed_at TYPE date", "feedback.columns.observed_at"),
        ("DROP TABLE {schema}.labels", "feedback.location"),
    ],
)
def test_what_a_table_lacks_is_said_by_its_field(warehouse: Warehouse, change: str, field: str) -> None:
    warehouse.write(rows(20, "a"), NOON)
    warehouse.run(change)
    with pytest.raises(InvalidInput) as problem:
        warehouse.check(NOON)
    assert [one.field for one in problem.value.problems] == [field]


def test_answers_and_flags_of_a_database_lie_in_the_folder_of_answers(database: Database, endpoint: Endpoint, tmp_path: Path) -> None:
    warehouse = warehouse_of(scene(database, APPLICANT, monitor_of(SEX), endpoint=endpoint), tmp_path)
    warehouse.write(rows(20, "a"), NOON)
    found = warehouse.check(NOON).run.window or {}
    assert found["flag_file"] == str(tmp_path / "in-lake" / "flagged" / "2026-03-02T120000Z_2026-03-02T130000Z.parquet")
    assert pq.ParquetFile(str(found["flag_file"])).metadata.num_rows == 15
    with pytest.raises(SetupError, match="needs EVENHAND_ANSWERS_DIR"):
        replace_places(warehouse).check(NOON)


def replace_places(warehouse: Warehouse) -> Warehouse:
    """The same without a folder for answers."""
    stage = replace(warehouse.stage, places=replace(warehouse.stage.places, answers=None))
    return replace(warehouse, stage=stage)


def test_a_table_of_a_database_has_no_format_of_files() -> None:
    assert TableAccess(databases={NAME: "postgresql://x"}).problems(
        PayloadTable(location="warehouse/lake/scores", format=TableFormat.PARQUET), "payload.location"
    )
