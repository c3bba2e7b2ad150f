"""The engine spark gives the figures of Postgres and of the engine local, and asks the model about each copy once.

Runs where pyspark and Java are there: `scripts/trial spark test` sets them up, with a master and two workers.
"""

import os
import shutil
import sys
import uuid
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.base.errors import InvalidInput, SetupError
from app.calls.egress_policy import EgressPolicy
from app.checks.window.window import TablePlaces
from app.database.engine import Database
from app.domain.check import Failure
from app.domain.deployment import Endpoint, EndpointSource, TableFormat
from app.domain.monitor import MonitoredAttribute
from app.sources.tables.table_files import Engine
from app.statistics.catalogue import CATALOGUE
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.divided import DividedRecords, assert_same_everywhere, records_with_nulls
from tests.builders.figures import assert_same_payload, payload_figures
from tests.builders.lakes import Lake, lake_of
from tests.builders.log_tables import as_table
from tests.builders.spark_engines import SPARK_WARNINGS, require_spark, spark_engine
from tests.builders.stores import GIVEN_URL, s3
from tests.models.mlflow_stub import save_rule_model
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, Result, Scene, scene

require_spark()
pytestmark = SPARK_WARNINGS

ANYBODY = MonitoredAttribute(feature="sex", monitored=("female",))
TOGETHER = (("sex", "age"),)


@pytest.fixture(scope="module")
def engine() -> Engine:
    return spark_engine()


def on(lake: Lake, engine: Engine) -> Lake:
    """The same deployment, whose files the engine reads."""
    lake.stage.places = TablePlaces((lake.folder,), engine=engine)
    return lake


people = st.lists(
    st.fixed_dictionaries(
        {
            "sex": st.sampled_from(["female", "male", "x", None]),
            "income": st.sampled_from([0, 20_000, 90_000]),
            "age": st.sampled_from([None, 18, 30, 36, 75, 99]),
            "prediction": st.sampled_from([0, 1, 7]),
            "revision": st.sampled_from(["1", "0"]),
        }
    ),
    min_size=12,
    max_size=60,
)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=people, cuts=st.lists(st.integers(1, 59), max_size=4), late=st.integers(0, 11), shuffled=st.randoms(use_true_random=False))
def test_postgres_local_and_spark_give_the_same_figures(
    database: Database,
    engine: Engine,
    rows: list[dict[str, Any]],
    cuts: list[int],
    late: int,
    shuffled: Any,  # noqa: ANN401 - hypothesis' own
) -> None:
    monitor = monitor_of(ANYBODY, AGE, intersections=TOGETHER, metrics=tuple(CATALOGUE), strata="income")
    stage = scene(database, APPLICANT, monitor, endpoint=None, deployment_id=uuid.uuid4().hex)
    records = [row | {"id": f"{no:04}", "probability": 0.5} for no, row in enumerate(rows)]
    for revision in ("0", "1"):
        _log(stage, [record for record in records if record["revision"] == revision], revision)
    mixed = shuffled.sample(records, len(records))
    edges = [late, *sorted({cut for cut in cuts if late < cut < len(mixed)}), len(mixed)]
    with TemporaryDirectory() as folder:
        lake = _lake(stage, Path(folder))
        for start, end in pairwise(edges):
            _write(lake, mixed[start:end])
        lake.stage.watch(replace(monitor, max_records=10))
        on(lake, engine).check(NOON)
        # Late files: the hour is checked again.
        _write(lake, mixed[:late])
        found = lake.check(NOON)
        lake.stage.places = TablePlaces((lake.folder,))
        local = lake.check(NOON)

    expected = stage.check(NOON)
    # A span that is counted in pieces is counted without probabilities.
    assert_same_payload(expected, found, but=("rows", "scores"))
    assert_same_payload(expected, local, but=("rows", "scores"))
    assert figures_of_scores(found) == figures_of_scores(local)


def figures_of_scores(result: Result) -> dict[tuple[object, ...], object]:
    return {key: one for key, one in payload_figures(result).items() if "scores" in CATALOGUE[str(key[0])].needs}


def test_copies_are_asked_by_the_executors_once_and_give_the_same_figures(database: Database, engine: Engine, tmp_path: Path) -> None:
    with serve(RuleScorer()) as server:
        stage = scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=Endpoint(url=server.url, page_size=10, requests_per_second=200))
        here, there = lake_of(stage, tmp_path / "here"), lake_of(stage, tmp_path / "there", deployment_id="on-spark")
        for lake in (here, there):
            lake.write(applicants(30, 30, 7), NOON)
        expected = here.check(NOON)
        asked = server.counts.rows

        found = on(there, engine).check(NOON)
        once = server.counts.rows
        again = there.check(NOON)

        assert once == 2 * asked > 0
        assert server.counts.rows == once
    for result in (found, again):
        assert all_figures(result) == all_figures(expected)


@pytest.mark.skipif(GIVEN_URL not in os.environ, reason="the executors do not know the S3 of this test; scripts/trial spark test runs it")
@pytest.mark.parametrize("format_", [TableFormat.PARQUET, TableFormat.DELTA])
def test_files_on_s3_give_the_figures_of_the_same_files_in_a_folder(
    database: Database, engine: Engine, tmp_path: Path, format_: TableFormat
) -> None:
    monitor = monitor_of(ANYBODY, AGE, intersections=TOGETHER, metrics=tuple(CATALOGUE), max_records=30)
    rows = [row | {"id": f"{no:05}"} for no, row in enumerate(applicants(60, 60, 7))]
    with serve(RuleScorer()) as server, s3() as store:
        stage = scene(database, APPLICANT, monitor, endpoint=Endpoint(url=server.url))
        lake = lake_of(stage, tmp_path / "lake", format=format_, partition_by="day")
        for start in range(0, len(rows), 50):
            part = rows[start : start + 50]
            if format_ is TableFormat.DELTA:
                deltalake.write_deltalake(str(lake.folder / "payload"), as_table(part), mode="append", partition_by=["sex"])
            else:
                lake.write(part, NOON, path=f"day={start} a")
        lake.label([(row["id"], int(no % 3 == 0)) for no, row in enumerate(rows)], NOON + HOUR / 2)
        expected, there = lake.check(NOON), store.copied(lake, tmp_path / "answers", engine)

        found = there.check(NOON)

    assert (found.run.window or {})["records"] == 120
    assert all_figures(found) == all_figures(expected)


def test_a_failure_on_an_executor_is_that_of_the_check(database: Database, engine: Engine, tmp_path: Path) -> None:
    stage = scene(database, APPLICANT, monitor_of(SEX, max_records=20), endpoint=Endpoint(url="http://127.0.0.1:9/score"))
    lake = on(lake_of(stage, tmp_path), engine)
    lake.write(applicants(30, 30, 7), NOON)

    without = lake.check(NOON)
    assert without.run.failure is Failure.SCORING_FAILED
    assert {figure.value for figure in without.measurements if figure.data == "counterfactual"} == {None}
    assert without.get("disparate_impact", "as_logged", "sex", "female").value is not None
    wrong = lake_of(stage, tmp_path / "wrong", types={"sex": pa.int64()}, deployment_id="wrong")
    wrong.write([row | {"sex": 1} for row in applicants(30, 30, 7)], NOON)
    with pytest.raises(InvalidInput, match="sex"):
        on(wrong, engine).check(NOON)


def test_executors_give_the_figures_of_logged_records_with_labels_and_missing_values(
    database: Database, engine: Engine, tmp_path: Path
) -> None:
    with serve(RuleScorer()) as server:
        divided = DividedRecords(database, Endpoint(url=server.url), records_with_nulls(60), Random(1))
        assert_same_everywhere(divided, engine, tmp_path, [20, 40], late=1)


def test_a_package_that_executors_lack_is_named(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    only_here = ModuleType("only_here")
    exec("def work(piece):\n    return piece", only_here.__dict__)  # noqa: S102 - a task of a module that no executor has
    monkeypatch.setitem(sys.modules, "only_here", only_here)
    with pytest.raises(SetupError, match=r"On an executor of Spark: .*No module named 'only_here'.*Install"):
        list(engine.run(only_here.work, [b"1", b"2"], lambda _: None))


def test_executors_load_an_mlflow_model_and_ask_it_about_each_copy_once(database: Database, engine: Engine, tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="MLflow is not installed; scripts/trial spark test runs this")
    model = tmp_path / "models" / "rule"
    save_rule_model(model)
    found: list[dict[tuple[object, ...], Any]] = []
    with serve(RuleScorer()) as server:
        over_http = Endpoint(url=server.mlflow_url, payload_format="mlflow", page_size=10)
        loaded = Endpoint(source=EndpointSource.MLFLOW, uri=str(model), payload_format="mlflow", page_size=10, concurrency=2)
        for name, endpoint in (("http", over_http), ("mlflow", loaded)):
            stage = scene(database, APPLICANT, monitor_of(ANYBODY, AGE), endpoint=endpoint, deployment_id=uuid.uuid4().hex)
            lake = on(_lake(stage, tmp_path / name), engine)
            lake.stage.policy = EgressPolicy(model_prefixes=(str(tmp_path / "models"),))
            lake.write(applicants(30, 30, 7), NOON)
            found.append(all_figures(lake.check(NOON)))
    shutil.rmtree(model)
    again = all_figures(lake.check(NOON))  # asks nothing: there is no model any more

    assert found[0] == found[1] == again


def all_figures(result: Result) -> dict[tuple[object, ...], Any]:
    return {(m.metric, m.data, m.scope, m.comparison, m.group): (m.value, m.lower, m.upper, m.n) for m in result.measurements}


def _lake(stage: Scene, folder: Path) -> Lake:
    return lake_of(stage, folder, types={"sex": pa.string(), "income": pa.int64(), "age": pa.int64()}, deployment_id=uuid.uuid4().hex)


def _log(stage: Scene, rows: list[dict[str, Any]], revision: str) -> None:
    if rows:
        stage.log(rows, NOON + HOUR / 4, revision=revision)


def _write(lake: Lake, rows: list[dict[str, Any]]) -> None:
    for revision in ("0", "1"):
        of_revision = [row for row in rows if row["revision"] == revision]
        if of_revision:
            lake.write(of_revision, NOON + HOUR / 4, revision=revision)
