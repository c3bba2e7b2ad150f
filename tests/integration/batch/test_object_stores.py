"""Tables in an object store give the figures of the same files in a folder, and what cannot be read is said by name."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

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
from tests.builders.lakes import Lake, lake_of
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
