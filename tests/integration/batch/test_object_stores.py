"""Tables in an object store give the figures of the same files in a folder, and what cannot be read is said by name."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import deltalake
import pytest

from app.batch import locations
from app.batch.listing import find_changes
from app.batch.locations import list_files, location_problems
from app.batch.payload_files import PayloadFiles
from app.domain.checks import CheckState, Span
from app.domain.deployments import Endpoint
from app.domain.monitors import MonitoredAttribute
from app.domain.tables_of_files import PayloadTable, TableFormat
from app.errors import InvalidInput, SetupError
from app.metrics.catalogue import CATALOGUE
from app.settings import Settings
from app.store.database.engine import Database
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import lake_of
from tests.builders.log_tables import as_table, iceberg
from tests.builders.stores import BUCKET, S3, s3
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, Result, scene

ROOTS = (f"s3://{BUCKET}/allowed",)
ANYBODY = MonitoredAttribute(feature="sex", monitored=("female",))


@pytest.fixture(scope="module")
def store() -> Iterator[S3]:
    with s3() as server:
        yield server


def figures(result: Result) -> dict[tuple[object, ...], Any]:
    return {
        (one.metric, str(one.data), one.scope, one.comparison, one.group): (one.value, one.lower, one.upper, one.n, one.verdict, one.reason)
        for one in result.measurements
    }


def people(size: int) -> list[dict[str, Any]]:
    return [row | {"id": f"{no:05}"} for no, row in enumerate(applicants(size, size, size // 4))]


@pytest.mark.parametrize("max_records", [1000, 30], ids=["in-memory", "in-pieces"])
def test_a_check_of_files_on_s3_is_that_of_the_same_files_in_a_folder(
    database: Database, store: S3, tmp_path: Path, max_records: int
) -> None:
    with serve(RuleScorer()) as server:
        monitor = monitor_of(ANYBODY, AGE, metrics=tuple(CATALOGUE), max_records=max_records)
        stage = scene(database, APPLICANT, monitor, endpoint=Endpoint(url=server.url))
        lake, rows = lake_of(stage, tmp_path / "lake", partition_by="day"), people(40)
        lake.write(rows[:50], NOON, path="day=one%20day")
        lake.write(rows[50:], NOON + HOUR / 2, path="day=2")
        lake.label([(row["id"], int(no % 3 == 0)) for no, row in enumerate(rows)], NOON + HOUR / 2)
        there = store.copied(lake, tmp_path / "answers", deployment_id=f"in-store-{max_records}")

        expected, found, asked = lake.check(NOON), there.check(NOON, NOON + HOUR), server.counts.rows
        again = there.check(NOON, NOON + HOUR)

        assert server.counts.rows == asked  # the answers are kept
    assert found.run.state is CheckState.SUCCEEDED
    assert len(figures(expected)) > 100
    assert figures(found) == figures(again) == figures(expected)
    assert (found.run.window or {})["records"] == 80
    assert Path((found.run.window or {})["flag_file"]).is_relative_to(tmp_path / "answers")


def write_delta(folder: Path, rows: list[dict[str, Any]]) -> None:
    deltalake.write_deltalake(str(folder), as_table(applicants(9, 9)), partition_by=["sex"])
    deltalake.write_deltalake(str(folder), as_table(rows[:30]), mode="overwrite", partition_by=["sex"])
    deltalake.write_deltalake(str(folder), as_table(rows[30:]), mode="append", partition_by=["sex"])


def test_the_newest_version_of_a_delta_table_on_s3_gives_the_same(database: Database, store: S3, tmp_path: Path) -> None:
    # The column is in the log and not in the files.
    monitor = monitor_of(ANYBODY, metrics=tuple(CATALOGUE))
    lake = lake_of(scene(database, APPLICANT, monitor, endpoint=None), tmp_path / "lake", format=TableFormat.DELTA)
    write_delta(tmp_path / "lake" / "payload", [row | {"sex": f"x {row['sex']}%"} for row in people(40)])
    there = store.copied(lake, tmp_path / "answers", deployment_id="delta-in-store")

    expected, found = lake.check(NOON), there.check(NOON)

    assert (expected.run.window or {})["records"] == 80
    assert figures(found) == figures(expected)


def test_the_current_snapshot_of_an_iceberg_table_on_s3_gives_the_same(database: Database, store: S3, tmp_path: Path) -> None:
    lake = lake_of(scene(database, APPLICANT, monitor_of(SEX), endpoint=None), tmp_path / "lake", format=TableFormat.ICEBERG)
    rows = people(40)
    there = store.copied(lake, tmp_path / "answers", deployment_id="iceberg-in-store")
    address = there.deployment.payload.location  # type: ignore[union-attr]
    on_s3 = {"s3.endpoint": store.url, "s3.region": "us-east-1"}
    for location, properties in ((None, {}), (address, on_s3)):
        with iceberg(
            tmp_path / ("lake" if location is None else "s3") / "payload", applicants(9, 9), location=location, **properties
        ) as table:
            table.overwrite(as_table(rows[:30]))
            table.append(as_table(rows[30:]))

    expected, found = lake.check(NOON), there.check(NOON)

    assert (expected.run.window or {})["records"] == 80
    assert figures(found) == figures(expected)
