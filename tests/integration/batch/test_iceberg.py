"""Iceberg tables: the current snapshot counts, and what its files do not hold as it is is refused."""

import json
from pathlib import Path

import pytest

from app.base.errors import InvalidInput
from app.database.engine import Database
from app.domain.deployment import PayloadTable, TableFormat
from app.sources.tables.allowed_locations import list_files
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.figures import assert_same_payload
from tests.builders.lakes import lake_of
from tests.builders.log_tables import as_table, iceberg
from tests.scenes import NOON, scene

pytestmark = pytest.mark.filterwarnings("ignore")  # of the catalog that writes the tables


def files_of(folder: Path) -> list[str]:
    table = PayloadTable(location=str(folder), format=TableFormat.ICEBERG)
    return [file.path for file in list_files(table, [folder.parent], "payload")]


@pytest.mark.nightly
def test_the_current_snapshot_gives_the_figures_of_its_rows(database: Database, tmp_path: Path) -> None:
    stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=None)
    rows = [row | {"id": f"{no:04}"} for no, row in enumerate(applicants(40, 40, 10))]
    stage.log(rows, NOON)
    lake = lake_of(stage, tmp_path, format=TableFormat.ICEBERG)
    (tmp_path / "payload").rmdir()
    with iceberg(tmp_path / "payload", applicants(9, 9)) as table:
        table.overwrite(as_table(rows[:30]))
        table.append(as_table(rows[30:]))

    assert len(list((tmp_path / "payload").rglob("*.parquet"))) == 3
    assert len(files_of(tmp_path / "payload")) == 2
    assert_same_payload(stage.check(NOON), lake.check(NOON))


def test_what_the_files_do_not_hold_as_it_is_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(InvalidInput, match="has no metadata"):
        files_of(tmp_path / "none")

    with iceberg(tmp_path / "renamed", applicants(3, 3)) as table, table.update_schema() as change:
        change.rename_column("income", "earnings")
    with pytest.raises(InvalidInput, match="earnings and income"):
        files_of(tmp_path / "renamed")

    with iceberg(tmp_path / "twice", applicants(3, 3)):
        pass
    newest = max((tmp_path / "twice" / "metadata").glob("*.metadata.json"))
    (newest.parent / f"{newest.name.split('-')[0]}-other.metadata.json").write_bytes(newest.read_bytes())
    with pytest.raises(InvalidInput, match="two newest metadata files"):
        files_of(tmp_path / "twice")
    (newest.parent / "version-hint.text").write_text(newest.name)
    assert len(files_of(tmp_path / "twice")) == 1


def test_a_table_that_names_files_of_other_folders_is_refused(tmp_path: Path) -> None:
    with iceberg(tmp_path / "moved", applicants(3, 3)):
        pass
    newest = max((tmp_path / "moved" / "metadata").glob("*.metadata.json"))
    for elsewhere in ("s3://bucket/snap.avro", f"{tmp_path}/moved/../secret.avro", "/etc/passwd"):
        found = json.loads(newest.read_text())
        for snapshot in found["snapshots"]:
            snapshot["manifest-list"] = elsewhere
        newest.write_text(json.dumps(found))
        with pytest.raises(InvalidInput, match="is not in its folder"):
            files_of(tmp_path / "moved")
