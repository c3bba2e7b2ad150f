"""A small file of a table that unpacks to much fails its check, in a process that is gone afterwards."""

import multiprocessing
from pathlib import Path

import pytest

from app.base.errors import InvalidInput
from app.database.engine import Database
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import lake_of
from tests.scenes import NOON, scene


@pytest.mark.thorough
@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("max_records", [pytest.param(1000, marks=pytest.mark.nightly), 30], ids=["in-memory", "in-pieces"])
def test_a_file_that_unpacks_to_more_than_the_memory_fails_its_check(database: Database, tmp_path: Path, max_records: int) -> None:
    monitor = monitor_of(SEX, max_records=max_records)
    lake = lake_of(scene(database, APPLICANT, monitor, endpoint=None), tmp_path)
    lake.write(applicants(40, 40, 20), NOON)
    lake.write([{**row, "sex": "m" * 2**27} for row in applicants(1, 0, prefix="large")], NOON)

    with pytest.raises(InvalidInput, match="cannot be read"):
        lake.check(NOON)
    assert multiprocessing.active_children() == []
