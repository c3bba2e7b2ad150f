"""Tables of databases that SQLAlchemy reads: the figures of logged records, and nothing that the operator does not name."""

import logging
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.batch import sql_table
from app.batch.locations import TableAccess
from app.batch.stored_form import stored_values, typed_column
from app.batch.tables import open_table
from app.domain.checks import Span, Trigger
from app.domain.deployments import Column, Endpoint, FieldKind, FieldType
from app.domain.tables_of_files import PayloadTable, TableFormat
from app.errors import InvalidInput, SetupError
from app.schedule.late_files import look_for_late_files
from app.store.database.engine import Database
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.divided import FEW, MAX_RECORDS, DividedRecords, assert_same_figures, counts, figures, payload_counts
from tests.builders.sqlite_tables import NAME, SqliteTables, sqlite_tables_of
from tests.examples import many
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, Result, Scene, scene


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """The endpoint of a model."""
    with serve(RuleScorer()) as server:
        yield Endpoint(url=server.url)


@pytest.fixture
def stage(database: Database) -> Scene:
    return scene(database, APPLICANT, monitor_of(SEX), endpoint=None)


@pytest.fixture
def tables(stage: Scene, tmp_path: Path) -> SqliteTables:
    return sqlite_tables_of(stage, tmp_path)


def rows(size: int, prefix: str) -> list[dict[str, Any]]:
    return [row | {"id": f"{prefix}{no:04}"} for no, row in enumerate(applicants(size, size, 5))]


def payload_of(tables: SqliteTables) -> PayloadTable:
    found = tables.stage.deployment.payload
    assert found is not None
    return found


def check_tables(divided: DividedRecords, folder: Path, cuts: list[int], *, max_records: int) -> Result:
    """The check of the same records in SQLite, which come in several parts and any order."""
    tables = sqlite_tables_of(divided.logged, folder / uuid.uuid4().hex)
    tables.stage.watch(replace(divided.monitor, max_records=max_records))
    mixed = divided.mixed()
    for start, end in pairwise([0, *sorted({cut for cut in cuts if cut < len(mixed)}), len(mixed)]):
        for revision in ("0", "1"):
            tables.write([row for row in mixed[start:end] if row["revision"] == revision], NOON + HOUR / 4, revision=revision)
    tables.label(divided.labels(mixed), NOON + HOUR / 2)
    return tables.check(NOON)


@settings(max_examples=many(1), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(records=FEW, cuts=st.lists(st.integers(1, 39), max_size=3), size=st.integers(1, 9), order=st.integers(0, 99))
@pytest.mark.nightly
def test_a_table_has_the_figures_of_logged_records(
    database: Database, endpoint: Endpoint, records: list[dict[str, Any]], cuts: list[int], size: int, order: int
) -> None:
    divided = DividedRecords(database, endpoint, records, Random(order))
    with (
        TemporaryDirectory() as name,
        patch.object(sql_table, "ROWS_A_PIECE", size),
        patch.object(sql_table, "IDS_AT_ONCE", size),
        patch.object(sql_table, "ROWS_AT_ONCE", size),
    ):
        expected = divided.logged.check(NOON)
        whole = check_tables(divided, Path(name), cuts, max_records=divided.monitor.max_records)
        in_pieces = check_tables(divided, Path(name), cuts, max_records=MAX_RECORDS)

    assert whole.run.state == expected.run.state, whole.run.reason
    assert_same_figures(figures(expected, of_payload=True), figures(whole, of_payload=True))
    assert counts(expected) == counts(whole)
    assert payload_counts(whole) == payload_counts(in_pieces)


FIRST = datetime(2026, 3, 1, tzinfo=UTC)
WITHIN_THREE_DAYS = st.timedeltas(timedelta(0), timedelta(days=3))
EAST = timezone(timedelta(hours=5, minutes=30))
FORMS = [
    lambda at: at.isoformat(),
    lambda at: at.isoformat(" "),
    lambda at: at.astimezone(EAST).isoformat(),
    lambda at: at.isoformat().replace("+00:00", "Z"),
    lambda at: at.replace(tzinfo=None).isoformat(" "),
]


@settings(max_examples=many(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    times=st.lists(st.tuples(WITHIN_THREE_DAYS, st.sampled_from(FORMS)), max_size=12),
    start=WITHIN_THREE_DAYS,
    hours=st.integers(1, 40),
    size=st.integers(1, 5),
)
@pytest.mark.nightly
def test_each_time_is_in_its_span_and_hour_to_the_microsecond(
    stage: Scene, times: list[tuple[timedelta, Any]], start: timedelta, hours: int, size: int
) -> None:
    with TemporaryDirectory() as folder, patch.object(sql_table, "ROWS_A_PIECE", size):
        tables = sqlite_tables_of(stage, Path(folder) / uuid.uuid4().hex)
        moments = [FIRST + after for after, _ in times]
        record = (1, 0.5, "1", "female", 1, 1)
        width = len(stage.deployment.schema.features) + len(stage.deployment.schema.meta)
        written = [
            [str(no), form(at), *record[:3], *([None] * width)] for no, (at, (_, form)) in enumerate(zip(moments, times, strict=True))
        ]
        tables.insert("SCORES", [*written, ["none", None, *record[:3], *([None] * width)], ["odd", "soon", *record[:3], *([None] * width)]])
        table = sql_table.SqlTable(payload_of(tables), tables.stage.places.databases[NAME], "payload")
        span = Span(start=FIRST + start, end=FIRST + start + HOUR * hours)
        inside = sorted(at for at in moments if span.start <= at < span.end)
        found = [at for part in table.read(["scored_at"], "scored_at", span) for at in part["scored_at"].to_pylist()]
        reader = table.reader()
        in_pieces = [
            at
            for piece in table.pieces("scored_at", span)
            for part in reader.read(piece, ["scored_at"], "scored_at", span)
            for at in part["scored_at"].to_pylist()
        ]
        of_hours = table.hours("scored_at", FIRST)

        assert sorted(found) == sorted(in_pieces) == inside
        assert table.count("scored_at", span) == len(inside)
        assert table.earliest("scored_at", span) == min(inside, default=None)
        assert table.newest("scored_at") == max(moments, default=None)
        expected = {at.replace(minute=0, second=0, microsecond=0) for at in moments}
        assert {one.oldest.replace(minute=0, second=0, microsecond=0) for one in of_hours} == expected
        assert sum(one.rows for one in of_hours) == len(moments)


@pytest.mark.nightly
def test_rows_that_come_late_have_their_hours_checked_again(tables: SqliteTables, database: Database) -> None:
    look = tables.stage.places.access
    for no in range(3):
        tables.write(rows(20, f"a{no}"), NOON + no * HOUR)
    assert look_for_late_files(database, look) == 0
    for no in range(3):
        tables.stage.check(NOON + no * HOUR, trigger=Trigger.SCHEDULE)
    tables.write(rows(10, "late"), NOON + HOUR * 1.5)
    assert look_for_late_files(database, look) == 1
    assert look_for_late_files(database, look) == 0


@pytest.mark.parametrize(
    "location", ["other/main/scores", "branch/sys/x", "branch/INFORMATION_SCHEMA/x", "branch/main/sqlite_master", "branch/main", "/main"]
)
def test_only_tables_of_named_databases_are_read(tables: SqliteTables, location: str) -> None:
    with pytest.raises(InvalidInput) as problem:
        open_table(replace(payload_of(tables), location=location), tables.stage.places.access, "payload")
    assert [one.field for one in problem.value.problems] == ["payload.location"]


@pytest.mark.parametrize("name", ["absent", 'SCORES"; DROP TABLE LABELS; --', "SCORES' OR true"])
def test_a_name_is_never_more_than_a_name(tables: SqliteTables, name: str) -> None:
    with pytest.raises(InvalidInput, match="that its role may read"):
        open_table(replace(payload_of(tables), location=f"branch/main/{name}"), tables.stage.places.access, "payload")
    tables.label([("a", 1)], NOON)


def test_ids_of_any_characters_are_found(tables: SqliteTables) -> None:
    ids = ["a' OR true --", "back\\slash", '"', "é{}%s:x", "$1"]
    tables.write([row | {"id": ids[no % 5] + str(no)} for no, row in enumerate(rows(20, ""))], NOON)
    tables.label([(ids[no % 5] + str(no), 1) for no in range(40)], NOON + HOUR / 2)
    assert (tables.check(NOON).run.window or {})["labelled_records"] == 40


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ("ALTER TABLE SCORES DROP COLUMN INCOME", "payload.columns.values.income"),
        ("ALTER TABLE LABELS RENAME COLUMN OBSERVED_AT TO SEEN", "feedback.columns.observed_at"),
        ("DROP TABLE LABELS", "feedback.location"),
        ("UPDATE SCORES SET INCOME = 'much'", "payload.columns"),
    ],
)
def test_what_a_table_lacks_is_said_by_its_field(tables: SqliteTables, change: str, field: str) -> None:
    tables.write(rows(20, "a"), NOON)
    tables.run(change)
    if field == "payload.columns":
        tables.stage.watch(monitor_of(replace(SEX, feature="income", monitored=((0, 1),))))
    with pytest.raises(InvalidInput) as problem:
        tables.check(NOON)
    assert [one.field for one in problem.value.problems] == [field]


HIDDEN = "s3cr%40t/x"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"mysql+nodriver://u:{HIDDEN}@db/x", "mysql+nodriver, for which SQLAlchemy has no dialect here"),
        (f"nosuch://u:{HIDDEN}@db/x", "nosuch, for which SQLAlchemy has no dialect here"),
        (f"mssql+pyodbc://u:{HIDDEN}@db/x", "mssql+pyodbc, whose Python driver is not installed"),
        ("sqlite+aiosqlite:///x", "sqlite+aiosqlite"),
        (f"oracle://u:{HIDDEN}@db:port/x", "whose URL in EVENHAND_TABLE_DATABASES cannot be read"),
    ],
)
def test_a_database_that_this_python_cannot_read_is_refused_with_what_to_do(url: str, said: str) -> None:
    table = PayloadTable(location="bank/lake/scores", format=TableFormat.JDBC)
    (problem,) = TableAccess(databases={"bank": url}).problems(table, "payload.location")
    assert problem.field == "payload.location"
    assert said in problem.message
    assert "s3cr" not in problem.message


def test_a_database_that_is_away_is_named_without_its_password(
    tables: SqliteTables, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    away = TableAccess(databases={NAME: f"sqlite:///{tmp_path}/absent.db?password=s3cret"})
    with pytest.raises(SetupError, match="The database branch of EVENHAND_TABLE_DATABASES is no file here") as problem:
        open_table(payload_of(tables), away, "payload")
    assert not (tmp_path / "absent.db").exists()
    assert "s3cret" not in f"{problem.value}{away!r}{caplog.text}"
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"s3cret" * 500)
    with pytest.raises(InvalidInput, match="cannot be read: file is not a database"):
        open_table(payload_of(tables), TableAccess(databases={NAME: f"sqlite:///{broken}"}), "payload")


def test_a_reader_that_goes_to_executors_shows_no_password(tables: SqliteTables) -> None:
    table = sql_table.SqlTable(payload_of(tables), tables.stage.places.databases[NAME], "payload")
    assert "sqlite:///" not in repr(table.reader())


def test_the_database_is_only_read(tables: SqliteTables) -> None:
    tables.write(rows(20, "a"), NOON)
    before = tables.file.read_bytes()
    tables.file.chmod(0o444)
    tables.check(NOON)
    assert tables.file.read_bytes() == before


@pytest.mark.parametrize(("values", "said"), [([0, 1, None], None), ([0, 2], "must hold boolean values, found int64")])
def test_integers_are_booleans_where_they_are_zero_and_one(values: list[int | None], said: str | None) -> None:
    column = Column(name="owner", kind=FieldKind.CATEGORICAL, type=FieldType.BOOLEAN)
    array = pa.chunked_array([pa.array(values, pa.int64())])
    if said is None:
        assert typed_column(array, column).to_pylist() == [False, True, None]
        assert stored_values(array, column).to_pylist() == ["false", "true", None]
    else:
        with pytest.raises(InvalidInput, match=said):
            typed_column(array, column)
