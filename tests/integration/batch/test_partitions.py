"""Counting files a batch at a time gives the counts of all records at once, however they are divided."""

import math
import uuid
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.database.engine import Database
from app.domain.monitor import MonitoredAttribute
from app.sources.tables import table_files
from tests.builders.applicants import AGE, APPLICANT, applicants, monitor_of
from tests.builders.figures import left_out_of
from tests.builders.lakes import Lake, lake_of
from tests.scenes import HOUR, NOON, Result, Scene, scene

ANYBODY = MonitoredAttribute(feature="sex", monitored=("female",))

people = st.lists(
    st.fixed_dictionaries(
        {
            "sex": st.sampled_from(["female", "male", "x", "é", None]),
            "income": st.sampled_from([0, 20_000, 90_000]),
            "age": st.sampled_from([None, 18, 30, 35, 36, 75, 99]),
            "prediction": st.sampled_from([0, 1, 7]),
            "revision": st.sampled_from(["1", "0"]),
        }
    ),
    min_size=12,
    max_size=60,
)


@pytest.fixture
def stage(database: Database) -> Scene:
    """A deployment whose attributes list a reference, or none."""
    return scene(database, APPLICANT, monitor_of(ANYBODY, AGE, intersections=(("sex", "age"),), strata="income"), endpoint=None)


def whole(result: Result) -> dict[tuple[object, ...], Any]:
    return {
        (figure.metric, figure.data, figure.scope, figure.comparison, figure.group): (figure.value, figure.n, figure.reason)
        for figure in result.measurements
    }


@pytest.mark.parametrize("order", [1, pytest.param(-1, marks=pytest.mark.thorough)])
def test_a_column_without_a_value_in_one_file_has_the_type_of_the_others(stage: Scene, tmp_path: Path, order: int) -> None:
    known = applicants(30, 20, 5)
    unknown = [row | {"sex": None, "age": None} for row in applicants(10, 0, prefix="unknown")]
    in_two = lake_of(stage, tmp_path / "two", deployment_id="in-two")
    for rows in (unknown, known)[::order]:
        in_two.write(rows, NOON)
    in_one = lake_of(stage, tmp_path / "one", deployment_id="in-one")
    in_one.write([*known, *unknown], NOON)

    found = in_two.check(NOON)
    assert (found.run.window or {})["records"] == 60
    assert whole(found) == whole(in_one.check(NOON))


@pytest.mark.nightly
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=people, cuts=st.lists(st.integers(1, 59), max_size=5), batch=st.integers(1, 9), shuffled=st.randoms(use_true_random=False))
def test_any_partition_in_any_order_gives_the_same_figures(
    stage: Scene,
    rows: list[dict[str, Any]],
    cuts: list[int],
    batch: int,
    shuffled: Any,  # noqa: ANN401 - hypothesis' own
) -> None:
    records = [row | {"id": f"{no:04}", "probability": 0.5} for no, row in enumerate(rows)]
    mixed = shuffled.sample(records, len(records))
    edges = [0, *sorted({cut for cut in cuts if cut < len(mixed)}), len(mixed)]
    with TemporaryDirectory() as folder, patch.object(table_files, "BATCH_ROWS", batch):
        one_file, many_files = (_lake(stage, Path(folder) / name) for name in ("one", "many"))
        for revision in ("0", "1"):
            _write(one_file, [record for record in records if record["revision"] == revision], revision)
            for start, end in pairwise(edges):
                _write(many_files, [record for record in mixed[start:end] if record["revision"] == revision], revision)
        expected = one_file.check(NOON)
        many_files.stage.watch(monitor_of(ANYBODY, AGE, intersections=(("sex", "age"),), strata="income", max_records=10))

        found = many_files.check(NOON)

    mine, theirs = whole(expected), whole(found)
    assert mine.keys() == theirs.keys()
    for key, (value, n, reason) in mine.items():
        assert theirs[key][1:] == (n, reason), key
        assert value == theirs[key][0] or math.isclose(value, theirs[key][0], rel_tol=1e-12), key
    assert left_out_of(found)["as_logged"] == left_out_of(expected)["as_logged"]


def _lake(stage: Scene, folder: Path) -> Lake:
    return lake_of(stage, folder, types={"sex": pa.string(), "income": pa.int64(), "age": pa.int64()}, deployment_id=uuid.uuid4().hex)


def _write(lake: Lake, rows: list[dict[str, Any]], revision: str) -> None:
    if rows:
        lake.write(rows, NOON + HOUR / 4, revision=revision)
