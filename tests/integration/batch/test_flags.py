"""Flagged records in files: those that would be flagged if they were logged, as Parquet that each check replaces as a whole."""

import math
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from sqlalchemy import text

from app.base.errors import LeaseLost, SetupError
from app.database.engine import Database
from app.domain.check import CheckState, Span
from app.domain.deployment import Column, Endpoint
from app.domain.monitor import MonitoredAttribute
from app.sources.tables.own_files import FLAG_SCHEMA, FlagFile, KeptAnswers
from tests.builders import lender
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import Lake, lake_of
from tests.builders.lender import HOUSING, UNFAIR
from tests.models.rules import RuleScorer
from tests.models.serving import Model, serve
from tests.scenes import HOUR, NOON, Result, Scene, scene

Flag = tuple[Any, ...]


def with_ids(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row | {"id": f"r{no:04}"} for no, row in enumerate(rows)]


def of_database(stage: Scene) -> list[Flag]:
    """The flags of logged records."""
    query = text(
        'SELECT p.record_id, f.logged_at, f.model_revision, f.attribute, f."group", f.direction, f.own_score, f.reference_score, f.gap'
        " FROM flagged_records f JOIN payload_records p USING (deployment_no, record_no) WHERE deployment_no = :no"
    )
    with stage.database.transaction() as session:
        return sorted(tuple(row) for row in session.execute(query, {"no": stage.deployment.no}))


def of_file(result: Result) -> list[Flag]:
    """The flags that the check wrote."""
    rows = pq.ParquetFile((result.run.window or {})["flag_file"]).read()
    assert rows.schema.equals(FLAG_SCHEMA)
    assert set(rows["check_id"].to_pylist()) <= {result.run.id}
    return sorted(tuple(row[name] for name in FLAG_SCHEMA.names[:-1]) for row in rows.to_pylist())


def assert_same_flags(expected: Sequence[Flag], found: Sequence[Flag]) -> None:
    assert [flag[:6] for flag in expected] == [flag[:6] for flag in found]
    for value, other in zip(expected, found, strict=True):
        for mine, theirs in zip(value[6:], other[6:], strict=True):
            assert mine == theirs or math.isclose(mine, theirs, rel_tol=1e-12), (value, other)


ANYBODY = MonitoredAttribute(feature="sex", monitored=("female",))


@pytest.mark.parametrize(
    ("model", "columns", "attributes", "rows"),
    [
        (RuleScorer(), APPLICANT, (SEX, AGE), applicants(40, 40, 12)),
        (RuleScorer(), APPLICANT, (ANYBODY,), applicants(40, 40, 12)),
        # Several reference values, whose answers differ: the mean score decides.
        (UNFAIR, lender.COLUMNS, (HOUSING,), lender.everybody()),
    ],
)
@pytest.mark.nightly
def test_records_in_files_are_flagged_as_logged_ones_are(
    database: Database,
    tmp_path: Path,
    model: Model,
    columns: tuple[Column, ...],
    attributes: tuple[MonitoredAttribute, ...],
    rows: list[dict[str, Any]],
) -> None:
    with serve(model) as server:
        stage = scene(database, columns, monitor_of(*attributes), endpoint=Endpoint(url=server.url))
        lake, sent = lake_of(stage, tmp_path), with_ids(rows)
        stage.log(sent, NOON)
        lake.write(sent[::2], NOON)
        lake.write(sent[1::2], NOON)
        stage.check(NOON)
        found = lake.check(NOON)

    expected = of_database(stage)
    assert expected
    assert_same_flags(expected, of_file(found))
    counted = (found.run.window or {})["flagged_records"]
    assert counted == {attribute.feature: sum(flag[3] == attribute.feature for flag in expected) for attribute in attributes}


@pytest.fixture
def lake(database: Database, tmp_path: Path) -> Iterator[Lake]:
    with serve(RuleScorer()) as server:
        lake = lake_of(scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=server.url)), tmp_path)
        lake.write(with_ids(applicants(30, 30, 10)), NOON)
        yield lake


def flag_files(lake: Lake) -> list[Path]:
    return sorted((lake.folder / "payload" / "_evenhand" / "flagged").glob("*"))


def test_the_file_of_an_hour_is_replaced_when_the_hour_is_checked_again(lake: Lake) -> None:
    first = lake.check(NOON)
    more = [row | {"id": f"late-{row['id']}"} for row in applicants(0, 10)]
    lake.write(more, NOON + HOUR / 2)
    second = lake.check(NOON)

    assert [file.name for file in flag_files(lake)] == ["2026-03-02T120000Z_2026-03-02T130000Z.parquet"]
    assert (first.run.window or {})["flag_file"] == (second.run.window or {})["flag_file"] == str(flag_files(lake)[0])
    assert len(of_file(second)) == 20 + 10


def test_a_check_that_lost_its_lease_leaves_the_flags_of_the_one_before(lake: Lake) -> None:
    first = lake.check(NOON)
    run = lake.stage.queue(Span(start=NOON, end=NOON + HOUR))
    with pytest.raises(LeaseLost):
        lake.stage.perform(replace(run, lease_token=uuid.uuid4().hex))

    assert len(of_file(first)) == 20
    assert len(flag_files(lake)) == 1


def test_a_folder_that_cannot_be_written_to_fails_the_check_in_words(lake: Lake) -> None:
    lake.check(NOON)
    folder = flag_files(lake)[0].parent
    for file in flag_files(lake):
        file.unlink()
    folder.rmdir()
    folder.write_text("in the way")
    before = lake.stage.count("measurements")
    run = lake.stage.queue(Span(start=NOON, end=NOON + HOUR))
    with pytest.raises(SetupError, match=r"Flagged records cannot be written to \S+flagged/2026.*Let the worker write there"):
        lake.stage.perform(run)

    assert lake.stage.result(run).run.state is CheckState.RUNNING
    assert lake.stage.count("measurements") == before


def test_without_an_endpoint_nothing_is_written(database: Database, tmp_path: Path) -> None:
    lake = lake_of(scene(database, APPLICANT, monitor_of(SEX), endpoint=None), tmp_path)
    lake.write(with_ids(applicants(30, 30, 10)), NOON)
    assert "flag_file" not in (lake.check(NOON).run.window or {})
    assert not flag_files(lake)


def test_each_batch_has_a_file_that_its_value_names(lake: Lake) -> None:
    run = lake.stage.queue(Span(start=NOON, end=NOON + HOUR))
    folder = KeptAnswers(lake.folder).folder
    names = [FlagFile.of(folder, replace(run, batch=value)).path.name for value in ("2026-07-01", "a/b", "x" * 300, "x" * 299 + "y")]
    assert names[:2] == ["batch_2026-07-01.parquet", "batch_a%2Fb.parquet"]
    assert len(set(names)) == 4
    assert max(map(len, names)) < 250
