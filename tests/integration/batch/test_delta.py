"""Delta tables: the newest version counts, and what its files do not hold as it is is refused."""

import re
from dataclasses import replace
from pathlib import Path

import deltalake
import pytest

from app.base.errors import InvalidInput
from app.database.engine import Database
from app.domain.deployment import PayloadTable, TableFormat
from app.sources.tables.allowed_locations import list_files
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.figures import assert_same_payload
from tests.builders.lakes import lake_of
from tests.builders.log_tables import as_table
from tests.scenes import NOON, scene


def test_the_newest_version_of_a_delta_table_gives_the_figures_of_its_rows(database: Database, tmp_path: Path) -> None:
    stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=None)
    rows = [row | {"id": f"{no:04}"} for no, row in enumerate(applicants(40, 40, 10))]
    stage.log(rows, NOON)
    lake = lake_of(stage, tmp_path, format=TableFormat.DELTA)
    place = str(tmp_path / "payload")
    deltalake.write_deltalake(place, as_table(applicants(9, 9)))
    deltalake.write_deltalake(place, as_table(rows[:30]), mode="overwrite")
    deltalake.write_deltalake(place, as_table(rows[30:]), mode="append")

    assert_same_payload(stage.check(NOON), lake.check(NOON))


def test_a_folder_without_a_log_and_deleted_rows_in_files_are_refused(tmp_path: Path) -> None:
    table = PayloadTable(location=str(tmp_path / "none"), format=TableFormat.DELTA)
    (tmp_path / "none").mkdir()
    with pytest.raises(InvalidInput, match="Delta table"):
        list_files(table, [tmp_path], "payload")
    vectors = {"delta.enableDeletionVectors": "true"}
    deltalake.write_deltalake(str(tmp_path / "vectors"), as_table(applicants(3, 3)), configuration=vectors)
    with pytest.raises(InvalidInput, match="deletionVectors"):
        list_files(replace(table, location=str(tmp_path / "vectors")), [tmp_path], "payload")


def test_names_of_columns_that_the_files_may_not_have_and_files_elsewhere_are_refused(tmp_path: Path) -> None:
    table = PayloadTable(location=str(tmp_path / "mapped"), format=TableFormat.DELTA)
    deltalake.write_deltalake(table.location, as_table(applicants(3, 3)))
    (log,) = (tmp_path / "mapped" / "_delta_log").glob("*.json")
    written = log.read_text()
    # The second protocol maps columns and names no features.
    old = re.sub('"protocol":{[^}]*}', '"protocol":{"minReaderVersion":2,"minWriterVersion":5}', written)
    log.write_text(old.replace('"configuration":{', '"configuration":{"delta.columnMapping.mode":"name"'))
    with pytest.raises(InvalidInput, match="columnMapping"):
        list_files(table, [tmp_path], "payload")

    deltalake.write_deltalake(str(tmp_path / "other"), as_table(applicants(3, 3)))
    (other,) = (tmp_path / "other").glob("*.parquet")
    for elsewhere in (other.as_uri(), f"../other/{other.name}"):
        log.write_text(re.sub('"path":"[^"]*"', f'"path":"{elsewhere}"', written))
        with pytest.raises(InvalidInput, match=r"which is not there|cannot be read"):
            list_files(table, [tmp_path], "payload")
