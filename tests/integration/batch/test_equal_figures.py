"""The same records give the same figures, whether they were logged or lie in files."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.checks.counting.count_files import COUNTED_WITHOUT_SCORES
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.domain.monitor import MonitoredAttribute
from app.statistics.catalogue import CATALOGUE
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.divided import counts
from tests.builders.lakes import Lake, lake_of
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, Result, Scene, scene

ANYBODY = MonitoredAttribute(feature="sex", monitored=("female",))
BESIDES = {"fingerprint", "mitigation_profile_version", "mitigation"}


def figures(result: Result) -> dict[tuple[object, ...], Any]:
    return {
        (figure.metric, str(figure.data), figure.scope, figure.comparison, figure.group): (
            figure.value,
            figure.lower,
            figure.upper,
            figure.n,
            figure.verdict,
            figure.reason,
        )
        for figure in result.measurements
        if not figure.data.startswith("mitigated")  # there is no mitigation of records in files
    }


def assert_close(expected: Sequence[Any], found: Sequence[Any], key: object) -> None:
    for value, other in zip(expected, found, strict=True):
        if isinstance(value, float) and isinstance(other, float):
            assert math.isclose(value, other, rel_tol=1e-12, abs_tol=1e-12), (key, value, other)
        else:
            assert value == other, (key, value, other)


def assert_same(logged: Result, filed: Result) -> None:
    assert filed.run.state == logged.run.state, filed.run.reason
    mine, theirs = figures(logged), figures(filed)
    assert mine.keys() == theirs.keys()
    for key, expected in mine.items():
        assert_close(expected, theirs[key], key)
    assert counts(logged) == counts(filed)
    known = {name: value for name, value in (logged.run.window or {}).items() if name not in BESIDES}
    if "left_out" in known:  # files are not mitigated
        known["left_out"] = {data: of_data for data, of_data in known["left_out"].items() if not data.startswith("mitigated")}
    assert {name: value for name, value in (filed.run.window or {}).items() if name in known} == known


def people(size: int) -> list[dict[str, Any]]:
    rows = applicants(size, size, size // 4)
    for no, row in enumerate(rows):
        row["id"] = f"{no:05}"  # records of one moment are in the order of their ids
        if no % 11 == 0:
            row["sex"] = None
        if no % 13 == 0:
            row["sex"] = f"x{no % 3}"
        if no % 17 == 0:
            row["prediction"] = 7
    return rows


@pytest.fixture
def stage(database: Database) -> Scene:
    """A deployment with every metric of the catalogue, and no endpoint."""
    monitor = monitor_of(ANYBODY, AGE, intersections=(("sex", "age"),), metrics=tuple(CATALOGUE), strata="age")
    return scene(database, APPLICANT, monitor, endpoint=None)


def put(stage: Scene, lake: Lake, rows: Sequence[dict[str, Any]], *more: Any, **others: Any) -> None:  # noqa: ANN401 - passed on
    stage.log(rows, *more, **others)
    lake.write(rows, *more, **others)


@pytest.mark.nightly
def test_every_metric_of_the_catalogue_is_the_same(stage: Scene, tmp_path: Path) -> None:
    lake, rows = lake_of(stage, tmp_path), people(60)
    put(stage, lake, rows[:50], NOON)
    put(stage, lake, rows[50:], NOON + HOUR / 2, revision="0")
    labels = [(row["id"], int(no % 3 == 0)) for no, row in enumerate(rows)]
    for one in (stage, lake):
        one.label(labels, NOON + HOUR / 2)

    assert_same(stage.check(NOON), lake.check(NOON))


@pytest.mark.nightly
def test_a_span_larger_than_memory_holds_is_counted_a_batch_at_a_time(stage: Scene, tmp_path: Path) -> None:
    lake, rows = lake_of(stage, tmp_path), people(100)
    for no in range(0, len(rows), 37):
        put(stage, lake, rows[no : no + 37], NOON + no * HOUR / 1000)
    expected = stage.check(NOON)
    lake.stage.watch(monitor_of(ANYBODY, AGE, intersections=(("sex", "age"),), metrics=tuple(CATALOGUE), strata="age", max_records=20))

    found = lake.check(NOON)

    assert (found.run.window or {})["records"] == 200
    mine, theirs = figures(expected), figures(found)
    of_payload = [key for key in mine if key[1] == "as_logged" and not {"rows", "scores"} & set(CATALOGUE[str(key[0])].needs)]
    assert of_payload
    for key in of_payload:
        assert_close(mine[key], theirs[key], key)
    reasons = {theirs[key][5] for key in theirs if key[1] == "as_logged" and "rows" in CATALOGUE[str(key[0])].needs}
    assert reasons == {"the span holds more records than max_records, and this metric compares each with those most like it"}
    assert {theirs[key][5] for key in theirs if key[1] == "as_logged" and "scores" in CATALOGUE[str(key[0])].needs} == {
        COUNTED_WITHOUT_SCORES
    }


@pytest.mark.nightly
def test_copies_are_asked_once_and_give_the_same_counterfactual_figures(database: Database, tmp_path: Path) -> None:
    with serve(RuleScorer()) as server:
        stage = scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=Endpoint(url=server.url))
        lake, rows = lake_of(stage, tmp_path), people(30)
        put(stage, lake, rows, NOON)
        expected = stage.check(NOON)
        asked = server.counts.rows

        first = lake.check(NOON)
        asked_for_files = server.counts.rows - asked
        again = lake.check(NOON)

        assert asked_for_files == asked > 0
        assert server.counts.rows == 2 * asked
    assert_same(expected, first)
    assert figures(again) == figures(first)
    assert stage.count("counterfactuals") == asked
    assert list((tmp_path / "payload" / "_evenhand").rglob("*.parquet"))


@pytest.mark.nightly
def test_a_window_is_topped_up_from_earlier_hours(stage: Scene, tmp_path: Path) -> None:
    lake, rows = lake_of(stage, tmp_path), people(40)
    put(stage, lake, rows[:70], NOON - 300 * HOUR)
    put(stage, lake, rows[70:76], NOON)

    logged, filed = stage.check(NOON), lake.check(NOON)

    assert (filed.run.window or {})["additional_records"] == 4
    assert_same(logged, filed)
