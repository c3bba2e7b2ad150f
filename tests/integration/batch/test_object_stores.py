"""Tables in an object store give the figures of the same files in a folder, and what cannot be read is said by name."""

from collections.abc import Iterator
from itertools import count
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import deltalake
import pyarrow.parquet as pq
import pytest

from app.base.errors import InvalidInput, SetupError
from app.base.settings import Settings
from app.checks.window.window import TablePlaces
from app.database.engine import Database
from app.deployments.listed_files import find_changes
from app.domain.check import CheckState, Span
from app.domain.deployment import Endpoint, PayloadTable, TableFormat
from app.domain.monitor import MonitoredAttribute
from app.sources.tables import allowed_locations as locations
from app.sources.tables.allowed_locations import find_location_problems, list_files
from app.sources.tables.own_files import OwnPlaces
from app.sources.tables.record_files import PayloadFiles
from app.sources.tables.table_files import ALL_FILES, TableFiles
from app.statistics.catalogue import CATALOGUE
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import lake_of
from tests.builders.log_tables import as_table, iceberg
from tests.builders.stores import AZURITE_KEY, BUCKET, Store, azure, google, refuse_keys, s3
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, Result, scene

ROOTS = (f"s3://{BUCKET}/allowed",)
ANYBODY = MonitoredAttribute(feature="sex", monitored=("female",))


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with s3() as server:
        yield server


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
    }


def people(size: int) -> list[dict[str, Any]]:
    return [row | {"id": f"{no:05}"} for no, row in enumerate(applicants(size, size, size // 4))]


@pytest.mark.thorough
@pytest.mark.parametrize("max_records", [pytest.param(1000, marks=pytest.mark.nightly), 30], ids=["in-memory", "in-pieces"])
def test_a_check_of_files_on_s3_is_that_of_the_same_files_in_a_folder(
    database: Database, store: Store, tmp_path: Path, max_records: int
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


@pytest.mark.thorough
def test_the_newest_version_of_a_delta_table_on_s3_gives_the_same(database: Database, store: Store, tmp_path: Path) -> None:
    # The column is in the log and not in the files.
    monitor = monitor_of(ANYBODY, metrics=tuple(CATALOGUE))
    lake = lake_of(scene(database, APPLICANT, monitor, endpoint=None), tmp_path / "lake", format=TableFormat.DELTA)
    write_delta(tmp_path / "lake" / "payload", [row | {"sex": f"x {row['sex']}%"} for row in people(40)])
    there = store.copied(lake, tmp_path / "answers", deployment_id="delta-in-store")

    expected, found = lake.check(NOON), there.check(NOON)

    assert (expected.run.window or {})["records"] == 80
    assert figures(found) == figures(expected)


@pytest.mark.thorough
def test_the_current_snapshot_of_an_iceberg_table_on_s3_gives_the_same(database: Database, store: Store, tmp_path: Path) -> None:
    lake = lake_of(scene(database, APPLICANT, monitor_of(SEX), endpoint=None), tmp_path / "lake", format=TableFormat.ICEBERG)
    rows = people(40)
    there = store.copied(lake, tmp_path / "answers", deployment_id="iceberg-in-store")
    address = f"{store.root}/iceberg-in-store/payload"
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


@pytest.mark.parametrize("vendor", [pytest.param("google", marks=pytest.mark.nightly), "azure"])
def test_a_check_of_files_at_google_and_azure_is_that_of_the_same_files_in_a_folder(
    database: Database, tmp_path: Path, vendor: str
) -> None:
    lake, rows = lake_of(scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=None), tmp_path / "lake", partition_by="day"), people(40)
    lake.write(rows[:50], NOON, path="day=one%20day")
    lake.write(rows[50:], NOON + HOUR / 2, path="day=2")
    with google(tmp_path) if vendor == "google" else azure() as store:
        there = store.copied(lake, tmp_path / "answers", deployment_id=vendor)

        expected, found = lake.check(NOON), there.check(NOON)
    assert (expected.run.window or {})["records"] == 80
    assert figures(found) == figures(expected)


ICEBERG_WRITES = {
    "google": {"gcs.oauth2.token": "any", "gcs.oauth2.token-expires-at": "4102444800000"},
    "azure": {
        "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO",
        "adls.account-name": "devstoreaccount1",
        "adls.account-key": AZURITE_KEY,
        "adls.blob-storage-scheme": "http",
        "adls.dfs-storage-scheme": "http",
    },
}


@pytest.mark.parametrize("vendor", [pytest.param("google", marks=pytest.mark.nightly), "azure"])
def test_tables_with_a_log_are_read_at_google_and_azure(tmp_path: Path, vendor: str) -> None:
    hour = Span(start=NOON, end=NOON + HOUR)
    with google(tmp_path) if vendor == "google" else azure() as store:
        host = urlsplit(store.url).netloc
        where = {"gcs.service.host": store.url, "adls.blob-storage-authority": host, "adls.dfs-storage-authority": host}
        with iceberg(tmp_path / "table", people(9), people(4), location=f"{store.root}/iceberg", **ICEBERG_WRITES[vendor], **where):
            pass
        tables = [PayloadTable(location=f"{store.root}/iceberg", format=TableFormat.ICEBERG)]
        if vendor == "azure":  # the server that stands for Google's lacks what deltalake calls
            tables.append(PayloadTable(location=f"{store.root}/delta", format=TableFormat.DELTA))
            for rows in (people(9), people(4)):
                deltalake.write_deltalake(tables[-1].location, as_table(rows), mode="append")

        for table in tables:
            assert TableFiles(table, [store.root], "payload", ALL_FILES).count(hour) == 26


def put_parquet(store: Store, folder: Path, prefix: str, *sizes: int) -> PayloadTable:
    """A table of so many files of so many records each, at `allowed/` and the prefix."""
    for no, size in enumerate(sizes):
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(as_table([row | {"id": f"{no}-{row['id']}"} for row in people(size)]), folder / f"part-{no}.parquet")
    return PayloadTable(location=store.put(folder, f"allowed/{prefix}"))


@pytest.mark.parametrize(
    "location",
    [
        f"s3://{BUCKET}/allowed-not/x",
        f"s3://{BUCKET}/allowed/../x",
        f"s3://{BUCKET}/allowed/%2e%2e/x",
        f"s3://{BUCKET}/allowed/x?endpoint_override=elsewhere.example",
        f"s3://key:secret@{BUCKET}/allowed/x",
        f"s3://{BUCKET}/allowed//x",
        f"S3://{BUCKET}/allowed/x",
        f"gs://{BUCKET}/allowed/x",
        f"http://{BUCKET}/allowed/x",
        f"abfs://{BUCKET}@elsewhere.dfs.core.windows.net/allowed/x",
        f"file://{BUCKET}/allowed/x",
    ],
)
def test_only_plain_addresses_below_the_allowed_ones_are_read(location: str) -> None:
    assert find_location_problems(PayloadTable(location=location), ROOTS, "payload")
    assert not find_location_problems(PayloadTable(location=f"s3://{BUCKET}/allowed/day=1 a/"), ROOTS, "payload")
    assert not find_location_problems(
        PayloadTable(location="abfs://lake@bank.dfs.core.windows.net/x"), ["abfs://lake@bank.dfs.core.windows.net"], "payload"
    )


@pytest.mark.thorough
def test_an_object_store_needs_a_folder_for_answers(database: Database, store: Store, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only reads"):
        Settings(table_roots=f"/lake,s3://{BUCKET}/allowed")
    assert Settings(table_roots=f"/lake,s3://{BUCKET}/x", answers_dir=tmp_path).table_folders == (Path("/lake"), f"s3://{BUCKET}/x")
    lake = lake_of(scene(database, APPLICANT, monitor_of(SEX), endpoint=None), tmp_path / "lake")
    lake.write(people(9), NOON)
    there = store.copied(lake, tmp_path / "answers", deployment_id="no-answers")
    there.places = TablePlaces(there.places.roots)

    payload = there.deployment.payload
    assert payload is not None
    assert OwnPlaces(there.places.roots).folder("no-answers", payload) is None

    with pytest.raises(SetupError, match="EVENHAND_ANSWERS_DIR"):
        there.check(NOON)


@pytest.mark.thorough
def test_keys_that_the_store_does_not_know_are_said_by_name(store: Store, tmp_path: Path) -> None:
    table = put_parquet(store, tmp_path / "parquet", "keys", 5)
    write_delta(tmp_path / "delta", people(40))
    tables = [table, PayloadTable(location=store.put(tmp_path / "delta", "allowed/keys-delta"), format=TableFormat.DELTA)]
    tables.append(PayloadTable(location=table.location, format=TableFormat.ICEBERG))
    refuse_keys(store, after=0)
    try:
        for each in tables:
            with pytest.raises(
                InvalidInput, match=rf"payload.location: {each.location} cannot be .*(ACCESS_DENIED|INVALID_ACCESS|InvalidAccessKeyId)"
            ) as found:
                list_files(each, ROOTS, "payload")
            assert "testing" not in str(found.value)
    finally:
        refuse_keys(store, after=inf)
    assert len(list_files(table, ROOTS, "payload")) == 1


@pytest.mark.thorough
def test_what_is_not_there_is_said_by_name(store: Store, tmp_path: Path) -> None:
    for location in (f"s3://{BUCKET}/allowed/none", "s3://nobody/none"):
        with pytest.raises(InvalidInput, match=f"there is nothing at {location}|{location} cannot be listed"):
            list_files(PayloadTable(location=location), [location], "payload")
    write_delta(tmp_path / "delta", people(40))
    delta = PayloadTable(location=store.put(tmp_path / "delta", "allowed/lost"), format=TableFormat.DELTA)
    lost = list_files(delta, ROOTS, "payload")[0].path
    with store.files.open_output_stream(f"allowed/lost/{lost}"):
        pass
    with pytest.raises(InvalidInput, match=lost):
        list(TableFiles(delta, ROOTS, "payload", ALL_FILES).read(["id"], Span(start=NOON, end=NOON + HOUR)))
    store.files.delete_file(f"allowed/lost/{lost}")

    with pytest.raises(InvalidInput, match=f"names the file {lost}, which is not there"):
        list_files(delta, ROOTS, "payload")


@pytest.mark.thorough
def test_an_object_that_goes_or_is_written_in_part_is_named(database: Database, store: Store, tmp_path: Path) -> None:
    deployment = scene(database, APPLICANT, monitor_of(SEX), endpoint=None).deployment
    table, span = put_parquet(store, tmp_path / "table", "goes", 5, 6), Span(start=NOON, end=NOON + HOUR)
    files = PayloadFiles(deployment, table, ROOTS)
    assert files.count(span) == 22
    pieces, reader = files.pieces(span), files.reader()
    place = "allowed/goes/part-1.parquet"
    with store.files.open_input_stream(place) as opened:
        whole = opened.read()
    known = {file.path: file for file in find_changes(table, ROOTS, "payload", {}).new}
    store.files.delete_file(place)

    with pytest.raises(InvalidInput, match=r"part-1\.parquet"):
        files.ids(span)
    with pytest.raises(InvalidInput, match=r"part-1\.parquet"):
        [list(reader.read(piece, ["id"], span)) for piece in pieces]

    with store.files.open_output_stream(place) as stream:
        stream.write(whole[: len(whole) // 2])
    changes = find_changes(table, ROOTS, "payload", known)
    assert changes.files == ()  # it is listed once it can be read
    with pytest.raises(InvalidInput, match=r"part-1\.parquet"):
        PayloadFiles(deployment, table, ROOTS).count(span)


@pytest.mark.thorough
def test_a_listing_that_changes_between_its_pages_is_repeated(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from moto.s3.models import S3Backend, s3_backends  # noqa: PLC0415 - what it imports warns

    table = put_parquet(store, tmp_path / "table", "pages", 1)
    backend = s3_backends["123456789012"]["aws"]
    for no in range(locations.MIN_PAGED_OBJECTS):
        backend.put_object(BUCKET, f"allowed/pages/b-{no:04}.parquet", b"")
    list_page, moves = S3Backend.list_objects_v2, iter(["a", "z", "a"])

    def page(*asked: Any, **others: Any) -> Any:  # noqa: ANN401 - of moto
        found = list_page(*asked, **others)
        # After a first page, the file that it ends or begins with gets a name at the other end.
        if found[1] and (name := next(moves, None)):
            other = {"a": "z", "z": "a"}[name]
            backend.put_object(BUCKET, f"allowed/pages/{other}.parquet", b"")
            backend.delete_object(BUCKET, f"allowed/pages/{name}.parquet")
        return found

    backend.put_object(BUCKET, "allowed/pages/a.parquet", b"")
    monkeypatch.setattr(S3Backend, "list_objects_v2", page)

    paths = [file.path for file in list_files(table, ROOTS, "payload")]

    assert {"a.parquet", "z.parquet"} & set(paths) == {"z.parquet"}
    assert len(paths) == locations.MIN_PAGED_OBJECTS + 2

    def grow(*asked: Any, **others: Any) -> Any:  # noqa: ANN401 - of moto
        backend.put_object(BUCKET, f"allowed/pages/z-{next(numbers)}.parquet", b"")
        return list_page(*asked, **others)

    numbers = count()
    monkeypatch.setattr(S3Backend, "list_objects_v2", grow)
    with pytest.raises(InvalidInput, match="changes while it is listed"):
        list_files(table, ROOTS, "payload")
